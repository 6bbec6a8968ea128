//! Long runs and bad days, by running `ove`: stopped and continued, with bad rows, too large a rate, a full disk and no permission.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ove"));
    command.current_dir(folder).args(words.split_whitespace()).stdin(Stdio::null());
    command
}

/// Exit code, stdout and stderr.
fn run(folder: &Path, words: &str) -> (Option<i32>, String, String) {
    let output = command(folder, words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn ok(folder: &Path, words: &str) -> String {
    let (code, stdout, stderr) = run(folder, words);
    assert_eq!(code, Some(0), "ove {words}\n{stderr}");
    stdout
}

fn refused(folder: &Path, words: &str) -> String {
    let (code, stdout, stderr) = run(folder, words);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "ove {words}\n{stderr}");
    stderr
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn with_rows() -> TempDir {
    let folder = TempDir::new().unwrap();
    ok(folder.path(), "generate shape --rows 3000 --features 200 --classes 40 -o rows.xmc");
    folder
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn wait_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    panic!("still running after {limit:?}");
}

/// SIGTERM, once or twice at the same moment as some programs send it, leaves a checkpoint and no half of a model.
#[test]
fn stopped_and_resumed_ends_in_the_same_bits() {
    // With 0s nearly all the time goes into checkpoints, so that the signal comes while one is written.
    for (solver, every, name) in [
        ("--epochs 600 --batch 32", "5min", "-TERM"),
        ("--epochs 60 --batch 32", "0s", "-TERM"),
        ("--solver forest --epochs 600", "5min", "-INT"),
    ] {
        let folder = with_rows();
        let folder = folder.path();
        ok(folder, &format!("train rows.xmc -o expected {solver}"));
        let kept = format!("train rows.xmc -o model {solver} --checkpoint kept --checkpoint-every {every}");
        let mut child = command(folder, &kept).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(250));
        let start = Instant::now();
        signal(&child, name);
        signal(&child, name);
        // A second after the checkpoint, and more where other tests keep the machine busy.
        assert_eq!(wait_within(&mut child, Duration::from_secs(5)), Some(130), "{solver}");
        println!("{solver}: ended {:?} after {name}", start.elapsed());
        assert_eq!(names(folder), ["expected", "kept", "rows.xmc"]);
        let newest = names(&folder.join("kept")).pop().unwrap();
        assert_eq!(names(&folder.join("kept")).len(), if every == "0s" { 2 } else { 1 });

        let anew = refused(folder, &kept);
        assert!(anew.contains("kept holds checkpoints of a run that did not end; --resume goes on with it"), "{anew}");
        let other = refused(folder, &format!("{kept} --resume --seed 1"));
        assert!(other.contains("seed is 1, but the checkpoint was written with 0"), "{other}");
        let (code, _, stderr) = run(folder, &format!("{kept} --resume --threads 1"));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.contains(&format!("going on from kept/{newest}")), "{stderr}");
        assert!(fs::read(folder.join("model")).unwrap() == fs::read(folder.join("expected")).unwrap());
        assert_eq!(names(&folder.join("kept")), Vec::<String>::new());
    }
}

#[test]
fn resume_begins_anew_where_there_is_nothing_to_go_on_from() {
    let folder = with_rows();
    let (code, _, stderr) = run(folder.path(), "train rows.xmc -o model --epochs 2 --checkpoint kept --resume");
    assert_eq!(code, Some(0));
    assert!(stderr.contains("kept: no checkpoint to go on from; beginning anew"), "{stderr}");
    let usage = refused(folder.path(), "train rows.xmc -o model --resume");
    assert!(usage.contains("--checkpoint <DIR>"), "{usage}");
    let usage = refused(folder.path(), "train rows.xmc -o model --checkpoint kept --checkpoint-every soon");
    assert!(usage.contains("30s, 5min or 2h"), "{usage}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_does_not_end_the_run() {
    let folder = with_rows();
    fs::create_dir(folder.path().join("kept")).unwrap();
    let small = format!(
        "trap '' XFSZ; ulimit -f 40; exec {} train rows.xmc -o model --epochs 3 --checkpoint kept --checkpoint-every 1epoch",
        env!("CARGO_BIN_EXE_ove")
    );
    let output = Command::new("bash").current_dir(folder.path()).args(["-c", &small]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    // The model, without the state of its steps, is small enough.
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("warning: no checkpoint: kept/000001.checkpoint: File too large"), "{stderr}");
    assert!(stderr.contains("kept needs room for 0.1 MB"), "{stderr}");
    assert_eq!(names(&folder.path().join("kept")), Vec::<String>::new());
}

#[test]
fn no_room_and_no_permission_leave_the_old_model() {
    let folder = with_rows();
    let folder = folder.path();
    fs::write(folder.join("model"), "the old model").unwrap();
    let full =
        format!("trap '' XFSZ; ulimit -f 10; exec {} train rows.xmc -o model --epochs 1", env!("CARGO_BIN_EXE_ove"));
    let output = Command::new("bash").current_dir(folder).args(["-c", &full]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.contains("saving the model: model: File too large (os error 27); . needs room for 0.0 MB"),
        "{stderr}"
    );
    assert_eq!(names(folder), ["model", "rows.xmc"]);
    assert_eq!(fs::read(folder.join("model")).unwrap(), b"the old model");
    if cfg!(target_os = "linux") {
        // Where not even root may make files. Said before any training.
        let denied = refused(folder, "train rows.xmc -o /sys/model --epochs 100000");
        assert!(denied.contains("/sys/model: ") && denied.contains("make files in /sys"), "{denied}");
    }
}

#[test]
fn too_large_a_rate_is_told_with_one_to_try() {
    let folder = with_rows();
    let folder = folder.path();
    for (rate, words) in
        [("1000000", "--step adagrad"), ("300", "--step sgd"), ("1e30", "--step sgd --objective softmax")]
    {
        let said = refused(folder, &format!("train rows.xmc -o model --epochs 5 --learning-rate {rate} {words}"));
        let number: f64 = rate.parse().unwrap();
        assert!(
            said.contains(&format!("diverged in epoch 1 at the learning rate {number}; try a learning rate of")),
            "{said}"
        );
        assert_eq!(names(folder), ["rows.xmc"], "nothing is saved");
    }
}

#[test]
fn bad_rows_are_left_out_and_told() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let good = "apple 1:1\npear 2:1\nplum 3:1\n".repeat(4);
    fs::write(folder.join("good.svm"), &good).unwrap();
    fs::write(folder.join("bad.svm"), format!("{good}kiwi 1:1e400\n{}", "pear 2:x\n".repeat(11))).unwrap();
    let stopped = refused(folder, "train bad.svm -o bad --epochs 3");
    assert_eq!(stopped, "error: bad.svm:13:8: value '1e400', but values are finite 32-bit numbers\n");
    let (code, stdout, stderr) = run(folder, "train bad.svm -o bad --epochs 3 --on-error skip --json");
    assert_eq!(code, Some(0), "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines[0], "bad.svm: 12 rows were left out");
    assert_eq!(lines[1], "  bad.svm:13:8: value '1e400', but values are finite 32-bit numbers");
    assert_eq!(lines[11], "  and 2 more");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&stdout).unwrap()["skipped_rows"], 12);
    ok(folder, "train good.svm -o good --epochs 3");
    assert_eq!(fs::read(folder.join("bad")).unwrap(), fs::read(folder.join("good")).unwrap());
}

