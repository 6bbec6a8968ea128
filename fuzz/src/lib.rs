//! What is fuzzed: each function takes any bytes and must neither panic nor hang, nor take much more memory than there
//! are bytes.

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ove::data::Interactions;
use ove::io::read::label_names;
use ove::io::read::{
    Columns, Format, Input, OnError, Pieces, ReadOptions, Skipped, is_of_a_decoder, read_any, read_bytes,
    read_interactions_bytes,
};
use ove::options::RecommenderOptions;
use ove::platform::digest::Digest;
use ove::text::{CharRange, Language, Text, TextOptions};
use ove::train::checkpoint::Saved;
use ove::train::{RecommenderTraining, Start, Training};
use ove::{Dataset, Error, Examples, Labels, Model, TrainOptions, synthetic, with_threads};

/// A target: its name, which is that of its corpus too, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 20] = [
    ("any", any),
    ("arff", arff),
    ("arrow", arrow),
    ("cache", cache),
    ("checkpoint", checkpoint),
    ("csv", csv),
    ("fasttext", fasttext),
    ("idx", idx),
    ("interactions", interactions),
    ("jsonl", jsonl),
    ("label_names", names_of_classes),
    ("libsvm", libsvm),
    ("model", model),
    ("npz", npz),
    ("parquet", parquet),
    ("pieces", pieces),
    ("text", text),
    ("triples", triples),
    ("tsv", tsv),
    ("xmc", xmc),
];

/// A file whose format has to be found, gzipped or not.
pub fn any(bytes: &[u8]) {
    reader(None, bytes);
}

/// The ARFF reader.
pub fn arff(bytes: &[u8]) {
    reader(Some(Format::Arff), bytes);
}

/// The reader of Arrow files: texts, and numbers.
pub fn arrow(bytes: &[u8]) {
    columnar(Format::Arrow, bytes);
}

/// The reader of Parquet files: texts, and numbers.
pub fn parquet(bytes: &[u8]) {
    columnar(Format::Parquet, bytes);
}

/// Ends the process at a panic, but for one of a decoder: its reader takes that as the word that the file is damaged.
static ABORTS: LazyLock<()> = LazyLock::new(|| {
    let abort = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !is_of_a_decoder(panic) {
            abort(panic);
        }
    }));
});

fn columnar(format: Format, bytes: &[u8]) {
    LazyLock::force(&ABORTS);
    let [label, weight, id] = ["label", "weight", "id"].map(|name| Some(name.to_owned()));
    let texts = Columns { text: vec!["1:2,2".into()], label: label.clone(), weight, ..Columns::default() };
    table(format, texts, bytes);
    table(format, Columns { features: vec!["all".into()], label, id, ..Columns::default() }, bytes);
}

/// The readers of matrices, sparse and dense, without and with labels: these are read from the same bytes.
pub fn npz(bytes: &[u8]) {
    reader(None, bytes);
    std::fs::write(&*FILE, bytes).unwrap();
    let format = Some(if bytes.starts_with(b"\x93NUMPY") { Format::Npy } else { Format::Npz });
    let options = ReadOptions { format, labels_file: Some(FILE.clone()), ..ReadOptions::default() };
    if let Ok(Input::Rows(data)) = read_any(&FILE, &options) {
        check_read(&data);
    }
    let _ = std::fs::remove_file(&*FILE);
}

/// The reader of CSV: columns by name, and by number.
pub fn csv(bytes: &[u8]) {
    reader(Some(Format::Csv), bytes);
    let columns = Columns { text: vec!["1:2,2".into()], label: Some("2".into()), ..Columns::default() };
    table(Format::Csv, Columns { label_separator: Some(";".into()), ..columns }, bytes);
}

/// The reader of JSON lines: the usual columns, and given ones.
pub fn jsonl(bytes: &[u8]) {
    reader(Some(Format::Jsonl), bytes);
    let [label, weight, id] = ["label", "weight", "id"].map(|name| Some(name.to_owned()));
    table(Format::Jsonl, Columns { text: vec!["text,body".into()], label, weight, id, ..Columns::default() }, bytes);
}

/// The reader of fastText lines.
pub fn fasttext(bytes: &[u8]) {
    reader(Some(Format::Fasttext), bytes);
}

/// The IDX reader.
pub fn idx(bytes: &[u8]) {
    reader(Some(Format::Idx), bytes);
}

