//! Reading data: the shared flags, and the variants that training and models need.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ove::data::{Doubt, Interactions};
use ove::io::cache;
use ove::io::read::{
    Columns, Format, Input, InteractionColumns, OnError, Pieces, ReadOptions, Skipped, read, read_any,
    read_interactions_in, read_texts,
};
use ove::text::{Text, TextOptions};
use ove::{Dataset, Model};

use super::names::Named;
use super::{ColumnFlags, choice};
use crate::run::progress;
use crate::terminal::note;

/// The approximate number of bytes of a file that are predicted at a time.
const PIECE_BYTES: usize = 64 << 20;

/// Flags for reading a data file.
#[derive(clap::Args, Clone)]
pub struct DataFlags {
    /// Format of the data; detected from the file if not given. interactions: users with items
    #[arg(long, value_parser = file_format())]
    format: Option<FileFormat>,
    /// For NumPy and SciPy: the file of the labels, .npy, .npz or one per line [default: DATA.labels.npy, .npz or
    /// .txt]; for ARFF: the last N attributes are labels
    #[arg(long, value_name = "FILE|N")]
    labels: Option<String>,
    /// Keep only the first label of each row
    #[arg(long)]
    first_label: bool,
    /// For a row that cannot be read: stop, or skip it and report the number and the positions of the first ten
    #[arg(long, value_parser = choice!(OnError), default_value_t = OnError::default())]
    on_error: OnError,
    #[command(flatten)]
    columns: ColumnFlags,
    /// Column of the user in a table of interactions [default: user or user_id]
    #[arg(long, value_name = "COLUMN")]
    user: Option<String>,
    /// Column of the item in a table of interactions [default: item or item_id]; --weight names that of their weight
    #[arg(long, value_name = "COLUMN")]
    item: Option<String>,
}

/// What a file holds: rows or texts in a format, or interactions, whose lines say which form they have.
#[derive(Clone, Copy, PartialEq)]
enum FileFormat {
    Rows(Format),
    Interactions,
}

/// The name of the format of interactions.
const INTERACTIONS: &str = "interactions";

fn file_format() -> impl TypedValueParser<Value = FileFormat> {
    let names = Format::ALL.iter().map(|format| format.name()).chain([INTERACTIONS]);
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        INTERACTIONS => FileFormat::Interactions,
        name => FileFormat::Rows(name.parse().expect("one of the names")),
    })
}

impl DataFlags {
    /// Whether the data are said to be interactions.
    pub fn are_interactions(&self) -> bool {
        self.format == Some(FileFormat::Interactions)
    }

    /// Reads interactions.
    pub fn read_interactions(&self, path: &Path) -> Result<Interactions> {
        let weight = self.columns.given().weight;
        let columns = InteractionColumns { user: self.user.clone(), item: self.item.clone(), weight };
        let data = read_interactions_in(path, &columns, self.on_error)?;
        report_skipped(&data.skipped, path);
        Ok(data)
    }

    /// Reads interactions of the users and items of a model or of training data; those of others are counted.
    pub fn read_interactions_of(&self, users: &[String], items: &[String], path: &Path) -> Result<Interactions> {
        let data = self.read_interactions(path)?;
        let known = data.numbered_as(users, items);
        if known.pairs() < data.pairs() {
            let unknown = data.pairs() - known.pairs();
            note!("{}: {unknown} interactions of unknown users or items are ignored", path.display());
        }
        if known.pairs() == 0 {
            bail!("{}: no interaction of a user and an item that the model knows", path.display());
        }
        Ok(known)
    }

    /// Reads labelled rows or texts; texts are converted to rows with the given options.
    pub fn read(&self, path: &Path, options: &TextOptions) -> Result<(Option<Text>, Dataset)> {
        self.read_named(path, options, None)
    }

    /// Like [`DataFlags::read`]; names of classes are learned from as texts, if the data are texts.
    pub fn read_named(
        &self,
        path: &Path,
        options: &TextOptions,
        named: Option<&Named>,
    ) -> Result<(Option<Text>, Dataset)> {
        let (text, data) = match read_any(path, &self.options(true, &Columns::default())?)? {
            Input::Rows(data) => (None, data),
            Input::Texts(mut texts) => {
                if let Some(Named { names, weight }) = named {
                    names.of(&texts.classes)?;
                    if *weight > 0.0 {
                        texts.learn_names(names, *weight);
                    }
                }
                let (text, data) = texts.fit(options)?;
                hint_at_characters(&data, options, path);
                (Some(text), data)
            }
        };
        self.report(&data, path);
        warn_of_doubts(&data, path);
        Ok((text, data))
    }

