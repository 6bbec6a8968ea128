//! What probabilities mean: order, thresholds for several labels, the prior of rows without a known word.

use crate::util::*;

/// Texts with one or two of six subjects; a subject has two words of its own, and there are some that all share.
fn several(rows: usize, seed: usize) -> String {
    let line = |n: usize| {
        let (first, second) = ((n * 7 + seed) % 6, (n * 5 + n / 6 + seed) % 6);
        let words = |class: usize| format!("word{class} name{class}");
        match n % 3 {
            0 if first != second => format!("{} {} the of\ts{first} s{second}\n", words(first), words(second)),
            _ => format!("{} the\ts{first}\n", words(first)),
        }
    };
    (0..rows).map(line).collect()
}

fn with_texts() -> Dir {
    let dir = Dir::new();
    dir.create("train.tsv", &several(3000, 0));
    dir.create("test.tsv", &several(300, 1));
    dir
}

const KINDS: [&str; 4] = ["", " --scores linear", " --trees 3", " --rank 8"];

#[test]
fn every_label_above_the_threshold_is_predicted() {
    let dir = with_texts();
    for kind in KINDS {
        dir.run(&format!("train train.tsv -o m{kind}")).ok();
        let found = dir.run("evaluate m test.tsv --json").json();
        let (f1, threshold) = (found["micro_f1"].as_f64().unwrap(), found["threshold"].as_f64().unwrap());
        assert!(f1 > 0.95 && (0.0..1.0).contains(&threshold), "{kind}: {found}");
        let (sum, labels) = (found["probability_sum"].as_f64().unwrap(), found["labels"].as_f64().unwrap() / 300.0);
        assert!((sum / labels - 1.0).abs() < 0.15, "{kind}: {sum} {labels}");
        assert!(dir.run("evaluate m test.tsv").ok().contains("micro F1         "), "{kind}");

        // The lines have the classes of at least that probability, and the F1 of the lines is that of the evaluation.
        let lines = |flags: &str| {
            let text = dir.run(&format!("predict m test.tsv --json{flags}")).ok();
            text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
        };
        let (mut hits, mut predicted) = (0, 0);
        let (chosen, all) = (lines(""), lines(" --top 6"));
        for ((row, every), line) in chosen.iter().zip(&all).zip(several(300, 1).lines()) {
            let count = numbers(&every["probabilities"]).iter().filter(|&&p| p >= threshold).count();
            let labels: Vec<&str> = line.split('\t').nth(1).unwrap().split(' ').collect();
            let found: Vec<&str> = row["labels"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
            assert_eq!(found.len(), count, "{kind}: {row} {every}");
            predicted += count;
            hits += found.iter().filter(|label| labels.contains(label)).count();
        }
        let by_hand = 2.0 * hits as f64 / (predicted as f64 + found["labels"].as_f64().unwrap());
        near(&[f1], &[by_hand], 1e-9);
        assert!(lines(" --threshold 0").iter().all(|row| row["labels"].as_array().unwrap().len() == 6), "{kind}");
        assert!(lines(" --threshold 1").iter().all(|row| row["labels"].as_array().unwrap().is_empty()), "{kind}");
    }
    let refused = dir.run("predict m test.tsv --threshold 1.5").refused();
    assert!(refused.contains("`threshold` must be between 0 and 1, got 1.5"), "{refused}");
    assert!(dir.run("predict m test.tsv --threshold 0.5 --top 2").refused().contains("cannot be used with"));
}

#[test]
fn one_label_per_row_has_a_softmax_and_no_threshold() {
    let dir = with_texts();
    // Without settings trees are chosen, whose votes are sums of 32-bit numbers.
    for (scores, error) in [("", 1e-6), (" --scores linear", 1e-9)] {
        dir.run(&format!("train train.tsv -o m --first-label{scores}")).ok();
        let found = dir.run("evaluate m test.tsv --first-label --json").json();
        assert!(found.get("threshold").is_none() && found.get("micro_f1").is_none(), "{found}");
        for line in dir.run("predict m test.tsv --json --top 6").ok().lines() {
            let p = numbers(&serde_json::from_str::<Value>(line).unwrap()["probabilities"]);
            near(&[p.iter().sum()], &[1.0], error);
        }
    }
    assert_eq!(dir.run("predict m test.tsv --threshold 0.5").ok().lines().count(), 300);
}

#[test]
fn a_text_without_a_known_word_gets_the_prior() {
    let dir = with_texts();
    dir.create("odd.tsv", "word1 name1 the\nxylophone zebra\n\u{3b1}\u{3b2}\n");
    for (kind, flags) in KINDS.iter().flat_map(|kind| [(kind, ""), (kind, " --first-label")]) {
        dir.run(&format!("train train.tsv -o m{kind}{flags}")).ok();
        let run = dir.run("predict m odd.tsv --json --top 6");
        let note = "2 of 3 rows have no word that the model knows; they get the classes' prior\n";
        assert_eq!(run.stderr, note, "{kind}{flags}");
        let rows: Vec<Value> = run.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(rows[0].get("known").is_none() && rows[1]["known"] == 0, "{kind}{flags}: {rows:?}");
        assert_eq!(rows[1], rows[2]);
        // The prior is the share of the training rows.
        let labels = |line: &str| -> Vec<String> {
            let labels = line.split('\t').nth(1).unwrap().split(' ').map(str::to_owned);
            if flags.is_empty() { labels.collect() } else { labels.take(1).collect() }
        };
        let train = several(3000, 0);
        for (label, p) in rows[1]["labels"].as_array().unwrap().iter().zip(numbers(&rows[1]["probabilities"])) {
            let count = train.lines().filter(|line| labels(line).iter().any(|own| own == label)).count();
            // Linear and factored scores do not count the held-out rows.
            near(&[p], &[count as f64 / 3000.0], 0.05);
        }
    }
}

/// The order of classes is that of their probabilities, whatever their number.
#[test]
fn the_top_classes_are_in_the_order_of_their_probabilities() {
    let dir = Dir::new();
    let line =
        |n: usize| format!("w{} w{} v{} z{}\tc{}\n", n % 120, (n + 1) % 120, n % 7, n % 31, (n + n / 9 % 3) % 120);
    dir.create("train.tsv", &(0..6000).map(line).collect::<String>());
    dir.run("train train.tsv -o m --trees 3").ok();
    let top = |k: usize| -> Vec<Value> {
        let text = dir.run(&format!("predict m train.tsv --json --top {k}")).ok();
        text.lines().take(500).map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (one, five, all) = (top(1), top(5), top(999));
    for ((one, five), all) in one.iter().zip(&five).zip(&all) {
        let p = numbers(&all["probabilities"]);
        assert_eq!(p.len(), 120);
        near(&[p.iter().sum()], &[1.0], 1e-4);
        assert!(p.is_sorted_by(|a, b| a >= b) && numbers(&five["probabilities"]).is_sorted_by(|a, b| a >= b));
        assert!(one["labels"][0] == five["labels"][0] && one["labels"][0] == all["labels"][0], "{one} {five}");
    }
}

/// Rows of --valid choose nothing: the model is the same without them. Rows of --tune-on do.
#[test]
fn validation_rows_choose_nothing() {
    let dir = with_texts();
    dir.create("other.tsv", &several(900, 3));
    let model = |flags: &str| dir.run(&format!("train train.tsv -o m --first-label --json{flags}")).json();
    let plain = model("");
    let (valid, tuned) = (model(" --valid other.tsv"), model(" --tune-on other.tsv"));
    assert_eq!(plain["temperature"], valid["temperature"]);
    assert_ne!(plain["temperature"], tuned["temperature"]);
    let refused = dir.run("train train.tsv -o t --trees 2 --tune-on other.tsv").refused();
    assert!(refused.contains("rows to tune on need linear or factored scores"), "{refused}");
}
