//! Recommenders: `ove train --format interactions`, `recommend`, `similar` and `evaluate`.

use std::fmt::Write;

use crate::util::*;
use ove::synthetic::interactions;

/// With `train.txt` and `test.txt`, users of five groups, and, trained on the first, `m`.
fn trained() -> Dir {
    let dir = Dir::new();
    let (train, test) = interactions(400, 60, 5, 0).split(0.2, 0);
    for (file, data) in [("train.txt", train), ("test.txt", test)] {
        let mut lines = String::new();
        for user in 0..data.len() {
            write!(lines, "{}", data.users[user]).unwrap();
            data.items_of(user).iter().for_each(|&item| write!(lines, " {}", data.item_names[item as usize]).unwrap());
            lines.push('\n');
        }
        dir.create(file, &lines);
    }
    let run =
        dir.run("train train.txt --format interactions -o m --rank 4 --temperature 0.5 --learning-rate 0.1 --epochs 40 --batch 64 --json");
    let found = run.json();
    assert_eq!((&found["users"], &found["items"], &found["epochs"]), (&400.into(), &60.into(), &40.into()));
    dir
}

/// The group of an item or user.
fn group(name: &str) -> u32 {
    name[1..].parse::<u32>().unwrap() % 5
}

#[test]
fn users_get_items_of_their_group() {
    let dir = trained();
    let lines = dir.run("recommend m u7 u8 --top 3 --json").ok();
    for (line, user) in lines.lines().zip(["u7", "u8"]) {
        let found: Value = serde_json::from_str(line).unwrap();
        assert_eq!(found["user"], user);
        let items: Vec<&str> = found["items"].as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect();
        assert!(items.len() == 3 && items.iter().all(|item| group(item) == group(user)), "{found}");
    }
    // Somebody new, with a reason for each recommendation.
    let found: Value =
        serde_json::from_str(&dir.run("recommend m --items i3,i8,nothing --top 2 --explain --json").ok()).unwrap();
    assert!(found["user"].is_null());
    for n in 0..2 {
        assert_eq!(group(found["items"][n].as_str().unwrap()), 3);
        assert!(["i3", "i8"].contains(&found["because"][n][0].as_str().unwrap()), "{found}");
    }
    let everyone = dir.run("recommend m").ok().lines().count();
    assert_eq!(everyone, 400);
    let first = dir.run("recommend m --items i3,i8 --top 60 --exclude-seen none").ok().split('\t').count();
    assert_eq!(first, 120);
    let similar = dir.run("similar m i13 --top 3 --json").json();
    assert!(similar["items"].as_array().unwrap().iter().all(|item| group(item.as_str().unwrap()) == 3), "{similar}");
    let similar = dir.run("similar m --user u9 --top 3 --json").json();
    assert!(similar["users"].as_array().unwrap().iter().all(|user| group(user.as_str().unwrap()) == 4), "{similar}");
}

#[test]
fn later_items_are_measured() {
    let dir = trained();
    let found = dir.run("evaluate m test.txt --json").json();
    assert!(found["recall_at_5"].as_f64().unwrap() > 0.25, "{found}");
    let expected = ["recall", "ndcg", "precision", "map"]
        .iter()
        .flat_map(|name| [5, 10, 20].iter().flat_map(move |k| [format!("{name}_at_{k}"), format!("{name}_at_{k}_se")]));
    for key in expected.chain([5, 10, 20].map(|k| format!("coverage_at_{k}"))) {
        assert!(found[&key].as_f64().is_some_and(|value| (0.0..=1.0).contains(&value)), "{key}: {found}");
    }
    // The items of training are what is left out by default; without that they fill the lists.
    let same = dir.run("evaluate m test.txt --seen train.txt --json").json();
    let all = dir.run("evaluate m test.txt --seen none --json").json();
    assert_eq!(same["recall_at_5"], found["recall_at_5"]);
    assert!(all["recall_at_5"].as_f64() < found["recall_at_5"].as_f64());
}

