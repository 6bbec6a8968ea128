//! `ove inspect`.

use crate::util::*;

#[test]
fn a_model() {
    let dir = Dir::with_model();
    let text = dir.run("inspect fruit.model").ok();
    assert!(text.starts_with("3 classes, 5 features, 6 training rows\nmost frequent: apple (2)"), "{text}");
    assert!(!text.contains("not finished"), "{text}");
    let found = dir.run("inspect fruit.model --json").json();
    assert_eq!(
        keys(&found),
        ["classes", "features", "finished", "options", "rows", "temperature", "threshold", "trace"]
    );
    assert_eq!((&found["finished"], &found["options"]["epochs"]), (&true.into(), &100.into()));
    assert_eq!(found["trace"].as_array().unwrap().last().unwrap()["updates"], 600);
}

/// What trained the nodes and what the second stage, which a weak forest keeps.
#[test]
fn what_trained_each_stage() {
    let dir = Dir::new();
    let mut random = ove::platform::random::Stream::of(&[7]);
    let mut row = |_| {
        let class = random.below(120);
        let label = if random.below(20) == 0 { random.below(120) } else { class };
        let own = if random.below(3) == 0 { String::new() } else { format!(" {}:0.6", 121 + class) };
        format!("{label} {}:0.6{own} {}:0.6\n", 1 + class / 2, 241 + random.below(60))
    };
    dir.create("rows.svm", &(0..6000).map(&mut row).collect::<String>());
    let weak = "train rows.svm --trees 1 --epochs 1 --learning-rate 0.005 -o";
    contains(&dir.run(&format!("{weak} both")).stderr, "second stage over 20 classes per row");
    let text = dir.run("inspect both").ok();
    contains(&text, "nodes of trees (1): one-vs-rest, squared hinge\nsecond stage: merged, over the 20 best classes");
    let found = dir.run("inspect both --json").json();
    assert_eq!(found["second_stage"]["rivals"], 20);
    assert!(found["second_stage"]["kappa"].as_f64().unwrap() > 0.0);
    dir.run(&format!("{weak} one --rivals 0")).ok();
    contains(&dir.run("inspect one").ok(), "squared hinge\nno second stage\n");
    assert!(dir.run("inspect one --json").json().get("second_stage").is_none());
}

#[test]
fn a_class() {
    let dir = Dir::with_model();
    let text = dir.run("inspect fruit.model --class pear --top 1").ok();
    assert!(text.starts_with("pear: 2 training rows, bias "), "{text}");
    let (speaks_for, against) = text.split_once("\nlargest negative weights\n").unwrap();
    assert!(speaks_for.ends_with("  feature 2\n"), "{text}");
    assert_eq!(against.lines().count(), 1);
    let found = dir.run("inspect fruit.model --class pear --json").json();
    assert_eq!(keys(&found), ["against", "bias", "class", "count", "for"]);
    assert_eq!(found["for"][0]["index"], 2);
    let message = "error: `class` must be one of the model's 3 classes, such as apple, got `kiwi`\n";
    assert_eq!(dir.run("inspect fruit.model --class kiwi").refused(), message);
}

/// A bit of the last weight, which nothing but the checksum can find.
#[test]
fn a_damaged_model() {
    let dir = Dir::with_model();
    dir.run("inspect fruit.model --verify").ok();
    let mut bytes = dir.bytes("fruit.model");
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(dir.path("fruit.model"), bytes).unwrap();
    dir.run("inspect fruit.model").ok();
    let message = "error: fruit.model: not a usable model: its checksum is wrong: some of it was changed\n";
    for words in ["inspect fruit.model --verify", "predict fruit.model fruit.svm", "evaluate fruit.model fruit.svm"] {
        assert_eq!(dir.run(words).refused(), message, "{words}");
    }
    #[cfg(feature = "serve")]
    assert_eq!(dir.run("serve fruit.model --listen 127.0.0.1:0").refused(), message);
}

/// The index of shards stands for the model in every command, and they join to its file.
#[test]
fn a_model_in_shards() {
    let dir = Dir::with_model();
    let model = ove::Model::load(&dir.path("fruit.model")).unwrap();
    model.save_in_shards(&dir.path("fruit.index"), 1).unwrap();
    assert_eq!(dir.run("inspect fruit.index").ok(), dir.run("inspect fruit.model").ok());
    dir.create("rows.svm", "apple 1:1\npear 2:1\n");
    let predicted = |model: &str| dir.run(&format!("predict {model} rows.svm --top 2")).ok();
    assert_eq!(predicted("fruit.index"), predicted("fruit.model"));
    dir.run("merge-shards fruit.index -o merged").ok();
    assert_eq!(dir.bytes("merged"), dir.bytes("fruit.model"));
    contains(&dir.run("merge-shards fruit.model -o other").refused(), "fruit.model: ");
    contains(&dir.run("merge-shards fruit.model -o other").refused(), "it is no index of shards");
    contains(&dir.run("merge-shards fruit.index -o fruit.index").refused(), "`--output` must not be one of the inputs");
    assert!(!dir.files().contains(&"other".to_owned()));
}
