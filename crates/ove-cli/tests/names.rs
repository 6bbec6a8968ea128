//! Names of classes and features that a stranger chose: no output for people lets them act on the terminal, or puts
//! lines and columns out of step.

use std::ops::ControlFlow;

use ove::{Dataset, TrainOptions};

use crate::util::*;

/// A colour, a line break with a tab, and a right-to-left override; then a name that is printed as it is.
const CLASSES: [&str; 4] = ["\u{1b}[31mred", "two\nlines\tand a tab", "\u{202e}\u{9b}2J\u{2028}\u{7f}", "grün & <b>"];

/// The same, as they are printed.
const PRINTED: [&str; 4] =
    ["\\u{1b}[31mred", "two\\nlines\\tand a tab", "\\u{202e}\\u{9b}2J\\u{2028}\\u{7f}", "grün & <b>"];

/// With `hostile.model`, whose classes are [`CLASSES`] and whose features have the same names, and `rows.svm`, which
/// has one row per class.
fn dir() -> Dir {
    let mut data = Dataset::new(4, CLASSES.map(String::from).into());
    data.feature_names = CLASSES.map(String::from).into();
    for class in 0..4 {
        data.push_entry(class, 1.0);
        data.end_row(&[class]);
    }
    let settings = serde_json::json!({ "scores": "linear", "epochs": 200, "learning_rate": 0.5 });
    let options = TrainOptions::from_settings(&settings).unwrap();
    let model = ove::fit(&data, &options, |_| ControlFlow::Continue(())).unwrap();
    let dir = Dir::new();
    model.save(&dir.path("hostile.model")).unwrap();
    dir.create("rows.svm", "0:1\n1:1\n2:1\n3:1\n");
    dir
}

/// Checks that no character of a text acts on a terminal, apart from line breaks and tabs of its own.
#[track_caller]
fn is_harmless(text: &str) {
    let acts = |c: char| (c.is_control() && c != '\n' && c != '\t') || ('\u{2028}'..='\u{202e}').contains(&c);
    assert!(!text.contains(acts), "{text:?}");
}

#[test]
fn predictions_stay_in_lines_and_columns() {
    let dir = dir();
    let text = dir.run("predict hostile.model rows.svm --top 4").ok();
    is_harmless(&text);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 4);
    for (fields, name) in lines.iter().zip(PRINTED) {
        assert_eq!((fields.len(), fields[0]), (8, name));
    }
    // JSON has the names themselves.
    for (line, name) in dir.run("predict hostile.model rows.svm --top 1 --json").ok().lines().zip(CLASSES) {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["labels"][0], name);
    }
}

#[test]
fn a_model_is_shown_without_effect_on_the_terminal() {
    let dir = dir();
    let shown = dir.run("inspect hostile.model").ok();
    is_harmless(&shown);
    PRINTED.iter().for_each(|name| contains(&shown, &format!("{name} (1)")));
    for (class, printed) in CLASSES.iter().zip(PRINTED) {
        let output = dir.command("inspect hostile.model --class").arg(class).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        is_harmless(&shown);
        assert!(shown.starts_with(&format!("{printed}: 1 training rows")), "{shown}");
        contains(&shown, &format!("  {printed}\n"));
    }
}

#[test]
fn errors_and_messages_are_one_line_each() {
    let dir = dir();
    let refused = dir.run("inspect hostile.model --class kiwi").refused();
    let list = format!("`class` must be one of the model's 4 classes, such as {}", PRINTED[0]);
    assert_eq!(refused, format!("error: {list}, got `kiwi`\n"));
    dir.create("bad.svm", "a 1:\u{1b}[31m\n");
    let refused = dir.run("predict hostile.model bad.svm").refused();
    is_harmless(&refused);
    assert_eq!(refused.lines().count(), 1, "{refused}");
    dir.create("bad.svm", "a 1:1\na 1:\u{9b}31m\n");
    let run = dir.run("train bad.svm -o a.model --on-error skip --epochs 1");
    is_harmless(&run.stderr);
    contains(&run.stderr, "\\u{9b}31m");
}

#[test]
fn other_lists_of_names_keep_their_lines() {
    let dir = dir();
    dir.create("labelled.svm", "x 0:1\n");
    dir.run("convert labelled.svm --like hostile.model -o out.xmc --names names.txt").ok();
    let names = String::from_utf8(dir.bytes("names.txt")).unwrap();
    assert_eq!(names.lines().take(4).collect::<Vec<_>>(), PRINTED);
    dir.create("counts", "\u{1b}[31mcat\t7\ndog\t2\n");
    let text = dir.run("estimate counts").ok();
    is_harmless(&text);
    assert!(text.starts_with("\\u{1b}[31mcat\t7\t"), "{text}");
}

#[test]
fn a_report_has_names_as_text() {
    let dir = dir();
    // Every row has another label than the model gives it, so that the names are among the confusions.
    let mut data = Dataset::new(1, vec!["<script>alert(1)</script>".into(), "\u{1b}[31m\"'".into()]);
    for label in [0, 1, 0, 1] {
        data.push_entry(0, 1.0);
        data.end_row(&[label]);
    }
    let options = TrainOptions::from_settings(&serde_json::json!({ "epochs": 5, "learning_rate": 0.1 })).unwrap();
    ove::fit(&data, &options, |_| ControlFlow::Continue(())).unwrap().save(&dir.path("page.model")).unwrap();
    dir.create("page.svm", "<script>alert(1)</script> 0:1\n\u{1b}[31m\"' 0:1\n");
    dir.run("evaluate page.model page.svm --report page.html").ok();
    let html = String::from_utf8(dir.bytes("page.html")).unwrap();
    contains(&html, "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert!(!html.contains("<script") && !html.contains('\u{1b}'));
}
