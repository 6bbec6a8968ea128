//! The command line, by running it: each test makes a folder, runs `ove` there and looks at stdout, stderr and exit code.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ove::synthetic::{Sparse, sparse};
use serde_json::Value;
use tempfile::TempDir;

/// Three kinds of fruit; feature 4 tells nothing.
const FRUIT: &str = "apple 1:1 4:0.5\napple 1:0.9\npear 2:1 4:0.5\npear 2:1.1\nplum 3:1\nplum 3:0.8 4:1\n";

/// A folder to run `ove` in.
struct Dir(TempDir);

impl Dir {
    fn new() -> Self {
        Dir(TempDir::new().unwrap())
    }

    /// With `fruit.svm` and, trained on it, `fruit.model`.
    fn with_model() -> Self {
        let dir = Dir::new();
        dir.create("fruit.svm", FRUIT);
        dir.run("train fruit.svm -o fruit.model --epochs 100").ok();
        dir
    }

    /// With `big.svm`, which trains on several threads.
    fn with_big_data() -> Self {
        let dir = Dir::new();
        let data = sparse(Sparse { rows: 5000, features: 300, classes: 40, entries: 15, signal: 0.5 }, 1, 0);
        let line = |n: usize| {
            let row = data.rows().row(n);
            let entries = row.indices.iter().zip(row.values).map(|(d, x)| format!(" {d}:{x}"));
            format!("{}{}\n", data.classes[data.labels[n][0] as usize], entries.collect::<String>())
        };
        dir.create("big.svm", &(0..data.len()).map(line).collect::<String>());
        dir
    }

