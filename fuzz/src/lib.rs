//! What is fuzzed: each function takes any bytes and must neither panic nor hang, nor take much more memory than there are bytes.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ove::checkpoint::Saved;
use ove::read::{Format, Input, OnError, ReadOptions, read_bytes};
use ove::solve::{Begin, Problem, train_with};
use ove::text::{Text, TextOptions};
use ove::{Dataset, Model, Options, synthetic};

/// A target: its name, which is that of its corpus too, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 11] = [
    ("any", any),
    ("arff", arff),
    ("checkpoint", checkpoint),
    ("fasttext", fasttext),
    ("idx", idx),
    ("libsvm", libsvm),
    ("model", model),
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

/// The reader of fastText lines.
pub fn fasttext(bytes: &[u8]) {
    reader(Some(Format::Fasttext), bytes);
}

/// The IDX reader.
pub fn idx(bytes: &[u8]) {
    reader(Some(Format::Idx), bytes);
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

/// What a reader accepts is sound, and what it accepts as a whole it accepts with bad rows left out, of which there are none.
fn reader(format: Option<Format>, bytes: &[u8]) {
    for labels_required in [true, false] {
        let strict = ReadOptions { format, labels_required, ..ReadOptions::default() };
        let lenient = ReadOptions { on_error: OnError::Skip, ..strict };
        let [strict, lenient] = [strict, lenient].map(|options| read_bytes("fuzz".as_ref(), bytes.to_vec(), &options));
        match (strict, lenient) {
            (Ok(Input::Rows(whole)), Ok(Input::Rows(skipped))) => {
                check(&whole);
                assert_eq!((skipped.skipped.count(), skipped.len()), (0, whole.len()));
            }
            (Ok(Input::Texts(whole)), Ok(Input::Texts(skipped))) => {
                assert_eq!((skipped.skipped.count(), skipped.len()), (0, whole.len()));
                assert!(whole.labels.all().iter().all(|&label| (label as usize) < whole.classes.len()));
            }
            (Ok(_), _) => panic!("leaving out bad rows makes a good file bad"),
            (Err(error), Ok(Input::Rows(data))) => {
                check(&data);
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
        assert!(row.values.iter().all(|value| value.is_finite() && *value != 0.0));
    }
}

/// The text pipeline, on a text a line: rows of unit length, the same from the vocabulary as on the way to it.
pub fn text(bytes: &[u8]) {
    let Some((&flags, bytes)) = bytes.split_first() else { return };
    let lossy = String::from_utf8_lossy(bytes);
    let texts: Vec<&str> = lossy.split('\n').collect();
    let options = TextOptions {
        ngrams: 1 + usize::from(flags & 3),
        min_df: 1 + u32::from(flags >> 2 & 1),
        hash: (flags & 8 != 0).then_some(1 + u32::from(flags >> 4)),
        sublinear_tf: flags & 16 != 0,
        idf: flags & 32 == 0,
    };
    let Ok((fitted, data)) = Text::fit(&options, &texts, 1) else { return };
    check(&data);
    let again = fitted.rows(&texts, 1).unwrap();
    let more = fitted.extended(&texts, 1).unwrap();
    assert_eq!(more.len(), fitted.len(), "nothing is new");
    for n in 0..texts.len() {
        let (row, same) = (data.rows().row(n), again.rows().row(n));
        assert_eq!((row.indices, row.values), (same.indices, same.values));
        let length: f32 = row.values.iter().map(|value| value * value).sum();
        assert!(row.values.is_empty() || (length - 1.0).abs() < 1e-3, "{length}");
    }
}

/// A folder in memory, where the system has one.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    folder.join(format!("ove-fuzz-{}", std::process::id()))
});

/// The model file, read and mapped, and what is done with a model.
pub fn model(bytes: &[u8]) {
    std::fs::write(&*FILE, bytes).unwrap();
    let data = synthetic::plane(5, 0);
    for model in [Model::load(&FILE), Model::map(&FILE)].into_iter().flatten() {
        let _ = model.top(data.rows(), 0..data.len(), 3, 1);
        if model.features() < 10_000 {
            let _ = model.weights_of(0);
        }
        if let Some(text) = &model.card.text {
            let _ = text.rows(&["one two three two"], 1);
        }
    }
    let _ = std::fs::remove_file(&*FILE);
}

/// A checkpoint, and a run that goes on from it.
pub fn checkpoint(bytes: &[u8]) {
    std::fs::write(&*FILE, bytes).unwrap();
    if let Ok(saved) = Saved::open(&FILE) {
        let data = synthetic::plane(5, 0);
        let classes = data.classes.len();
        let problem = Problem { rows: data.rows(), labels: &data.labels, row_weights: &[], classes };
        let begin = Begin { saved: Some(&saved), ..Begin::default() };
        let _ = train_with(begin, &problem, &Options::default(), &mut |_| ControlFlow::Break(()));
    }
    let _ = std::fs::remove_file(&*FILE);
}
