//! What a run must not destroy: its inputs, a good model, and what is not a file of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use crate::util::*;

/// Under its own name, another path, and a symbolic or hard link.
#[cfg(unix)]
#[test]
fn an_output_that_is_an_input_is_refused() {
    let dir = Dir::with_model();
    dir.create("weights.txt", "apple 2\n");
    fs::copy(dir.path("fruit.svm"), dir.path("valid.svm")).unwrap();
    fs::create_dir(dir.path("log")).unwrap();
    dir.create("log/metrics.jsonl", FRUIT);
    std::os::unix::fs::symlink("fruit.svm", dir.path("link")).unwrap();
    fs::hard_link(dir.path("fruit.svm"), dir.path("twin")).unwrap();
    let files = ["fruit.svm", "fruit.model", "valid.svm", "weights.txt", "log/metrics.jsonl"];
    let contents = || files.map(|name| dir.bytes(name));
    let (names, before) = (dir.files(), contents());
    for (words, flag, what) in [
        ("train fruit.svm -o fruit.svm", "--output", "the data"),
        ("train fruit.svm -o ./log/../fruit.svm", "--output", "the data"),
        ("train fruit.svm -o link", "--output", "the data"),
        ("train fruit.svm -o twin", "--output", "the data"),
        ("train fruit.svm -o valid.svm --valid valid.svm", "--output", "--valid"),
        ("train fruit.svm -o fruit.model --from fruit.model", "--output", "--from"),
        ("train fruit.svm -o weights.txt --class-weight weights.txt", "--output", "--class-weight"),
        ("train log/metrics.jsonl -o m --format libsvm --log log", "--log", "the data"),
        ("convert fruit.svm -o link", "--output", "the data"),
        ("convert fruit.svm -o a.xmc --test valid.svm --test-output valid.svm", "--test-output", "--test"),
        ("convert fruit.svm -o a.xmc --like fruit.model --names fruit.model", "--names", "--like"),
        ("evaluate fruit.model fruit.svm --report fruit.model", "--report", "the model"),
        ("evaluate fruit.model fruit.svm --report twin", "--report", "the data"),
    ] {
        let message = dir.run(words).refused();
        contains(&message, &format!("error: `{flag}` must not be one of the inputs, got "));
        contains(&message, &format!(", which is {what}; name another file\n"));
        assert!(dir.files() == names && contents() == before, "{words}");
    }
    let twice = dir.run("convert fruit.svm -o new.xmc --names ./new.xmc").refused();
    contains(&twice, "`--names` must be a file of its own, got ./new.xmc, which --output writes too");
    // Standard input may be a file.
    let stdin = fs::File::open(dir.path("fruit.svm")).unwrap();
    let output = dir.command("train - -o twin --format libsvm").stdin(stdin).output().unwrap();
    contains(&String::from_utf8(output.stderr).unwrap(), "`--output` must not be one of the inputs, got twin");
    assert!(contents() == before);
}

/// As `-o /dev/null` does on a device.
#[cfg(unix)]
#[test]
fn a_pipe_is_written_through_and_stays() {
    let dir = Dir::with_model();
    assert!(std::process::Command::new("mkfifo").arg(dir.path("pipe")).status().unwrap().success());
    for (words, start) in [
        ("train fruit.svm -o pipe --epochs 100", &dir.bytes("fruit.model")[..]),
        ("evaluate fruit.model fruit.svm --report pipe", b"<!doctype html>"),
        ("convert fruit.svm -o pipe", b"6 5 3\n"),
    ] {
        let path = dir.path("pipe");
        let reader = std::thread::spawn(move || fs::read(path).unwrap());
        dir.run(words).ok();
        assert!(reader.join().unwrap().starts_with(start), "{words}");
        assert!(!fs::metadata(dir.path("pipe")).unwrap().is_file(), "{words}");
        assert_eq!(dir.files(), ["fruit.model", "fruit.svm", "pipe"]);
    }
}

#[test]
fn a_folder_of_other_files_is_no_cache() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    dir.create("labels", "kept");
    let message = dir.run("train fruit.svm -o m --cache .").refused();
    assert_eq!(
        message,
        "error: `cache` must be a new folder or an earlier cache, got ., which has other files in it\n"
    );
    assert_eq!((dir.files(), dir.bytes("labels")), (vec!["fruit.svm".into(), "labels".into()], b"kept".to_vec()));
    dir.run("train fruit.svm -o m --cache cache --epochs 1").ok();
    dir.create("fruit.svm", &FRUIT.repeat(2));
    contains(
        &dir.run("train fruit.svm -o m --cache cache --epochs 1").stderr,
        "cache: the cache was built again: it is ",
    );
}

/// Trains for ever, and presses Ctrl-C after a second; returns what was said last.
#[cfg(unix)]
fn interrupted(dir: &Dir, words: &str) -> String {
    let command = format!("train big.svm -o m --epochs 1000000 --learning-rate 0.1 {words}");
    let mut child = dir.command(&command).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // Training starts after this line.
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(stderr.by_ref().any(|line| line.unwrap().starts_with("5000 rows")));
    std::thread::sleep(Duration::from_millis(1000));
    signal(&child, "-INT");
    assert_eq!(code_within(&mut child, Duration::from_secs(10)), Some(130));
    stderr.map(Result::unwrap).last().unwrap()
}

/// Half of a model is kept, and replaces a whole one only where that is asked for.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_reached_and_what_was_there() {
    let dir = Dir::with_big_data();
    assert_eq!(interrupted(&dir, ""), "stopped before the end; the model so far was saved as m");
    assert_eq!(dir.files(), ["big.svm", "m"]);
    contains(&dir.run("inspect m").ok(), "\ntraining was stopped before the end\n");
    let error = dir.run("evaluate m big.svm --json").json()["error"].as_f64().unwrap();
    assert!(error < 0.9, "{error} is no better than chance");

    dir.run("train big.svm -o m --epochs 1").ok();
    let whole = dir.bytes("m");
    assert_eq!(interrupted(&dir, ""), "stopped before the end; the model so far was saved as m.partial");
    assert!(dir.bytes("m") == whole);
    contains(&dir.run("inspect m.partial").ok(), "\ntraining was stopped before the end\n");

    fs::remove_file(dir.path("m.partial")).unwrap();
    assert_eq!(interrupted(&dir, "--keep-partial"), "stopped before the end; the model so far was saved as m");
    assert!(dir.files() == ["big.svm", "m"] && dir.bytes("m") != whole);
}