#[test]
fn the_number_of_epochs_is_chosen_and_a_killed_run_resumes() {
    let dir = trained();
    let words = "--format interactions --rank 4 --temperature 0.5 --batch 64 --learning-rate 0.1";
    let run = dir.run(&format!("train train.txt {words} -o chosen"));
    assert!(run.stderr.contains("epochs: chosen on held-out interactions, recall@20 "), "{}", run.stderr);
    run.ok();
    dir.run(&format!("train train.txt {words} -o again --epochs 40 --checkpoint c --checkpoint-every 1epoch")).ok();
    assert_eq!(dir.bytes("again"), dir.bytes("m"));
    assert!(dir.files_in("c").is_empty());
}

#[test]
fn tables_are_read_by_their_columns() {
    let dir = Dir::new();
    let data = interactions(200, 40, 4, 0);
    let (mut table, mut lines) = (String::from("userId,rating,movieId\n"), String::new());
    for user in 0..data.len() {
        for &item in data.items_of(user) {
            writeln!(table, "{},3,\"{}\"", data.users[user], data.item_names[item as usize]).unwrap();
            writeln!(lines, "{}\t{}\t3", data.users[user], data.item_names[item as usize]).unwrap();
        }
    }
    dir.create("table.csv", &table);
    dir.create("lines.txt", &lines);
    let train = |words: &str| dir.run(&format!("train {words} --format interactions --rank 4 --epochs 2"));
    train("table.csv -o a --user userId --item movieId --weight rating").ok();
    train("lines.txt -o b").ok();
    assert_eq!(dir.bytes("a"), dir.bytes("b"));
    contains(
        &train("table.csv -o c --user user").refused(),
        "table.csv:1: expected columns `user`, `item`, found userId",
    );
    let rows = dir.run("train table.csv -o c --user userId");
    contains(&rows.refused(), "`user` is a column of interactions");
}

#[test]
fn wrong_requests_are_refused() {
    let dir = trained();
    dir.create("fruit.svm", FRUIT);
    dir.run("train fruit.svm -o fruit --epochs 3").ok();
    for (words, message) in [
        (
            "recommend m stranger",
            "the user `stranger` is not one of the model's 400; give the items of an unknown user with --items",
        ),
        ("recommend m --items what", "`items` must name at least one of the model's 60 items"),
        ("recommend fruit", "the model is not a recommender; train one with `ove train --format interactions`"),
        ("similar m what", "`what` is not one of the model's 60 items"),
        ("train train.txt --format interactions -o x --trees 2", "`trees` is not a setting of recommenders"),
        ("train fruit.svm -o x --temperature 2", "`temperature` is a setting of recommenders (--format interactions)"),
        ("evaluate fruit fruit.svm --seen none", "`seen` is a setting of recommenders, which this model is not"),
        ("predict m train.txt --format interactions", "`format` must be that of rows or texts here"),
    ] {
        let run = dir.run(words);
        assert!(run.stderr.contains(message) && run.code == Some(2), "{words}: {}", run.stderr);
    }
    assert!(!dir.files().contains(&"x".to_owned()));
}

#[test]
fn the_commands_of_the_guide_run() {
    let dir = Dir::new();
    let (train, test) = interactions(300, 60, 5, 1).split(0.2, 0);
    for (file, data) in [("visits.txt", train), ("later.txt", test)] {
        let mut lines = String::new();
        for user in 0..data.len() {
            for &item in data.items_of(user) {
                writeln!(lines, "{}\t{}", data.users[user], data.item_names[item as usize]).unwrap();
            }
        }
        dir.create(file, &lines);
    }
    let guide = include_str!("../../../docs/recommend.md");
    let commands: Vec<&str> = guide.lines().filter_map(|line| line.strip_prefix("ove ")).collect();
    assert!(commands.len() >= 6);
    commands.into_iter().for_each(|command| assert!(!dir.run(command).ok().is_empty(), "{command}"));
}
