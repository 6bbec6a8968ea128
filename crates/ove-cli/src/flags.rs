//! Flags that several commands share.

mod columns;
mod data;
mod names;
mod training;

pub use columns::ColumnFlags;
pub use data::DataFlags;
pub use names::NameFlags;
pub use training::{LinearFlags, TextFlags, ThreadFlags, TrainFlags};

/// Value parser for a flag that takes one of a few names, which `--help` lists.
macro_rules! choice {
    ($kind:ty) => {{
        use clap::builder::{PossibleValuesParser, TypedValueParser};
        PossibleValuesParser::new(<$kind>::ALL.iter().map(|value| value.name()))
            .map(|name| name.parse::<$kind>().expect("one of the names"))
    }};
}
pub(crate) use choice;

/// Parses the number of answers, `--top`.
pub fn top(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| format!("`top` must be at least 1, got {text}"))
}
