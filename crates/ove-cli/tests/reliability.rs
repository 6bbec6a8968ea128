//! Long runs and bad days, by running `ove`: stopped and continued, with bad rows, too large a rate, a full disk and no
//! permission.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::util::*;

fn with_rows() -> Dir {
    let dir = Dir::new();
    dir.run("generate shape --rows 3000 --features 200 --classes 40 -o rows.xmc").ok();
    dir
}

/// SIGTERM, once or twice at the same moment as some programs send it, leaves a checkpoint and no half of a model.
#[test]
fn stopped_and_resumed_ends_in_the_same_bits() {
    // With 0s nearly all the time goes into checkpoints, so that the signal comes while one is written. Trees are first
    // trained on parts of the rows for their calibration, which leaves no checkpoint.
    for (solver, every, name) in [
        ("--epochs 600 --batch 32 --learning-rate 0.1", "5min", "-TERM"),
        ("--epochs 60 --batch 32 --learning-rate 0.1", "0s", "-TERM"),
        ("--solver forest --trees 9 --epochs 200", "0s", "-INT"),
    ] {
        let dir = with_rows();
        dir.run(&format!("train rows.xmc -o expected {solver}")).ok();
        let kept = format!("train rows.xmc -o model {solver} --checkpoint kept --checkpoint-every {every}");
        let mut child = dir.command(&kept).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(250));
        let start = Instant::now();
        while every == "0s" && dir.files_in("kept").len() < 2 && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let start = Instant::now();
        signal(&child, name);
        signal(&child, name);
        // A second after the checkpoint, and more where other tests keep the machine busy.
        assert_eq!(code_within(&mut child, Duration::from_secs(5)), Some(130), "{solver}");
        println!("{solver}: ended {:?} after {name}", start.elapsed());
        assert_eq!(dir.files(), ["expected", "kept", "rows.xmc"]);
        let newest = dir.files_in("kept").pop().unwrap();
        assert_eq!(dir.files_in("kept").len(), if every == "0s" { 2 } else { 1 });

        let anew = dir.run(&kept).refused();
        assert!(anew.contains("kept has checkpoints of an unfinished run; resume it with --resume"), "{anew}");
        let other = dir.run(&format!("{kept} --resume --seed 1")).refused();
        assert!(other.contains("`seed` is 1; the checkpoint was written with 0"), "{other}");
        let Run { code, stderr, .. } = dir.run(&format!("{kept} --resume --threads 1"));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.contains(&format!("resuming from kept/{newest}")), "{stderr}");
        assert!(dir.bytes("model") == dir.bytes("expected"));
        assert_eq!(dir.files_in("kept"), Vec::<String>::new());
    }
}

/// Other code of the C library, as it chooses on a processor without fused multiply-add, changes no bit.
#[test]
fn bits_do_not_depend_on_the_c_library() {
    let dir = with_rows();
    for settings in ["--solver batch --iterations 30", "--epochs 3", "--scores factored --epochs 3", "--scores trees"] {
        let trained = |model: &str, tunables: &str| {
            let words = format!("train rows.xmc -o {model} {settings} --valid rows.xmc");
            let status = dir.command(&words).env("GLIBC_TUNABLES", tunables).stderr(Stdio::null()).status().unwrap();
            assert!(status.success(), "{settings}");
            dir.bytes(model)
        };
        let plain = trained("plain", "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F");
        assert!(trained("usual", "") == plain, "{settings}");
    }
}