/// The reader of interactions: what it accepts is sound, and is accepted as a whole if lines may be skipped.
pub fn interactions(bytes: &[u8]) {
    let read = |on_error| read_interactions_bytes("fuzz".as_ref(), bytes.to_vec(), on_error);
    match (read(OnError::Stop), read(OnError::Skip)) {
        (Ok(whole), Ok(skipped)) => {
            check_interactions(&whole);
            assert_eq!(whole, skipped, "nothing is skipped");
        }
        (Ok(_), _) => panic!("skipping bad lines makes a good file bad"),
        (Err(error), Ok(data)) => {
            check_interactions(&data);
            assert!(data.skipped.count() > 0, "{error}");
        }
        (Err(error), _) => assert!(!error.to_string().is_empty()),
    }
}

fn check_interactions(data: &Interactions) {
    assert!(data.pairs() > 0 && data.users.len() == data.len());
    assert_eq!(data.users.iter().collect::<BTreeSet<_>>().len(), data.len(), "each user once");
    assert_eq!(data.item_names.iter().collect::<BTreeSet<_>>().len(), data.item_count(), "each item once");
    for user in 0..data.len() {
        let (items, weights) = (data.items_of(user), data.weights_of(user));
        assert!(items.is_sorted_by(|a, b| a < b) && items.len() == weights.len());
        assert!(items.last().is_none_or(|&last| (last as usize) < data.item_count()));
        assert!(weights.iter().all(|&weight| weight.is_finite() && weight > 0.0), "{weights:?}");
    }
}

/// The reader of label names: every class once, each with a name.
pub fn names_of_classes(bytes: &[u8]) {
    let Ok(names) = label_names::read_bytes(Path::new("names.tsv"), bytes.to_owned()) else { return };
    let classes: BTreeSet<&str> = names.iter().map(|(class, _)| class).collect();
    assert_eq!(classes.len(), names.iter().count());
    assert!(names.iter().all(|(_, names)| !names.is_empty() && names.iter().all(|name| !name.is_empty())));
}

/// The libsvm reader.
pub fn libsvm(bytes: &[u8]) {
    reader(Some(Format::Libsvm), bytes);
}

/// The reader of triples.
pub fn triples(bytes: &[u8]) {
    reader(Some(Format::Triples), bytes);
}

/// The readers of tab-separated texts: text first, or labels first.
pub fn tsv(bytes: &[u8]) {
    reader(Some(Format::Tsv), bytes);
    reader(Some(Format::TsvLabelFirst), bytes);
}

/// The reader of the extreme classification repository.
pub fn xmc(bytes: &[u8]) {
    reader(Some(Format::Xmc), bytes);
}

/// What a reader accepts is sound, and what it accepts as a whole it accepts with bad rows left out, of which there are
/// none.
fn reader(format: Option<Format>, bytes: &[u8]) {
    read_with(&ReadOptions { format, ..ReadOptions::default() }, bytes);
}

/// The same with these columns.
fn table(format: Format, columns: Columns, bytes: &[u8]) {
    read_with(&ReadOptions { format: Some(format), columns, ..ReadOptions::default() }, bytes);
}

