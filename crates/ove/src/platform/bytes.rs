//! Numbers of bytes, as users write them.

use std::fmt;
use std::str::FromStr;

use bytesize::ByteSize;

use crate::error::Error;

/// A number of bytes, written like `8GB`, `512MiB` or `100000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bytes = text.parse::<ByteSize>();
        bytes.map(|bytes| Bytes(bytes.as_u64())).map_err(|_| {
            Error::setting(
                "memory",
                "be a number of bytes, or one with KB, MB, GB or TB, such as 8GB",
                format!("`{text}`"),
            )
        })
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteSize(self.0).display().si().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_their_units() {
        for (text, bytes) in [
            ("8GB", 8_000_000_000),
            ("8 GB", 8_000_000_000),
            ("1.5 MB", 1_500_000),
            ("700", 700),
            ("2k", 2000),
            ("1KiB", 1024),
            ("2 TB", 2_000_000_000_000),
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(bytes));
        }
        for text in ["", "GB", "8 parsecs", "-1GB", "1.2.3"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        for (bytes, shown) in [(8_000_000_000, "8.0 GB"), (1_500_000, "1.5 MB"), (700, "700 B"), (12_345, "12.3 kB")] {
            assert_eq!(Bytes(bytes).to_string(), shown);
        }
    }
}
