//! Tables: training on named columns, and predictions for rows with ids.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::util::*;

/// The page about data files: what it shows is run.
const PAGE: &str = include_str!("../../../docs/data.md");

/// The blocks of the page in a language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    PAGE.split("\n```").filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

/// With the table of the page and the model that it trains, or as the page's commands left it.
fn shop() -> Dir {
    let dir = Dir::new();
    dir.create("shop.csv", &format!("{}\n", blocks("csv").next().unwrap()));
    dir
}

/// Runs commands as a shell does.
fn shell(dir: &Dir, commands: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_ove")).parent().unwrap();
    let path = std::env::join_paths(
        [program.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let output = Command::new("sh")
        .args(["-ec", commands])
        .current_dir(dir.path(""))
        .env("PATH", path.unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{commands}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_page_about_data_is_true() {
    let dir = shop();
    let printed: Vec<String> = blocks("sh").map(|commands| shell(&dir, commands)).collect();
    for (n, line) in printed[0].lines().filter(|line| line.starts_with(['1', '2'])).enumerate() {
        assert_eq!(line.split('\t').next(), Some(["17", "18", "19", "20"][n]), "{line}");
    }
    contains(&printed[0], "error            0.0000");
    assert!(printed[1].starts_with("shoes\t"), "{}", printed[1]);
    assert!(dir.bytes("predictions.csv").starts_with(b"id,label_1,probability_1,label_2,probability_2\n17,shoes,0."));
    assert!(dir.bytes("predictions.jsonl").starts_with(b"{\"id\":\"17\",\"labels\":[\"shoes\","));
    let found = dir.run("inspect shop.model --json").json();
    assert_eq!(found["classes"], 3, "one of which has a comma");
    let columns = &found["options"]["columns"];
    assert_eq!((&columns["label"], &columns["label_separator"]), (&"category".into(), &";".into()));
}

/// The same rows in every form give the same model, but for the columns it remembers.
#[test]
fn the_same_rows_in_every_form() {
    let dir = shop();
    let bound = |data: &str, flags: &str| {
        let found = dir.run(&format!("train {data} -o m {flags} --epochs 3 --min-df 1 --json")).json();
        (found["bound"].clone(), found["features"].clone(), found["classes"].clone())
    };
    dir.create(
        "rows.tsv",
        "Red shoes With laces, as new\tshoes\nWinter boots Warm, for snow\tshoes winter\n\
         Red coat For snow and rain\tcoats winter\nOld shoes With laces, worn\tshoes\n",
    );
    dir.create(
        "rows.jsonl",
        "{\"title\": \"Red shoes\", \"description\": \"With laces, as new\", \"category\": [\"shoes\"]}\n\
         {\"title\": \"Winter boots\", \"description\": \"Warm, for snow\", \"category\": [\"shoes\", \"winter\"]}\n\
         {\"title\": \"Red coat\", \"description\": \"For snow and rain\", \"category\": [\"coats, jackets\", \"winter\"]}\n\
         {\"title\": \"Old shoes\", \"description\": \"With laces,\\nworn\", \"category\": \"shoes\"}\n",
    );
    let expected = bound("rows.tsv", "");
    let flags = "--text title,description --label category --label-separator ;";
    for (data, flags) in [
        ("shop.csv", flags),
        ("rows.jsonl", flags),
        ("shop.csv", &format!("{flags} --cache kept")),
        ("rows.jsonl", &format!("{flags} --cache kept")),
        ("rows.jsonl", &format!("{flags} --cache kept")),
    ] {
        assert_eq!(bound(data, flags), expected, "{data} {flags}");
    }
    let columns = dir.run("inspect m --json").json()["options"]["columns"].clone();
    assert_eq!(columns["text"], serde_json::json!(["title,description"]), "from the cache");
}

#[test]
fn ids_and_other_columns() {
    let dir = shop();
    dir.run("train shop.csv -o m --text title --label category --epochs 50 --min-df 1").ok();
    let lines = |words: &str| dir.run(&format!("predict m {words} --top 1")).ok();
    assert_eq!(lines("shop.csv --id sku").lines().map(|line| line.split('\t').count()).collect::<Vec<_>>(), [3; 4]);
    assert_eq!(lines("shop.csv").lines().map(|line| line.split('\t').count()).collect::<Vec<_>>(), [2; 4]);
    let first = dir.run("predict m shop.csv --top 1 --id sku --json").ok();
    assert!(first.starts_with("{\"id\":\"17\",\"labels\":[\"shoes\"],"), "{first}");
    dir.create("new.csv", "number;name\n5;Winter coat\n");
    let error = "error: new.csv:1: expected the column `title`, found `number`, `name`\n";
    assert_eq!(dir.run("predict m new.csv").refused(), error);
    assert!(lines("new.csv --text name --id 1").starts_with("5\t"));
    assert_eq!(
        dir.run("train new.csv -o x").refused(),
        "error: new.csv:1: say which columns are texts and labels among `number`, `name`, for example: \
         --text number --label name\n"
    );
    // Any lines are texts, from standard input too.
    let mut child = dir.command("predict m - --top 1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"winter boots, red\n\n").unwrap();
    assert_eq!(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().lines().count(), 2);
}

#[test]
fn guessed_columns_are_told() {
    let dir = Dir::new();
    dir.create("a.csv", "id,title,category\n1,red shoes,a\n2,red boots,b\n");
    let run = dir.run("train a.csv -o m --epochs 2");
    contains(&run.stderr, "a.csv: texts are in `title`, labels in `category` (--text, --label)\n");
    let run = dir.run("train a.csv -o m --epochs 2 --text title --label category");
    assert!(!run.stderr.contains("(--text"), "{}", run.stderr);
}

#[test]
fn training_goes_on_with_the_same_columns() {
    let dir = shop();
    dir.run("train shop.csv -o m --text title,description --label category --epochs 5").ok();
    dir.run("train shop.csv -o n --from m --epochs 5").ok();
    assert_eq!(dir.run("inspect n --json").json()["options"]["columns"]["text"][0], "title,description");
    dir.run("convert shop.csv -o rows.xmc --like m").ok();
    assert!(String::from_utf8(dir.bytes("rows.xmc")).unwrap().starts_with("4 "));
}

#[test]
fn predictions_as_tables() {
    let dir = shop();
    dir.run("train shop.csv -o m --text title --label category --id sku --epochs 50 --min-df 1").ok();
    let text = |name: &str| String::from_utf8(dir.bytes(name)).unwrap();
    assert_eq!(dir.run("predict m shop.csv --top 9 -o out.csv").ok(), "");
    let lines: Vec<String> = text("out.csv").lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "id,label_1,probability_1,label_2,probability_2,label_3,probability_3");
    assert!(lines[3].starts_with("19,\"coats, jackets;winter\",0."), "{}", lines[3]);
    assert_eq!(lines.len(), 5);
    dir.run("predict m shop.csv --top 9 -o out.jsonl").ok();
    assert_eq!(text("out.jsonl"), dir.run("predict m shop.csv --top 9 --json").ok());
    // What was written reads as a table: the same labels to the bit of their probabilities.
    dir.run("train out.csv -o n --text id --label label_1 --weight probability_1 --min-df 1 --epochs 1").ok();
    let first = dir.run("predict m shop.csv --top 1 --json").ok();
    let first: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    let probability: f64 = lines[1].split(',').nth(2).unwrap().parse().unwrap();
    assert_eq!(first["probabilities"][0], probability);
    // Without ids, and of numbers.
    dir.create("rows.tsv", "red shoes\nold coat\n");
    dir.run("predict m rows.tsv --top 1 -o plain.csv").ok();
    assert!(text("plain.csv").starts_with("label_1,probability_1\n"));
    dir.create("fruit.svm", FRUIT);
    dir.run("train fruit.svm -o fruit.model --epochs 20").ok();
    dir.run("predict fruit.model fruit.svm --top 1 -o fruit.csv").ok();
    assert_eq!(text("fruit.csv").lines().count(), 7);
}

/// Rows of numbers by the names of columns, which `inspect` and the card keep, also from a cache.
#[test]
fn columns_of_numbers() {
    let dir = Dir::new();
    dir.create("fruit.csv", "id,sweet,round,kind\na,1,0.9,apple\nb,0.9,1,apple\nc,0.2,1,lime\nd,0.1,0.9,lime\n");
    for flags in ["--features all --id id", "--features round,sweet", "--features all --id id --cache kept"] {
        dir.run(&format!("train fruit.csv -o m --label kind {flags} --epochs 5")).ok();
        let features = if flags.contains("all") { ["sweet", "round"] } else { ["round", "sweet"] };
        let card = dir.run("inspect m --json").json();
        assert_eq!(card["options"]["columns"]["features"], serde_json::json!(features), "{flags}");
        contains(&dir.run("inspect m --class apple").ok(), "sweet");
        assert_eq!(dir.run("evaluate m fruit.csv --json").json()["rows"], 4);
        // In another order, and without labels.
        dir.create("new.csv", "round,sweet,id\n0.95,1,x\n");
        dir.create("same.csv", "id,sweet,round\nx,1,0.95\n");
        assert_eq!(dir.run("predict m new.csv --id id").ok(), dir.run("predict m same.csv --id id").ok());
    }
    let error = "error: fruit.csv:2:1: expected a finite number in `id`, found 'a'\n";
    assert_eq!(dir.run("train fruit.csv -o x --label kind --features all").refused(), error);
    let error = dir.run("predict m fruit.csv --text kind").refused();
    assert_eq!(error, "error: rows consist of a text or of numbers, so give `text` or `features`, not both\n");
}

#[test]
fn outputs_are_whole_and_no_inputs() {
    let dir = shop();
    dir.run("train shop.csv -o m --text title --label category --id sku --epochs 5 --min-df 1").ok();
    contains(&dir.run("predict m shop.csv -o shop.csv").refused(), "must not be one of the inputs, got shop.csv");
    assert_eq!(dir.bytes("shop.csv")[..4], *b"sku,");
    let ends = "error: `output` must end with .csv, .jsonl, .parquet, .feather or .arrow, got out.txt\n";
    assert_eq!(dir.run("predict m shop.csv -o out.txt").refused(), ends);
    // Nothing is left of a table that could not be completed, and an older one stays.
    dir.create("bad.csv", "sku,title\n1,one\n2\n");
    dir.create("old.csv", "old\n");
    for name in ["new.csv", "old.csv"] {
        let error = "error: bad.csv:3: expected 2 fields, as in the first record, found 1\n";
        assert_eq!(dir.run(&format!("predict m bad.csv -o {name}")).refused(), error);
    }
    assert_eq!(dir.bytes("old.csv"), b"old\n");
    assert!(!dir.files().iter().any(|name| name.starts_with("new.csv") || name.ends_with(".part")));
}

/// A decoder panics at this file; what is said is that the file is damaged, and nothing else.
#[test]
fn a_damaged_table_is_one_line() {
    let dir = shop();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/arrow/offset");
    std::fs::copy(file, dir.path("damaged.arrow")).unwrap();
    let error = dir.run("train damaged.arrow -o m --text 2 --label label").refused();
    assert_eq!(error, "error: damaged.arrow: the arrow data are damaged: their parts do not fit together\n");
}