#[test]
fn resume_begins_anew_where_there_is_nothing_to_go_on_from() {
    let dir = with_rows();
    let Run { code, stderr, .. } = dir.run("train rows.xmc -o model --epochs 2 --checkpoint kept --resume");
    assert_eq!(code, Some(0));
    assert!(stderr.contains("kept: no checkpoint to resume from; starting anew"), "{stderr}");
    let usage = dir.run("train rows.xmc -o model --resume").refused();
    assert!(usage.contains("--checkpoint <DIR>"), "{usage}");
    let usage = dir.run("train rows.xmc -o model --checkpoint kept --checkpoint-every soon").refused();
    assert!(usage.contains("30s, 5min or 2h"), "{usage}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_does_not_end_the_run() {
    let dir = with_rows();
    fs::create_dir(dir.path("kept")).unwrap();
    let small = format!(
        "trap '' XFSZ; ulimit -f 40; exec {} train rows.xmc -o model --epochs 3 --checkpoint kept --checkpoint-every 1epoch",
        env!("CARGO_BIN_EXE_ove")
    );
    let output = Command::new("bash").current_dir(dir.path("")).args(["-c", &small]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    // The model, without the state of its steps, is small enough.
    assert!(output.status.success(), "{stderr}");
    assert!(
        stderr.contains("warning: the checkpoint could not be written: kept/000001.checkpoint: File too large"),
        "{stderr}"
    );
    assert!(stderr.contains("kept needs room for 0.1 MB"), "{stderr}");
    assert_eq!(dir.files_in("kept"), Vec::<String>::new());
}

#[test]
fn no_room_and_no_permission_leave_the_old_model() {
    let dir = with_rows();
    dir.create("model", "the old model");
    let full =
        format!("trap '' XFSZ; ulimit -f 10; exec {} train rows.xmc -o model --epochs 1", env!("CARGO_BIN_EXE_ove"));
    let output = Command::new("bash").current_dir(dir.path("")).args(["-c", &full]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.contains("saving the model: model: File too large (os error 27); . needs room for 0.0 MB"),
        "{stderr}"
    );
    assert_eq!(dir.files(), ["model", "rows.xmc"]);
    assert_eq!(dir.bytes("model"), b"the old model");
    if cfg!(target_os = "linux") {
        // Where not even root may make files. Said before any training.
        let denied = dir.run("train rows.xmc -o /sys/model --epochs 100000").refused();
        assert!(denied.contains("/sys/model: ") && denied.contains("make files in /sys"), "{denied}");
    }
}

/// Runs `ove` with files limited to so many kilobytes.
fn with_limited_files(dir: &Dir, kilobytes: usize, words: &str) -> Output {
    let ove = env!("CARGO_BIN_EXE_ove");
    let limited = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec {ove} {words}");
    Command::new("bash").current_dir(dir.path("")).args(["-c", &limited]).output().unwrap()
}

#[test]
fn a_report_without_room_leaves_the_old_one_or_none() {
    let dir = Dir::with_model();
    let words = "evaluate fruit.model fruit.svm --report page.html";
    let before = dir.files();
    let refused = |output: Output| {
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let message = refused(with_limited_files(&dir, 1, words));
    assert!(message.starts_with("error: page.html: File too large (os error 27); . needs room for"), "{message}");
    assert_eq!(dir.files(), before, "nothing is left behind");
    dir.create("page.html", "the old report");
    refused(with_limited_files(&dir, 1, words));
    assert_eq!(dir.bytes("page.html"), b"the old report");
    dir.run(words).ok();
    assert!(dir.bytes("page.html").starts_with(b"<!doctype html>"));
    if cfg!(target_os = "linux") {
        // What is not a file of its own is written to, not replaced.
        let page = dir.run("evaluate fruit.model fruit.svm --report /dev/stdout").ok();
        contains(&page, "<!doctype html>");
    }
}

#[test]
fn a_log_without_room_is_named_and_does_not_end_the_run() {
    let dir = Dir::with_model();
    fs::create_dir(dir.path("log")).unwrap();
    dir.create("log/metrics.jsonl", &"{}\n".repeat(40 << 10));
    let output = with_limited_files(&dir, 100, "train fruit.svm -o new.model --epochs 3 --log log");
    let stderr = String::from_utf8(output.stderr).unwrap();
    contains(&stderr, "warning: the log could not be written and ends here: writing log/metrics.jsonl: File");
    assert!(output.status.success(), "{stderr}");
    assert!(dir.files().contains(&"new.model".into()), "{:?}", dir.files());
}

#[test]
fn too_large_a_rate_is_told_with_one_to_try() {
    let dir = with_rows();
    for (rate, words) in
        [("1000000", "--step adagrad"), ("300", "--step sgd"), ("1e30", "--step sgd --objective softmax")]
    {
        let said = dir.run(&format!("train rows.xmc -o model --epochs 5 --learning-rate {rate} {words}")).refused();
        let number: f64 = rate.parse().unwrap();
        assert!(
            said.contains(&format!("diverged in epoch 1 at the learning rate {number}; try a learning rate of")),
            "{said}"
        );
        assert_eq!(dir.files(), ["rows.xmc"], "nothing is saved");
    }
}

#[test]
fn bad_rows_are_left_out_and_told() {
    let dir = Dir::new();
    let good = "apple 1:1\npear 2:1\nplum 3:1\n".repeat(4);
    dir.create("good.svm", &good);
    dir.create("bad.svm", &format!("{good}kiwi 1:1e400\n{}", "pear 2:x\n".repeat(11)));
    let stopped = dir.run("train bad.svm -o bad --epochs 3").refused();
    assert_eq!(stopped, "error: bad.svm:13:8: expected a finite 32-bit number, found '1e400'\n");
    let Run { code, stdout, stderr, .. } = dir.run("train bad.svm -o bad --epochs 3 --on-error skip --json");
    assert_eq!(code, Some(0), "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines[0], "bad.svm: 12 rows were skipped");
    assert_eq!(lines[1], "  bad.svm:13:8: expected a finite 32-bit number, found '1e400'");
    assert_eq!(lines[11], "  and 2 more");
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["skipped_rows"], 12);
    dir.run("train good.svm -o good --epochs 3").ok();
    assert_eq!(dir.bytes("bad"), dir.bytes("good"));
}

/// A mistyped feature must not fill the memory.
#[test]
fn a_huge_feature_is_refused_before_anything_is_allocated() {
    let dir = Dir::new();
    dir.create("a.svm", "a 1:1\nb 4294967290:1\n");
    for solver in ["stochastic", "forest", "batch"] {
        let said = dir.run(&format!("train a.svm -o m --solver {solver}")).refused();
        assert!(
            said.contains("4294967291 features need 137.4 GB for their lists alone; `memory` allows 8.0 GB"),
            "{said}"
        );
    }
}

#[test]
fn a_model_goes_on_with_new_rows_classes_and_features() {
    let dir = Dir::new();
    dir.create("old.svm", &"apple 1:1\npear 2:1\n".repeat(20));
    dir.create("new.svm", &"plum 3:1\npear 2:1\napple 1:1\n".repeat(20));
    dir.run("train old.svm -o old --epochs 20 --objective softmax --learning-rate 0.5").ok();
    dir.run("train new.svm -o new --from old --epochs 20").ok();
    let inspected = dir.run("inspect new --json").json();
    assert_eq!(inspected["classes"], 3);
    assert_eq!(inspected["rows"], 100);
    // What is not given is as the model was trained.
    assert_eq!(
        (&inspected["options"]["scores"]["objective"], &inspected["options"]["learning_rate"]),
        (&"softmax".into(), &0.5.into())
    );
    let best: Vec<String> = dir
        .run("predict new new.svm --top 1")
        .ok()
        .lines()
        .take(3)
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect();
    assert_eq!(best, ["plum", "pear", "apple"]);
    // Without new rows to learn from, the weights stay near where they were.
    dir.run("train old.svm -o same --from old --epochs 1 --learning-rate 1e-9").ok();
    assert_eq!(dir.run("predict old old.svm").ok(), dir.run("predict same old.svm").ok());

    dir.run("train old.svm -o forest --solver forest").ok();
    dir.run("train new.svm -o new2 --from forest").ok();
    let inspected = dir.run("inspect new2 --json").json();
    assert_eq!((&inspected["classes"], &inspected["rows"]), (&3.into(), &100.into()));
    let best = dir.run("predict new2 new.svm --top 1").ok();
    let best: Vec<&str> = best.lines().take(3).filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(best, ["plum", "pear", "apple"]);
    let said = dir.run("train new.svm -o new3 --from forest --trees 5").refused();
    assert!(said.contains("`trees` must be 3, as in the model that is trained further, got 5"), "{said}");
    let said = dir.run("train new.svm -o new2 --from old --solver forest").refused();
    assert!(
        said.contains("--from: the model has linear scores and goes on with them; it cannot become trees"),
        "{said}"
    );
}

#[test]
fn a_model_of_texts_goes_on_with_new_words() {
    let dir = Dir::new();
    dir.create("old.tsv", &"old oak tree\twood\nstone house here\thome\n".repeat(10));
    dir.create("new.tsv", &"iron bridge\tmetal\nold oak tree\twood\n".repeat(10));
    dir.run("train old.tsv -o old --epochs 30").ok();
    let before = dir.run("predict old old.tsv").ok();
    dir.run("train new.tsv -o new --from old --epochs 30").ok();
    let inspected = dir.run("inspect new --json").json();
    assert_eq!((&inspected["classes"], &inspected["features"]), (&3.into(), &8.into()));
    assert!(dir.run("predict new new.tsv --top 1").ok().starts_with("metal\t"));
    // Old words keep their weights: a row of the old model is the same row in the new one.
    dir.run("train new.tsv -o still --from old --epochs 1 --learning-rate 1e-9").ok();
    let only = |text: String| text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(only(dir.run("predict still old.tsv").ok()), only(before));
}
