//! What charts, tables and pages share: escaped text, and a box that scrolls.

/// `text` with the five special characters as entities. Control characters, which XML forbids, become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A box that scrolls sideways; it takes the focus, so the arrow keys scroll it too.
pub fn scroll_box(name: &str, content: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">{content}</div>", escape(name))
}

/// Checks that every tag of `text` is closed in order and that attributes are quoted; names the first that is not.
#[cfg(test)]
pub fn check_balance(text: &str) -> Result<(), String> {
    const VOID: [&str; 3] = ["meta", "link", "br"];
    let mut open: Vec<&str> = Vec::new();
    for piece in text.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').ok_or_else(|| format!("<{piece} never ends"))?;
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap_or("");
        if tag.matches('"').count() % 2 != 0 {
            return Err(format!("<{tag}> has an open quote"));
        } else if tag.starts_with('/') {
            let last = open.pop();
            if last != Some(name) {
                return Err(format!("</{name}> closes {last:?}"));
            }
        } else if !tag.starts_with('!') && !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_become_entities() {
        assert_eq!(escape(r#"<a b="c">&'"#), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
        assert_eq!(escape("é 2×10⁵\n"), "é 2×10⁵\n");
        assert_eq!(escape("a\0b\u{1b}[0m"), "a\u{fffd}b\u{fffd}[0m");
    }

    #[test]
    fn the_balance_check_can_fail() {
        assert!(check_balance("<!doctype html><p>a<br><i/></p>").is_ok());
        for wrong in ["<p>", "<p></q>", "</p>", "<p a=\"></p>", "<p"] {
            assert!(check_balance(wrong).is_err(), "{wrong}");
        }
    }
}
