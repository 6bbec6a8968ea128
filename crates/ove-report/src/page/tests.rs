use super::*;
use crate::markup::check_balance;

fn section(id: &str, blocks: Vec<Block>) -> Section {
    Section { id: id.into(), title: format!("About <{id}>"), blocks }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

fn page(sections: Vec<Section>) -> Page {
    Page { title: "A & B".into(), lead: "x < y".into(), sections }
}

fn every_block() -> Vec<Block> {
    let table = Table {
        caption: "Errors & such".into(),
        head: strings(&["set", "error"]),
        rows: vec![strings(&["20news", "0.31 ± 0.02"]), strings(&["<mnist>", "—"]), strings(&["bibtex", "−0.5"])],
    };
    let figure = Block::Figure { chart: Chart::default(), caption: "\"quoted\"".into() };
    vec![
        Block::Text("<script>alert(1)</script>".into()),
        figure,
        Block::Table(table),
        Block::Settings(vec![("seed".into(), "<1>".into())]),
    ]
}

#[test]
fn a_page_is_well_formed_and_escapes_its_text() {
    let html = page(vec![section("all", every_block())]).html();
    assert_eq!(check_balance(&html), Ok(()));
    assert!(html.starts_with("<!doctype html>") && html.contains("<title>A &amp; B</title>"));
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script"));
    for text in
        ["x &lt; y", "About &lt;all&gt;", "Errors &amp; such", "&lt;mnist&gt;", "&quot;quoted&quot;", "&lt;1&gt;"]
    {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn a_page_asks_for_nothing_else() {
    let html = page(vec![section("all", every_block())]).html();
    let outside = html.replace("http://www.w3.org/2000/svg", "");
    for request in ["http:", "https:", "//", "url(", "@import", " src="] {
        assert!(!outside.contains(request), "{request}");
    }
    assert!(html.contains("<link rel=\"icon\" href=\"data:"));
}

#[test]
fn three_sections_get_a_table_of_contents() {
    let sections: Vec<Section> = ["a", "b", "c"].map(|id| section(id, vec![])).into();
    assert!(!page(sections[..2].to_vec()).html().contains("<nav"));
    let html = page(sections).html();
    for id in ["a", "b", "c"] {
        assert!(html.contains(&format!("href=\"#{id}\"")) && html.contains(&format!("<section id=\"{id}\"")));
    }
}

#[test]
fn columns_of_numbers_are_aligned_right() {
    let html = page(vec![section("all", every_block())]).html();
    assert!(html.contains("<th scope=\"col\">set</th><th scope=\"col\" class=\"number\">error</th>"));
    assert!(html.contains("<td>20news</td><td class=\"number\">0.31 ± 0.02</td>"));
    assert!(html.contains("<td class=\"number\">—</td>"));
}
