//! What a request asks for: texts or rows of features, and the number of classes. An error names the field it is about.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::answer::Fault;
use super::served::{Keys, Served};

/// The most rows of one request.
pub const MOST_ROWS: usize = 1000;

/// The most classes that are named.
pub const MOST_CLASSES: usize = 1000;

/// The largest value of a feature.
pub const GREATEST: f64 = 1e9;

/// What is to be predicted.
#[derive(Clone)]
pub enum Input {
    /// Texts, for the model to make rows of.
    Texts(Vec<String>),
    /// Rows: features, rising, with their values.
    Rows(Vec<Vec<(u32, f32)>>),
}

impl Input {
    /// How many rows.
    pub fn len(&self) -> usize {
        match self {
            Input::Texts(texts) => texts.len(),
            Input::Rows(rows) => rows.len(),
        }
    }

    /// In pieces of at most so many rows.
    pub fn pieces(self, most: usize) -> Vec<Input> {
        fn cut<T>(mut rest: Vec<T>, most: usize, make: impl Fn(Vec<T>) -> Input) -> Vec<Input> {
            let mut pieces = Vec::with_capacity(rest.len().div_ceil(most));
            while rest.len() > most {
                let after = rest.split_off(most);
                pieces.push(make(std::mem::replace(&mut rest, after)));
            }
            pieces.push(make(rest));
            pieces
        }
        match self {
            Input::Texts(texts) => cut(texts, most, Input::Texts),
            Input::Rows(rows) => cut(rows, most, Input::Rows),
        }
    }
}

/// `POST /predict`.
pub struct Predict {
    /// The rows.
    pub input: Input,
    /// Which classes to name.
    pub wanted: Wanted,
}

/// Which classes of a row are named, the most probable first.
#[derive(Clone, Copy, PartialEq)]
pub enum Wanted {
    /// This many.
    Top(usize),
    /// Those whose probability reaches a threshold, at most [`MOST_CLASSES`].
    Threshold(f64),
}

/// `POST /explain`.
pub struct Explain {
    /// The class.
    pub class: u32,
    /// The row, if it is about one.
    pub input: Option<Input>,
    /// How many words to name for and against.
    pub top: usize,
}

/// The body of `POST /predict`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PredictBody {
    text: Option<String>,
    texts: Option<Vec<String>>,
    features: Option<Features>,
    top: Option<Top>,
    threshold: Option<Threshold>,
}

/// The body of `POST /explain`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainBody {
    class: String,
    text: Option<String>,
    features: Option<Entries>,
    top: Option<Top>,
}

/// One row, or several.
enum Features {
    One(Entries),
    Several(Vec<Entries>),
}

/// A row: features and their values.
type Entries = BTreeMap<String, Number>;

/// A number of classes or words.
#[derive(Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Top(pub(super) usize);

/// A probability from which on classes are named.
#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct Threshold(f64);

/// The value of a feature.
#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct Number(f32);

impl TryFrom<f64> for Top {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if number.fract() == 0.0 && (1.0..=MOST_CLASSES as f64).contains(&number) {
            return Ok(Top(number as usize));
        }
        Err(format!("expected a whole number from 1 to {MOST_CLASSES}, got {number}"))
    }
}

impl TryFrom<f64> for Threshold {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&number) {
            return Ok(Threshold(number));
        }
        Err(format!("expected a probability from 0 to 1, got {number}"))
    }
}

impl TryFrom<f64> for Number {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if number.abs() <= GREATEST {
            return Ok(Number(number as f32));
        }
        Err(format!("expected a number from -1e9 to 1e9, got {number:?}"))
    }
}

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// By hand, since of an untagged enum serde only says that no variant matched.
        struct OneOrSeveral;

        impl<'de> Visitor<'de> for OneOrSeveral {
            type Value = Features;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of features and values, or an array of such objects")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Features, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(Features::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Features, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(seq)).map(Features::Several)
            }
        }

        deserializer.deserialize_any(OneOrSeveral)
    }
}

impl Predict {
    /// Reads a request.
    pub fn read(value: Value, served: &Served) -> Result<Self, Fault> {
        let PredictBody { text, texts, features, top, threshold } = parse(value)?;
        let texts = [text.map(|text| ("text", vec![text])), texts.map(|texts| ("texts", texts))];
        let input = input(texts.into_iter().flatten().collect(), features, served)?;
        let names = if served.takes_texts() { "`text`, `texts` or `features`" } else { "`features`" };
        let input = input.ok_or_else(|| Fault::unprocessable(format!("{names} must be given")))?;
        let wanted = match (top, threshold) {
            (Some(_), Some(_)) => {
                return Err(Fault::unprocessable("only one of `top` and `threshold` may be given"));
            }
            (top, None) => Wanted::Top(top.map_or(5, |Top(top)| top)),
            (None, Some(Threshold(threshold))) => Wanted::Threshold(threshold),
        };
        Ok(Predict { input, wanted })
    }
}

