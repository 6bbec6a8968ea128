//! Raw text: `ove train` on it, and `ove convert`.

use std::io::Write;
use std::process::Stdio;

use crate::util::*;

const TITLES: &str = "Oak and pine\twood tree\nPine houses\twood house\nThe oak tree\ttree\nOld houses\thouse\n\
                      A pine tree\ttree wood\nStone houses, old oak\thouse\n";

/// With `titles.tsv` and, trained on it, `titles.model`.
fn dir() -> Dir {
    let dir = Dir::new();
    dir.create("titles.tsv", TITLES);
    dir.run("train titles.tsv -o titles.model --ngrams 2 --epochs 100").ok();
    dir
}

/// The lines printed for lines on stdin.
fn lines(dir: &Dir, words: &str, input: &str) -> Vec<String> {
    let mut child = dir.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn train_and_predict() {
    let dir = dir();
    let found = dir.run("inspect titles.model --json").json();
    assert_eq!((&found["classes"], &found["features"]), (&3.into(), &5.into()));
    assert_eq!(found["options"]["text"]["ngrams"], 2);
    contains(&dir.run("inspect titles.model --class house").ok(), "  old\n");

    // A line a text, blank or not, whatever follows a tab; never taken for numbers.
    let input = "HOUSES?\nan oak tree\tx\ty\n\n1 2:3\nOld houses";
    let found = lines(&dir, "predict titles.model - --top 1", input);
    let classes: Vec<&str> = found.iter().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(classes.len(), 5);
    assert_eq!((classes[0], classes[1], classes[4]), ("house", "tree", "house"));
    assert_eq!(classes[2], classes[3], "no known word in either");
    dir.create("new.txt", input);
    let from_file = dir.run("predict titles.model new.txt --top 1").ok();
    assert_eq!(from_file.lines().collect::<Vec<_>>(), found);
}

#[test]
fn evaluate() {
    let dir = dir();
    let found = dir.run("evaluate titles.model titles.tsv --json").json();
    assert_eq!((&found["rows"], &found["error"]), (&6.into(), &0.0.into()));
    let labelled = |line: &str| {
        let (text, labels) = line.split_once('\t').unwrap();
        let labels: String = labels.split(' ').map(|label| format!("__label__{label} ")).collect();
        format!("{labels}{text}\n")
    };
    dir.create("titles.txt", &TITLES.lines().map(labelled).collect::<String>());
    let same = dir.run("evaluate titles.model titles.txt --json").json();
    assert_eq!(same["nlpd"], found["nlpd"]);
    let turned = |line: &str| line.split('\t').rev().collect::<Vec<_>>().join("\t") + "\n";
    dir.create("turned.tsv", &TITLES.lines().map(turned).collect::<String>());
    let same = dir.run("evaluate titles.model turned.tsv --format tsv-label-first --json").json();
    assert_eq!(same["nlpd"], found["nlpd"]);
}

#[test]
fn hashed_features() {
    let dir = dir();
    let found = dir.run("train titles.tsv -o m --hash 64 --sublinear-tf --epochs 100 --valid titles.tsv --json").json();
    assert_eq!((&found["features"], &found["error"]), (&64.into(), &0.0.into()));
}

#[test]
fn text_and_numbers_do_not_mix() {
    let dir = dir();
    dir.create("fruit.svm", FRUIT);
    dir.run("train fruit.svm -o fruit.model").ok();
    let numbers = "fruit.svm: expected texts, found rows of numbers (libsvm); the format tsv reads any lines as texts";
    let text = "titles.tsv: expected rows of numbers, found raw text";
    for command in ["predict", "evaluate"] {
        assert_eq!(dir.run(&format!("{command} titles.model fruit.svm")).refused(), format!("error: {numbers}\n"));
        assert_eq!(dir.run(&format!("{command} fruit.model titles.tsv")).refused(), format!("error: {text}\n"));
    }
    for (flags, message) in [
        ("--ngrams 0", "`ngrams` must be at least 1, got 0"),
        ("--min-df 9", "`min-df` must be at most the number of texts that some term occurs in, got 9"),
        ("--hash 0", "`hash` must be at least 1, got 0"),
    ] {
        assert_eq!(dir.run(&format!("train titles.tsv -o m {flags}")).refused(), format!("error: {message}\n"));
    }
    contains(&dir.run("train titles.tsv -o m --hash 9 --min-df 3").refused(), "cannot be used with");
}

/// Training on what was converted gives the weights of training on the texts.
#[test]
fn convert() {
    let dir = dir();
    dir.create("test.tsv", "Old oak\ttree\nA new stone\tstone tree\n");
    let flags = "--test test.tsv --test-output test.xmc --names names.txt --ngrams 2 --json";
    let found = dir.run(&format!("convert titles.tsv -o train.xmc {flags}")).json();
    assert_eq!((&found["features"], &found["labels"]), (&5.into(), &4.into()));
    assert_eq!(dir.bytes("names.txt"), b"house\ntree\nwood\nstone\n");
    let text = |name: &str| String::from_utf8(dir.bytes(name)).unwrap();
    assert!(text("train.xmc").starts_with("6 5 4\n2,1 1:"), "{}", text("train.xmc"));
    assert_eq!(
        text("test.xmc").lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["2", "1", "3,1"]
    );

    let train =
        |data: &str| dir.run(&format!("train {data} -o m --epochs 3 --ngrams 2 --json")).json()["bound"].clone();
    assert_eq!(train("titles.tsv"), train("train.xmc"));

    // A model's vocabulary and classes; and numbers as they are.
    dir.run("convert test.tsv -o like.xmc --like titles.model").ok();
    assert_eq!(text("like.xmc"), text("test.xmc"));
    dir.create("fruit.svm", FRUIT);
    contains(&dir.run("convert fruit.svm -o fruit.xmc").ok(), "features         5\nlabels           3\n");
    assert!(text("fruit.xmc").starts_with("6 5 3\n0 1:1 4:0.5\n0 1:0.9\n1 2:1"));
    contains(
        &dir.run("convert titles.tsv -o x --test fruit.svm --test-output y").refused(),
        "\nerror: fruit.svm: expected texts, found rows of numbers (libsvm); the format tsv reads any lines as texts\n",
    );
    assert!(!dir.files().contains(&"x".to_owned()));
}
