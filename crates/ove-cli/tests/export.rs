//! `ove export`, `ove man` and `ove completions`. What is exported is run by tests in Python.

use crate::util::*;

#[test]
fn onnx_writes_the_model_and_its_classes() {
    let dir = Dir::with_model();
    dir.run("export fruit.model --format onnx -o out.onnx").ok();
    assert_eq!(dir.files(), ["fruit.model", "fruit.svm", "out.json", "out.onnx"]);
    let card: Value = serde_json::from_slice(&dir.bytes("out.json")).unwrap();
    assert_eq!(card["classes"], serde_json::json!(["apple", "pear", "plum"]));
    let first = dir.bytes("out.onnx");
    dir.run("export fruit.model --format onnx -o out.onnx").ok();
    assert_eq!(dir.bytes("out.onnx"), first, "the same model gives the same file");

    contains(&dir.run("export fruit.model --format onnx -o fruit.model").refused(), "must not be one of the inputs");
    contains(&dir.run("export fruit.model --format onnx -o m.json").refused(), "must be a file of its own");
    contains(&dir.run("export fruit.model --format sklearn -o m").refused(), "must be for a model of texts");
    let refused = dir.run("export fruit.model --format sklearn -o m --external-data").refused();
    contains(&refused, "`--external-data` must be with `--format onnx`, got `--format sklearn`");
    contains(&dir.run("export fruit.model --format tar -o m").refused(), "onnx, sklearn, word2vec");
    assert_eq!(dir.files(), ["fruit.model", "fruit.svm", "out.json", "out.onnx"]);
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let dir = Dir::new();
    dir.run("man pages").ok();
    let pages = dir.files_in("pages");
    let help = dir.run("--help").ok();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let mut count = 0;
    for command in
        commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty())
    {
        if command != "help" {
            assert!(pages.contains(&format!("ove-{command}.1")), "{command}: {pages:?}");
            count += 1;
        }
    }
    assert!(count > 15 && pages.contains(&"ove.1".into()), "{pages:?}");
    let train = String::from_utf8(dir.bytes("pages/ove-train.1")).unwrap();
    for part in [".TH ove-train 1", "\\-\\-learning\\-rate", "SYNOPSIS"] {
        contains(&train, part);
    }
}

#[test]
fn shells_complete_commands_and_flags() {
    let dir = Dir::new();
    for (shell, part) in [("bash", "complete -F"), ("zsh", "#compdef ove"), ("fish", "complete -c ove")] {
        let script = dir.run(&format!("completions {shell}")).ok();
        for part in [part, "learning-rate", "recommend"] {
            contains(&script, part);
        }
    }
    contains(&dir.run("completions tcsh").refused(), "possible values: bash, elvish, fish");
}
