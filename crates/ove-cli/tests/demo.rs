//! `ove demo`.

use crate::util::*;

#[test]
fn it_trains_explains_and_compares() {
    let dir = Dir::new();
    let found = dir.run("demo --quick --json -o shown").json();
    assert!(found["job"]["classes"].as_u64().unwrap() > 500, "{found}");
    assert!(found["job"]["error"].as_f64().unwrap() < 0.9, "{found}");
    let outcomes = found["method"].as_array().unwrap();
    assert_eq!(outcomes.len(), 10);
    // The merged bound over all classes is the softmax; one-vs-each is below it.
    let gap = |name: &str| {
        let of = |o: &&Value| o["classes"] == 100 && o["objective"].as_str().unwrap().starts_with(name);
        outcomes.iter().find(of).unwrap()["gap"].as_f64().unwrap()
    };
    assert!(gap("exact").abs() < 1e-9 && gap("merged").abs() < 1e-6 && gap("one-vs-each") > 0.1, "{found}");
    assert_eq!(
        dir.files_in("shown"),
        ["epoch-time.svg", "error.svg", "gap.svg", "index.html", "test.tsv", "titles.model", "train.tsv"]
    );
    let page = String::from_utf8(dir.bytes("shown/index.html")).unwrap();
    contains(&page, "What each bound costs and gains");
    // The model is one like any other.
    contains(&dir.run("predict shown/titles.model shown/test.tsv --top 1").ok(), "-");
}