fn read_with(options: &ReadOptions, bytes: &[u8]) {
    for labels_required in [true, false] {
        let strict = ReadOptions { labels_required, ..options.clone() };
        let lenient = ReadOptions { on_error: OnError::Skip, ..strict.clone() };
        let [strict, lenient] = [strict, lenient].map(|options| read_bytes("fuzz".as_ref(), bytes.to_vec(), &options));
        match (strict, lenient) {
            (Ok(Input::Rows(whole)), Ok(Input::Rows(skipped))) => {
                check_read(&whole);
                assert_eq!((skipped.skipped.count(), skipped.len()), (0, whole.len()));
            }
            (Ok(Input::Texts(whole)), Ok(Input::Texts(skipped))) => {
                assert_eq!((skipped.skipped.count(), skipped.len()), (0, whole.len()));
                assert!(whole.labels.all().iter().all(|&label| (label as usize) < whole.classes.len()));
            }
            (Ok(_), _) => panic!("leaving out bad rows makes a good file bad"),
            (Err(error), Ok(Input::Rows(data))) => {
                check_read(&data);
                assert!(data.skipped.count() > 0, "{error}");
            }
            (Err(error), _) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn check(data: &Dataset) {
    let rows = data.rows();
    assert_eq!((rows.len(), data.labels.len()), (data.len(), data.len()));
    assert!(data.row_weights.is_empty() || data.row_weights.len() == data.len());
    assert!(data.row_weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0));
    assert!(data.labels.all().iter().all(|&label| (label as usize) < data.classes.len()));
    for row in rows.iter(0..rows.len()) {
        assert!(row.indices.is_sorted_by(|a, b| a < b));
        assert!(row.indices.last().is_none_or(|&last| (last as usize) < data.features()));
        assert!(row.values.iter().all(|value| value.is_finite()));
    }
}

/// Sound, and as readers leave it: without zeros.
fn check_read(data: &Dataset) {
    check(data);
    let rows = data.rows();
    assert!(rows.iter(0..rows.len()).all(|row| row.values.iter().all(|&value| value != 0.0)));
}

/// A file that is read piece by piece holds the rows that it holds when read at once, or both fail. The first byte says
/// how it is read.
pub fn pieces(bytes: &[u8]) {
    let Some((&flags, bytes)) = bytes.split_first() else { return };
    let formats =
        [Format::Libsvm, Format::Xmc, Format::Tsv, Format::TsvLabelFirst, Format::Fasttext, Format::Csv, Format::Jsonl];
    let options = ReadOptions {
        format: formats.get(usize::from(flags & 7)).copied(),
        on_error: if flags & 8 == 0 { OnError::Stop } else { OnError::Skip },
        labels_required: flags & 16 == 0,
        ..ReadOptions::default()
    };
    let size = [1, 3, 16, 100, 1000, 4096, 20, 40][usize::from(flags >> 5)];
    std::fs::write(&*FILE, bytes).unwrap();
    match (read_any(&FILE, &options), read_pieces(&FILE, &options, size)) {
        (Ok(whole), Ok(pieces)) => assert_eq!(Told::of([whole]), Told::of(pieces)),
        (Err(Error::Input { place, .. }), Err(Error::Input { place: other, .. })) => {
            // A text that is no UTF-8 is found first when all are read at once.
            let is_text = options.format.is_none_or(Format::is_text);
            assert!(place == other || is_text, "{place} at once, {other} piece by piece");
        }
        (Err(whole), Err(pieces)) => assert_eq!(discriminant(&whole), discriminant(&pieces), "{whole} / {pieces}"),
        (whole, pieces) => panic!("{whole:?} at once, but piece by piece {:?}", pieces.map(|_| ())),
    }
    let _ = std::fs::remove_file(&*FILE);
}

fn read_pieces(path: &Path, options: &ReadOptions, bytes: usize) -> ove::Result<Vec<Input>> {
    let mut pieces = Pieces::open(path, options, bytes)?;
    std::iter::from_fn(|| pieces.next_piece().transpose()).collect()
}

/// What a file holds, whether its classes are numbered together or piece by piece.
#[derive(Debug, PartialEq, Default)]
struct Told {
    /// Texts, or features and the bits of their values; names of labels; weight.
    rows: Vec<(String, Vec<String>, f64)>,
    features: usize,
    classes: BTreeSet<String>,
    skipped: usize,
}

impl Told {
    fn of(inputs: impl IntoIterator<Item = Input>) -> Told {
        let mut told = Told::default();
        for input in inputs {
            match input {
                Input::Rows(data) => {
                    check_read(&data);
                    let row = |n| {
                        let row = data.rows().row(n);
                        let bits: Vec<u32> = row.values.iter().map(|value| value.to_bits()).collect();
                        format!("{:?} {bits:?}", row.indices)
                    };
                    told.features = told.features.max(data.features());
                    told.add((0..data.len()).map(row), (&data.labels, &data.row_weights), &data.classes, &data.skipped);
                }
                Input::Texts(texts) => {
                    let lines = texts.texts();
                    let lines = lines.iter().map(|&text| text.to_owned());
                    told.add(lines, (&texts.labels, &texts.row_weights), &texts.classes, &texts.skipped);
                }
            }
        }
        told
    }

    fn add(
        &mut self,
        rows: impl Iterator<Item = String>,
        (labels, weights): (&Labels, &[f64]),
        classes: &[String],
        skipped: &Skipped,
    ) {
        let name = |&label: &u32| classes[label as usize].clone();
        for (n, row) in rows.enumerate() {
            let labels = labels[n].iter().map(name).collect();
            self.rows.push((row, labels, weights.get(n).copied().unwrap_or(1.0)));
        }
        self.classes.extend(classes.iter().cloned());
        self.skipped += skipped.count();
    }
}

/// The text pipeline, on a text a line: rows of unit length, the same from the vocabulary as on the way to it.
pub fn text(bytes: &[u8]) {
    let Some((&flags, bytes)) = bytes.split_first() else { return };
    let lossy = String::from_utf8_lossy(bytes);
    let texts: Vec<&str> = lossy.split('\n').collect();
    let chars = (flags & 64 != 0).then_some(CharRange { shortest: 2, longest: 4 });
    let options = TextOptions {
        ngrams: usize::from(chars.is_none()) + usize::from(flags & 3),
        chars,
        stem: (flags & 128 != 0).then_some(Language::English),
        apart: flags & 2 != 0,
        tokens: flags & 192 == 192,
        min_df: 1 + u32::from(flags >> 2 & 1),
        hash: (flags & 8 != 0).then_some(1 + u32::from(flags >> 4)),
        sublinear_tf: flags & 16 != 0,
        idf: flags & 32 == 0,
    };
    let Ok((fitted, data)) = Text::fit(&options, &texts) else { return };
    check_read(&data);
    let again = fitted.rows(&texts);
    let more = fitted.extended(&texts).unwrap();
    assert_eq!(more.len(), fitted.len(), "nothing is new");
    for n in 0..texts.len() {
        let (row, same) = (data.rows().row(n), again.rows().row(n));
        assert_eq!((row.indices, row.values), (same.indices, same.values));
        let length: f32 = row.values.iter().map(|value| value * value).sum();
        // A kind of terms that a text lacks leaves it shorter.
        let least = if fitted.options().apart { 0.0 } else { 1.0 - 1e-3 };
        assert!(row.values.is_empty() || (least < length && length < 1.0 + 1e-3), "{length}");
    }
}

/// A folder in memory, where the system has one.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    folder.join(format!("ove-fuzz-{}", std::process::id()))
});