    fn create(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    /// What lies in the folder, sorted.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ove"));
        command.current_dir(&self.0).args(words.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// Runs `ove` with words as a shell would split them.
    fn run(&self, words: &str) -> Run {
        let output = self.command(words).output().unwrap();
        Run {
            words: words.to_owned(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code(),
        }
    }
}

/// What a run left behind.
#[derive(Debug)]
struct Run {
    #[expect(dead_code, reason = "for the text of a failure")]
    words: String,
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

impl Run {
    /// The stdout of a run that went well.
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The one JSON object that a run printed.
    #[track_caller]
    fn json(self) -> Value {
        let text = self.ok();
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The stderr of a run that was refused: exit code 2, and nothing on stdout.
    #[track_caller]
    fn refused(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        self.stderr
    }
}

fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort();
    keys
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64], within: f64) {
    let close = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= within);
    assert!(close, "{found:?}, not {expected:?}");
}

#[track_caller]
fn contains(text: &str, part: &str) {
    assert!(text.contains(part), "no `{part}` in:\n{text}");
}

mod bound {
    use super::*;

    #[test]
    fn table() {
        let expected = "                      log p            p           gap
exact             -0.442207     0.642616      0.000000
one-vs-each       -0.480541     0.618449      0.038333
merged            -0.480541     0.618449      0.038333
bouchard          -1.168019     0.310982      0.725811
Bouchard's α is 1.060642; merged has 0 classes inside the logarithm
";
        assert_eq!(Dir::new().run("bound --scores 1.2,0.3,-0.7 --class 0").ok(), expected);
    }

    #[test]
    fn json_by_naive_formulas() {
        let (f, y) = ([1.2, 0.3, -0.7], 0);
        let exp = |m: usize| f64::exp(f[m] - f[y]);
        let exact = -(1.0 + exp(1) + exp(2)).ln();
        let one_vs_each = -(1.0 + exp(1)).ln() - (1.0 + exp(2)).ln();
        let at = |alpha: f64| f[y] - alpha - f.iter().map(|f| (1.0 + (f - alpha).exp()).ln()).sum::<f64>();

        let found = Dir::new().run("bound --scores 1.2,0.3,-0.7 --class 0 --json").json();
        assert_eq!(keys(&found), ["bouchard", "bouchard_alpha", "exact", "merged", "one_vs_each"]);
        let number = |key: &str| found[key].as_f64().unwrap();
        near(&["exact", "one_vs_each", "merged"].map(number), &[exact, one_vs_each, one_vs_each], 1e-12);
        let alpha = number("bouchard_alpha");
        near(&[number("bouchard")], &[at(alpha)], 1e-12);
        assert!(at(alpha) > at(alpha - 1e-3) && at(alpha) > at(alpha + 1e-3), "α = {alpha} is not the best");
    }

    /// One merged class changes nothing, as −log(1 + e^d) is its term either way; two share a logarithm, all of them give log p.
    #[test]
    fn merge() {
        let dir = Dir::new();
        let values = |merge: &str| {
            let found = dir.run(&format!("bound --scores 1.2,0.3,-0.7,0.5 --class 0 --json {merge}")).json();
            ["exact", "merged", "one_vs_each"].map(|key| found[key].as_f64().unwrap())
        };
        let exp = |f: f64| f64::exp(f - 1.2);
        let [exact, one, each] = values("--merge 1");
        near(&[one], &[each], 1e-12);
        let [_, two, _] = values("--merge 1,3");
        near(&[two], &[-(1.0 + exp(0.3) + exp(0.5)).ln() - (1.0 + exp(-0.7)).ln()], 1e-12);
        let [_, all, _] = values("--merge 3,1,2");
        near(&[all], &[exact], 1e-12);
    }

    /// A list that starts with a minus is a value, not a flag.
    #[test]
    fn negative_scores() {
        let found = Dir::new().run("bound --scores -1,-2 --class 1 --json").json();
        near(&[found["exact"].as_f64().unwrap()], &[-(1.0 + 1f64.exp()).ln()], 1e-12);
        near(&[found["bouchard_alpha"].as_f64().unwrap()], &[-1.5], 1e-12);
    }

    #[test]
    fn refused() {
        let dir = Dir::new();
        for (flags, message) in [
            ("--scores 1 --class 0", "scores is 1 number, but a probability needs at least two classes"),
            ("--scores 1,nan --class 0", "scores is NaN, but scores are finite"),
            ("--scores 1,2 --class 2", "class is 2, but classes run from 0 to 1"),
            ("--scores 1,2 --class 0 --merge 7", "merge is 7, but classes run from 0 to 1"),
            ("--scores 1,2 --class 0 --merge 0", "merge is 0, but each other class may be merged once"),
            ("--scores 1,2 --class 0 --merge 1,1", "merge is 1, but each other class may be merged once"),
        ] {
            assert_eq!(dir.run(&format!("bound {flags}")).refused(), format!("error: {message}\n"));
        }
        contains(&dir.run("bound --scores 1,x --class 0").refused(), "invalid value 'x' for '--scores <F,F,…>'");
    }
}

mod estimate {
    use super::*;

    #[test]
    fn frequencies_by_every_method() {
        let dir = Dir::new();
        dir.create("counts", "5\n1\n0\n2\n");
        let sampled = "stochastic --epochs 600 --classes 2 --batch 8";
        for objective in ["one-vs-each", "softmax"] {
            for (method, within) in [("closed-form", 1e-6), ("batch", 1e-6), (sampled, 0.02)] {
                let found =
                    dir.run(&format!("estimate counts --json --objective {objective} --method {method}")).json();
                near(&numbers(&found["probabilities"]), &[0.625, 0.125, 0.0, 0.25], within);
                assert_eq!(found["objective"], objective);
                assert_eq!(found["method"], method.split(' ').next().unwrap());
            }
        }
    }

    #[test]
    fn names() {
        let dir = Dir::new();
        dir.create("counts", "big cat\t7\ndog\t2\n\n");
        let run = dir.run("estimate counts");
        assert_eq!(run.stderr, "one-vs-each by closed-form\n");
        assert_eq!(run.ok(), "big cat\t7\t0.77777778\ndog\t2\t0.22222222\n");
        let found = dir.run("estimate counts --json").json();
        assert_eq!(keys(&found), ["counts", "method", "names", "objective", "probabilities"]);
        assert_eq!(found["names"], serde_json::json!(["big cat", "dog"]));
        dir.create("counts", "7\n2\n");
        assert_eq!(dir.run("estimate counts").ok(), "0\t7\t0.77777778\n1\t2\t0.22222222\n");
    }

    /// Proposition 3: with two values Bouchard's bound takes 49 : 4 for 7 : 2.
    #[test]
    fn bouchard_squares_two_counts() {
        let dir = Dir::new();
        dir.create("counts", "7\n2\n");
        for method in ["closed-form", "batch"] {
            let found = dir.run(&format!("estimate counts --json --objective bouchard --method {method}")).json();
            near(&numbers(&found["probabilities"]), &[49.0 / 53.0, 4.0 / 53.0], 1e-6);
        }
    }

    #[test]
    fn bouchard_has_no_formula_for_three() {
        let dir = Dir::new();
        dir.create("counts", "3\n1\n2\n");
        let message = "error: method is closed-form for bouchard with 3 values, but softmax and one-vs-each have a formula, \
                       bouchard for two values; take batch\n";
        assert_eq!(dir.run("estimate counts --objective bouchard --method closed-form").refused(), message);
        assert_eq!(dir.run("estimate counts --objective bouchard --json").json()["method"], "batch");
    }

    #[test]
    fn bad_counts() {
        let dir = Dir::new();
        let whole = "counts are whole numbers whose sum fits 64 bits";
        for (text, message) in [
            ("3\n-1\n", format!("counts:2:1: count '-1', but {whole}")),
            ("a\t3\nlong name\tx\n", format!("counts:2:11: count 'x', but {whole}")),
            ("a\t3\nb\t\n", format!("counts:2:3: count '', but {whole}")),
            ("1\n18446744073709551615\n", format!("counts:2:1: count '18446744073709551615', but {whole}")),
            ("\n\n", "counts: no rows, but there must be at least one".into()),
            ("0\n0\n", "no value that occurs, but at least one count is positive".into()),
        ] {
            dir.create("counts", text);
            assert_eq!(dir.run("estimate counts").refused(), format!("error: {message}\n"));
        }
    }
}

mod predict {
    use super::*;

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
        let message = "error: bare.svm:1:1: no label, but every row needs one\n";
        assert_eq!(dir.run("evaluate fruit.model bare.svm").refused(), message);
    }

    #[test]
    fn unknown_features_count_as_absent() {
        let dir = Dir::with_model();
        dir.create("known.svm", "1:1\n");
        dir.create("more.svm", "1:1 9:1 12:3\n");
        let (known, more) = (dir.run("predict fruit.model known.svm"), dir.run("predict fruit.model more.svm"));
        assert_eq!(known.stderr, "");
        let note = "more.svm: 2 entries have features that the model does not know (it has 5); they count as absent\n";
        assert_eq!(more.stderr, note);
        assert_eq!(more.ok(), known.ok());
    }

    #[test]
    fn times_go_to_stderr() {
        let dir = Dir::with_model();
        let (timed, plain) =
            (dir.run("predict fruit.model fruit.svm --times"), dir.run("predict fruit.model fruit.svm"));
        let times: Value = serde_json::from_str(&timed.stderr).unwrap();
        assert_eq!(keys(&times), ["predict_seconds", "read_seconds"]);
        assert!(keys(&times).iter().all(|key| times[key].as_f64().unwrap() > 0.0));
        assert_eq!(timed.ok(), plain.ok());
    }
}

mod evaluate {
    use super::*;

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
        for (key, value) in
            [("error", 0.0), ("precision_at_1", 1.0), ("rows", 6.0), ("classes", 3.0), ("features", 5.0)]
        {
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
        contains(&text, "\nunknown class    1 rows, each counted as an error and left out of nlpd and bound\n");
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
}

mod inspect {
    use super::*;

