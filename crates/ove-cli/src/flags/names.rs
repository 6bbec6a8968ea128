//! The names of classes.

use std::path::PathBuf;

use ove::io::read::label_names::{self, LabelNames};

/// Flags about the names of classes.
#[derive(clap::Args)]
pub struct NameFlags {
    /// Names of the classes: lines `class<TAB>name`
    ///
    /// Other names follow after more tabs. They are kept in the model and shown with the classes; from texts, a class
    /// is also learned from its names, even without a row.
    #[arg(long, help_heading = "More", value_name = "FILE")]
    label_names: Option<PathBuf>,
    /// Weight of a name in training, where a row has weight 1; 0: only show the names
    #[arg(long, value_name = "W", default_value_t = label_names::WEIGHT, requires = "label_names", value_parser = weight)]
    name_weight: f64,
}

/// Names, and the weight of each in training.
pub struct Named {
    /// The names.
    pub names: LabelNames,
    /// The weight.
    pub weight: f64,
}

impl NameFlags {
    /// Reads the file, if one is given.
    pub fn read(&self) -> ove::Result<Option<Named>> {
        let named = |names| Named { names, weight: self.name_weight };
        self.label_names.as_deref().map(|path| label_names::read(path).map(named)).transpose()
    }
}

fn weight(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(weight) if (0.0..=f64::from(f32::MAX)).contains(&weight) => Ok(weight),
        _ => Err("it must be a number from 0".into()),
    }
}
