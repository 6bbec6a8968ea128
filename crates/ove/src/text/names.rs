//! Many names in one piece of memory, as a model file keeps them: a name a line.

/// A list of names, none of which has a line break.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    lines: String,
    /// Where each name ends.
    ends: Vec<usize>,
}

impl Names {
    /// The names of a text with a name a line, the last line too ending with a line break.
    pub fn from_lines(lines: String) -> Self {
        let ends = lines.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
        Names { lines, ends }
    }

    /// A name a line.
    pub fn lines(&self) -> &str {
        &self.lines
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name at a place, if there are so many.
    pub fn get(&self, at: usize) -> Option<&str> {
        let start = if at == 0 { 0 } else { self.ends.get(at - 1)? + 1 };
        Some(&self.lines[start..*self.ends.get(at)?])
    }

    /// All of them.
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
