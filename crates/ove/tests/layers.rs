//! Modules import downwards: a file of a layer uses its own and those below it, and the files of a layer use each other
//! without going round in a circle. Read from the sources, so that a new file or a new import is found.
//!
//! A parent and its children may use each other: a parent declares them and passes on their names, and what a child
//! takes from `super` is what the parent offers to all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The layers, the lowest first. What a file imports stands before its own, or is its own.
const LAYERS: [&str; 13] = [
    "error",
    "platform",
    "data",
    "bound",
    "sample",
    "text",
    "io",
    "synthetic",
    "scores",
    "options",
    "model",
    "train",
    "metrics",
];

/// A file by its module path, such as `train::batch`, and its text.
type Sources = BTreeMap<Vec<String>, String>;

fn read(folder: &Path, module: &[String], sources: &mut Sources) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = [module, &[name]].concat();
        if path.is_dir() {
            read(&path, &module, sources);
        } else {
            sources.insert(module, fs::read_to_string(&path).unwrap());
        }
    }
}

/// The text with blanks in place of comments and literals, line by line as it was.
fn code_of(text: &str) -> String {
    let (bytes, mut out, mut at) = (text.as_bytes(), text.as_bytes().to_vec(), 0);
    let find = |from: usize, what: &str| text[from..].find(what).map_or(bytes.len(), |found| from + found);
    while at < bytes.len() {
        let rest = &text[at..];
        let is_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let hashes = rest[1..].bytes().take_while(|&byte| byte == b'#').count();
        let end = if rest.starts_with("//") {
            find(at, "\n")
        } else if rest.starts_with("/*") {
            find(at, "*/") + 2
        } else if !is_word && rest.starts_with('r') && rest[1 + hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            find(at + 2 + hashes, &close) + close.len()
        } else if rest.starts_with('"') {
            let mut end = at + 1;
            while bytes[end] != b'"' {
                end += 1 + usize::from(bytes[end] == b'\\');
            }
            end + 1
        } else if rest.starts_with("'\\") {
            find(at + 3, "'") + 1
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            let length = quoted.chars().next().map_or(1, char::len_utf8);
            // Otherwise it begins a lifetime.
            if quoted[length..].starts_with('\'') { at + length + 2 } else { at + 1 }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        let end = end.min(bytes.len());
        out[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at = end;
    }
    String::from_utf8(out).unwrap()
}

/// The code without the items that are there for tests alone, and the modules of these that are files of their own.
fn without_tests(code: &str) -> (String, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    // The same for one kind of processor.
    let (mut code, mut files) = (code.replace("#[cfg(all(test, target_arch =         ))]", MARK), Vec::new());
    while let Some(start) = code.find(MARK) {
        let item = &code[start + MARK.len()..];
        let stop = item.find(['{', ';']).unwrap_or(item.len());
        let mut length = stop + 1;
        if item[stop..].starts_with('{') {
            let mut depth = 0;
            let closes = |(_, c): &(usize, char)| {
                depth += i32::from(*c == '{') - i32::from(*c == '}');
                depth == 0
            };
            length = item[stop..].char_indices().find(closes).map_or(item.len(), |(at, _)| stop + at + 1);
        } else if let Some(name) = item[..stop].trim().strip_prefix("mod ") {
            files.push(name.to_owned());
        }
        let end = start + MARK.len() + length;
        let blank: String = code[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        code.replace_range(start..end, &blank);
    }
    (code, files)
}

/// A path that stands in the code, and the line that it begins in.
#[derive(Debug)]
struct Import {
    line: usize,
    path: Vec<String>,
}

/// Every path from `crate` or `super` on, those within braces one by one.
fn imports(code: &str) -> Vec<Import> {
    let mut found = Vec::new();
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            // `super::super::` was found by its first part.
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let mut paths = Vec::new();
            branches(&code[at..], Vec::new(), &mut paths);
            found.extend(paths.into_iter().map(|path| Import { line, path }));
        }
    }
    found
}

/// The paths of a tree such as `a::{b, c::d}`, and what of the code follows it.
fn branches<'a>(code: &'a str, mut path: Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let mut code = code.trim_start();
    loop {
        if let Some(mut inside) = code.strip_prefix('{') {
            loop {
                inside = branches(inside, path.clone(), found).trim_start();
                inside = inside.strip_prefix(',').unwrap_or(inside).trim_start();
                if inside.is_empty() || inside.starts_with('}') {
                    return inside.strip_prefix('}').unwrap_or(inside);
                }
            }
        }
        let length = code.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(code.len());
        if length == 0 {
            break;
        }
        path.push(code[..length].to_owned());
        code = &code[length..];
        match code.strip_prefix("::") {
            Some(rest) => code = rest,
            None => break,
        }
    }
    if !path.is_empty() {
        found.push(path);
    }
    // What an import is called here does not matter.
    match code.trim_start().strip_prefix("as ") {
        Some(name) => name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
        None => code,
    }
}