    /// Like [`DataFlags::read`], with rows that stay on disk in a cache folder.
    pub fn read_cached(&self, folder: &Path, path: &Path, options: &TextOptions) -> Result<(Option<Text>, Dataset)> {
        let existed = folder.join("card").exists();
        let bar = progress::counter("{human_pos} rows written to the cache");
        let options_of_rows = self.options(true, &Columns::default())?;
        let cached = cache::open(folder, path, &options_of_rows, options, &mut |rows| bar.set_position(rows as u64))?;
        bar.finish_and_clear();
        if cached.reused {
            note!("{}: using the cache of an earlier run", folder.display());
        } else if existed {
            let why = "it is of another file, of other settings or of another version of ove";
            note!("{}: the cache was built again: {why}", folder.display());
        }
        self.report(&cached.data, path);
        Ok((cached.text, cached.data))
    }

    /// Reads rows or texts to continue the training of a model; new terms are added to its vocabulary.
    pub fn read_more(&self, path: &Path, model: &Model) -> Result<(Option<Text>, Dataset)> {
        let options = self.options(true, &model.card.columns)?;
        let (text, data) = match &model.card.text {
            Some(text) => {
                let (text, data) = read_texts(path, &options)?.extend(text)?;
                (Some(text), data)
            }
            None => (None, read(path, &options)?),
        };
        report_skipped(&data.skipped, path);
        Ok((text, data))
    }

    /// Reads rows, or texts if a text pipeline is given, in a table with these columns unless others were given.
    pub fn read_with(
        &self,
        text: Option<&Text>,
        columns: &Columns,
        path: &Path,
        labels_required: bool,
    ) -> Result<Dataset> {
        let options = self.options(labels_required, columns)?;
        let data = match text {
            Some(text) => read_texts(path, &options)?.rows(text),
            None => read(path, &options)?,
        };
        report_skipped(&data.skipped, path);
        Ok(data)
    }

    /// Opens the rows to predict, piece by piece, so that there may be more than fit in memory.
    pub fn pieces(&self, model: &Model, path: &Path) -> Result<Pieces> {
        let options = self.options(false, &model.card.columns)?;
        Ok(match &model.card.text {
            Some(_) => Pieces::open_texts(path, &options, PIECE_BYTES)?,
            None => Pieces::open_rows(path, &options, PIECE_BYTES)?,
        })
    }

    /// Calls `take` with each piece of the rows to predict.
    pub fn each_piece<E: From<ove::Error>>(
        mut pieces: Pieces,
        model: &Model,
        path: &Path,
        mut take: impl FnMut(Dataset) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (mut skipped, mut unknown) = (Skipped::default(), 0);
        while let Some(input) = pieces.next_piece()? {
            let data = match (input, &model.card.text) {
                (Input::Texts(texts), Some(text)) => texts.rows(text),
                (Input::Rows(data), _) => data,
                (Input::Texts(_), None) => unreachable!("they were opened as rows"),
            };
            skipped.join(data.skipped.clone());
            unknown += unknown_features(&data, model.features());
            take(data)?;
        }
        warn_of_unknown_features(unknown, model.features(), path);
        report_skipped(&skipped, path);
        Ok(())
    }

    /// Reads rows or texts for a model, with labels numbered as its classes.
    pub fn read_for(&self, model: &Model, path: &Path, labels_required: bool) -> Result<Dataset> {
        let data = self.read_with(model.card.text.as_ref(), &model.card.columns, path, labels_required)?;
        Ok(fitted(data, &model.card.classes, model.features(), path))
    }

    /// Reads validation rows or texts, with labels numbered as the classes of the training rows.
    pub fn read_like(&self, train: &Dataset, text: Option<&Text>, path: &Path) -> Result<Dataset> {
        // A file of labels is that of the training rows.
        let own =
            DataFlags { labels: self.labels.clone().filter(|labels| labels.parse::<usize>().is_ok()), ..self.clone() };
        let data = own.read_with(text, &train.columns, path, true)?;
        Ok(fitted(data, &train.classes, train.features(), path))
    }

