//! Caches that are made, used and damaged.

use std::path::PathBuf;

use super::*;
use crate::io::read::read_any;
use crate::platform::digest::Digest;

/// The rows of a data set, with the names of their classes and features.
fn told(text: Option<&Text>, data: &Dataset) -> Vec<String> {
    let name = |feature: u32| text.and_then(|text| text.names().get(feature as usize)).map(str::to_owned);
    let of_row = |n: usize| {
        let row = data.rows().row(n);
        let entries: Vec<_> = row.indices.iter().zip(row.values).map(|(&d, x)| (name(d), d, x.to_bits())).collect();
        let labels: Vec<_> = data.labels[n].iter().map(|&k| &data.classes[k as usize]).collect();
        format!("{labels:?} {:?} {entries:?}", data.row_weights.get(n))
    };
    (0..data.len()).map(of_row).collect()
}

fn check(name: &str, content: &str, options: &TextOptions) {
    let folder = tempfile::tempdir().unwrap();
    let (path, cache) = (folder.path().join(name), folder.path().join("cache"));
    fs::write(&path, content).unwrap();
    let read = ReadOptions::default();
    let (text, data) = match read_any(&path, &read).unwrap() {
        Input::Rows(data) => (None, data),
        Input::Texts(texts) => {
            let (text, data) = texts.fit(options).unwrap();
            (Some(text), data)
        }
    };
    for bytes in [1, 40, 1 << 20] {
        let origin = Origin::of(&path, &read, options).unwrap();
        let (card, _) = make(&cache, origin, (&path, &read, bytes), options, &mut |_| ()).unwrap();
        let (of_cache, cached) = load(&cache, card).unwrap();
        assert!(cached.bytes_on_disk() > 0);
        assert_eq!(of_cache, text, "{name}: pieces of {bytes} bytes");
        assert_eq!((cached.features(), &cached.classes), (data.features(), &data.classes));
        assert_eq!(told(of_cache.as_ref(), &cached), told(text.as_ref(), &data), "{name}: pieces of {bytes} bytes");
    }
}

#[test]
fn a_cache_holds_what_the_file_does() {
    let options = TextOptions { min_df: 1, ..TextOptions::default() };
    let hashed = TextOptions { hash: Some(50), ..options };
    check("a.svm", "2,x 1:0.5 7:1\n10 3:2\n\n# none\n2 weight:2.5 4:1\n", &options);
    check("a.txt", "3 9 12\n0,11 1:0.5 8:1\n2 0:1\n11 weight:3 4:0.25\n\n", &options);
    let titles = "\u{feff}The cat sat\tpets\t2\nThe dog\tpets dogs\nA bird sat\tbirds\r\nThe cat\tpets\n";
    check("a.tsv", titles, &options);
    check("a.tsv", titles, &hashed);
    check("a.tsv", titles, &TextOptions { ngrams: 2, min_df: 2, ..options });
}

/// What is learnt does not depend on where the rows lie, as long as they fit in a window of the stochastic solver.
#[test]
fn training_from_disk_is_training() {
    use crate::scores::Linear;
    use crate::train::{Start, Training};
    use crate::{Examples, Scores, TrainOptions, synthetic, with_threads};
    use serde_json::json;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plane.svm");
    let plane = synthetic::plane(300, 0);
    let rows: String = (0..plane.len())
        .map(|n| {
            let values = plane.rows().row(n).values;
            format!("{} 0:{} 1:{}\n", plane.classes[plane.labels[n][0] as usize], values[0], values[1])
        })
        .collect();
    fs::write(&path, rows).unwrap();
    let (read, text) = (ReadOptions::default(), TextOptions::default());
    let cached = open(&folder.path().join("cache"), &path, &read, &text, &mut |_| ()).unwrap().data;
    let Input::Rows(data) = read_any(&path, &read).unwrap() else { panic!("rows of numbers") };
    let options = |settings| TrainOptions::from_settings(&settings).unwrap();
    let fit = |data: &Dataset, options: &TrainOptions| -> Linear {
        let mut training = Training::new(Examples::of(data), options, Start::default()).unwrap();
        while training.step().unwrap().is_some() {}
        let Scores::Linear(linear) = training.finish().unwrap().scores else { panic!("linear scores") };
        linear
    };
    let batch = options(json!({ "solver": "batch", "l2": 1.0, "iterations": 50 }));
    assert_eq!(fit(&cached, &batch), fit(&data, &batch));
    let stochastic = options(json!({ "epochs": 20, "batch": 8 }));
    let on_disk = fit(&cached, &stochastic);
    assert_eq!(on_disk, fit(&data, &stochastic));
    assert_eq!(with_threads(1, || fit(&cached, &stochastic)).unwrap(), on_disk);
}

