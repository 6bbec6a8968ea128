//! Many names in one string, as in a model file: one name per line.

/// A list of names without line breaks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    lines: String,
    /// The end of each name.
    ends: Vec<usize>,
}

impl Names {
    /// From a string with one name per line; the last line ends with a line break too.
    pub fn from_lines(lines: String) -> Self {
        let ends = lines.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
        Names { lines, ends }
    }

    /// One name per line.
    pub fn lines(&self) -> &str {
        &self.lines
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The `at`-th name.
    pub fn get(&self, at: usize) -> Option<&str> {
        let start = if at == 0 { 0 } else { self.ends.get(at - 1)? + 1 };
        Some(&self.lines[start..*self.ends.get(at)?])
    }

    /// All names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.lines.lines()
    }
}

impl Names {
    /// Adds a name.
    pub(crate) fn push(&mut self, name: &str) {
        self.lines.push_str(name);
        self.ends.push(self.lines.len());
        self.lines.push('\n');
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let mut all = Names::default();
        names.into_iter().for_each(|name| all.push(name));
        all
    }
}
