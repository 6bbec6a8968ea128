//! Reading data: the flags of every command that does, and what a model needs of it.

use std::path::Path;

use anyhow::Result;
use ove::read::{Format, ReadOptions, read};
use ove::{Dataset, Model};

use crate::settings::choice;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// How to read a data file.
#[derive(clap::Args, Clone, Copy)]
pub struct DataFlags {
    /// The form of the data; found out from the file if not given
    #[arg(long, value_parser = choice!(Format))]
    format: Option<Format>,
    /// ARFF: the last N attributes are labels
    #[arg(long, value_name = "N")]
    labels: Option<usize>,
    /// Keep only the first label of each row
    #[arg(long)]
    first_label: bool,
}

impl DataFlags {
    /// Reads rows whose classes must be known.
    pub fn read(self, path: &Path) -> Result<Dataset> {
        self.read_with(path, true)
    }

    fn read_with(self, path: &Path, labels_required: bool) -> Result<Dataset> {
        let DataFlags { format, labels, first_label } = self;
        Ok(read(path, &ReadOptions { format, labels, first_label, labels_required })?)
    }

    /// Reads rows for a model: labels become its classes.
    pub fn read_for(self, model: &Model, path: &Path, labels_required: bool) -> Result<Dataset> {
        let mut data = self.read_with(path, labels_required)?;
        data.use_classes(&model.card.classes);
        let known = model.linear.features();
        if data.features() > known {
            let beyond = data.rows().iter(0..data.len()).flat_map(|row| row.indices).filter(|&&d| d as usize >= known);
            let count = beyond.count();
            if count > 0 {
                eprintln!(
                    "{}: {count} entries have features that the model does not know (it has {known}); they count as absent",
                    path.display()
                );
            }
        }
        Ok(data)
    }
}
