//! The flags that say which columns of a table hold what.

use ove::io::read::Columns;

/// Flags for tables.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Columns of a table (CSV, JSON lines, Parquet, Arrow)")]
pub struct ColumnFlags {
    /// Columns of the text, joined in this order, by name or by number from 1; `title:3,body` counts the terms of the
    /// title three times
    ///
    /// A CSV file has a header, unless all columns are given by number. Predictions and evaluations use the columns
    /// that the model was trained with.
    #[arg(long, value_name = "COLUMNS")]
    text: Vec<String>,
    /// Columns of numbers, in place of --text, by name or by number from 1; `all` stands for all columns that are not
    /// the label, the weight or the id
    #[arg(long, value_name = "COLUMNS", conflicts_with = "text")]
    features: Vec<String>,
    /// Column of the label; its content is one label, unless --label-separator is given or it is a list
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// What separates several labels, such as ";"
    #[arg(long, value_name = "TEXT")]
    label_separator: Option<String>,
    /// Column of the weight of each row in training
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
    /// Column that identifies a row; it stands before the row's predictions
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
}

impl ColumnFlags {
    /// The columns that were given.
    pub fn given(&self) -> Columns {
        let ColumnFlags { text, features, label, label_separator, weight, id } = self.clone();
        Columns { text, features, label, label_separator, weight, id }
    }
}