    #[test]
    fn a_model() {
        let dir = Dir::with_model();
        let text = dir.run("inspect fruit.model").ok();
        assert!(text.starts_with("3 classes, 5 features, 6 training rows\nmost frequent: apple (2)"), "{text}");
        assert!(!text.contains("not finished"), "{text}");
        let found = dir.run("inspect fruit.model --json").json();
        assert_eq!(keys(&found), ["classes", "features", "finished", "options", "rows", "trace"]);
        assert_eq!((&found["finished"], &found["options"]["epochs"]), (&true.into(), &100.into()));
        assert_eq!(found["trace"].as_array().unwrap().last().unwrap()["updates"], 600);
    }

    #[test]
    fn a_class() {
        let dir = Dir::with_model();
        let text = dir.run("inspect fruit.model --class pear --top 1").ok();
        assert!(text.starts_with("pear: 2 training rows, bias "), "{text}");
        let (speaks_for, against) = text.split_once("\nspeaks against it\n").unwrap();
        assert!(speaks_for.ends_with("  feature 2\n"), "{text}");
        assert_eq!(against.lines().count(), 1);
        let found = dir.run("inspect fruit.model --class pear --json").json();
        assert_eq!(keys(&found), ["against", "bias", "class", "count", "for"]);
        assert_eq!(found["for"][0]["index"], 2);
        let message = "error: class is `kiwi`, but the model has 3 classes such as apple\n";
        assert_eq!(dir.run("inspect fruit.model --class kiwi").refused(), message);
    }
}

mod train {
    use super::*;

