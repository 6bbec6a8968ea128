//! The program as a whole: help, exit codes, closed pipes and full disks.

use std::fs::File;
use std::process::Stdio;

use crate::util::*;

#[test]
fn what_is_no_model_is_refused() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    dir.create("empty", "");
    for command in ["predict", "evaluate", "inspect"] {
        let data = if command == "inspect" { "" } else { "fruit.svm" };
        for (model, message) in [
            ("missing", "missing: No such file or directory (os error 2)"),
            ("fruit.svm", "fruit.svm: not a usable model: header too large"),
            ("empty", "empty: not a usable model: header too small"),
        ] {
            assert_eq!(dir.run(&format!("{command} {model} {data}")).refused(), format!("error: {message}\n"));
        }
    }
}

/// As in `ove predict … | head`, once head has gone.
#[test]
fn a_closed_pipe_is_no_error() {
    let dir = Dir::with_model();
    dir.create("counts", "1\n2\n");
    for words in [
        "predict fruit.model fruit.svm",
        "evaluate fruit.model fruit.svm",
        "evaluate fruit.model fruit.svm --json",
        "inspect fruit.model",
        "inspect fruit.model --class pear",
        "estimate counts",
        "bound --scores 1,2 --class 0",
        "train fruit.svm -o m",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = dir.command(words).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !stderr.contains("panicked"), "{words}: {} {stderr}", output.status);
    }
}

/// As in `ove train … 2>&1 | head -1`: what was trained is kept.
#[test]
fn messages_that_nobody_reads_do_not_end_a_run() {
    let dir = Dir::with_model();
    for words in [
        "train fruit.svm -o trained.model --epochs 3 --valid fruit.svm --prune 0.001",
        "train fruit.svm -o trained.model --epochs 3 --checkpoint kept --resume",
        "train fruit.svm -o trained.model --solver forest",
        "predict fruit.model fruit.svm --times",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = dir.command(words).stdout(Stdio::null()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(0), "{words}");
        if words.starts_with("train") {
            contains(&dir.run("predict trained.model fruit.svm --top 1").ok(), "apple");
            std::fs::remove_file(dir.path("trained.model")).unwrap();
        }
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let refused = dir.command("train gone.svm -o m").stdout(Stdio::null()).stderr(writer).status().unwrap();
    assert_eq!(refused.code(), Some(2), "an error keeps its exit code");
}

/// A disk that is full is one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = Dir::with_model();
    for words in ["predict fruit.model fruit.svm", "inspect fruit.model", "evaluate fruit.model fruit.svm --json"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = dir.command(words).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: No space left on device (os error 28)\n");
    }
}

#[test]
fn help_names_flags_and_defaults() {
    let dir = Dir::new();
    for (command, flags) in [
        (
            "train",
            "--output --valid --objective=one-vs-each --epochs=chosen --negatives=5 --learning-rate=chosen --memory=8GB",
        ),
        (
            "train",
            "--l2=0 --seed=0 --solver=stochastic --sampler=systematic --batch=256 --step=adagrad --schedule=linear",
        ),
        ("predict", "--top=5 --names --format --threads=0 --json --times"),
        ("train", "--ngrams=1 --chars --stem --tokens --min-df=2 --label-names --name-weight=1"),
        ("train", "--class-weight --first-label --format --labels --iterations=2000"),
        ("evaluate", "--format --labels --first-label --threads=0 --json"),
        ("inspect", "--class --top=10 --verify --json"),
        ("convert", "--output --test --test-output --like --names --ngrams=1 --min-df=2 --hash --sublinear-tf --json"),
        ("bound", "--scores --class --merge --json"),
        ("estimate", "--method --objective=one-vs-each --merge=10 --tolerance=1e-10 --iterations=2000 --json"),
        ("demo", "--output=demo --seed=0 --json"),
        ("reproduce", "--data=data --output=report --seed=0 --json"),
        ("generate amazoncat-13k", "--output --seed=0 --scale=1 --json"),
        ("generate shape", "--rows --features --classes --per-row=20 --output --seed=0 --json"),
    ] {
        let help = dir.run(&format!("{command} --help-all")).ok();
        contains(&help, &format!("Usage: ove {command} "));
        for flag in flags.split(' ') {
            let (name, default) = flag.split_once('=').unwrap_or((flag, ""));
            let after = help.split(&format!("{name} <")).nth(1).or(help.split(name).nth(1)).unwrap_or_default();
            let own = after.split("\n      --").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.contains(name), "{command}: no {name}");
            assert!(default.is_empty() || own.contains(&format!("[default: {default}")), "{command} {flag}:\n{own}");
        }
    }
}

/// Two screens, with what most people need first; everything is in `--help-all`.
#[test]
fn the_help_of_training_fits_two_screens() {
    let dir = Dir::new();
    let help = dir.run("train --help").ok();
    assert!(help.lines().count() <= 96, "{} lines:\n{help}", help.lines().count());
    let first = help.split("Options:").nth(1).unwrap().split("\n\n").next().unwrap();
    for flag in ["--output", "--text", "--label", "--label-separator", "--valid"] {
        contains(first, flag);
    }
    contains(&help, "ove train --help-all");
    assert!(!help.contains("--power"), "{help}");
    contains(&dir.run("train --help-all").ok(), "--power");
    assert_eq!(dir.run("train -h").ok(), help);
}

#[test]
fn help_and_version_of_the_program() {
    let dir = Dir::new();
    assert_eq!(dir.run("--version").ok(), concat!("ove ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = dir.run("--help").ok();
    ["train", "predict", "evaluate", "inspect", "bound", "estimate"].iter().for_each(|name| contains(&help, name));
    assert_eq!(dir.run("").refused(), help, "no command shows the help, as an error");
    contains(&dir.run("trian").refused(), "unrecognized subcommand 'trian'");
}

#[test]
fn the_server_is_a_feature() {
    let dir = Dir::new();
    for (words, name) in [("--help", "\n  serve "), ("train --help", "--watch")] {
        assert_eq!(dir.run(words).ok().contains(name), cfg!(feature = "serve"), "{name}");
    }
}
