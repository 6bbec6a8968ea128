//! A data file as rows on disk, made once: training data may then be larger than memory.
//!
//! The file is read in pieces; raw text twice, first for its vocabulary. What comes out is a folder of plain little-endian numbers
//!
//! ```text
//! offsets         rows + 1    64 bits    where the entries of each row start
//! indices         entries     32 bits    features
//! values          entries     floats
//! label-offsets   rows + 1    64 bits    where the labels of each row start
//! labels          labels      32 bits    classes
//! weights         rows        doubles    how often each row counts, or nothing
//! terms, idf                             the vocabulary of raw text
//! card.json                              of which file, read how; names of classes
//! ```
//!
//! that is mapped, not read: every epoch takes it from there, and so does the next run on the same file. The card is written last, and a
//! folder without one, or with that of another file, is made anew. Labels are kept in memory.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytemuck::Pod;
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::file::write_beside;
use crate::labels::Labels;
use crate::numbers::Numbers;
use crate::read::classes;
use crate::read::{Input, Pieces, ReadOptions, Skipped};
use crate::text::{Names, Text, TextOptions, Vocabulary};

/// About how much of a file is read at a time.
const PIECE_BYTES: usize = 64 << 20;

/// The version of this layout.
const VERSION: u32 = 1;

/// A cache that is ready to train from.
pub struct Cached {
    /// What turns texts into rows, if the file holds texts.
    pub text: Option<Text>,
    /// The rows, on disk.
    pub data: Dataset,
    /// Whether an earlier run had made it.
    pub reused: bool,
}

/// Of which file a cache is, and how it was read.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    version: u32,
    path: PathBuf,
    bytes: u64,
    modified_nanoseconds: u128,
    read: String,
    text: TextOptions,
}

#[derive(Serialize, Deserialize)]
struct Card {
    origin: Origin,
    features: usize,
    classes: Vec<String>,
    /// Whether the file holds texts.
    texts: bool,
}

/// Opens the cache of a file in a folder, after making it where that is needed. `tell` hears how many rows are read.
pub fn open(
    folder: &Path,
    path: &Path,
    read: &ReadOptions,
    text: &TextOptions,
    threads: usize,
    tell: &mut dyn FnMut(usize),
) -> Result<Cached> {
    let origin = Origin::of(path, read, text)?;
    let reused = card(folder).is_some_and(|card| card.origin == origin);
    let mut skipped = Skipped::default();
    if !reused {
        skipped = make(folder, origin, (path, read, PIECE_BYTES), text, threads, tell)?;
    }
    let (text, mut data) = load(folder)?;
    data.skipped = skipped;
    Ok(Cached { text, data, reused })
}

impl Origin {
    fn of(path: &Path, read: &ReadOptions, text: &TextOptions) -> Result<Self> {
        if path == Path::new("-") {
            let allowed = "only a file can be read again".into();
            return Err(Error::Option { name: "cache", found: "standard input".into(), allowed });
        }
        let about = || {
            let path = fs::canonicalize(path)?;
            let facts = fs::metadata(&path)?;
            let modified = facts.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            Ok((path, facts.len(), modified))
        };
        let (path, bytes, modified_nanoseconds) = about().map_err(|e| Error::file(path, e))?;
        let read = format!("{read:?}");
        Ok(Origin { version: VERSION, path, bytes, modified_nanoseconds, read, text: *text })
    }
}

fn card(folder: &Path) -> Option<Card> {
    serde_json::from_slice(&fs::read(folder.join("card.json")).ok()?).ok()
}

/// Writes the cache of a file; the rows that were left out.
fn make(
    folder: &Path,
    origin: Origin,
    (path, read, bytes): (&Path, &ReadOptions, usize),
    options: &TextOptions,
    threads: usize,
    tell: &mut dyn FnMut(usize),
) -> Result<Skipped> {
    fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
    // Without its card it is none, until it is whole again.
    let card_path = folder.join("card.json");
    if card_path.exists() {
        fs::remove_file(&card_path).map_err(|e| Error::file(&card_path, e))?;
    }
    let text = vocabulary(path, read, bytes, options, threads)?;
    let mut writer = Writer::new(folder)?;
    let mut pieces = Pieces::open(path, read, bytes)?;
    while let Some(input) = pieces.next_piece()? {
        let piece = match (input, &text) {
            (Input::Rows(data), _) => data,
            (Input::Texts(texts), Some(text)) => texts.rows(text, threads)?,
            (Input::Texts(_), None) => unreachable!("a file of texts has a vocabulary"),
        };
        writer.push(&piece)?;
        tell(writer.labels.len());
    }
    let (features, classes, skipped) = writer.finish(text.as_ref())?;
    let card = Card { origin, features, classes, texts: text.is_some() };
    let content = serde_json::to_vec(&card).expect("plain names and numbers");
    write_beside(&card_path, |beside| fs::write(beside, content).map_err(|e| Error::file(&card_path, e)))?;
    Ok(skipped)
}

