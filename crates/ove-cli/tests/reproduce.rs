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