/// A mistyped feature must not fill the memory.
#[test]
fn a_huge_feature_is_refused_before_anything_is_allocated() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.svm"), "a 1:1\nb 4294967290:1\n").unwrap();
    for solver in ["stochastic", "forest", "batch"] {
        let said = refused(folder.path(), &format!("train a.svm -o m --solver {solver}"));
        assert!(
            said.contains("4294967291 features need 137.4 GB for their lists alone, but --memory allows 8.0 GB"),
            "{said}"
        );
    }
}

#[test]
fn a_model_goes_on_with_new_rows_classes_and_features() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("old.svm"), "apple 1:1\npear 2:1\n".repeat(20)).unwrap();
    fs::write(folder.join("new.svm"), "plum 3:1\npear 2:1\napple 1:1\n".repeat(20)).unwrap();
    ok(folder, "train old.svm -o old --epochs 20 --objective softmax --learning-rate 0.5");
    ok(folder, "train new.svm -o new --from old --epochs 20");
    let inspected: serde_json::Value = serde_json::from_str(&ok(folder, "inspect new --json")).unwrap();
    assert_eq!(inspected["classes"], 3);
    assert_eq!(inspected["rows"], 100);
    // What is not given is as the model was trained.
    assert_eq!(
        (&inspected["options"]["objective"], &inspected["options"]["learning_rate"]),
        (&"softmax".into(), &0.5.into())
    );
    let best: Vec<String> = ok(folder, "predict new new.svm --top 1")
        .lines()
        .take(3)
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect();
    assert_eq!(best, ["plum", "pear", "apple"]);
    // Without new rows to learn from, the weights stay near where they were.
    ok(folder, "train old.svm -o same --from old --epochs 1 --learning-rate 1e-9");
    assert_eq!(ok(folder, "predict old old.svm"), ok(folder, "predict same old.svm"));

    ok(folder, "train old.svm -o forest --solver forest");
    let said = refused(folder, "train new.svm -o new2 --from forest");
    assert!(said.contains("forest: a forest, whose trees are grown from all rows at once"), "{said}");
    let said = refused(folder, "train new.svm -o new2 --from old --solver forest");
    assert!(said.contains("--solver forest: the model of --from is linear"), "{said}");
}

#[test]
fn a_model_of_texts_goes_on_with_new_words() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("old.tsv"), "old oak tree\twood\nstone house here\thome\n".repeat(10)).unwrap();
    fs::write(folder.join("new.tsv"), "iron bridge\tmetal\nold oak tree\twood\n".repeat(10)).unwrap();
    ok(folder, "train old.tsv -o old --epochs 30");
    let before = ok(folder, "predict old old.tsv");
    ok(folder, "train new.tsv -o new --from old --epochs 30");
    let inspected: serde_json::Value = serde_json::from_str(&ok(folder, "inspect new --json")).unwrap();
    assert_eq!((&inspected["classes"], &inspected["features"]), (&3.into(), &8.into()));
    assert!(ok(folder, "predict new new.tsv --top 1").starts_with("metal\t"));
    // Old words keep their weights: a row of the old model is the same row in the new one.
    ok(folder, "train new.tsv -o still --from old --epochs 1 --learning-rate 1e-9");
    let only = |text: String| text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(only(ok(folder, "predict still old.tsv")), only(before));
}