/// The vocabulary of a file of texts; none if it holds rows.
fn vocabulary(
    path: &Path,
    read: &ReadOptions,
    bytes: usize,
    options: &TextOptions,
    threads: usize,
) -> Result<Option<Text>> {
    let mut vocabulary = Vocabulary::new(options)?;
    let mut pieces = Pieces::open(path, read, bytes)?;
    if !pieces.holds_texts() {
        return Ok(None);
    }
    while let Some(input) = pieces.next_piece()? {
        if let Input::Texts(texts) = input {
            vocabulary.add(&texts.texts(), threads)?;
        }
    }
    vocabulary.finish().map(Some)
}

/// A file of numbers that grows.
struct Column {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Column {
    fn new(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let file = File::create(&path).map_err(|e| Error::file(&path, e))?;
        Ok(Column { path, file: BufWriter::with_capacity(1 << 20, file) })
    }

    fn push<T: Pod>(&mut self, numbers: &[T]) -> Result<()> {
        self.file.write_all(bytemuck::cast_slice(numbers)).map_err(|e| Error::file(&self.path, e))
    }

    fn finish(mut self) -> Result<()> {
        let end = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        end.map_err(|e| Error::file(&self.path, e))
    }
}

/// The cache as far as it is written.
struct Writer {
    folder: PathBuf,
    offsets: Column,
    indices: Column,
    values: Column,
    entries: u64,
    features: usize,
    /// Labels are numbered as their names appear, until all are known.
    labels: Labels,
    names: classes::Names,
    weights: Vec<f64>,
    skipped: Skipped,
}

impl Writer {
    fn new(folder: &Path) -> Result<Self> {
        let mut offsets = Column::new(folder, "offsets")?;
        offsets.push(&[0u64])?;
        Ok(Writer {
            folder: folder.to_owned(),
            offsets,
            indices: Column::new(folder, "indices")?,
            values: Column::new(folder, "values")?,
            entries: 0,
            features: 0,
            labels: Labels::default(),
            names: classes::Names::default(),
            weights: Vec::new(),
            skipped: Skipped::default(),
        })
    }

    fn push(&mut self, piece: &Dataset) -> Result<()> {
        let rows = piece.rows();
        for row in rows.iter(0..rows.len()) {
            self.entries += row.indices.len() as u64;
            self.offsets.push(&[self.entries])?;
            self.indices.push(row.indices)?;
            self.values.push(row.values)?;
        }
        self.features = self.features.max(piece.features());
        if !piece.row_weights.is_empty() {
            self.weights.resize(self.labels.len(), 1.0);
            self.weights.extend(&piece.row_weights);
        }
        let numbers: Vec<u32> = piece.classes.iter().map(|name| self.names.number(name)).collect();
        self.labels.append(&piece.labels, |label| numbers[label as usize]);
        if !self.weights.is_empty() {
            self.weights.resize(self.labels.len(), 1.0);
        }
        self.skipped.join(piece.skipped.clone());
        Ok(())
    }

