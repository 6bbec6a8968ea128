//! The model file: safetensors, so that NumPy and Torch can read the weights too.
//!
//! Each kind of scores has its own tensors. Linear scores have `weights` (features × classes) and `bias`; hashed
//! weights are a list of cells, and the metadata entry `hashed_features` is the number of features. Factored scores
//! have `feature_vectors`, `class_vectors` and `bias`. Pruned weights and trees have sparse blocks, and a second stage
//! of trees has the weights of each class. A model trained on raw text also has `terms` (UTF-8, one per line) and
//! `idf`, a weight per term: a million of them load faster from tensors than from JSON. The metadata entry `ove` is the
//! [`Card`] as JSON, `version` the version of this layout, and `checksum` that of the rest of the file. Files are
//! written atomically, to a temporary file that is synced and renamed.

mod checksum;
mod embedding;
mod factored;
mod linear;
mod recommender;
mod shards;
mod sparse;
mod trees;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::{Mmap, MmapMut};
use safetensors::tensor::{Metadata, TensorView};
use safetensors::{Dtype, SafeTensors};
use serde_json::json;

use super::{Card, Model};
use crate::error::{Error, Result};
use crate::io::atomic::{unwritten, write_beside};
use crate::io::tensors::{self, Tensor};
use crate::options::ScoreOptions;
use crate::platform::mapped_slice::MappedSlice;
use crate::platform::pool;
use crate::scores::Scores;
use crate::text::{self, Table, Text, TextOptions, hash_of_name};

const VERSION: &str = "7";

impl Model {
    /// Writes the model to a file, atomically.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if a weight is not finite or two classes have the same name, [`Error::File`] if the file
    /// cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let (header, tensors) = self.checked_contents(path)?;
        write_beside(path, |beside| {
            let size = header.len() + tensors.iter().map(Tensor::len).sum::<usize>();
            let write = || tensors::write(&header, &tensors, &mut File::create(beside)?);
            write().map_err(|e| unwritten(path, size, e))
        })
    }

    /// The header of a file and the tensors, if they can be written.
    fn checked_contents(&self, path: &Path) -> Result<(String, Vec<Tensor<'_>>)> {
        let unusable = |reason: String| Error::ModelFile { path: path.to_owned(), reason };
        if !pool::run(|| self.scores.are_finite()) {
            return Err(unusable("a weight that is not finite".into()));
        }
        check_names(&self.card.classes).map_err(unusable)?;
        self.contents().map_err(|e| unusable(e.to_string()))
    }

    /// The model as the bytes of a model file.
    ///
    /// # Panics
    /// If the card cannot be serialised as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (header, tensors) = self.contents().expect("a card is JSON");
        let mut bytes = Vec::new();
        tensors::write(&header, &tensors, &mut bytes).expect("writing to memory does not fail");
        bytes
    }

    /// The header of the file and the tensors.
    fn contents(&self) -> serde_json::Result<(String, Vec<Tensor<'_>>)> {
        let mut metadata = json!({ "ove": serde_json::to_string(&self.card)?, "version": VERSION });
        if let Scores::Linear(linear) = &self.scores
            && linear.is_hashed()
        {
            metadata["hashed_features"] = linear.features().to_string().into();
        }
        let mut tensors = self.scores.predictor().tensors();
        if let Some(text) = &self.card.text {
            tensors.push(Tensor::list("idf", "F32", text.idf()));
            tensors.push(Tensor::list("terms", "U8", text.names().lines().as_bytes()));
        }
        if let Some(recommender) = &self.card.recommender {
            tensors.extend(recommender::tensors(recommender));
        }
        if let Some(embedding) = &self.card.embedding {
            tensors.extend(embedding::tensors(embedding));
        }
        Ok((checksum::header(metadata, &tensors), tensors))
    }

    /// Reads a model file into memory, after checking its checksum.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::ModelFile`] if it is not a valid model.
    pub fn load(path: &Path) -> Result<Model> {
        Model::open(path, false)
    }

    /// Checks that a model file has the layout of this version and that no byte of it was changed by accident.
    ///
    /// # Errors
    /// Those of [`Model::load`].
    pub fn verify(path: &Path) -> Result<()> {
        let file = shards::map(path)?;
        let check = || -> std::result::Result<(), String> {
            metadata(&header(&file)?)?;
            checksum::check(&file)
        };
        check().map_err(|reason| Error::ModelFile { path: path.to_owned(), reason })
    }

    /// Memory-maps a model file, which is instantaneous and shares memory between processes.
    ///
    /// The file must not be modified while it is mapped; replacing it, as [`Model::save`] does, is safe. The checksum
    /// is not checked ([`Model::verify`] does so), nor whether the weights of linear and factored scores are finite.
    ///
    /// # Errors
    /// Those of [`Model::load`].
    pub fn map(path: &Path) -> Result<Model> {
        Model::open(path, true)
    }

    /// Reads a model from the bytes of a model file, with one copy and the checks of [`Model::map`], after checking the
    /// checksum.
    ///
    /// # Errors
    /// Those of [`Model::load`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        let path = Path::new("a model in memory");
        let copy = || -> io::Result<Mmap> {
            let mut memory = MmapMut::map_anon(bytes.len())?;
            memory.copy_from_slice(bytes);
            memory.make_read_only()
        };
        let file = copy().map_err(|e| Error::file(path, e))?;
        parse(&Source { file: Arc::new(file), mapped: true, verified: true }, path)
    }

    fn open(path: &Path, mapped: bool) -> Result<Model> {
        let file = shards::map(path)?;
        parse(&Source { file: Arc::new(file), mapped, verified: !mapped }, path)
    }
}