impl Explain {
    /// Reads a request.
    pub fn read(value: Value, served: &Served) -> Result<Self, Fault> {
        let ExplainBody { class: name, text, features, top } = parse(value)?;
        let class = served.class(&name).ok_or_else(|| {
            let error = format!("class: the model has no `{name}`; GET /classes?search= lists those it has");
            Fault::new(axum::http::StatusCode::NOT_FOUND, error)
        })?;
        let texts = text.map(|text| ("text", vec![text]));
        let input = input(texts.into_iter().collect(), features.map(Features::One), served)?;
        Ok(Explain { class, input, top: top.map_or(10, |Top(top)| top) })
    }
}

/// A body as the fields it may have; an error starts with the path of the value that it is about.
pub(super) fn parse<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    // Of an array, serde would take the fields of a struct in order.
    let Some(fields) = value.as_object() else {
        return Err(Fault::unprocessable("the body must be a JSON object"));
    };
    // serde would take null for a field that is absent.
    if let Some((field, _)) = fields.iter().find(|(_, value)| value.is_null()) {
        return Err(Fault::unprocessable(format!("{field}: expected a value, got null; leave the field out")));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner().to_string();
        Fault::unprocessable(if path == "." || error.starts_with("unknown field") {
            error
        } else {
            format!("{path}: {error}")
        })
    })
}

/// The one kind of input that is given, if any.
fn input(
    mut texts: Vec<(&'static str, Vec<String>)>,
    features: Option<Features>,
    served: &Served,
) -> Result<Option<Input>, Fault> {
    let given: Vec<&str> = texts.iter().map(|(field, _)| *field).chain(features.as_ref().map(|_| "features")).collect();
    if given.len() > 1 {
        let error = format!("only one kind of input may be given, got `{}`", given.join("` and `"));
        return Err(Fault::unprocessable(error));
    }
    if let Some((field, texts)) = texts.pop() {
        if !served.takes_texts() {
            let error = format!("{field}: the model was not trained on texts; give it `features`");
            return Err(Fault::unprocessable(error));
        }
        check_count(field, texts.len())?;
        return Ok(Some(Input::Texts(texts)));
    }
    let rows = match features {
        None => return Ok(None),
        Some(Features::One(entries)) => vec![row("features", &entries, served)?],
        Some(Features::Several(rows)) => {
            check_count("features", rows.len())?;
            let row = |(n, entries): (usize, &Entries)| row(&format!("features[{n}]"), entries, served);
            rows.iter().enumerate().map(row).collect::<Result<_, _>>()?
        }
    };
    Ok(Some(Input::Rows(rows)))
}

fn check_count(field: &str, count: usize) -> Result<(), Fault> {
    match count {
        1..=MOST_ROWS => Ok(()),
        _ => Err(Fault::unprocessable(format!("{field}: expected 1 to {MOST_ROWS} rows, got {count}"))),
    }
}

/// A row of features in rising order.
fn row(path: &str, entries: &Entries, served: &Served) -> Result<Vec<(u32, f32)>, Fault> {
    let keys = served.keys();
    let mut row = Vec::with_capacity(entries.len());
    for (key, &Number(value)) in entries {
        let feature = match keys {
            Keys::Names => served.feature(key),
            Keys::Numbers => Some(feature_number(key).ok_or_else(|| {
                Fault::unprocessable(format!("{path}: the features of this model are numbers from 0, got `{key}`"))
            })?),
        };
        row.extend(feature.map(|feature| (feature, value)));
    }
    row.sort_unstable_by_key(|&(feature, _)| feature);
    Ok(row)
}

/// Without sign or leading zeros, so that no feature has two names.
fn feature_number(key: &str) -> Option<u32> {
    let plain = key.bytes().all(|byte| byte.is_ascii_digit()) && (key.len() == 1 || !key.starts_with('0'));
    if plain && key.len() <= 9 { key.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_features_have_one_form() {
        for (key, number) in [("0", Some(0)), ("17", Some(17)), ("999999999", Some(999_999_999))] {
            assert_eq!(feature_number(key), number);
        }
        for key in ["", "07", "+7", "-1", "1e3", "٣", "1000000000", "seven"] {
            assert_eq!(feature_number(key), None, "{key}");
        }
    }

    #[test]
    fn pieces_keep_the_order() {
        let texts = |numbers: std::ops::Range<usize>| Input::Texts(numbers.map(|n| n.to_string()).collect());
        let lengths: Vec<usize> = texts(0..7).pieces(3).iter().map(Input::len).collect();
        assert_eq!(lengths, [3, 3, 1]);
        assert_eq!(texts(0..3).pieces(3).len(), 1);
        let Input::Texts(last) = texts(0..7).pieces(3).pop().unwrap() else { unreachable!() };
        assert_eq!(last, ["6"]);
    }
}
