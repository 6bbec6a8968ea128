//! Which columns of a table hold the texts or numbers, labels, weights and ids of its rows.

use serde::{Deserialize, Serialize};

/// The columns of a table that are used, each by its name or its number from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Columns {
    /// The columns of the text, joined in this order. The terms of `title:3` count three times, and `title,body` are
    /// two columns, unless a column has that name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// The columns of numbers, which rows consist of in place of a text; `all` stands for every column that is not
    /// another of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// The column of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What separates several labels; without it, a label is the whole of its field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_separator: Option<String>,
    /// The column of the weight of a row in training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// The column of an id, which goes from the rows to their predictions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Columns {
    /// Whether no column is given.
    pub fn is_empty(&self) -> bool {
        *self == Columns::default()
    }

    /// These columns, and those of `other` where none is given.
    pub fn or(self, other: &Columns) -> Columns {
        Columns {
            text: if self.text.is_empty() { other.text.clone() } else { self.text },
            features: if self.features.is_empty() { other.features.clone() } else { self.features },
            label: self.label.or_else(|| other.label.clone()),
            label_separator: self.label_separator.or_else(|| other.label_separator.clone()),
            weight: self.weight.or_else(|| other.weight.clone()),
            id: self.id.or_else(|| other.id.clone()),
        }
    }
}
