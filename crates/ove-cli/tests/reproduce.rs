//! `ove reproduce`.

use crate::util::*;

#[test]
fn figure_1_is_reproduced() {
    let dir = Dir::new();
    let result = dir.run("reproduce figure-1 -o report --json").json();
    let rows = result["rows"].as_array().unwrap();
    let numbers =
        |key: &str| -> Vec<f64> { rows[0][key].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect() };
    let (exact, ours, bouchard) = (numbers("softmax"), numbers("one_vs_each"), numbers("bouchard"));
    assert!(exact.iter().zip(&ours).all(|(a, b)| (a - b).abs() < 1e-6));
    assert!(bouchard[0] > exact[0] && bouchard[9] < exact[9]);
    let of = |method: &str, key: &str| rows.iter().find(|row| row["method"] == method).unwrap()[key].as_f64().unwrap();
    assert!(
        of("bouchard", "bound") < of("one-vs-each", "bound") && of("one-vs-each", "bound") < of("softmax", "bound")
    );
    assert!(of("one-vs-each", "norm") < of("bouchard", "norm"));
    assert!(std::fs::read_to_string(dir.path("report/report.html")).unwrap().contains("</html>"));
}

/// Five objectives on a small set in the form of bibtex, by the same steps.
#[test]
fn likelihoods_are_compared() {
    let dir = Dir::new();
    std::fs::create_dir_all(dir.path("data/bibtex")).unwrap();
    let attribute = |name: String| format!("@attribute {name} {{0,1}}\n");
    let head: String = (0..12).map(|d| attribute(d.to_string())).collect();
    let tags: String = (0..6).map(|k| attribute(format!("TAG_{k}"))).collect();
    // A row has the feature of its class and another one.
    let row = |n: usize| {
        let (class, other) = (n % 6, 6 + n / 6 % 6);
        format!("{{{class} 1,{other} 1,{} 1}}\n", 12 + class)
    };
    for (part, rows) in [("train", 0..600), ("test", 600..720)] {
        let text = format!("@relation r\n{head}{tags}@data\n{}", rows.map(row).collect::<String>());
        dir.create(&format!("data/bibtex/bibtex-{part}.arff"), &text);
    }
    let result = dir.run("reproduce likelihood --data data -o report --json").json();
    let rows = result["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["objective"].as_str().unwrap()).collect();
    assert_eq!(names, ["softmax", "one-vs-each", "merged", "bouchard", "normalised"]);
    for row in rows {
        assert_eq!((&row["set"], row["error"].as_f64()), (&"bibtex".into(), Some(0.0)), "{row}");
        assert!(row["microseconds_per_update"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(row["log_likelihood"].is_number(), row["objective"] == "normalised", "{row}");
    }
    let above = |row: &Value| row["nlpd_above_softmax"].as_f64().unwrap();
    assert!(above(&rows[0]) == 0.0 && above(&rows[4]).abs() < 0.02, "{}", rows[4]);
    assert!(std::fs::read_to_string(dir.path("report/report.html")).unwrap().contains("Table 2 extended"));
}
