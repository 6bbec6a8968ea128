//! A cache that is made in parts, one per file, has the rows of all files as if they were one.

use std::fs;
use std::path::{Path, PathBuf};

use ove::io::cache::{self, Cached, parts};
use ove::io::read::ReadOptions;
use ove::text::{Language, TextOptions};
use tempfile::TempDir;

/// Three files, each with words and labels that the others have not; and one file with all lines.
fn files(folder: &Path, line: impl Fn(usize) -> String) -> (Vec<PathBuf>, PathBuf) {
    let of = |range: std::ops::Range<usize>| range.map(&line).collect::<String>();
    let (ranges, all) = ([0..40, 40..41, 41..90], folder.join("all"));
    fs::write(&all, of(0..90)).unwrap();
    let write = |(n, range)| {
        let path = folder.join(format!("file{n}"));
        fs::write(&path, of(range)).unwrap();
        path
    };
    (ranges.into_iter().enumerate().map(write).collect(), all)
}

/// Makes a cache in parts, the last file first.
fn in_parts(folder: &Path, files: &[PathBuf], options: &TextOptions) -> Cached {
    let (read, counts) = (ReadOptions::default(), folder.join("counts"));
    let resolved = parts::resolve(&files[0], &read, options).unwrap();
    let places = |what: &str| -> Vec<PathBuf> { (0..files.len()).map(|n| folder.join(format!("{what}{n}"))).collect() };
    let (of_files, rows) = (places("counts"), places("rows"));
    let count = |(file, to): (&PathBuf, &PathBuf)| parts::count(file, &read, &resolved, to).unwrap();
    let texts: Vec<bool> = files.iter().zip(&of_files).rev().map(count).collect();
    let have_texts = texts[0];
    assert!(texts.iter().all(|&texts| texts == have_texts));
    if have_texts {
        parts::add_up(&of_files, &resolved, &counts).unwrap();
    }
    let counts = have_texts.then_some(counts.as_path());
    files.iter().zip(&rows).rev().for_each(|(file, to)| parts::rows(file, &read, counts, to).unwrap());
    parts::join(files, &read, counts, &rows, &folder.join("joined")).unwrap();
    cache::reopen(&folder.join("joined")).unwrap()
}

fn assert_same(a: &Cached, b: &Cached) {
    assert_eq!((&a.data.classes, a.data.features()), (&b.data.classes, b.data.features()));
    assert_eq!(a.data.len(), b.data.len());
    for (n, (row, other)) in a.data.rows().iter(0..a.data.len()).zip(b.data.rows().iter(0..b.data.len())).enumerate() {
        assert_eq!((row.indices, row.values), (other.indices, other.values), "row {n}");
        assert_eq!(a.data.labels[n], b.data.labels[n], "row {n}");
    }
    assert!(a.text == b.text);
    assert_eq!(a.text.as_ref().map(|text| text.idf().to_vec()), b.text.as_ref().map(|text| text.idf().to_vec()));
}

#[test]
fn the_cache_of_several_files_is_that_of_all_their_lines() {
    let text = |n: usize| format!("all of word{} word{} and rare{n} ones\tlabel{}\n", n % 7, n % 11, (7 * n) % 23);
    let numbers = |n: usize| format!("{} {}:1.5 {}:0.25\n", (5 * n) % 31, 1 + n % 9, 11 + n);
    let texts = [
        TextOptions::default(),
        TextOptions { min_df: 1, ngrams: 2, sublinear_tf: true, ..TextOptions::default() },
        TextOptions { hash: Some(500), ..TextOptions::default() },
        TextOptions { stem: Some(Language::Auto), apart: true, ..TextOptions::default() },
    ];
    for (n, options) in texts.iter().chain([&TextOptions::default()]).enumerate() {
        let folder = TempDir::new().unwrap();
        let (files, all) = if n < 4 { files(folder.path(), text) } else { files(folder.path(), numbers) };
        let parted = in_parts(folder.path(), &files, options);
        let whole =
            cache::open(&folder.path().join("whole"), &all, &ReadOptions::default(), options, &mut |_| {}).unwrap();
        assert!(whole.text.is_some() == (n < 4) && whole.data.len() == 90);
        assert_same(&parted, &whole);
    }
}

#[test]
fn damaged_parts_are_refused() {
    let folder = TempDir::new().unwrap();
    let (files, _) = files(folder.path(), |n| format!("word{n} word\tlabel{}\n", n % 2));
    let (read, options) = (ReadOptions::default(), TextOptions::default());
    let counts = folder.path().join("counts");
    parts::count(&files[0], &read, &options, &counts).unwrap();
    let kept = fs::read_to_string(&counts).unwrap();
    fs::write(&counts, kept.replace("word1\\n", "word7\\n")).unwrap();
    let add = |options: &TextOptions| {
        let added = parts::add_up(std::slice::from_ref(&counts), options, &folder.path().join("sum"));
        added.unwrap_err().to_string()
    };
    assert!(add(&options).contains("its checksum is wrong"), "{}", add(&options));
    fs::write(&counts, kept).unwrap();
    let other = TextOptions { ngrams: 2, ..options };
    assert_eq!(add(&other), "terms that were counted with other settings cannot be added");
    let to = folder.path().join("joined");
    let refused = parts::join(&files[..1], &read, None, &[folder.path().join("none")], &to).unwrap_err().to_string();
    assert!(refused.contains("there is no valid card"), "{refused}");
    assert!(cache::reopen(&to).is_err(), "half a cache");
}