/// A file whose numbers are memory-mapped or copied.
struct Source {
    file: Arc<Mmap>,
    mapped: bool,
    /// Whether its checksum is checked.
    verified: bool,
}

impl Source {
    /// Bytes of the file as numbers.
    fn numbers<T: Pod>(&self, bytes: &[u8]) -> MappedSlice<T> {
        let start = bytes.as_ptr() as usize - self.file.as_ptr() as usize;
        match self.mapped {
            true => MappedSlice::mapped(&self.file, start..start + bytes.len()),
            false => MappedSlice::copied(bytes),
        }
    }

    /// A tensor of floats, checked to be finite unless it is mapped.
    fn floats(&self, tensor: &TensorView<'_>) -> std::result::Result<MappedSlice<f32>, String> {
        let numbers = self.numbers(floats(tensor)?);
        if !self.mapped {
            check_finite(&numbers)?;
        }
        Ok(numbers)
    }
}

fn parse(source: &Source, path: &Path) -> Result<Model> {
    let model = pool::run(|| parse_model(source));
    model.map_err(|reason| Error::ModelFile { path: path.to_owned(), reason })
}

fn header(file: &[u8]) -> std::result::Result<Metadata, String> {
    SafeTensors::read_metadata(file).map(|(_, header)| header).map_err(|e| e.to_string())
}

/// The metadata of a file with this version of the layout.
fn metadata(header: &Metadata) -> std::result::Result<&HashMap<String, String>, String> {
    let metadata = header.metadata().as_ref().ok_or("no metadata, so not written by ove")?;
    match metadata.get("version").map(String::as_str) {
        Some(VERSION) => Ok(metadata),
        Some(other) => Err(format!(
            "it has layout version {other}, and this program reads version {VERSION}; train the model again, or use \
             the version of ove that wrote it"
        )),
        None => Err("no layout version, so not written by ove".into()),
    }
}