/// The names that the root passes on, with the layers that they are of.
fn passed_on(root: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (at, mark) in root.match_indices("pub use ") {
        let mut paths = Vec::new();
        branches(&root[at + mark.len()..], Vec::new(), &mut paths);
        names.extend(paths.into_iter().map(|path| (path[path.len() - 1].clone(), path[0].clone())));
    }
    names
}

/// What is against the order, each with its place.
fn violations(sources: &Sources) -> Vec<String> {
    let mut code: BTreeMap<&[String], String> = BTreeMap::new();
    let mut tests: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, text) in sources {
        let (without, files) = without_tests(&code_of(text));
        code.insert(module, without);
        let parent = if module[0] == "lib" { &[][..] } else { module };
        tests.extend(files.into_iter().map(|name| [parent, &[name]].concat()));
    }
    code.retain(|module, _| !(1..=module.len()).any(|length| tests.contains(&module[..length])));
    let root = ["lib".to_owned()];
    let names = code.remove(&root[..]).map(|code| passed_on(&code)).unwrap_or_default();
    let layer = |name: &str| LAYERS.iter().position(|layer| *layer == name);

    let mut found = Vec::new();
    let mut edges: BTreeMap<&[String], BTreeMap<&[String], usize>> = BTreeMap::new();
    for (&module, text) in &code {
        let file = format!("src/{}.rs", module.join("/"));
        let Some(own) = layer(&module[0]) else {
            found.push(format!("{file}: a layer that is not in the order: {}", module[0]));
            continue;
        };
        for Import { line, path } in imports(text) {
            let ups = path.iter().take_while(|part| *part == "super").count();
            // From the root on, whatever it began with.
            let full = match ups {
                0 => path[1..].to_vec(),
                _ if ups > module.len() => continue,
                _ => [&module[..module.len() - ups], &path[ups..]].concat(),
            };
            let Some(first) = full.first() else { continue };
            let first = names.get(first).unwrap_or(first);
            match layer(first) {
                Some(of) if of > own => {
                    found.push(format!("{file}:{line}: {} imports {first}, which stands above it", module[0]));
                }
                None if ups == 0 => found.push(format!("{file}:{line}: `crate::{first}` is in no layer")),
                _ => {}
            }
            // The file that it is in: the longest part of the path that is one.
            let target = (1..=full.len()).rev().find_map(|length| code.get_key_value(&full[..length]));
            if let Some((&target, _)) = target
                && target[0] == module[0]
                && !target.starts_with(module)
                && !module.starts_with(target)
            {
                edges.entry(module).or_default().entry(target).or_insert(line);
            }
        }
    }
    found.extend(circle(&edges));
    found
}

/// A circle of files, if there is one, with the places that make it.
fn circle(edges: &BTreeMap<&[String], BTreeMap<&[String], usize>>) -> Option<String> {
    let mut left = edges.clone();
    // Files that import nothing that is left are in no circle.
    loop {
        let before = left.values().map(BTreeMap::len).sum::<usize>();
        let files: BTreeSet<&[String]> = left.keys().copied().collect();
        left.values_mut().for_each(|targets| targets.retain(|target, _| files.contains(target)));
        left.retain(|_, targets| !targets.is_empty());
        if left.values().map(BTreeMap::len).sum::<usize>() == before {
            break;
        }
    }
    let (mut at, mut way) = (*left.keys().next()?, Vec::new());
    while !way.contains(&at) {
        way.push(at);
        at = left[at].keys().next()?;
    }
    let around = way.iter().skip_while(|module| **module != at);
    let step = |module: &&[String]| {
        let (target, line) = left[*module].iter().next().expect("it is in a circle");
        format!("src/{}.rs:{line} imports {}", module.join("/"), target.join("::"))
    };
    Some(format!("a circle: {}", around.map(step).collect::<Vec<_>>().join(", ")))
}

