//! `ove train`: flags, files and messages.

use crate::util::*;

#[test]
fn json() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    let run = dir.run("train fruit.svm -o m --json");
    contains(&run.stderr, "6 rows, 5 features, 3 classes\n");
    contains(&run.stderr, "too few rows for a validation split");
    let found = run.json();
    let own = ["finished", "model", "objective", "skipped_rows", "temperature", "train_seconds", "updates_per_second"];
    let always = ["bound", "classes", "features", "peak_memory_bytes", "rows"];
    let mut expected: Vec<&str> = own.into_iter().chain(always).collect();
    expected.sort();
    assert_eq!(keys(&found), expected);
    assert_eq!((&found["model"], &found["finished"]), (&"m".into(), &true.into()));

    let found = dir.run("train fruit.svm -o m --json --valid fruit.svm").json();
    let evaluated = dir.run("evaluate m fruit.svm --json").json();
    let mut expected: Vec<&str> = own.into_iter().chain(keys(&evaluated)).collect();
    expected.sort();
    assert_eq!(keys(&found), expected);
    assert_eq!((&found["nlpd"], &found["bound"]), (&evaluated["nlpd"], &evaluated["bound"]));
}

#[test]
fn only_a_bound_is_called_one() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    for (objective, is_bound) in [("one-vs-each", true), ("merged", true), ("sampled-softmax", false)] {
        let found = dir.run(&format!("train fruit.svm -o m --epochs 2 --objective {objective} --json")).json();
        assert!(found["objective"].as_f64().unwrap() < 0.0, "{found}");
        assert_eq!(found["bound"], if is_bound { found["objective"].clone() } else { Value::Null }, "{found}");
        let words = dir.run(&format!("train fruit.svm -o m --epochs 2 --objective {objective}")).ok();
        contains(&words, if is_bound { "\nbound            -" } else { "\nobjective        -" });
    }
}

#[test]
fn from_a_cache() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    let first = dir.run("train fruit.svm -o a --cache rows");
    let again = dir.run("train fruit.svm -o b --cache rows");
    contains(&again.stderr, "rows: using the cache of an earlier run");
    assert!(!first.stderr.contains("earlier run"), "{}", first.stderr);
    assert_eq!(dir.bytes("a"), dir.bytes("b"));
    contains(&dir.run("predict a fruit.svm --top 1").ok(), "apple");
    let refused = dir.run("train - -o c --cache rows").refused();
    contains(&refused, "`cache` must be used with a file, which can be read again, got standard input");
}

#[test]
fn words() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    let text = dir.run("train fruit.svm -o m --solver batch --l2 1 --valid fruit.svm").ok();
    let heads: Vec<&str> = text.lines().map(|line| line.split("  ").next().unwrap()).collect();
    let valid = ["rows", "error", "nlpd", "bound", "rivals", "precision@1/3/5", "nDCG@3/5", "PSP@1/3/5", "ECE"];
    assert_eq!(heads, [&["model", "train seconds", "bound"], &valid[..]].concat());
}

#[test]
fn several_labels() {
    let dir = Dir::new();
    dir.create("tags.svm", "red,round 1:1\nround 2:1\nred,long 1:1 3:1\nlong 3:1\n");
    dir.run("train tags.svm -o m --solver batch --l2 0.1").ok();
    let found = dir.run("evaluate m tags.svm --json").json();
    assert_eq!((&found["labels"], &found["error"]), (&6.into(), &0.0.into()));
    assert_eq!((&found["classes"], &found["ndcg_at_3"]), (&3.into(), &1.0.into()));
    dir.run("train tags.svm -o m --first-label --solver batch").ok();
    let found = dir.run("evaluate m tags.svm --first-label --json").json();
    assert_eq!((&found["labels"], &found["classes"]), (&4.into(), &3.into()));
}

