//! `ove evaluate`.

use crate::util::*;

const KEYS: [&str; 23] = [
    "bound",
    "classes",
    "confused",
    "ece",
    "effective_rivals",
    "error",
    "features",
    "gap",
    "labels",
    "ndcg_at_3",
    "ndcg_at_5",
    "nlpd",
    "peak_memory_bytes",
    "precision_at_1",
    "precision_at_3",
    "precision_at_5",
    "predict_seconds",
    "psp_at_1",
    "psp_at_3",
    "psp_at_5",
    "reliability",
    "rows",
    "unknown_rows",
];

#[test]
fn json() {
    let dir = Dir::with_model();
    let found = dir.run("evaluate fruit.model fruit.svm --json").json();
    assert_eq!(keys(&found), KEYS);
    let lists = ["confused", "reliability"];
    let is_right = |(key, value): (&String, &Value)| value.is_number() != lists.contains(&key.as_str());
    assert!(found.as_object().unwrap().iter().all(is_right), "{found}");
    for (key, value) in [("error", 0.0), ("precision_at_1", 1.0), ("rows", 6.0), ("classes", 3.0), ("features", 5.0)] {
        assert_eq!(found[key].as_f64(), Some(value), "{key}");
    }
    assert!(found["bound"].as_f64().unwrap() <= -6.0 * found["nlpd"].as_f64().unwrap());
}

/// nlpd is the average of what predict says about each row's own class.
#[test]
fn agrees_with_predict() {
    let dir = Dir::with_model();
    let text = dir.run("predict fruit.model fruit.svm --json --top 1").ok();
    let best = |line: &str| numbers(&serde_json::from_str::<Value>(line).unwrap()["probabilities"])[0];
    let nlpd = -text.lines().map(|line| best(line).ln()).sum::<f64>() / 6.0;
    let found = dir.run("evaluate fruit.model fruit.svm --json").json();
    near(&[found["nlpd"].as_f64().unwrap()], &[nlpd], 1e-12);
}

#[test]
fn a_class_that_only_the_test_rows_have() {
    let dir = Dir::with_model();
    dir.create("test.svm", "apple 1:1\nkiwi 3:1\n");
    let text = dir.run("evaluate fruit.model test.svm").ok();
    contains(&text, "\nunknown labels   1 rows, counted as errors and ignored in nlpd and bound\n");
    contains(&text, "\nerror            0.5000\n");
    let found = dir.run("evaluate fruit.model test.svm --json").json();
    assert_eq!((&found["unknown_rows"], &found["rows"]), (&1.into(), &2.into()));
    assert_eq!(found["error"], 0.5);
}

/// Then there is nothing to average: nlpd is NaN, and null in JSON, which has no NaN.
#[test]
fn only_unknown_classes() {
    let dir = Dir::with_model();
    dir.create("test.svm", "kiwi 3:1\n");
    contains(&dir.run("evaluate fruit.model test.svm").ok(), "\nnlpd             NaN\n");
    let found = dir.run("evaluate fruit.model test.svm --json").json();
    assert_eq!((&found["nlpd"], &found["error"]), (&Value::Null, &1.0.into()));
}