    /// The features and classes of all rows, and those that were left out.
    fn finish(mut self, text: Option<&Text>) -> Result<(usize, Vec<String>, Skipped)> {
        let (classes, numbers) = self.names.sorted();
        self.labels.renumber(|label| Some(numbers[label as usize]));
        let column = |name: &str, bytes: &[u8]| -> Result<()> {
            let mut column = Column::new(&self.folder, name)?;
            column.push(bytes)?;
            column.finish()
        };
        column("label-offsets", bytemuck::cast_slice(self.labels.offsets()))?;
        column("labels", bytemuck::cast_slice(self.labels.all()))?;
        column("weights", bytemuck::cast_slice(&self.weights))?;
        if let Some(text) = text {
            column("terms", text.names().lines().as_bytes())?;
            column("idf", bytemuck::cast_slice(text.idf()))?;
            self.features = text.len();
        }
        [self.offsets, self.indices, self.values].into_iter().try_for_each(Column::finish)?;
        Ok((self.features, classes, self.skipped))
    }
}

fn load(folder: &Path) -> Result<(Option<Text>, Dataset)> {
    let damaged = |found: &str| Error::Mismatch {
        found: format!("{}: {found}", folder.display()),
        allowed: "a cache is whole; remove the folder to have it made again".into(),
    };
    let card = card(folder).ok_or_else(|| damaged("no card.json"))?;
    let offsets: Numbers<usize> = Numbers::file(&folder.join("offsets"))?;
    let disk = Disk {
        offsets,
        indices: Numbers::file(&folder.join("indices"))?,
        values: Numbers::file(&folder.join("values"))?,
    };
    let entries = disk.indices.len();
    let is_whole = disk.offsets.first() == Some(&0)
        && disk.offsets.last() == Some(&entries)
        && disk.offsets.is_sorted()
        && disk.values.len() == entries;
    if !is_whole {
        return Err(damaged("rows that are not whole"));
    }
    let label_offsets = Numbers::file(&folder.join("label-offsets"))?.into_vec();
    let labels = Labels::from_parts(label_offsets, Numbers::file(&folder.join("labels"))?.into_vec());
    let labels = labels.filter(|labels| {
        labels.len() == disk.len() && labels.all().iter().all(|&label| (label as usize) < card.classes.len())
    });
    let labels = labels.ok_or_else(|| damaged("labels that are not whole"))?;
    let mut data = Dataset::on_disk(card.features, disk, labels, card.classes);
    data.row_weights = Numbers::file(&folder.join("weights"))?.into_vec();
    if !card.texts {
        return Ok((None, data));
    }
    let path = folder.join("terms");
    let terms = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
    let text = Text::new(card.origin.text, Names::from_lines(terms), Numbers::file(&folder.join("idf"))?.into_vec())?;
    Ok((Some(text), data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read_any;

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
                let (text, data) = texts.fit(options, 0).unwrap();
                (Some(text), data)
            }
        };
        for bytes in [1, 40, 1 << 20] {
            let origin = Origin::of(&path, &read, options).unwrap();
            make(&cache, origin, (&path, &read, bytes), options, 0, &mut |_| ()).unwrap();
            let (of_cache, cached) = load(&cache).unwrap();
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

    /// What is learnt does not depend on where the rows lie; the stochastic solver only takes them in another order.
    #[test]
    fn training_from_disk_is_training() {
        use crate::solve::batch::bound;
        use crate::{Options, Problem, Solver, synthetic, train};
        use std::ops::ControlFlow;

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
        let cached = open(&folder.path().join("cache"), &path, &read, &text, 0, &mut |_| ()).unwrap().data;
        let Input::Rows(data) = read_any(&path, &read).unwrap() else { panic!("rows of numbers") };
        fn problem(data: &Dataset) -> Problem<'_> {
            Problem { rows: data.rows(), labels: &data.labels, row_weights: &[], classes: 5 }
        }
        let fit = |data: &Dataset, options: &Options| {
            train(&problem(data), options, &mut |_| ControlFlow::Continue(())).unwrap()
        };
        let batch = Options { solver: Solver::Batch, l2: 1.0, iterations: 50, ..Options::default() };
        assert_eq!(fit(&cached, &batch).linear, fit(&data, &batch).linear);
        let stochastic = Options { epochs: 20, batch: 8, ..Options::default() };
        let (on_disk, in_memory) = (fit(&cached, &stochastic), fit(&data, &stochastic));
        let [a, b] = [&on_disk, &in_memory].map(|fit| bound(&problem(&data), &stochastic, &fit.linear));
        assert!((a / b - 1.0).abs() < 0.05, "{a} {b}");
        assert_eq!(fit(&cached, &Options { threads: 1, ..stochastic.clone() }).linear, on_disk.linear);
    }

    #[test]
    fn places_in_errors_are_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let told = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            let read = ReadOptions::default();
            let origin = Origin::of(&path, &read, &TextOptions::default()).unwrap();
            let error = make(folder.path(), origin, (&path, &read, 8), &TextOptions::default(), 1, &mut |_| ());
            let message = error.unwrap_err().to_string();
            message.strip_prefix(&format!("{}:", path.display())).expect("a place").to_owned()
        };
        assert!(told("a.svm", "a 1:1\nb 2:1\nc 3:x\n").starts_with("3:5: "));
        assert!(told("a.txt", "3 5 2\n0 1:1\n1 2:1\n1 9:1\n").starts_with("4:3: feature 9"));
        assert_eq!(told("a.txt", "4 5 2\n0 1:1\n1 2:1\n"), "3: the end after 2 rows, but the header promises 4 rows");
        assert!(told("a.txt", "1 5 2\n0 1:1\n1 2:1\n").starts_with("3:1: row 2, but the header promises 1 rows"));
        assert!(told("a.tsv", "a\tx\nb\tx\nno tab\n").starts_with("3:7: no tab"));
    }

    #[test]
    fn a_cache_is_used_again_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, cache) = (folder.path().join("a.svm"), folder.path().join("cache"));
        fs::write(&path, "a 1:1\nb 2:1\n").unwrap();
        let open = |read: &ReadOptions| open(&cache, &path, read, &TextOptions::default(), 0, &mut |_| ()).unwrap();
        let read = ReadOptions::default();
        assert!(!open(&read).reused);
        assert!(open(&read).reused);
        assert!(!open(&ReadOptions { first_label: true, ..read }).reused);
        fs::write(&path, "a 1:1\nb 2:1\nc 1:3\n").unwrap();
        let again = open(&read);
        assert!(!again.reused && again.data.len() == 3);
        fs::write(cache.join("values"), "x").unwrap();
        let error = load(&cache).expect_err("a damaged cache").to_string();
        assert!(error.contains("rows that are not whole, but a cache is whole"), "{error}");
    }
}