/// A weight of 2 is the row twice, and a class weight of 2 all its rows twice.
#[test]
fn weights() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    let rows: Vec<&str> = FRUIT.lines().collect();
    let class = rows[0].split(' ').next().unwrap();
    let weighted = rows[0].replacen(' ', " weight:2 ", 1);
    dir.create("weighted.svm", &format!("{weighted}\n{}\n", rows[1..].join("\n")));
    dir.create("twice.svm", &format!("{}\n{FRUIT}", rows[0]));
    dir.create("weights.txt", &format!("{class}\t2\n"));
    let own: String = rows.iter().filter(|row| row.starts_with(class)).map(|row| format!("{row}\n")).collect();
    dir.create("class-twice.svm", &format!("{own}{FRUIT}"));
    let predicted = |words: &str| {
        dir.run(&format!("train {words} -o m --solver batch --l2 1 --tolerance 1e-9")).ok();
        let text = dir.run("predict m fruit.svm --top 3").ok();
        text.split(['\t', '\n']).filter_map(|word| word.parse().ok()).collect::<Vec<f64>>()
    };
    let plain = predicted("fruit.svm");
    assert_eq!(plain.len(), 18);
    for (weight, repeated) in
        [("weighted.svm", "twice.svm"), ("fruit.svm --class-weight weights.txt", "class-twice.svm")]
    {
        near(&predicted(weight), &predicted(repeated), 2e-6);
        assert_ne!(predicted(weight), plain);
    }
    // Every class has as many rows, so balance changes nothing.
    near(&predicted("fruit.svm --class-weight balanced"), &plain, 2e-6);
}

/// The file depends on data, settings and seed, and on nothing else. Eight runs, as what is random may agree by chance.
#[test]
fn same_seed_same_bytes() {
    let dir = Dir::with_big_data();
    let with = |flags: &str| {
        dir.run(&format!("train big.svm -o m --epochs 1 {flags}")).ok();
        dir.bytes("m")
    };
    let first = with("--threads 1");
    for threads in [1, 2, 2, 2, 3, 0, 0] {
        assert!(with(&format!("--threads {threads}")) == first, "{threads} threads give another file");
    }
    assert!(with("--seed 7") == with("--seed 7 --threads 2"));
    assert!(with("--seed 7") != first);
}

#[test]
fn what_is_refused_leaves_no_file() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    dir.create("empty.svm", "");
    dir.create("one.svm", "apple 1:1\n");
    dir.create("bad.svm", "apple 1:1\npear 2:x\n");
    dir.create("weights.txt", "apple 2\nkiwi 3\n");
    let before = dir.files();
    for (words, message) in [
        ("missing.svm", "error: missing.svm: No such file or directory (os error 2)\n"),
        ("empty.svm", "error: empty.svm: expected at least one row, found none\n"),
        ("one.svm", "error: training needs at least 2 classes, got 1\n"),
        ("bad.svm", "error: bad.svm:2:8: "),
        ("fruit.svm --epochs 0", "error: `epochs` must be at least 1, got 0\n"),
        ("fruit.svm --class-weight no.txt", "error: no.txt: No such file or directory (os error 2)\n"),
        (
            "fruit.svm --class-weight weights.txt",
            "error: weights.txt:2:1: expected a class, found 'kiwi', which no row has\n",
        ),
        ("fruit.svm --l2 NaN", "error: invalid value 'NaN' for '--l2 <L>': it must be a finite number"),
        ("fruit.svm --schedule 2", "error: `schedule` must be "),
        ("fruit.svm --schedule x", "error: invalid value 'x' for '--schedule <linear|F>': `schedule` must be "),
        ("fruit.svm --solver x", "error: invalid value 'x' for '--solver <SOLVER>'\n"),
        ("fruit.svm --objective x", "error: invalid value 'x' for '--objective <OBJECTIVE>'\n"),
        ("fruit.svm --memory x", "error: `memory` must be "),
        ("fruit.svm --nonsense", "error: unexpected argument '--nonsense' found\n"),
    ] {
        contains(&dir.run(&format!("train -o m {words}")).refused(), message);
        assert_eq!(dir.files(), before, "{words}");
    }
}

#[test]
fn memory() {
    let dir = Dir::new();
    dir.create("wide.svm", "a 1:1\nb 99:1\n");
    let need = |flags: &str| dir.run(&format!("train wide.svm -o m --memory 1KB {flags}")).refused();
    let message = |need: &str, solver: &str| {
        format!("error: 2 classes times 101 features in the {solver} solver need {need}; `memory` allows 1.0 kB\n")
    };
    contains(&need("--solver batch"), &message("25.9 kB", "batch"));
    let forest = dir.run("train wide.svm -o m --memory 1 --solver forest").refused();
    contains(&forest, "3 trees need more than ");
    assert_eq!(dir.files(), ["wide.svm"]);
}

