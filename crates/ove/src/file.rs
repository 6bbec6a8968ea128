//! The model file: safetensors, so that NumPy and Torch can read the weights too.
//!
//! Tensors `weights` (features × classes) and `bias` (classes), 32-bit floats; the metadata entry `ove` holds the
//! [`Card`] as JSON, and `version` the version of this layout. Where weights share [`Places`], `weights` is a list of
//! cells and the entry `hashed_features` says of how many features. A file is written beside its final place, synced and
//! renamed: there is the old model or the new one, never a part of one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use serde_json::json;

use crate::error::{Error, Result};
use crate::model::{Card, Linear, Model};
use crate::places::Places;

const VERSION: &str = "1";

impl Model {
    /// Writes the model.
    pub fn save(&self, path: &Path) -> Result<()> {
        let (features, classes) = (self.linear.features(), self.linear.classes());
        let card = serde_json::to_string(&self.card)
            .map_err(|e| Error::ModelFile { path: path.to_owned(), reason: e.to_string() })?;
        let (bias, weights): (&[u8], &[u8]) =
            (bytemuck::cast_slice(self.linear.bias()), bytemuck::cast_slice(self.linear.weights()));
        // By hand: the safetensors crate writes metadata in a random order, but the same run gives the same file.
        let end = bias.len() + weights.len();
        let mut metadata = json!({ "ove": card, "version": VERSION });
        let mut shape = json!([features, classes]);
        if self.linear.places().is_hashed() {
            metadata["hashed_features"] = features.to_string().into();
            shape = json!([self.linear.places().cells()]);
        }
        let mut header = json!({
            "__metadata__": metadata,
            "bias": { "dtype": "F32", "shape": [classes], "data_offsets": [0, bias.len()] },
            "weights": { "dtype": "F32", "shape": shape, "data_offsets": [bias.len(), end] },
        })
        .to_string();
        // Tensors start at a multiple of 8 bytes.
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));

        write_beside(path, |beside| {
            let write = || {
                let mut file = File::create(beside)?;
                file.write_all(&(header.len() as u64).to_le_bytes())?;
                [header.as_bytes(), bias, weights].iter().try_for_each(|part| file.write_all(part))
            };
            write().map_err(|e| Error::file(path, e))
        })
    }

    /// Reads a model.
    pub fn load(path: &Path) -> Result<Model> {
        let bytes = fs::read(path).map_err(|e| Error::file(path, e))?;
        parse(&bytes).map_err(|reason| Error::ModelFile { path: path.to_owned(), reason })
    }
}

/// Has `write` fill a file beside `path`, then puts it in the place of `path`. On failure nothing is left behind.
pub fn write_beside(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(name);
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

fn parse(bytes: &[u8]) -> std::result::Result<Model, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
    let metadata = header.metadata().as_ref().ok_or("no metadata, so not written by ove")?;
    match metadata.get("version").map(String::as_str) {
        Some(VERSION) => {}
        Some(other) => return Err(format!("layout version {other}, but this program reads version {VERSION}")),
        None => return Err("no layout version, so not written by ove".into()),
    }
    let card = metadata.get("ove").ok_or("no entry `ove` in the metadata")?;
    let card: Card = serde_json::from_str(card).map_err(|e| format!("metadata `ove`: {e}"))?;

    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    let classes = card.classes.len();
    if classes == 0 || card.counts.len() != classes {
        return Err(format!("{classes} classes with {} counts", card.counts.len()));
    }
    let weights = file.tensor("weights").map_err(|e| e.to_string())?;
    let bias = file.tensor("bias").map_err(|e| e.to_string())?;
    let places = places(weights.shape(), classes, metadata.get("hashed_features"))?;
    if bias.shape() != [classes] {
        return Err(format!("bias {:?} for {classes} classes", bias.shape()));
    }
    if ![0, places.features()].contains(&card.feature_names.len()) {
        return Err(format!("{} feature names for {} features", card.feature_names.len(), places.features()));
    }
    let mut table = Vec::with_capacity(places.cells() + classes);
    for tensor in [weights, bias] {
        if tensor.dtype() != Dtype::F32 {
            return Err(format!("weights of type {:?}, but they are 32-bit floats", tensor.dtype()));
        }
        table.extend(tensor.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    }
    if let Some(at) = table.iter().position(|w| !w.is_finite()) {
        return Err(format!("the weight {} at {at}, but weights are finite", table[at]));
    }
    Ok(Model { linear: Linear::with_places(places, table), card })
}

/// Where the weights of a tensor with this shape are.
fn places(shape: &[usize], classes: usize, hashed: Option<&String>) -> std::result::Result<Places, String> {
    match (shape, hashed) {
        (&[features, columns], None) if columns == classes => Ok(Places::dense(features, classes)),
        (&[_, _], None) => Err(format!("weights {shape:?} for {classes} classes")),
        (_, None) => Err("weights that are not a matrix".into()),
        (&[cells], Some(features)) if cells >= classes => match features.parse() {
            Ok(features) => Ok(Places::hashed(features, classes, cells)),
            Err(_) => Err(format!("hashed_features `{features}`, but it is a number")),
        },
        (_, Some(_)) => Err(format!("weights {shape:?} for {classes} classes that share cells")),
    }
}
