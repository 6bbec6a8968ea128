//! `ove predict`.

use crate::util::*;

#[test]
fn a_line_a_row() {
    let dir = Dir::with_model();
    let text = dir.run("predict fruit.model fruit.svm --top 3").ok();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 6);
    for (fields, row) in lines.iter().zip(FRUIT.lines()) {
        assert_eq!(fields.len(), 6, "{fields:?}");
        assert!(row.starts_with(fields[0]), "{row}: {fields:?}");
        let p: Vec<f64> = [1, 3, 5].map(|i| fields[i].parse().unwrap()).to_vec();
        near(&[p.iter().sum()], &[1.0], 2e-6);
        assert!(p.is_sorted_by(|a, b| a >= b), "{p:?}");
    }
    let best = dir.run("predict fruit.model fruit.svm --top 1").ok();
    assert!(best.lines().zip(&lines).all(|(line, fields)| line == fields[..2].join("\t")), "{best}");
    let refused = dir.run("predict fruit.model fruit.svm --top 0").refused();
    assert!(refused.contains("`top` must be at least 1, got 0"), "{refused}");
}

#[test]
fn json_lines() {
    let dir = Dir::with_model();
    let text = dir.run("predict fruit.model fruit.svm --json --top 99").ok();
    assert_eq!(text.lines().count(), 6);
    for (line, row) in text.lines().zip(FRUIT.lines()) {
        let object: Value = serde_json::from_str(line).unwrap();
        assert_eq!(keys(&object), ["labels", "probabilities"]);
        assert!(row.starts_with(object["labels"][0].as_str().unwrap()), "{row}: {line}");
        let p = numbers(&object["probabilities"]);
        assert_eq!(p.len(), 3);
        near(&[p.iter().sum()], &[1.0], 1e-12);
    }
}

#[test]
fn rows_need_no_label() {
    let dir = Dir::with_model();
    dir.create("bare.svm", "1:1 4:0.5\n2:1.1\n");
    let text = dir.run("predict fruit.model bare.svm --top 1").ok();
    let names: Vec<&str> = text.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names, ["apple", "pear"]);
    let message = "error: bare.svm:1:1: expected a label, found none\n";
    assert_eq!(dir.run("evaluate fruit.model bare.svm").refused(), message);
}

#[test]
fn unknown_features_count_as_absent() {
    let dir = Dir::with_model();
    dir.create("known.svm", "1:1\n");
    dir.create("more.svm", "1:1 9:1 12:3\n");
    let (known, more) = (dir.run("predict fruit.model known.svm"), dir.run("predict fruit.model more.svm"));
    assert_eq!(known.stderr, "");
    let note = "more.svm: 2 entries have features beyond the model's 5; they are ignored\n";
    assert_eq!(more.stderr, note);
    assert_eq!(more.ok(), known.ok());
}

#[test]
fn times_go_to_stderr() {
    let dir = Dir::with_model();
    let (timed, plain) = (dir.run("predict fruit.model fruit.svm --times"), dir.run("predict fruit.model fruit.svm"));
    let times: Value = serde_json::from_str(&timed.stderr).unwrap();
    assert_eq!(keys(&times), ["predict_seconds", "read_seconds"]);
    assert!(keys(&times).iter().all(|key| times[key].as_f64().unwrap() > 0.0));
    assert_eq!(timed.ok(), plain.ok());
}