    #[test]
    fn json() {
        let dir = Dir::new();
        dir.create("fruit.svm", FRUIT);
        let run = dir.run("train fruit.svm -o m --json");
        assert_eq!(run.stderr, "6 rows, 5 features, 3 classes\n");
        let found = run.json();
        let own = ["finished", "model", "skipped_rows", "temperature", "train_seconds", "updates_per_second"];
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
    fn from_a_cache() {
        let dir = Dir::new();
        dir.create("fruit.svm", FRUIT);
        let first = dir.run("train fruit.svm -o a --cache rows");
        let again = dir.run("train fruit.svm -o b --cache rows");
        contains(&again.stderr, "rows: rows of an earlier run");
        assert!(!first.stderr.contains("earlier run"), "{}", first.stderr);
        assert_eq!(dir.bytes("a"), dir.bytes("b"));
        contains(&dir.run("predict a fruit.svm --top 1").ok(), "apple");
        let refused = dir.run("train - -o c --cache rows").refused();
        contains(&refused, "cache is standard input, but only a file can be read again");
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
            ("empty.svm", "error: empty.svm: no rows, but there must be at least one\n"),
            ("one.svm", "error: 1 class, but there have to be at least two to tell apart\n"),
            ("bad.svm", "error: bad.svm:2:8: "),
            ("fruit.svm --epochs 0", "error: epochs is 0, but it is at least 1\n"),
            ("fruit.svm --class-weight no.txt", "error: no.txt: No such file or directory (os error 2)\n"),
            (
                "fruit.svm --class-weight weights.txt",
                "error: weights.txt:2:1: class 'kiwi', but no row has this class\n",
            ),
            ("fruit.svm --l2 NaN", "error: l2 is NaN, but it is a number that is not negative\n"),
            ("fruit.svm --schedule 2", "error: schedule is 2, but the factor an epoch lies above 0 and is at most 1\n"),
            ("fruit.svm --schedule x", "error: invalid value 'x' for '--schedule <linear|F>': schedule is `x`, but"),
            ("fruit.svm --solver x", "error: invalid value 'x' for '--solver <SOLVER>'\n"),
            ("fruit.svm --objective x", "error: invalid value 'x' for '--objective <OBJECTIVE>'\n"),
            ("fruit.svm --memory x", "error: invalid value 'x' for '--memory <BYTES>': memory is `x`, but"),
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
            format!(
                "error: 2 classes times 101 features need {need} for the {solver} solver, but memory allows 1.0 kB\n"
            )
        };
        assert_eq!(need("--solver batch"), message("25.9 kB", "batch"));
        let forest = dir.run("train wide.svm -o m --memory 1 --solver forest").refused();
        contains(&forest, "3 trees need more than 0.1 kB for their weights, but memory allows 0.0 kB");
        assert_eq!(dir.files(), ["wide.svm"]);
    }