fn sources(files: &[(&str, &str)]) -> Sources {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect()
}

#[test]
fn modules_import_downwards_and_in_no_circle() {
    let mut all = Sources::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &[], &mut all);
    assert!(all.len() > 100, "{} files", all.len());
    let found = violations(&all);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Each layer is there, and uses one that is below it, but for the lowest.
    for (n, layer) in LAYERS.iter().enumerate() {
        let of = || all.iter().filter(|(module, _)| module[0] == *layer);
        let uses_lower = |text: &str| {
            let (code, _) = without_tests(&code_of(text));
            imports(&code).iter().any(|import| LAYERS[..n].contains(&import.path[1].as_str()))
        };
        assert!(of().next().is_some() && (n == 0 || of().any(|(_, text)| uses_lower(text))), "{layer}");
    }
}

#[test]
fn an_import_against_the_order_is_found_with_its_place() {
    let upward = "use crate::error::Result;\n\nuse crate::{data::Row, train::{batch, fit as run}};\n";
    assert_eq!(
        violations(&sources(&[("scores::linear", upward)])),
        [
            "src/scores/linear.rs:3: scores imports train, which stands above it",
            "src/scores/linear.rs:3: scores imports train, which stands above it",
        ]
    );
    let inline = "fn f() {\n    crate::model::Card::new()\n}\n";
    assert_eq!(violations(&sources(&[("data", inline)])), ["src/data.rs:2: data imports model, which stands above it"]);
    // By a name that the root passes on, and by way of `super`.
    let root = ("lib", "pub mod model;\npub use model::{Evaluation, Model};\n");
    assert_eq!(
        violations(&sources(&[root, ("bound", "use crate::Model;\n")])),
        ["src/bound.rs:1: bound imports model, which stands above it"]
    );
    assert_eq!(
        violations(&sources(&[("bound::objective", "use super::super::metrics::evaluate;\n")])),
        ["src/bound/objective.rs:1: bound imports metrics, which stands above it"]
    );
    assert_eq!(
        violations(&sources(&[("data", "use crate::nowhere::X;\n"), ("attic", "")])),
        ["src/attic.rs: a layer that is not in the order: attic", "src/data.rs:1: `crate::nowhere` is in no layer"]
    );
}

#[test]
fn comments_literals_and_tests_import_nothing() {
    let code = r##"//! [`crate::train`]
/* use crate::train::X; */
const A: &str = "crate::train::\"X\"";
const B: &str = r#"crate::train::X "quoted" "#;
const C: [char; 3] = ['"', '\'', '\u{e9}'];
fn f<'a>(x: &'a str) -> &'a str { x }
#[cfg(test)]
use crate::train::Y;
#[cfg(test)]
mod tests {
    use crate::train::{Start, Training};
    fn g() { if true { crate::train::run() } }
}
#[cfg(test)]
mod more_tests;
use crate::error::Error;
"##;
    let files = [("data", code), ("data::more_tests", "use crate::train::X;\n"), ("data::rows", "")];
    assert_eq!(violations(&sources(&files)), [""; 0]);
    let (code, files) = without_tests(&code_of(code));
    assert_eq!(files, ["more_tests"]);
    let found = imports(&code);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].line, found[0].path.join("::").as_str()), (16, "crate::error::Error"));
}

#[test]
fn files_that_go_round_in_a_circle_are_found() {
    let a = ("train::fit", "use super::training::Training;\n");
    let b = ("train::training", "\nuse crate::train::{batch, checkpoint};\n");
    let c = ("train::batch", "fn f() { super::fit::fit() }\n");
    let rest = [("train::checkpoint", ""), ("train", "mod batch;\nuse crate::train::fit::fit;\n")];
    assert_eq!(
        violations(&sources(&[&[a, b, c], &rest[..]].concat())),
        ["a circle: src/train/batch.rs:1 imports train::fit, src/train/fit.rs:1 imports train::training, \
          src/train/training.rs:2 imports train::batch"]
    );
    // A parent and its child are none, nor is a file that two others use.
    assert_eq!(violations(&sources(&[&[a, b, ("train::batch", "use super::X;\n")], &rest[..]].concat())), [""; 0]);
}