fn parse_model(source: &Source) -> std::result::Result<Model, String> {
    let header = header(&source.file)?;
    let metadata = metadata(&header)?;
    // Before and not beside parsing: two threads that touch the pages of the file for the first time hinder each other,
    // which took four times as long as the checksum.
    if source.verified {
        checksum::check(&source.file)?;
    }
    let card = metadata.get("ove").ok_or("no entry `ove` in the metadata")?;
    let mut card: Card = serde_json::from_str(card).map_err(|e| format!("metadata `ove`: {e}"))?;

    let file = SafeTensors::deserialize(&source.file).map_err(|e| e.to_string())?;
    let classes = card.classes.len();
    if classes == 0 || card.counts.len() != classes {
        return Err(format!("{classes} classes with {} counts", card.counts.len()));
    }
    check_names(&card.classes)?;
    if ![0, classes].contains(&card.label_names.len()) {
        return Err(format!("{} lists of label names for {classes} classes", card.label_names.len()));
    }
    if let Some(logistic) = card.logistic.filter(|logistic| !logistic.is_valid()) {
        return Err(format!("the calibration {logistic:?}, which is out of range"));
    }
    let scores = parse_scores(source, &file, &card, metadata)?;
    let features = scores.shape().features;
    if ![0, features].contains(&card.feature_names.len()) {
        return Err(format!("{} feature names for {features} features", card.feature_names.len()));
    }
    if let Some(text) = &mut card.text {
        *text = parse_text(*text.options(), &file, features)?;
    }
    if let Some(recommender) = &mut card.recommender {
        (recommender.seen, recommender.co_occurrence) = recommender::parse(&recommender.options, &file, &scores)?;
    }
    if let Some(embedding) = &mut card.embedding {
        embedding.buckets = embedding::parse(&file, &scores, classes, embedding)?;
    }
    Ok(Model { scores, card })
}

/// The scores of the kind in the card.
fn parse_scores(
    source: &Source,
    file: &SafeTensors<'_>,
    card: &Card,
    metadata: &HashMap<String, String>,
) -> std::result::Result<Scores, String> {
    let classes = card.classes.len();
    match &card.options.scores {
        Some(ScoreOptions::Linear(_)) if sparse::are_in(file) => {
            linear::parse_pruned(source, file, classes).map(Scores::Sparse)
        }
        Some(ScoreOptions::Linear(_)) => {
            linear::parse(source, file, classes, metadata.get("hashed_features")).map(Scores::Linear)
        }
        Some(ScoreOptions::Factored(options)) => {
            factored::parse(source, file, classes, options.rank).map(Scores::Factored)
        }
        Some(ScoreOptions::Trees(_)) => trees::parse(source, file, classes).map(Scores::Trees),
        None => Err("no kind of scores in the card".into()),
    }
}

/// Checks that no two classes have the same name: a label could be either of them.
fn check_names(classes: &[String]) -> std::result::Result<(), String> {
    let mut numbers = Table::with_capacity(classes.len());
    for (name, class) in classes.iter().zip(0..) {
        let first = numbers.get_same_or_insert(hash_of_name(name), class, |other| classes[other as usize] == *name);
        if first != class {
            return Err(format!("the classes {first} and {class} have the same name, `{name}`"));
        }
    }
    Ok(())
}

fn check_finite(table: &[f32]) -> std::result::Result<(), String> {
    match table.iter().position(|weight| !weight.is_finite()) {
        Some(at) => Err(format!("the weight {} at {at}, which is not finite", table[at])),
        None => Ok(()),
    }
}

/// The bytes of a tensor of floats.
fn floats<'a>(tensor: &TensorView<'a>) -> std::result::Result<&'a [u8], String> {
    if tensor.dtype() != Dtype::F32 {
        return Err(format!("weights of type {:?} instead of F32", tensor.dtype()));
    }
    Ok(tensor.data())
}

fn parse_text(options: TextOptions, file: &SafeTensors<'_>, features: usize) -> std::result::Result<Text, String> {
    let terms = tensors::bytes(file, "terms", Dtype::U8)?;
    let idf = bytemuck::pod_collect_to_vec::<u8, f32>(tensors::bytes(file, "idf", Dtype::F32)?);
    text::from_parts(options, terms, idf, features)
}