    /// 2 classes times 101 features at 12 bytes do not fit in a kilobyte; 83 cells do, two of them biases.
    #[test]
    fn weights_that_do_not_fit_share_cells() {
        let dir = Dir::new();
        dir.create("wide.svm", "a 1:1\nb 99:1\n");
        let run = dir.run("train wide.svm -o m --memory 1KB --epochs 50");
        contains(&run.stderr, "their weights share 81 cells, which --memory allows\n");
        run.ok();
        assert!(dir.bytes("m").windows(15).any(|part| part == b"hashed_features"));
        assert_eq!(dir.run("inspect m --json").json()["features"], 100);
        assert_eq!(dir.run("inspect m --class a --json").json()["for"][0]["index"], 1);
        assert_eq!(dir.run("evaluate m wide.svm --json").json()["error"], 0.0);
        contains(&dir.run("train wide.svm -o m --memory 40").refused(), "but memory allows 0.0 kB\n");
    }

    #[test]
    fn a_folder_that_is_not_there() {
        let dir = Dir::new();
        dir.create("fruit.svm", FRUIT);
        assert_eq!(dir.run("train fruit.svm -o no/m").refused(), "error: no/m: the folder no is not there\n");
        assert_eq!(dir.run("train fruit.svm -o .").refused(), "error: .: a folder, but the model is a file\n");
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

    #[cfg(unix)]
    #[test]
    fn ctrl_c_keeps_what_was_reached() {
        let dir = Dir::with_big_data();
        let mut child = dir
            .command("train big.svm -o m --epochs 1000000")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Training starts after this line.
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        contains(&stderr.next().unwrap().unwrap(), "5000 rows");
        std::thread::sleep(Duration::from_millis(1000));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        assert_eq!(code_within(&mut child, Duration::from_secs(10)), Some(130));
        let said: Vec<String> = stderr.map(Result::unwrap).collect();
        assert_eq!(said.last().unwrap(), "stopped early; the model holds what was reached");

        assert_eq!(dir.files(), ["big.svm", "m"]);
        contains(&dir.run("inspect m").ok(), "\ntraining was not finished\n");
        let error = dir.run("evaluate m big.svm --json").json()["error"].as_f64().unwrap();
        assert!(error < 0.9, "{error} is no better than chance");
    }

    /// The exit code of a program that has to end by itself.
    #[track_caller]
    fn code_within(child: &mut Child, limit: Duration) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(status) = child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        panic!("still running after {limit:?}");
    }
}

mod text {
    use super::*;

    const TITLES: &str = "Oak and pine\twood tree\nPine houses\twood house\nThe oak tree\ttree\nOld houses\thouse\n\
                          A pine tree\ttree wood\nStone houses, old oak\thouse\n";

    /// With `titles.tsv` and, trained on it, `titles.model`.
    fn dir() -> Dir {
        let dir = Dir::new();
        dir.create("titles.tsv", TITLES);
        dir.run("train titles.tsv -o titles.model --ngrams 2 --epochs 100").ok();
        dir
    }