#[test]
fn places_in_errors_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let told = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let read = ReadOptions::default();
        let origin = Origin::of(&path, &read, &TextOptions::default()).unwrap();
        let error = make(folder.path(), origin, (&path, &read, 8), &TextOptions::default(), &mut |_| ());
        let message = error.unwrap_err().to_string();
        message.strip_prefix(&format!("{}:", path.display())).expect("a place").to_owned()
    };
    assert!(told("a.svm", "a 1:1\nb 2:1\nc 3:x\n").starts_with("3:5: "));
    assert!(told("a.txt", "3 5 2\n0 1:1\n1 2:1\n1 9:1\n").starts_with("4:3: expected a feature from 0 to 4"));
    assert_eq!(told("a.txt", "4 5 2\n0 1:1\n1 2:1\n"), "3: expected 4 rows, as the header says, found 2");
    assert!(told("a.txt", "1 5 2\n0 1:1\n1 2:1\n").starts_with("3:1: expected 1 rows, as the header says, found more"));
    assert!(told("a.tsv", "a\tx\nb\tx\nno tab\n").starts_with("3:7: expected 'text<TAB>label label …', found no tab"));
}

#[test]
fn a_cache_is_used_again_until_the_file_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, cache) = (folder.path().join("a.svm"), folder.path().join("cache"));
    fs::write(&path, "a 1:1\nb 2:1\n").unwrap();
    let open = |read: &ReadOptions| open(&cache, &path, read, &TextOptions::default(), &mut |_| ()).unwrap();
    let read = ReadOptions::default();
    assert!(!open(&read).reused);
    assert!(open(&read).reused);
    assert!(!open(&ReadOptions { first_label: true, ..read.clone() }).reused);
    fs::write(&path, "a 1:1\nb 2:1\nc 1:3\n").unwrap();
    let again = open(&read);
    assert!(!again.reused && again.data.len() == 3);
}

/// The file is replaced by one of the same length and time, as `rsync --times` and some editors do.
#[test]
fn a_change_that_keeps_length_and_time_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, cache) = (folder.path().join("a.svm"), folder.path().join("cache"));
    let lines: String = (0..100_000).map(|n| format!("a {}:1\n", 10 + n % 90)).collect();
    let write = |content: &str| {
        fs::write(&path, content).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    };
    let open = || open(&cache, &path, &ReadOptions::default(), &TextOptions::default(), &mut |_| ()).unwrap();
    write(&lines);
    assert!(!open().reused && open().reused);
    for change in [("a 10", "b 10"), ("a 99", "b 99")] {
        let changed = lines.replace(change.0, change.1);
        assert_eq!(changed.len(), lines.len());
        write(&changed);
        assert!(!open().reused && open().reused, "{change:?}");
    }
    // The first and the last byte are part of the sample.
    write(&format!("b{}", &lines[1..]));
    assert!(!open().reused);
    write(&format!("b{} ", &lines[1..lines.len() - 1]));
    assert!(!open().reused);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_part_of_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    let (path, cache) = (folder.path().join("a.tsv"), folder.path().join("cache"));
    fs::write(&path, "the cat\tpets\t2\nthe dog\tpets dogs\nthe cat\tpets\n").unwrap();
    let open = || open(&cache, &path, &ReadOptions::default(), &TextOptions::default(), &mut |_| ());
    fs::create_dir(&cache).unwrap();
    for column in COLUMNS {
        std::os::unix::fs::symlink("/dev/full", cache.join(column)).unwrap();
        let error = open().err().expect("a full disk").to_string();
        let expected = format!("cache/{column}: No space left on device (os error 28)");
        assert!(error.ends_with(&expected), "{error}");
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 0, "{column} is left");
    }
    fs::remove_dir_all(&cache).unwrap();
    fs::write(&path, "the cat\tpets\nno label\n").unwrap();
    assert!(open().is_err() && !cache.exists(), "a folder that was made for a cache is removed with it");
}

