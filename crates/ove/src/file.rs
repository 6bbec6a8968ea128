//! The model file: safetensors, so that NumPy and Torch can read the weights too.
//!
//! A linear model has the tensors `weights` (features × classes) and `bias` (classes), 32-bit floats; where weights share
//! [`Places`], `weights` is a list of cells and the metadata entry `hashed_features` says of how many features. A pruned one has the
//! sparse weights instead (`file/levels.rs`), and so has a forest (`file/forest.rs`). A model trained on raw text also has `terms` (UTF-8, a term a line) and `idf`, a
//! weight a term: a million of them load faster so than from JSON. The metadata entry `ove` holds the [`Card`] as JSON, and `version`
//! the version of this layout. Numbers are little-endian, and tensors stand where a mapped file has them aligned. A file is written
//! beside its final place, synced and renamed: there is the old model or the new one, never a part of one.

mod forest;
mod levels;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::{Mmap, MmapMut};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::json;

use crate::error::{Error, Result};
use crate::linear::Linear;
use crate::machine;
use crate::model::{Card, Model, Settings, Weights};
use crate::numbers::Numbers;
use crate::places::Places;
use crate::text::{Names, Text, TextOptions};
use levels::Levels;

const VERSION: &str = "4";

impl Model {
    /// Writes the model.
    ///
    /// A model with a weight that is not finite is refused.
    pub fn save(&self, path: &Path) -> Result<()> {
        if let Some(Err(reason)) =
            self.linear().filter(|linear| linear.kept().is_none()).map(|l| check_finite(&l.table()))
        {
            return Err(Error::ModelFile { path: path.to_owned(), reason });
        }
        let (header, tensors) =
            self.contents().map_err(|e| Error::ModelFile { path: path.to_owned(), reason: e.to_string() })?;
        write_beside(path, |beside| {
            let size = header.len() + tensors.iter().map(Tensor::len).sum::<usize>();
            let write = || write(&header, &tensors, &mut File::create(beside)?);
            write().map_err(|e| unwritten(path, size, e))
        })
    }

    /// What a file of the model holds.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (header, tensors) = self.contents().expect("a card is JSON");
        let mut bytes = Vec::new();
        write(&header, &tensors, &mut bytes).expect("memory takes everything");
        bytes
    }

    /// The header of the file and what follows it.
    fn contents(&self) -> serde_json::Result<(String, Vec<Tensor<'_>>)> {
        let card = serde_json::to_string(&self.card)?;
        let mut tensors = match &self.weights {
            Weights::Linear(linear) => linear_tensors(linear),
            Weights::Forest(forest) => forest::tensors(forest),
        };
        if let Some(text) = &self.card.text {
            tensors.push(Tensor::list("idf", "F32", text.idf()));
            tensors.push(Tensor::list("terms", "U8", text.names().lines().as_bytes()));
        }
        let mut header = header(&card, self.linear(), &tensors);
        // Tensors start at a multiple of 8 bytes.
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));

        Ok((header, tensors))
    }

    /// Reads a model into memory.
    pub fn load(path: &Path) -> Result<Model> {
        Model::open(path, false)
    }

    /// Uses a model where its file lies, which programs share and which takes no time to read. The file must not be changed meanwhile; to
    /// save another in its place is no change. That the weights of a linear model are finite is not looked into.
    pub fn map(path: &Path) -> Result<Model> {
        Model::open(path, true)
    }

    /// Uses a model that lies in memory as it would in a file, after one copy. That the weights of a linear model are finite is not looked
    /// into.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        let path = Path::new("a model in memory");
        let copy = || -> io::Result<Mmap> {
            let mut memory = MmapMut::map_anon(bytes.len())?;
            memory.copy_from_slice(bytes);
            memory.make_read_only()
        };
        let source = Source { file: Arc::new(copy().map_err(|e| Error::file(path, e))?), mapped: true };
        parse(&source).map_err(|reason| Error::ModelFile { path: path.to_owned(), reason })
    }

    fn open(path: &Path, mapped: bool) -> Result<Model> {
        let file = machine::map(path).map_err(|e| Error::file(path, e))?;
        let source = Source { file: Arc::new(file), mapped };
        parse(&source).map_err(|reason| Error::ModelFile { path: path.to_owned(), reason })
    }
}