    /// The lines printed for lines on stdin.
    fn lines(dir: &Dir, words: &str, input: &str) -> Vec<String> {
        let mut child = dir.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn train_and_predict() {
        let dir = dir();
        let found = dir.run("inspect titles.model --json").json();
        assert_eq!((&found["classes"], &found["features"]), (&3.into(), &5.into()));
        assert_eq!(found["options"]["text"]["ngrams"], 2);
        contains(&dir.run("inspect titles.model --class house").ok(), "  old\n");

        // A line a text, blank or not, whatever follows a tab; never taken for numbers.
        let input = "HOUSES?\nan oak tree\tx\ty\n\n1 2:3\nOld houses";
        let found = lines(&dir, "predict titles.model - --top 1", input);
        let classes: Vec<&str> = found.iter().map(|line| line.split('\t').next().unwrap()).collect();
        assert_eq!(classes.len(), 5);
        assert_eq!((classes[0], classes[1], classes[4]), ("house", "tree", "house"));
        assert_eq!(classes[2], classes[3], "no known word in either");
        dir.create("new.txt", input);
        let from_file = dir.run("predict titles.model new.txt --top 1").ok();
        assert_eq!(from_file.lines().collect::<Vec<_>>(), found);
    }

    #[test]
    fn evaluate() {
        let dir = dir();
        let found = dir.run("evaluate titles.model titles.tsv --json").json();
        assert_eq!((&found["rows"], &found["error"]), (&6.into(), &0.0.into()));
        let labelled = |line: &str| {
            let (text, labels) = line.split_once('\t').unwrap();
            let labels: String = labels.split(' ').map(|label| format!("__label__{label} ")).collect();
            format!("{labels}{text}\n")
        };
        dir.create("titles.txt", &TITLES.lines().map(labelled).collect::<String>());
        let same = dir.run("evaluate titles.model titles.txt --json").json();
        assert_eq!(same["nlpd"], found["nlpd"]);
        let turned = |line: &str| line.split('\t').rev().collect::<Vec<_>>().join("\t") + "\n";
        dir.create("turned.tsv", &TITLES.lines().map(turned).collect::<String>());
        let same = dir.run("evaluate titles.model turned.tsv --format tsv-label-first --json").json();
        assert_eq!(same["nlpd"], found["nlpd"]);
    }

    #[test]
    fn hashed_features() {
        let dir = dir();
        let found =
            dir.run("train titles.tsv -o m --hash 64 --sublinear-tf --epochs 100 --valid titles.tsv --json").json();
        assert_eq!((&found["features"], &found["error"]), (&64.into(), &0.0.into()));
    }

    #[test]
    fn text_and_numbers_do_not_mix() {
        let dir = dir();
        dir.create("fruit.svm", FRUIT);
        dir.run("train fruit.svm -o fruit.model").ok();
        let numbers =
            "fruit.svm: rows of numbers (libsvm), but texts are wanted; the format tsv reads any lines as texts";
        let text = "titles.tsv: raw text, but rows of numbers are wanted";
        for command in ["predict", "evaluate"] {
            assert_eq!(dir.run(&format!("{command} titles.model fruit.svm")).refused(), format!("error: {numbers}\n"));
            assert_eq!(dir.run(&format!("{command} fruit.model titles.tsv")).refused(), format!("error: {text}\n"));
        }
        for (flags, message) in [
            ("--ngrams 0", "ngrams is 0, but it is at least 1"),
            ("--min-df 9", "min-df is 9, but no term stands in so many texts"),
            ("--hash 0", "hash is 0, but it is at least 1"),
        ] {
            assert_eq!(dir.run(&format!("train titles.tsv -o m {flags}")).refused(), format!("error: {message}\n"));
        }
        contains(&dir.run("train titles.tsv -o m --hash 9 --min-df 3").refused(), "cannot be used with");
    }

    /// Training on what was converted gives the weights of training on the texts.
    #[test]
    fn convert() {
        let dir = dir();
        dir.create("test.tsv", "Old oak\ttree\nA new stone\tstone tree\n");
        let flags = "--test test.tsv --test-output test.xmc --names names.txt --ngrams 2 --json";
        let found = dir.run(&format!("convert titles.tsv -o train.xmc {flags}")).json();
        assert_eq!((&found["features"], &found["labels"]), (&5.into(), &4.into()));
        assert_eq!(dir.bytes("names.txt"), b"house\ntree\nwood\nstone\n");
        let text = |name: &str| String::from_utf8(dir.bytes(name)).unwrap();
        assert!(text("train.xmc").starts_with("6 5 4\n2,1 1:"), "{}", text("train.xmc"));
        assert_eq!(
            text("test.xmc").lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
            ["2", "1", "3,1"]
        );

        let train =
            |data: &str| dir.run(&format!("train {data} -o m --epochs 3 --ngrams 2 --json")).json()["bound"].clone();
        assert_eq!(train("titles.tsv"), train("train.xmc"));

        // A model's vocabulary and classes; and numbers as they are.
        dir.run("convert test.tsv -o like.xmc --like titles.model").ok();
        assert_eq!(text("like.xmc"), text("test.xmc"));
        dir.create("fruit.svm", FRUIT);
        contains(&dir.run("convert fruit.svm -o fruit.xmc").ok(), "features         5\nlabels           3\n");
        assert!(text("fruit.xmc").starts_with("6 5 3\n0 1:1 4:0.5\n0 1:0.9\n1 2:1"));
        assert_eq!(
            dir.run("convert titles.tsv -o x --test fruit.svm --test-output y").refused(),
            "error: fruit.svm: rows of numbers (libsvm), but texts are wanted; the format tsv reads any lines as texts\n"
        );
        assert!(!dir.files().contains(&"x".to_owned()));
    }
}

#[test]
fn what_is_no_model_is_refused() {
    let dir = Dir::new();
    dir.create("fruit.svm", FRUIT);
    dir.create("empty", "");
    for command in ["predict", "evaluate", "inspect"] {
        let data = if command == "inspect" { "" } else { "fruit.svm" };
        for (model, message) in [
            ("missing", "missing: No such file or directory (os error 2)"),
            ("fruit.svm", "fruit.svm: not a usable model: header too large"),
            ("empty", "empty: not a usable model: header too small"),
        ] {
            assert_eq!(dir.run(&format!("{command} {model} {data}")).refused(), format!("error: {message}\n"));
        }
    }
}

/// As in `ove predict … | head`, once head has gone.
#[test]
fn a_closed_pipe_is_no_error() {
    let dir = Dir::with_model();
    dir.create("counts", "1\n2\n");
    for words in [
        "predict fruit.model fruit.svm",
        "evaluate fruit.model fruit.svm",
        "evaluate fruit.model fruit.svm --json",
        "inspect fruit.model",
        "inspect fruit.model --class pear",
        "estimate counts",
        "bound --scores 1,2 --class 0",
        "train fruit.svm -o m",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = dir.command(words).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !stderr.contains("panicked"), "{words}: {} {stderr}", output.status);
    }
}

/// A disk that is full is one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = Dir::with_model();
    for words in ["predict fruit.model fruit.svm", "inspect fruit.model", "evaluate fruit.model fruit.svm --json"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = dir.command(words).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: No space left on device (os error 28)\n");
    }
}

#[test]
fn trees_ask_for_a_forest_and_are_never_asked_for_in_vain() {
    let dir = Dir::with_model();
    dir.run("train fruit.svm -o few.model --trees 2").ok();
    let card: Value = dir.run("inspect few.model --json").json();
    assert_eq!(card["options"]["trees"], 2, "{card}");
    for other in ["--solver batch", "--solver stochastic", "--from fruit.model"] {
        let said = dir.run(&format!("train fruit.svm -o few.model --trees 2 {other}")).refused();
        contains(&said, "--trees: a linear model has none; they go with --solver forest");
    }
    contains(&dir.run("train fruit.svm -o few.model --trees 2 --objective merged").refused(), "--objective");
}

#[test]
fn a_forest_trains_predicts_and_loses_small_weights() {
    let dir = Dir::with_model();
    let train = "train fruit.svm -o forest.model --solver forest --trees 2 --epochs 20 --valid fruit.svm --json";
    let whole: Value = serde_json::from_str(&dir.run(train).ok()).unwrap();
    assert_eq!(whole["error"], 0.0, "{whole}");
    assert_eq!(whole["bound"], Value::Null);
    assert!(whole["ece_uncalibrated"].is_number());
    contains(&dir.run("inspect forest.model").ok(), "trees");
    contains(&dir.run("inspect forest.model --class apple").ok(), "speaks for it");
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

#[test]
fn help_names_flags_and_defaults() {
    let dir = Dir::new();
    for (command, flags) in [
        ("train", "--output --valid --objective=one-vs-each --epochs=5 --classes=5 --learning-rate=0.1 --memory=8GB"),
        ("train", "--l2=0 --seed=0 --solver=stochastic --sampler=uniform --batch=256 --step=adagrad --schedule=linear"),
        ("predict", "--top=5 --format --threads=0 --json --times"),
        ("train", "--class-weight --first-label --format --labels --iterations=2000"),
        ("evaluate", "--format --labels --first-label --threads=0 --json"),
        ("inspect", "--class --top=10 --json"),
        ("convert", "--output --test --test-output --like --names --ngrams=1 --min-df=2 --hash --sublinear-tf --json"),
        ("bound", "--scores --class --merge --json"),
        ("estimate", "--method --objective=one-vs-each --merge=10 --tolerance=1e-10 --iterations=2000 --json"),
        ("demo", "--output=demo --seed=0 --json"),
        ("reproduce", "--data=data --output=report --seed=0 --json"),
        ("generate amazoncat-13k", "--output --seed=0 --scale=1 --json"),
        ("generate shape", "--rows --features --classes --per-row=20 --output --seed=0 --json"),
    ] {
        let help = dir.run(&format!("{command} --help")).ok();
        contains(&help, &format!("Usage: ove {command} "));
        for flag in flags.split(' ') {
            let (name, default) = flag.split_once('=').unwrap_or((flag, ""));
            let after = help.split(&format!("{name} <")).nth(1).or(help.split(name).nth(1)).unwrap_or_default();
            let own = after.split("\n      --").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.contains(name), "{command}: no {name}");
            assert!(default.is_empty() || own.contains(&format!("[default: {default}]")), "{command} {flag}:\n{own}");
        }
    }
}

#[test]
fn help_and_version_of_the_program() {
    let dir = Dir::new();
    assert_eq!(dir.run("--version").ok(), concat!("ove ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = dir.run("--help").ok();
    ["train", "predict", "evaluate", "inspect", "bound", "estimate"].iter().for_each(|name| contains(&help, name));
    assert_eq!(dir.run("").refused(), help, "no command shows the help, as an error");
    contains(&dir.run("trian").refused(), "unrecognized subcommand 'trian'");
}

#[test]
fn generated_rows_train() {
    let dir = Dir::new();
    let made = dir.run("generate amazoncat-13k -o made --scale 0.0005 --json").json();
    assert_eq!((made["train"]["rows"].as_u64(), made["features"].as_u64()), (Some(593), Some(203_882)));
    let result = dir.run("train made/train.txt -o m --step sgd --valid made/test.txt --json").json();
    assert_eq!(result["rows"], 153);
    assert_eq!(
        dir.run("generate amazoncat-13k -o made --scale 0").refused(),
        "error: scale is 0, but it lies between 0.0001 and 10\n"
    );
}

#[test]
fn rows_of_any_shape() {
    let dir = Dir::new();
    let shape = "generate shape --rows 300 --features 70 --classes 40 --per-row 9";
    let made = dir.run(&format!("{shape} -o made.txt --json")).json();
    assert_eq!((&made["rows"], &made["classes"]), (&300.into(), &40.into()));
    contains(&dir.run(&format!("{shape} -o again.txt")).ok(), "rows             again.txt (300 rows, ");
    assert_eq!(dir.bytes("made.txt"), dir.bytes("again.txt"));
    let result = dir.run("train made.txt -o m --valid made.txt --epochs 20 --learning-rate 1 --json").json();
    assert_eq!((&result["features"], &result["classes"]), (&70.into(), &40.into()));
    assert!(result["error"].as_f64().unwrap() < 0.5, "{result}");
    assert_eq!(
        dir.run("generate shape --rows 3 --features 0 --classes 4 -o none.txt").refused(),
        "error: features is 0, but it lies between 1 and 4294967295\n"
    );
}

#[test]
fn figure_1_is_reproduced() {
    let dir = Dir::new();
    let result = dir.run("reproduce figure-1 -o report --json").json();
    let rows = result["rows"].as_array().unwrap();
    let numbers =
        |key: &str| -> Vec<f64> { rows[0][key].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect() };
    let (exact, ours, bouchard) = (numbers("softmax"), numbers("one_vs_each"), numbers("bouchard"));
    assert!(exact.iter().zip(&ours).all(|(a, b)| (a - b).abs() < 1e-6));
    assert!(bouchard[0] > exact[0] && bouchard[9] < exact[9]);
    let of = |method: &str, key: &str| rows.iter().find(|row| row["method"] == method).unwrap()[key].as_f64().unwrap();
    assert!(
        of("bouchard", "bound") < of("one-vs-each", "bound") && of("one-vs-each", "bound") < of("softmax", "bound")
    );
    assert!(of("one-vs-each", "norm") < of("bouchard", "norm"));
    assert!(std::fs::read_to_string(dir.0.path().join("report/report.html")).unwrap().contains("</html>"));
}
