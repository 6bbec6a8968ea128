//! `ove export`.

mod pickle;
mod sklearn;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ove::Model;
use ove::io::vectors::VectorFormat;
use ove::model::WordVectors;
use serde_json::{Value, json};

use crate::files;

/// Write a model in a form that other programs read
///
/// onnx: a classifier for ONNX Runtime and others, with its classes in a JSON file beside it; for models of texts also
/// the vocabulary there, and a tokenizer in Python. sklearn: a pickled Pipeline of TfidfVectorizer and
/// LogisticRegression, for linear scores of texts with one label; a text without a known word has the softmax of the
/// biases there. word2vec, word2vec-binary and glove: word vectors; those of words with n-grams are the means that `ove
/// similar` uses too.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ove export my.model --format onnx -o my.onnx
  ove export my.model --format sklearn -o my.pickle
  ove export vectors.model -o vectors.txt --format word2vec")]
pub struct Args {
    /// Model file; for word vectors also vectors in another form
    model: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Form: word2vec and glove are text, with and without a first line `words numbers`
    #[arg(long, default_value = "word2vec", value_parser = forms())]
    format: Form,
    /// onnx: keep the weights in a second file, FILE.data, as they always are above 2 GB
    #[arg(long)]
    external_data: bool,
}

/// What reads the model.
#[derive(Debug, Clone, Copy)]
enum Form {
    Onnx,
    Sklearn,
    Vectors(VectorFormat),
}

impl Form {
    fn all() -> impl Iterator<Item = Form> {
        [Form::Onnx, Form::Sklearn].into_iter().chain(VectorFormat::ALL.iter().copied().map(Form::Vectors))
    }

    fn name(self) -> &'static str {
        match self {
            Form::Onnx => "onnx",
            Form::Sklearn => "sklearn",
            Form::Vectors(format) => format.name(),
        }
    }
}

/// Parses the name of a form.
fn forms() -> impl TypedValueParser<Value = Form> {
    let named = |name: String| Form::all().find(|form| form.name() == name).expect("one of the names");
    PossibleValuesParser::new(Form::all().map(Form::name)).map(named)
}

/// The tokenizer of models of texts, which is written beside them.
const TOKENIZER: &str = include_str!("../../assets/onnx/tokenizer.py");

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let Args { model, output, .. } = &args;
    let beside = |extension: &str| output.with_extension(extension);
    let (data, card, tokenizer) = (Model::onnx_data(output), beside("json"), beside("py"));
    let more = [("--output", &data), ("--output", &card), ("--output", &tokenizer)];
    let count = if matches!(args.format, Form::Onnx) { more.len() } else { 0 };
    let outputs = [("--output", output)].into_iter().chain(more.into_iter().take(count));
    let outputs: Vec<_> = outputs.map(|(name, path)| (name, Some(path))).collect();
    files::separate(&outputs, &[("the model", Some(model))])?;
    if args.external_data && !matches!(args.format, Form::Onnx) {
        bail!("`--external-data` must be with `--format onnx`, got `--format {}`", args.format.name());
    }
    match args.format {
        Form::Sklearn => files::write(output, &sklearn::pickled(&Model::load(model)?)?),
        Form::Vectors(format) => Ok(WordVectors::open(model)?.export(output, format)?),
        Form::Onnx => {
            let model = Model::load(model)?;
            model.save_onnx(output, args.external_data)?;
            files::write(&card, &described(&model).to_string())?;
            if model.card.text.is_some() {
                files::write(&tokenizer, TOKENIZER)?;
            }
            Ok(())
        }
    }
}

/// What an ONNX file has no place for: the names of the classes, and how texts become rows.
fn described(model: &Model) -> Value {
    let card = &model.card;
    let mut described = json!({ "classes": card.classes, "features": model.features() });
    if !card.label_names.is_empty() {
        described["label_names"] = json!(card.label_names);
    }
    if !card.feature_names.is_empty() {
        described["feature_names"] = json!(card.feature_names);
    }
    if let Some(text) = &card.text {
        let vocabulary: Vec<&str> = text.names().iter().collect();
        described["text"] = json!({ "options": text.options(), "vocabulary": vocabulary, "idf": text.idf() });
    }
    described
}
