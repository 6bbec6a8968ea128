//! Word vectors: `ove embed`, `similar`, `analogy`, `evaluate --analogies` and `export`.

use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use ove::platform::random::Stream;

use crate::util::*;

/// With `text.txt`, sentences about twelve countries and their capitals, questions about them in `questions.txt` and
/// pairs in `pairs.txt`.
fn countries() -> Dir {
    let (dir, mut random) = (Dir::new(), Stream::of(&[1]));
    let mut text = String::new();
    for _ in 0..5000 {
        let n = random.below(12);
        let (thing, kind) = if random.below(2) == 0 { ("capital", "city") } else { ("country", "state") };
        let mut words =
            [format!("{thing}{n}"), format!("{kind}{}", random.below(4)), format!("river{n}.{}", random.below(3))];
        random.shuffle(&mut words);
        writeln!(text, "{}", words.join(" ")).unwrap();
    }
    let mut questions = String::from(": capitals\n");
    for n in 0..12 {
        let m = (n + 5) % 12;
        writeln!(questions, "Capital{n} Country{n} Capital{m} Country{m}").unwrap();
    }
    questions.push_str(": gram1\nunknown capital1 capital2 capital3\n");
    dir.create("text.txt", &text);
    dir.create("questions.txt", &questions);
    dir.create(
        "pairs.txt",
        "# pairs\ncapital1\tcountry1\t9\ncapital1\triver7.1\t1\ncapital2\triver2.0\t5\nno\tsuch\t3\n",
    );
    dir
}

const SETTINGS: &str = "--rank 16 --sample 0 --epochs 20 --learning-rate 0.1";

#[test]
fn words_are_embedded_and_asked_for() {
    let dir = countries();
    let found = dir.run(&format!("embed text.txt -o m {SETTINGS} --json")).json();
    assert_eq!((&found["words"], &found["text_words"], &found["finished"]), (&68.into(), &15_000.into(), &true.into()));
    assert!(found["objective"].as_f64().unwrap() > -6f64.ln() && found["words_per_second"].as_f64().unwrap() > 0.0);

    let lines = dir.run("similar m capital3 --top 2").ok();
    assert_eq!(lines.lines().count(), 2);
    let found = dir.run("similar m capital3 --top 3 --json").json();
    assert_eq!((keys(&found), found["words"].as_array().unwrap().len()), (vec!["scores", "words"], 3));
    let found = dir.run("analogy m capital1 country1 capital2 --top 1 --json").json();
    assert_eq!(found["words"][0], "country2");
    contains(&dir.run("similar m nowhere").refused(), "`nowhere` is not one of the 68 words");
    contains(&dir.run("recommend m").refused(), "not a recommender");

    let found = dir.run("evaluate m --analogies questions.txt --similarities pairs.txt --limit 20 --json").json();
    assert!(found["semantic"]["accuracy"].as_f64().unwrap() > 0.8, "{found}");
    assert_eq!((&found["semantic"]["covered"], &found["total"]["questions"]), (&12.into(), &13.into()));
    assert_eq!(found["syntactic"]["covered"], 0);
    assert!(found["semantic_limited"]["covered"].as_u64().unwrap() < 12);
    assert_eq!((&found["similarities"][0]["covered"], &found["similarities"][0]["pairs"]), (&3.into(), &4.into()));
    contains(&dir.run("evaluate m --analogies questions.txt").ok(), "semantic");
    contains(&dir.run("inspect m").ok(), "68 classes");
    dir.create("rows", "1 0:1\n");
    for words in ["predict m rows", "evaluate m rows", "train rows -o n --from m"] {
        contains(&dir.run(words).refused(), "the model is an embedding, which has vectors of words");
    }

    // What is exported is read back, in each form, with the same neighbours.
    let expected = dir.run("similar m river3.1 --top 5").ok();
    for format in ["word2vec", "word2vec-binary", "glove"] {
        dir.run(&format!("export m -o vectors --format {format}")).ok();
        assert_eq!(dir.run("similar vectors river3.1 --top 5").ok(), expected, "{format}");
    }
    contains(&dir.run("export m -o m").refused(), "must not be one of the inputs");
}