/// The model file, read and mapped, and what is done with a model. Its checksum is right: a wrong one would only hide
/// what else is wrong.
pub fn model(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 53 {
        let sum = format!("{:016x}", Digest::of(&bytes[53..]));
        bytes[37..53].copy_from_slice(sum.as_bytes());
    }
    std::fs::write(&*FILE, &bytes).unwrap();
    let data = synthetic::plane(5, 0);
    for model in [Model::load(&FILE), Model::map(&FILE)].into_iter().flatten() {
        let _ = model.top_k(data.rows(), 3);
        if model.features() < 10_000 {
            let _ = (model.weights_of(0), model.largest_weights(0, 3));
        }
        if let Some(text) = &model.card.text {
            let _ = text.rows(&["one two three two"]);
        }
        if model.features() > 0 {
            recommend(&model);
        }
    }
    let _ = std::fs::remove_file(&*FILE);
}

/// What a program does with a recommender, if the model is one.
fn recommend(model: &Model) {
    let Ok(recommender) = model.recommender() else { return };
    let users: Vec<u32> = (0..model.features().min(9) as u32).collect();
    for top in recommender.recommend(&users, 3) {
        assert!(top.iter().all(|one| (one.item as usize) < model.classes()));
    }
    let _ = (recommender.similar_items(0, 3), recommender.similar_users(0, 3));
    let _ = recommender.fold_in(&[(0, 1.0)]);
    let items = recommender.seen().items_of(0).iter().copied();
    let items: Vec<(u32, f32)> = items.zip(recommender.seen().weights_of(0).iter().copied()).collect();
    let _ = recommender.explain(&items, 0);
}