fn write(header: &str, tensors: &[Tensor<'_>], out: &mut impl Write) -> io::Result<()> {
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    tensors.iter().flat_map(|tensor| &tensor.pieces).try_for_each(|piece| out.write_all(piece))
}

/// A file whose numbers are used where they lie, or copied.
struct Source {
    file: Arc<Mmap>,
    mapped: bool,
}

impl Source {
    /// Bytes of the file as numbers.
    fn numbers<T: Pod>(&self, bytes: &[u8]) -> Numbers<T> {
        let start = bytes.as_ptr() as usize - self.file.as_ptr() as usize;
        match self.mapped {
            true => Numbers::mapped(&self.file, start..start + bytes.len()),
            false => Numbers::copied(bytes),
        }
    }
}

struct Tensor<'a> {
    name: &'static str,
    dtype: &'static str,
    shape: Vec<usize>,
    /// Its bytes, piece after piece.
    pieces: Vec<Cow<'a, [u8]>>,
}

impl<'a> Tensor<'a> {
    fn list<T: Pod>(name: &'static str, dtype: &'static str, numbers: &'a [T]) -> Self {
        Tensor { name, dtype, shape: vec![numbers.len()], pieces: vec![bytemuck::cast_slice(numbers).into()] }
    }

    fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }
}

/// The header for tensors that follow each other. By hand: the safetensors crate writes metadata in a random order, but the
/// same run gives the same file.
fn header(card: &str, linear: Option<&Linear>, tensors: &[Tensor]) -> String {
    let mut header = json!({ "__metadata__": { "ove": card, "version": VERSION } });
    if let Some(linear) = linear.filter(|linear| linear.places().is_hashed()) {
        header["__metadata__"]["hashed_features"] = linear.features().to_string().into();
    }
    let mut start = 0;
    for tensor in tensors {
        let end = start + tensor.len();
        header[tensor.name] = json!({ "dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [start, end] });
        start = end;
    }
    header.to_string()
}

/// Why a file of so many bytes could not be written, and what it takes.
pub(crate) fn unwritten(path: &Path, bytes: usize, error: io::Error) -> Error {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).display();
    let needed = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            format!("; {folder} needs room for {:.1} MB", bytes as f64 / 1e6)
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("; it must be allowed to make files in {folder}")
        }
        _ => String::new(),
    };
    Error::file(path, io::Error::new(error.kind(), format!("{error}{needed}")))
}

/// Where a file is written before it takes the place of `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Whether a file could be written here, by writing an empty one beside it.
pub fn check_place(path: &Path) -> Result<()> {
    let beside = beside(path);
    File::create(&beside).and_then(|_| fs::remove_file(&beside)).map_err(|e| unwritten(path, 0, e))
}

/// Has `write` fill a file beside `path`, then puts it in the place of `path`. On failure nothing is left behind.
pub fn write_beside(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let beside = beside(path);
    let finish = || -> Result<()> {
        write(&beside)?;
        let sync = |path: &PathBuf| File::open(path)?.sync_all();
        sync(&beside).and_then(|()| fs::rename(&beside, path)).map_err(|e| Error::file(path, e))?;
        // The rename itself lasts once the folder is synced; not every system can open a folder.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().map_err(|e| Error::file(path, e))?;
        }
        Ok(())
    };
    finish().inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

fn parse(source: &Source) -> std::result::Result<Model, String> {
    let bytes = &source.file[..];
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
    let metadata = header.metadata().as_ref().ok_or("no metadata, so not written by ove")?;
    match metadata.get("version").map(String::as_str) {
        Some(VERSION) => {}
        Some(other) => return Err(format!("layout version {other}, but this program reads version {VERSION}")),
        None => return Err("no layout version, so not written by ove".into()),
    }
    let card = metadata.get("ove").ok_or("no entry `ove` in the metadata")?;
    let mut card: Card = serde_json::from_str(card).map_err(|e| format!("metadata `ove`: {e}"))?;

    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    let classes = card.classes.len();
    if classes == 0 || card.counts.len() != classes {
        return Err(format!("{classes} classes with {} counts", card.counts.len()));
    }
    let weights = match card.options {
        Settings::Linear(_) => Weights::Linear(parse_linear(source, &file, classes, metadata.get("hashed_features"))?),
        Settings::Forest(_) => Weights::Forest(forest::parse(source, &file, classes)?),
    };
    let features = match &weights {
        Weights::Linear(linear) => linear.features(),
        Weights::Forest(forest) => forest.features(),
    };
    if ![0, features].contains(&card.feature_names.len()) {
        return Err(format!("{} feature names for {features} features", card.feature_names.len()));
    }
    if let Some(text) = &mut card.text {
        *text = parse_text(*text.options(), &file, features)?;
    }
    Ok(Model { weights, card })
}

