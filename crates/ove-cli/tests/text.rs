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

/// Names that share no whole word with those of training; n-grams stand in quotation marks wherever terms are shown.
#[test]
fn characters() {
    let dir = Dir::new();
    dir.create("names.tsv", "Londinium\tlondon\nLondonx\tlondon\nParisii\tparis\nxParis\tparis\n");
    dir.create("new.tsv", "London\tlondon\nPari\tparis\n");
    let flags = "--ngrams 0 --chars 3-5 --epochs 30 --valid new.tsv --json";
    for hash in ["", "--hash 4096"] {
        let found = dir.run(&format!("train names.tsv -o m {flags} {hash}")).json();
        assert_eq!(found["error"], 0.0);
    }
    dir.run(&format!("train names.tsv -o m {flags}")).ok();
    assert_eq!(dir.run("inspect m --json").json()["options"]["text"]["chars"], serde_json::json!([3, 5]));
    contains(&dir.run("inspect m --class london").ok(), "\" lon\"\n");
    let words = dir.run("train names.tsv -o m --min-df 2 --chars 3-3 --epochs 1");
    assert!(!words.stderr.contains("have no known word"));
    for (flag, message) in [
        (
            "--chars 5-3",
            "error: `chars` must be the shortest and the longest length, from 1 to 16, such as 3-5, got 5-3",
        ),
        ("--chars x", "invalid value 'x' for '--chars <A-B>': `chars` must be two lengths, such as 3-5, got `x`"),
    ] {
        contains(&dir.run(&format!("train names.tsv -o m --ngrams 0 {flag}")).refused(), message);
    }
    dir.create("others.tsv", "one\ta\ntwo\tb\nthree four\ta\nfour five\tb\nsix\ta\nseven\tb\n");
    let hint = "4 of 6 texts have no known word; n-grams of characters may help: --chars 3-5";
    contains(&dir.run("train others.tsv -o m --epochs 1").stderr, hint);
}

#[test]
fn stems_and_tokens() {
    let dir = dir();
    let flags = "--min-df 1 --epochs 100";
    dir.run(&format!("train titles.tsv -o m --stem english {flags}")).ok();
    assert_eq!(
        lines(&dir, "predict m - --top 1", "housing\nHouses").iter().filter(|l| l.starts_with("house")).count(),
        2
    );
    contains(&dir.run("inspect m --class house").ok(), "  hous\n");
    assert_eq!(dir.run("inspect m --json").json()["options"]["text"]["stem"], "english");
    contains(&dir.run("train titles.tsv -o m --stem klingon").refused(), "[possible values: auto, arabic, danish,");
    dir.create("tokens.tsv", "C++ C\tcode\nc rust\tcode\nC d\tvitamin\nD C\tvitamin\n");
    dir.run(&format!("train tokens.tsv -o m --tokens {flags}")).ok();
    let shown = dir.run("inspect m --class vitamin").ok();
    assert!(shown.contains("  D\n") && shown.contains("  C++\n"), "{shown}");
}

/// Names of classes are shown, and learned: `boat` has no row.
#[test]
fn label_names() {
    let dir = dir();
    dir.create("names.tsv", "tree\tWoody plants\thardwood\nboat\tSailing vessels\n");
    let flags = "--min-df 1 --epochs 200 --label-names names.tsv";
    let trained = dir.run(&format!("train titles.tsv -o m {flags} --name-weight 1"));
    contains(&trained.stderr, "6 rows, ");
    let model = dir.run("inspect m --json").json();
    assert_eq!((&model["classes"], &model["rows"]), (&4.into(), &6.into()));
    contains(&dir.run("inspect m").ok(), "tree Woody plants (");
    assert!(dir.run("inspect m --class hardwood").ok().starts_with("tree Woody plants: 3 training rows"));
    let class = dir.run("inspect m --class boat --json").json();
    assert_eq!(
        (&class["class"], &class["name"], &class["count"]),
        (&"boat".into(), &"Sailing vessels".into(), &0.into())
    );

    let text = "sailing vessels\nold houses";
    let plain = lines(&dir, "predict m - --top 1", text);
    assert!(plain[0].starts_with("boat\t0.") && plain[0].split('\t').count() == 2, "{plain:?}");
    let named = lines(&dir, "predict m - --top 1 --names", text);
    assert!(named[0].starts_with("boat\tSailing vessels\t0.") && named[1].starts_with("house\t\t0."), "{named:?}");
    let json: Value = serde_json::from_str(&lines(&dir, "predict m - --top 1 --json", text)[0]).unwrap();
    assert_eq!((&json["labels"][0], &json["names"][0]), (&"boat".into(), &"Sailing vessels".into()));

    // Shown only: no class without a row.
    dir.run(&format!("train titles.tsv -o m {flags} --name-weight 0")).ok();
    assert_eq!(dir.run("inspect m --json").json()["classes"], 3);
    // A model goes on with its names.
    dir.run("train titles.tsv -o more --from m --epochs 1").ok();
    contains(&dir.run("inspect more").ok(), "tree Woody plants (");

    dir.create("others.tsv", "moon\tThe moon\n");
    let error =
        "error: `label-names` must name classes of the data, such as `house`, got only others, such as `moon`\n";
    assert_eq!(dir.run("train titles.tsv -o x --label-names others.tsv").refused(), error);
    contains(&dir.run(&format!("train titles.tsv -o x {flags} --name-weight=-1")).refused(), "a number from 0");
    contains(&dir.run("train titles.tsv -o x --label-names titles.model").refused(), "titles.model");
    assert!(!dir.files().contains(&"x".to_owned()));
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