/// The columns of a cache, in the order of [`COLUMNS`]: two bytes that say how many features there are, then for each
/// column how many bytes it has, and these. The highest bit of the first two says whether the rows are texts. Sums are
/// right: they would only hide what else is wrong.
pub fn cache(bytes: &[u8]) {
    let Some((&features, mut bytes)) = bytes.split_first_chunk() else { return };
    let features = u16::from_le_bytes(features);
    let cached = &CACHES[usize::from(features >> 15)];
    let mut card = cached.card.replace("\"features\":2,", &format!("\"features\":{},", features & 0x7fff));
    for (name, kept) in COLUMNS.iter().zip(&cached.sums) {
        let length = bytes.split_first_chunk().map(|(&length, rest)| {
            bytes = rest;
            usize::from(u16::from_le_bytes(length)).min(rest.len())
        });
        let (column, rest) = bytes.split_at(length.unwrap_or(0));
        bytes = rest;
        std::fs::write(cached.folder.join(name), column).unwrap();
        card = card.replace(&kept.to_string(), &Digest::of(column).to_string());
    }
    std::fs::write(cached.folder.join("card"), format!("{card}\n{:016x}\n", Digest::of(card.as_bytes()))).unwrap();
    let Ok(opened) = cached.open() else { return };
    assert!(opened.reused);
    let data = opened.data;
    check(&data);
    for settings in [r#"{"epochs": 1, "l2": 1, "rank": 2}"#, r#"{"solver": "stochastic", "epochs": 1, "l2": 1}"#, BATCH]
    {
        let _ = with_threads(1, || -> ove::Result<()> {
            let mut training = Training::new(Examples::of(&data), &options(settings), Start::default())?;
            while training.step()?.is_some() {}
            training.finish().map(drop)
        });
    }
    if let Some(text) = opened.text {
        let _ = text.rows(&["one two three two"]);
    }
}

/// The columns of a cache; the last two are of texts alone.
const COLUMNS: [&str; 8] = ["offsets", "indices", "values", "label-offsets", "labels", "weights", "terms", "idf"];

/// A cache of a file whose columns are replaced.
struct Cached {
    file: PathBuf,
    folder: PathBuf,
    /// The line of its card, and the sums in it.
    card: String,
    sums: Vec<u64>,
}

/// A cache of rows and one of texts, each with two features and three classes.
static CACHES: LazyLock<[Cached; 2]> = LazyLock::new(|| {
    let rows = "a 1:1\nb,c 0:2 1:0.5\na weight:2 0:1\n";
    [("svm", rows), ("tsv", "one two\ta\ntwo one three\tb c\none\ta\t2\n")].map(|(name, content)| {
        let mut cached = Cached {
            file: FILE.with_extension(name),
            folder: FILE.with_extension("cache").join(name),
            card: String::new(),
            sums: Vec::new(),
        };
        std::fs::write(&cached.file, content).unwrap();
        assert_eq!(cached.open().unwrap().data.features(), 2);
        let content = std::fs::read_to_string(cached.folder.join("card")).unwrap();
        cached.card = content.lines().next().unwrap().to_owned();
        let columns = COLUMNS.iter().map(|name| std::fs::read(cached.folder.join(name)));
        cached.sums = columns.map(|column| Digest::of(&column.unwrap_or_default())).collect();
        cached
    })
});

impl Cached {
    fn open(&self) -> ove::Result<ove::io::cache::Cached> {
        ove::io::cache::open(&self.folder, &self.file, &ReadOptions::default(), &TextOptions::default(), &mut |_| ())
    }
}

/// The runs that checkpoints are tried on: their names, which are those of the corpus too, and their settings.
pub const RUNS: [(&str, &str); 5] = [
    ("linear", r#"{"epochs": 2, "batch": 2, "learning_rate": 0.1, "l2": 0.5, "scores": "linear"}"#),
    ("sgd", r#"{"epochs": 2, "batch": 2, "learning_rate": 0.1, "l2": 0.5, "step": "sgd", "cells": 7}"#),
    ("factored", r#"{"epochs": 2, "batch": 2, "learning_rate": 0.1, "l2": 0.5, "rank": 2}"#),
    ("batch", BATCH),
    ("trees", r#"{"epochs": 2, "trees": 2}"#),
];

/// The settings of the batch solver.
const BATCH: &str = r#"{"solver": "batch", "iterations": 3, "l2": 1}"#;

/// The options with these settings.
pub fn options(settings: &str) -> TrainOptions {
    TrainOptions::from_settings(&serde_json::from_str(settings).unwrap()).unwrap()
}

/// The rows that checkpoints are tried on.
pub fn checkpoint_rows() -> Dataset {
    synthetic::plane(5, 0)
}

/// The settings of the recommender that checkpoints are tried on.
pub const RECOMMENDER: &str = r#"{"rank": 2, "epochs": 2, "batch": 4, "negatives": 3}"#;

/// Its interactions.
pub fn checkpoint_interactions() -> Interactions {
    synthetic::interactions(9, 6, 2, 0)
}

/// A run of the recommender, at its start.
pub fn recommender_run(data: &Interactions) -> RecommenderTraining<'_> {
    let options = RecommenderOptions::from_settings(&serde_json::from_str(RECOMMENDER).unwrap()).unwrap();
    RecommenderTraining::new(data, &options).unwrap()
}

/// A checkpoint, and the runs that go on from it: as it is, and with the right sum, which would only hide what else is
/// wrong.
pub fn checkpoint(bytes: &[u8]) {
    let (data, chosen) = (checkpoint_rows(), checkpoint_interactions());
    let before = &bytes[..bytes.len().saturating_sub(8)];
    let mended = [before, &Digest::of(before).to_le_bytes()].concat();
    for bytes in [bytes, &mended] {
        std::fs::write(&*FILE, bytes).unwrap();
        let Ok(saved) = Saved::open(&FILE) else { continue };
        for (_, settings) in RUNS {
            let mut training = Training::new(Examples::of(&data), &options(settings), Start::default()).unwrap();
            if training.restore(&saved).is_ok() {
                let _ = training.step();
                let _ = training.finish();
            }
        }
        let mut training = recommender_run(&chosen);
        if training.restore(&saved).is_ok() {
            let _ = training.step();
            let _ = training.finish();
        }
    }
    let _ = std::fs::remove_file(&*FILE);
}
