//! The bearer token of requests, required if other machines can reach the server.

use std::path::Path;

use anyhow::{Context, Result, bail};
use axum::http::{HeaderMap, header};
use subtle::ConstantTimeEq;

/// A secret token.
pub struct Token(Vec<u8>);

impl Token {
    /// Reads the token from a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!("{}: the token must be one line of visible ASCII characters", path.display());
        }
        Ok(Token(token.into()))
    }

    /// Whether the headers contain the token. The time of the comparison depends only on the length.
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        let found = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let found = found.and_then(|value| value.split_at_checked(7));
        found.is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(token.ct_eq(&self.0)))
    }
}