fn linear_tensors(linear: &Linear) -> Vec<Tensor<'_>> {
    let bias = Tensor::list("bias", "F32", linear.bias());
    if let Some(level) = linear.kept() {
        return [bias].into_iter().chain(levels::tensors(&[level])).collect();
    }
    let places = linear.places();
    let pieces = match linear.table() {
        Cow::Borrowed(table) => vec![bytemuck::cast_slice(&table[..places.cells()]).into()],
        Cow::Owned(_) => unreachable!("only a pruned model is put together"),
    };
    let shape = if places.is_hashed() { vec![places.cells()] } else { vec![linear.features(), linear.classes()] };
    // The biases follow the weights, as in memory.
    vec![Tensor { name: "weights", dtype: "F32", shape, pieces }, bias]
}

fn parse_linear(
    source: &Source,
    file: &SafeTensors,
    classes: usize,
    hashed: Option<&String>,
) -> std::result::Result<Linear, String> {
    let bias = file.tensor("bias").map_err(|e| e.to_string())?;
    if bias.shape() != [classes] {
        return Err(format!("bias {:?} for {classes} classes", bias.shape()));
    }
    let bias_bytes = floats(&bias)?;
    if levels::are_in(file) {
        let bias = source.numbers(bias_bytes);
        check_finite(&bias)?;
        let level = Levels::of(source, file)?.next(None, Linear::blocks(classes))?;
        return Ok(Linear::pruned(level, bias));
    }
    let weights = file.tensor("weights").map_err(|e| e.to_string())?;
    let places = places(weights.shape(), classes, hashed)?;
    let bytes = floats(&weights)?;
    let end = bytes.as_ptr_range().end;
    if source.mapped && end == bias_bytes.as_ptr() {
        let start = bytes.as_ptr() as usize - source.file.as_ptr() as usize;
        let both = &source.file[start..start + bytes.len() + bias_bytes.len()];
        return Ok(Linear::with_places(places, source.numbers(both)));
    }
    let mut table = Vec::with_capacity(places.cells() + classes);
    for bytes in [bytes, bias_bytes] {
        table.extend(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    }
    check_finite(&table)?;
    Ok(Linear::with_places(places, table))
}

fn check_finite(table: &[f32]) -> std::result::Result<(), String> {
    match table.iter().position(|weight| !weight.is_finite()) {
        Some(at) => Err(format!("the weight {} at {at}, but weights are finite", table[at])),
        None => Ok(()),
    }
}

/// Where the weights of a tensor with this shape are.
fn places(shape: &[usize], classes: usize, hashed: Option<&String>) -> std::result::Result<Places, String> {
    match (shape, hashed) {
        (&[features, columns], None) if columns == classes => Ok(Places::dense(features, classes)),
        (&[_, _], None) => Err(format!("weights {shape:?} for {classes} classes")),
        (_, None) => Err("weights that are not a matrix".into()),
        (&[cells], Some(features)) if cells >= classes => match features.parse() {
            // Features are numbers of 32 bits.
            Ok(features) if features <= u32::MAX as usize => Ok(Places::hashed(features, classes, cells)),
            _ => Err(format!("hashed_features `{features}`, but it is a number up to {}", u32::MAX)),
        },
        (_, Some(_)) => Err(format!("weights {shape:?} for {classes} classes that share cells")),
    }
}

/// The bytes of a tensor of floats.
fn floats<'a>(tensor: &TensorView<'a>) -> std::result::Result<&'a [u8], String> {
    if tensor.dtype() != Dtype::F32 {
        return Err(format!("weights of type {:?}, but they are 32-bit floats", tensor.dtype()));
    }
    Ok(tensor.data())
}

fn parse_text(options: TextOptions, file: &SafeTensors, features: usize) -> std::result::Result<Text, String> {
    let terms = levels::bytes(file, "terms", Dtype::U8)?;
    let idf = bytemuck::pod_collect_to_vec::<u8, f32>(floats(&file.tensor("idf").map_err(|e| e.to_string())?)?);
    text_of(options, terms, idf, features)
}

/// What turns texts into rows of so many features, from the parts that a file keeps: a term a line, and the weight of each.
pub(crate) fn text_of(
    options: TextOptions,
    terms: &[u8],
    idf: Vec<f32>,
    features: usize,
) -> std::result::Result<Text, String> {
    let lines = std::str::from_utf8(terms).map_err(|e| format!("terms: {e}"))?;
    if !lines.is_empty() && !lines.ends_with('\n') {
        return Err("terms that are cut short".into());
    }
    if let Some(weight) = idf.iter().find(|weight| !weight.is_finite()) {
        return Err(format!("the weight {weight} of a term, but weights are finite"));
    }
    let text = Text::new(options, Names::from_lines(lines.to_owned()), idf).map_err(|e| e.to_string())?;
    if text.len() != features {
        return Err(format!("{} terms for {features} features", text.len()));
    }
    Ok(text)
}