/// 2 classes times 101 features at 12 bytes do not fit in a kilobyte; 83 cells do, two of them biases.
#[test]
fn weights_that_do_not_fit_share_cells() {
    let dir = Dir::new();
    dir.create("wide.svm", "a 1:1\nb 99:1\n");
    let run = dir.run("train wide.svm -o m --memory 1KB --epochs 50");
    contains(&run.stderr, "weights are hashed to 81 cells to fit in --memory\n");
    run.ok();
    assert!(dir.bytes("m").windows(15).any(|part| part == b"hashed_features"));
    assert_eq!(dir.run("inspect m --json").json()["features"], 100);
    assert_eq!(dir.run("inspect m --class a --json").json()["for"][0]["index"], 1);
    assert_eq!(dir.run("evaluate m wide.svm --json").json()["error"], 0.0);
    contains(&dir.run("train wide.svm -o m --memory 40").refused(), "`memory` allows 40 B");
}

#[test]
fn a_folder_that_is_not_there() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    assert_eq!(dir.run("train fruit.svm -o no/m").refused(), "error: no/m: there is no folder no\n");
    assert_eq!(dir.run("train fruit.svm -o .").refused(), "error: .: is a folder; the model must be a file\n");
    assert_eq!(dir.files(), ["fruit.svm"]);
}

#[test]
fn validation_rows_that_are_not_there_are_noticed_before_training() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    let stderr = dir.run("train fruit.svm -o m --valid gone.svm").refused();
    assert_eq!(stderr, "error: gone.svm: No such file or directory (os error 2)\n");
    assert_eq!(dir.files(), ["fruit.svm"]);
}

#[test]
fn a_run_that_fails_keeps_the_old_model() {
    let dir = Dir::with_model();
    let before = dir.bytes("fruit.model");
    let stderr = dir.run("train fruit.svm -o fruit.model --step sgd --learning-rate 1e39").refused();
    contains(&stderr, "\nerror: training diverged in epoch ");
    assert!(dir.bytes("fruit.model") == before);
    assert_eq!(dir.files(), ["fruit.model", "fruit.svm"]);
}

#[test]
fn trees_ask_for_a_forest_and_are_never_asked_for_in_vain() {
    let dir = Dir::with_model();
    dir.run("train fruit.svm -o few.model --trees 2").ok();
    let card: Value = dir.run("inspect few.model --json").json();
    assert_eq!(card["options"]["scores"]["trees"], 2, "{card}");
    for (other, message) in [
        ("--solver batch", "`solver` must be left out for trees, which have their own, got batch"),
        ("--solver stochastic", "`solver` must be left out for trees, which have their own, got stochastic"),
        ("--from fruit.model", "`trees` is a setting of trees, which linear scores do not use"),
        ("--merge 3", "`merge` is a setting of linear and factored scores, which trees do not use"),
    ] {
        contains(&dir.run(&format!("train fruit.svm -o few.model --trees 2 {other}")).refused(), message);
    }
}

#[test]
fn a_forest_trains_predicts_and_loses_small_weights() {
    let dir = Dir::with_model();
    let train = "train fruit.svm -o forest.model --solver forest --trees 2 --epochs 20 --valid fruit.svm --json";
    let whole: Value = serde_json::from_str(&dir.run(train).ok()).unwrap();
    assert_eq!(whole["error"], 0.0, "{whole}");
    assert_eq!((&whole["objective"], &whole["bound"]), (&Value::Null, &Value::Null));
    assert!(whole["ece_uncalibrated"].is_number());
    contains(&dir.run("inspect forest.model").ok(), "trees");
    contains(&dir.run("inspect forest.model --class apple").ok(), "largest positive weights");
    assert_eq!(
        dir.run("predict forest.model fruit.svm --top 1").ok(),
        dir.run("predict forest.model fruit.svm --top 1 --threads 1").ok()
    );

    let pruned = dir.run(&format!("{train} --prune 0.3"));
    contains(&pruned.stderr, "after pruning:");
    contains(&pruned.stderr, "precision@1/3/5");
    let linear = dir.run("train fruit.svm -o other.model --valid fruit.svm --prune 0.01");
    contains(&linear.stderr, "after pruning:");
    contains(&dir.run("predict other.model fruit.svm --top 1").ok(), "apple");
}