    /// How to read a file, with `usual` columns for those that were not given.
    fn options(&self, labels_required: bool, usual: &Columns) -> ove::Result<ReadOptions> {
        let DataFlags { format, labels, first_label, on_error, columns, user, item } = self.clone();
        for (name, given) in [("user", user), ("item", item)] {
            if given.is_some() {
                return Err(ove::Error::Settings(format!(
                    "`{name}` is a column of interactions, which need `format` interactions"
                )));
            }
        }
        let format = match format {
            Some(FileFormat::Rows(format)) => Some(format),
            Some(FileFormat::Interactions) => {
                return Err(ove::Error::Settings(
                    "`format` must be that of rows or texts here: interactions train recommenders and evaluate them"
                        .into(),
                ));
            }
            None => None,
        };
        let given = columns.given();
        let number = labels.as_ref().and_then(|labels| labels.parse().ok());
        Ok(ReadOptions {
            format,
            labels: number,
            labels_file: labels.filter(|_| number.is_none()).map(PathBuf::from),
            first_label,
            labels_required,
            on_error,
            or_lines: given.is_empty(),
            columns: given.or(usual),
        })
    }

    /// Reports what was chosen and what was skipped.
    fn report(&self, data: &Dataset, path: &Path) {
        let given = self.columns.given();
        let Columns { text, label, .. } = &data.columns;
        if let (Some(label), true) = (label, data.columns.features.is_empty() && data.columns != given) {
            note!("{}: texts are in `{}`, labels in `{label}` (--text, --label)", path.display(), text.join(","));
        }
        report_skipped(&data.skipped, path);
    }
}

fn fitted(mut data: Dataset, classes: &[String], features: usize, path: &Path) -> Dataset {
    data.use_classes(classes);
    warn_of_unknown_features(unknown_features(&data, features), features, path);
    data
}

/// Says so if most texts have no known term, as names of people, places and products do not.
fn hint_at_characters(data: &Dataset, options: &TextOptions, path: &Path) {
    let empty = data.rows().iter(0..data.len()).filter(|row| row.indices.is_empty()).count();
    if empty > data.len() / 3 && options.chars.is_none() {
        let (path, all) = (path.display(), data.len());
        note!("{path}: {empty} of {all} texts have no known word; n-grams of characters may help: --chars 3-5");
    }
}

/// Reports the rows that were skipped.
fn report_skipped(skipped: &Skipped, path: &Path) {
    let count = skipped.count();
    if count == 0 {
        return;
    }
    note!("{}: {count} {} skipped", path.display(), if count == 1 { "row was" } else { "rows were" });
    skipped.first().for_each(|message| note!("  {message}"));
    let more = count - skipped.first().count();
    if more > 0 {
        note!("  and {more} more");
    }
}

/// Reports what looks like a mistake, with the flags that settle it.
fn warn_of_doubts(data: &Dataset, path: &Path) {
    let many = Doubt::many_classes(&data.classes, data.len());
    for doubt in data.doubts.iter().chain(&many) {
        let hint = match doubt {
            Doubt::Header { text, label } => {
                format!("; if so, name the columns: --text {} --label {}", text.trim(), label)
            }
            Doubt::Split { .. } => {
                "; if these are single labels, give the columns: --text 1 --label 2; if the text comes \
                                    second, --format tsv-label-first"
                    .into()
            }
            Doubt::ManyClasses { .. } => "; --format tsv-label-first reads `label<TAB>text`".into(),
            _ => String::new(),
        };
        note!("warning: {}: {doubt}{hint}", path.display());
    }
}

/// Number of entries whose features a model does not have.
fn unknown_features(data: &Dataset, known: usize) -> usize {
    if data.features() <= known {
        return 0;
    }
    let features = data.rows().iter(0..data.len()).flat_map(|row| row.indices);
    features.filter(|&&feature| feature as usize >= known).count()
}

fn warn_of_unknown_features(count: usize, known: usize, path: &Path) {
    if count > 0 {
        note!("{}: {count} entries have features beyond the model's {known}; they are ignored", path.display());
    }
}
