//! Output: results to stdout, where a failure is an error, and messages to stderr, where it is ignored.

use std::borrow::Cow;

/// Prints a line of results to stdout; returns the error if that fails, where `println!` would panic.
macro_rules! say {
    ($($what:tt)*) => {{
        use std::io::Write;
        writeln!(std::io::stdout(), $($what)*)
    }};
}

/// Prints a message to stderr as one line; failures are ignored, where `eprintln!` would panic.
///
/// A closed pipe, as in `2>&1 | head -1`, must not lose a trained model.
macro_rules! note {
    ($($what:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "{}", $crate::terminal::printable(&format!($($what)*)));
    }};
}

pub(crate) use {note, say};

/// A text whose control characters are escaped, as `\n` and `\u{1b}`; other texts are unchanged.
///
/// Names come from data and models, which may be a stranger's: printed as they are, they could act on the terminal, or
/// put lines and columns out of step.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') || !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(2 * text.len());
    for c in text.chars() {
        if acts(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Whether a character acts on the terminal instead of being shown: control characters (C0, DEL and C1), separators of
/// lines and paragraphs, and those that change the direction of the text after them.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_acts_on_a_terminal_is_escaped() {
        for text in ["", "plain", "a b", "grün", "日本", "עברית\u{200f}", "\\n", "👩‍👩‍👧"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        assert_eq!(printable("\u{1b}[31m"), "\\u{1b}[31m");
        assert_eq!(printable("ü\n\t\r\0"), "ü\\n\\t\\r\\u{0}");
        for c in ['\u{7f}', '\u{80}', '\u{9b}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}']
        {
            assert_eq!(printable(&c.to_string()), format!("\\u{{{:x}}}", u32::from(c)));
        }
    }
}