/// A cache of a few texts with weights, and the file that it is of.
struct Small {
    folder: tempfile::TempDir,
}

impl Small {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let texts = "the cat sat\tpets cats\t2\nthe dog sat\tpets dogs\nthe bird\tbirds\t0.5\n";
        fs::write(folder.path().join("a.tsv"), texts).unwrap();
        let small = Small { folder };
        assert!(!small.open().unwrap().reused);
        small
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn open(&self) -> Result<Cached> {
        let path = self.folder.path().join("a.tsv");
        open(&self.cache(), &path, &ReadOptions::default(), &TextOptions::default(), &mut |_| ())
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = fs::read_dir(self.cache()).unwrap().map(|entry| entry.unwrap().path());
        paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

/// Files that were cut at every byte, and those in which a bit of every byte was changed.
fn damaged(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let cut = (0..bytes.len()).map(|at| bytes[..at].to_vec());
    let changed = (0..bytes.len()).map(|at| {
        let mut changed = bytes.to_vec();
        changed[at] ^= 1 << (at % 8);
        changed
    });
    cut.chain(changed).chain([[bytes, &[0; 8]].concat()])
}

#[test]
fn a_column_that_is_cut_or_changed_anywhere_is_refused() {
    let small = Small::new();
    let kept = small.open().unwrap();
    assert!(kept.reused && !kept.data.row_weights.is_empty());
    let columns: Vec<_> = small.files().into_iter().filter(|(path, _)| !path.ends_with(Card::NAME)).collect();
    assert_eq!(columns.len(), 8);
    for (path, whole) in columns {
        for bytes in damaged(&whole) {
            fs::write(&path, bytes).unwrap();
            let error = small.open().err().expect("a damaged cache");
            assert!(matches!(error, Error::Cache { .. }), "{error}");
        }
        fs::remove_file(&path).unwrap();
        assert!(matches!(small.open(), Err(Error::File { .. })));
        fs::write(&path, &whole).unwrap();
        assert!(small.open().unwrap().reused);
    }
}

#[test]
fn a_cache_is_made_anew_if_its_card_is_cut_or_changed_anywhere() {
    let small = Small::new();
    let path = small.cache().join(Card::NAME);
    let whole = fs::read(&path).unwrap();
    for bytes in damaged(&whole) {
        fs::write(&path, &bytes).unwrap();
        assert!(Card::read(&small.cache()).is_none(), "{}", String::from_utf8_lossy(&bytes));
    }
    assert!(!small.open().unwrap().reused && small.open().unwrap().reused);
}

fn refusal(small: &Small, card: Card) -> String {
    let path = small.cache().display().to_string();
    let error = load(&small.cache(), card).expect_err("a damaged cache").to_string();
    let error = error.strip_prefix(&path).expect("a path").strip_suffix("; remove its folder to rebuild it");
    error.expect("what to do").replace(": not a usable cache", "")
}

#[test]
fn what_a_stranger_writes_is_refused_by_what_is_wrong_with_it() {
    let small = Small::new();
    // What is wrong with other numbers in a column, whose sum is that of these numbers.
    let hostile = |name: &str, numbers: &[u32]| {
        let path = small.cache().join(name);
        let whole = fs::read(&path).unwrap();
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        fs::write(&path, bytes).unwrap();
        let mut card = Card::read(&small.cache()).unwrap();
        card.sums.insert(name.into(), Digest::of(bytes));
        let refusal = refusal(&small, card);
        fs::write(&path, whole).unwrap();
        refusal
    };
    let floats = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    // The rows hold the features 0 1, 0 1 and 0.
    assert_eq!(hostile("indices", &[0, 1, 0, 2, 0]), "/indices: row 1: expected a feature below 2, found 2");
    assert_eq!(hostile("indices", &[1, 0, 0, 1, 0]), "/indices: row 0: features must increase within a row");
    assert_eq!(hostile("indices", &[0, 1, 0]), "/offsets: offsets do not match 3 entries");
    assert_eq!(hostile("offsets", &[0, 0, 4, 0, 2, 0, 5, 0]), "/offsets: offsets do not match 5 entries");
    assert_eq!(hostile("offsets", &[0, 0, 2, 0, 9, 0, 5, 0]), "/offsets: offsets do not match 5 entries");
    assert_eq!(hostile("offsets", &[]), "/offsets: offsets do not match 5 entries");
    assert_eq!(hostile("offsets", &[0, 0, 5]), "/offsets: its last number is cut short");
    assert_eq!(hostile("values", &[0; 4]), "/values: expected 5 values, one per entry, found 4");
    assert_eq!(hostile("values", &floats(&[1., f32::NAN, 1., 1., 1.])), "/values: expected finite values, found NaN");
    // There are four classes; the rows have 2, 2 and 1 of them.
    assert_eq!(hostile("labels", &[0, 1, 2, 9, 0]), "/labels: row 1: expected a class below 4, found 9");
    assert_eq!(hostile("labels", &[0, 1, 2, 2, 0]), "/labels: row 1: class 2 occurs twice");
    assert_eq!(hostile("labels", &[0, 1]), "/label-offsets: offsets do not match 2 labels of 3 rows");
    assert_eq!(hostile("label-offsets", &[0, 0, 5, 0]), "/label-offsets: offsets do not match 5 labels of 3 rows");
    assert_eq!(hostile("weights", &[0; 2]), "/weights: expected 3 weights, one per row, found 1");
    assert_eq!(
        hostile("weights", &[u32::MAX; 6]),
        "/weights: row 0: expected a weight, finite and at least 0, found NaN"
    );
    assert_eq!(
        hostile("idf", &floats(&[1.0])),
        "/terms: 1 weights for 2 terms do not match the text settings, which need 2"
    );
    assert_eq!(hostile("idf", &floats(&[1.0, f32::INFINITY])), "/terms: expected finite weights of terms, found inf");
    assert_eq!(hostile("terms", &[u32::from_le_bytes(*b"a\nbb")]), "/terms: the list of terms is cut short");
    assert_eq!(
        hostile("terms", &[u32::from_le_bytes(*b"abb\n")]),
        "/terms: expected 2 terms, one per feature, found 1"
    );
    assert!(hostile("terms", &[u32::MAX]).starts_with("/terms: terms: invalid utf-8"));
}

#[test]
fn a_card_that_promises_too_much_is_refused() {
    let small = Small::new();
    let card = |change: &dyn Fn(&mut Card)| {
        let mut card = Card::read(&small.cache()).unwrap();
        change(&mut card);
        refusal(&small, card)
    };
    assert_eq!(card(&|card| card.features = 1), "/indices: row 0: expected a feature below 1, found 1");
    assert_eq!(card(&|card| card.features = 3), "/terms: expected 3 terms, one per feature, found 2");
    assert_eq!(
        card(&|card| card.features = usize::MAX),
        format!("/card: expected at most 2³² features, found {}", usize::MAX)
    );
    assert_eq!(card(&|card| card.classes.truncate(1)), "/labels: row 0: expected a class below 1, found 3");
    assert_eq!(card(&|card| card.sums.clear()), "/offsets: its checksum is wrong: some of it was changed");
}
