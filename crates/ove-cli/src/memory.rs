//! Memory: what the process has taken, and what it may take.

use std::str::FromStr;

use ove::Error;

/// The most memory that this process has held so far, where the system tells (Linux).
pub fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

/// The memory that this process holds now, where the system tells (Linux).
pub fn resident_bytes() -> Option<u64> {
    status("VmRSS:")
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// A number of bytes, written like `8GB`, `512MB` or `100000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Option {
            name: "memory",
            found: format!("`{text}`"),
            allowed: "it is a number of bytes, or one with KB, MB, GB or TB, such as 8GB".into(),
        };
        let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let unit: f64 = match text[digits..].trim().to_ascii_uppercase().as_str() {
            "" | "B" => 1.0,
            "K" | "KB" => 1e3,
            "M" | "MB" => 1e6,
            "G" | "GB" => 1e9,
            "T" | "TB" => 1e12,
            _ => return Err(bad()),
        };
        let number: f64 = text[..digits].parse().map_err(|_| bad())?;
        Ok(Bytes((number * unit) as u64))
    }
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 as f64 {
            b if b >= 1e9 => write!(f, "{:.1} GB", b / 1e9),
            b if b >= 1e6 => write!(f, "{:.1} MB", b / 1e6),
            b => write!(f, "{:.1} kB", b / 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_their_units() {
        for (text, bytes) in [("8GB", 8_000_000_000), ("1.5 MB", 1_500_000), ("700", 700), ("2k", 2000)] {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(bytes));
        }
        for text in ["", "GB", "8 parsecs", "-1GB", "1.2.3"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