/// Vectors of any form are the start of factored scores of texts.
#[test]
fn texts_are_classified_from_vectors() {
    let dir = countries();
    dir.run(&format!("embed text.txt -o m {SETTINGS}")).ok();
    let mut rows = String::new();
    for n in 0..60 {
        writeln!(rows, "capital{} of unseen {n}\t{}", n % 12, ["few", "many"][n % 12 / 6]).unwrap();
    }
    dir.create("rows.tsv", &rows);
    let train = |more: &str| dir.run(&format!("train rows.tsv -o n --epochs 3 {more}"));
    for format in ["word2vec", "word2vec-binary", "glove"] {
        dir.run(&format!("export m -o {format} --format {format}")).ok();
    }
    let mut models = Vec::new();
    for vectors in ["m", "word2vec", "word2vec-binary", "glove"] {
        contains(&train(&format!("--vectors {vectors} --scores factored")).stderr, "12 of 14 features start at");
        models.push(dir.bytes("n"));
    }
    assert!(models.windows(2).all(|pair| pair[0] == pair[1]));
    // Vectors imply factored scores of their rank.
    let found = train("--vectors m --json").json();
    assert_eq!(found["features"], 14);
    assert!(dir.bytes("n") == models[0]);
    for (more, message) in [
        ("--vectors none", "none: "),
        ("--vectors m --rank 8", "`rank` must be 16, as for the vectors of words, got 8"),
        ("--vectors m --scores trees", "vectors of words are the start of factored scores"),
        ("--vectors m --hash 64", "features have no names"),
        ("--vectors m --from n", "cannot be used with"),
    ] {
        contains(&train(more).refused(), message);
    }
}

#[test]
fn a_stopped_run_is_resumed_to_the_same_model() {
    for kind in ["", "--subwords 3-5 --buckets 1000", "--cbow"] {
        killed_and_resumed(&countries(), kind);
    }
}

fn killed_and_resumed(dir: &Dir, kind: &str) {
    let command = format!("embed text.txt {SETTINGS} {kind} --checkpoint kept");
    let embed = |more: &str| dir.run(&format!("{command} --checkpoint-every 1epoch {more}"));
    embed("-o whole --threads 1").ok();
    assert!(dir.files_in("kept").is_empty(), "checkpoints of a run that has ended are removed");
    let mut child = dir.command(&format!("{command} -o killed --checkpoint-every 0.001s"));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = std::time::Instant::now();
    while dir.files_in("kept").is_empty() && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed().as_secs() < 60);
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = child.kill();
    child.wait().unwrap();
    embed("-o whole2 --threads 2 --resume").ok();
    assert!(dir.bytes("whole2") == dir.bytes("whole"), "{kind}");
}

/// Ctrl-C keeps the vectors so far, or with --checkpoint a checkpoint and no model.
#[test]
fn an_interrupted_run_keeps_what_it_has() {
    for flags in ["", "--checkpoint kept"] {
        let dir = countries();
        let mut child = dir.command(&format!("embed text.txt -o m --rank 16 --epochs 1000000 {flags}"));
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        words.read_line(&mut line).unwrap();
        contains(&line, "68 words in a text of 15000");
        signal(&child, "-INT");
        assert_eq!(code_within(&mut child, Duration::from_secs(60)), Some(130));
        let mut said = String::new();
        words.read_to_string(&mut said).unwrap();
        if flags.is_empty() {
            contains(&said, "training was stopped before the end");
            assert_eq!(dir.run("similar m capital1 --top 3").ok().lines().count(), 3);
        } else {
            contains(&said, "a checkpoint was saved, use --resume to continue");
            assert!(!dir.files().contains(&"m".to_owned()) && dir.files_in("kept").len() == 1);
        }
    }
}

#[test]
fn what_cannot_be_embedded_is_refused() {
    let dir = countries();
    for (words, message) in [
        ("embed none.txt -o m", "none.txt: "),
        ("embed text.txt -o text.txt", "must not be one of the inputs"),
        ("embed text.txt -o m --window 0", "`window` must be at least 1, got 0"),
        ("embed text.txt -o m --min-count 100000", "`min-count` = 100000"),
        ("embed text.txt -o m --memory 1KB", "memory"),
        ("embed - -o m", "`text` must be a file"),
        ("embed text.txt -o m --subwords x", "`subwords` must be two lengths"),
        ("analogy text.txt a b c", "expected a finite number"),
    ] {
        contains(&dir.run(words).refused(), message);
    }
    assert!(!dir.files().contains(&"m".to_owned()));
}
