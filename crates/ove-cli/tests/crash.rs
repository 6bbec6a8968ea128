//! Kills real training runs with SIGKILL at random moments, resumes them, and compares with an undisturbed run.
//!
//! `OVE_KILLS` sets the number of kills (default 8; `make test-all` uses 20 and `make crash` 200).

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ove::Model;
use ove::platform::random::Stream;
use ove::train::checkpoint::{Checkpoints, Every};
use tempfile::TempDir;

use crate::util::ove;

/// A run of about half a second with each solver.
const SOLVERS: [&str; 4] = [
    "--epochs 40 --batch 64",
    "--epochs 40 --batch 64 --step sgd --l2 0.1 --objective merged --sampler rivals",
    "--solver batch --objective softmax --l2 0.01 --tolerance 1e-9 --iterations 60",
    "--solver forest --epochs 60 --trees 6",
];

/// Starts `ove`, whose output nobody reads.
fn start(folder: &Path, words: &str) -> Child {
    ove(folder, words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn train(folder: &Path, solver: &str, threads: usize) -> Child {
    let kept = "--checkpoint kept --checkpoint-every 0.02s --resume";
    start(folder, &format!("train ../rows.xmc -o model {solver} --threads {threads} {kept}"))
}

/// Ends a process at once, as a power cut would. True if it was still running.
fn kill_after(mut child: Child, time: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < time {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

/// Every file that is there under its final name is whole.
fn check_files(folder: &Path) {
    if folder.join("kept").is_dir() {
        let newest = Checkpoints::new(&folder.join("kept"), Every::default()).unwrap().newest().unwrap();
        assert!(newest.passed_over.is_empty(), "unreadable: {:?}", newest.passed_over);
    }
    if folder.join("model").exists() {
        Model::load(&folder.join("model")).expect("a model that is there is whole");
    }
}

#[test]
fn killed_at_random_moments_a_run_ends_in_the_same_bits() {
    let kills: usize = std::env::var("OVE_KILLS").map_or(8, |number| number.parse().unwrap());
    let folder = TempDir::new().unwrap();
    let made = "generate shape --rows 4000 --features 300 --classes 60 --per-row 12 -o rows.xmc";
    assert!(start(folder.path(), made).wait().unwrap().success());

    let undisturbed: Vec<(Vec<u8>, Duration)> = (0..SOLVERS.len())
        .map(|s| {
            let place = folder.path().join(format!("undisturbed-{s}"));
            fs::create_dir(&place).unwrap();
            let start = Instant::now();
            assert!(train(&place, SOLVERS[s], 2).wait().unwrap().success());
            (fs::read(place.join("model")).unwrap(), start.elapsed())
        })
        .collect();

    let mut random = Stream::of(&[2026]);
    let (mut done, mut resumed, mut equal, mut runs) = (0, 0, 0, 0);
    while done < kills {
        let solver = runs % SOLVERS.len();
        runs += 1;
        let (expected, time) = &undisturbed[solver];
        let place = folder.path().join(format!("killed-{runs}"));
        fs::create_dir(&place).unwrap();
        // One to three kills, each with another number of threads, then in peace.
        for _ in 0..1 + random.below(3) {
            let child = train(&place, SOLVERS[solver], 1 + random.below(3) as usize);
            if !kill_after(child, time.mul_f64(random.uniform())) {
                break;
            }
            done += 1;
            resumed += usize::from(fs::read_dir(place.join("kept")).is_ok_and(|mut files| files.next().is_some()));
            check_files(&place);
        }
        assert!(train(&place, SOLVERS[solver], 2).wait().unwrap().success());
        equal += usize::from(fs::read(place.join("model")).unwrap() == *expected);
        assert_eq!(equal, runs, "run {runs} with {} ended in other bits", SOLVERS[solver]);
        assert!(fs::read_dir(place.join("kept")).unwrap().next().is_none(), "what is finished leaves no checkpoint");
        fs::remove_dir_all(&place).unwrap();
    }
    assert!(resumed * 4 >= kills, "only {resumed} of {done} kills left a checkpoint to go on from");
    println!(
        "{done} kills in {runs} runs, {resumed} of them with a checkpoint to go on from: {equal} of {runs} runs equal"
    );
}
