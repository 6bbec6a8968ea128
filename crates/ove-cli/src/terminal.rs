//! Output: results to stdout, where a failure is an error, and messages to stderr, where it is ignored.

/// Prints a line of results to stdout; returns the error if that fails, where `println!` would panic.
macro_rules! say {
    ($($what:tt)*) => {{
        use std::io::Write;
        writeln!(std::io::stdout(), $($what)*)
    }};
}

/// Prints a message to stderr; failures are ignored, where `eprintln!` would panic.
///
/// A closed pipe, as in `2>&1 | head -1`, must not lose a trained model.
macro_rules! note {
    ($($what:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($what)*);
    }};
}

pub(crate) use {note, say};
