//! `ove bound`.

use crate::util::*;

#[test]
fn table() {
    let expected = "                      log p            p           gap
exact             -0.442207     0.642616      0.000000
one-vs-each       -0.480541     0.618449      0.038333
merged            -0.480541     0.618449      0.038333
bouchard          -1.168019     0.310982      0.725811
Bouchard's α is 1.060642; merged has 0 classes in one logarithm
";
    assert_eq!(Dir::new().run("bound --scores 1.2,0.3,-0.7 --class 0").ok(), expected);
}

#[test]
fn json_by_naive_formulas() {
    let (f, y) = ([1.2, 0.3, -0.7], 0);
    let exp = |m: usize| f64::exp(f[m] - f[y]);
    let exact = -(1.0 + exp(1) + exp(2)).ln();
    let one_vs_each = -(1.0 + exp(1)).ln() - (1.0 + exp(2)).ln();
    let at = |alpha: f64| f[y] - alpha - f.iter().map(|f| (1.0 + (f - alpha).exp()).ln()).sum::<f64>();

    let found = Dir::new().run("bound --scores 1.2,0.3,-0.7 --class 0 --json").json();
    assert_eq!(keys(&found), ["bouchard", "bouchard_alpha", "exact", "merged", "one_vs_each"]);
    let number = |key: &str| found[key].as_f64().unwrap();
    near(&["exact", "one_vs_each", "merged"].map(number), &[exact, one_vs_each, one_vs_each], 1e-12);
    let alpha = number("bouchard_alpha");
    near(&[number("bouchard")], &[at(alpha)], 1e-12);
    assert!(at(alpha) > at(alpha - 1e-3) && at(alpha) > at(alpha + 1e-3), "α = {alpha} is not the best");
}

/// One merged class changes nothing, as −log(1 + e^d) is its term either way; two share a logarithm, all of them give
/// log p.
#[test]
fn merge() {
    let dir = Dir::new();
    let values = |merge: &str| {
        let found = dir.run(&format!("bound --scores 1.2,0.3,-0.7,0.5 --class 0 --json {merge}")).json();
        ["exact", "merged", "one_vs_each"].map(|key| found[key].as_f64().unwrap())
    };
    let exp = |f: f64| f64::exp(f - 1.2);
    let [exact, one, each] = values("--merge 1");
    near(&[one], &[each], 1e-12);
    let [_, two, _] = values("--merge 1,3");
    near(&[two], &[-(1.0 + exp(0.3) + exp(0.5)).ln() - (1.0 + exp(-0.7)).ln()], 1e-12);
    let [_, all, _] = values("--merge 3,1,2");
    near(&[all], &[exact], 1e-12);
}

/// A list that starts with a minus is a value, not a flag.
#[test]
fn negative_scores() {
    let found = Dir::new().run("bound --scores -1,-2 --class 1 --json").json();
    near(&[found["exact"].as_f64().unwrap()], &[-(1.0 + 1f64.exp()).ln()], 1e-12);
    near(&[found["bouchard_alpha"].as_f64().unwrap()], &[-1.5], 1e-12);
}

#[test]
fn refused() {
    let dir = Dir::new();
    for (flags, message) in [
        ("--scores 1 --class 0", "`scores` must have at least two numbers, one per class, got 1 number"),
        ("--scores 1,nan --class 0", "`scores` must be finite, got NaN"),
        ("--scores 1,2 --class 2", "`class` must be between 0 and 1, got 2"),
        ("--scores 1,2 --class 0 --merge 7", "`merge` must be between 0 and 1, got 7"),
        ("--scores 1,2 --class 0 --merge 0", "`merge` must list each of the other classes at most once, got 0"),
        ("--scores 1,2 --class 0 --merge 1,1", "`merge` must list each of the other classes at most once, got 1"),
    ] {
        assert_eq!(dir.run(&format!("bound {flags}")).refused(), format!("error: {message}\n"));
    }
    contains(&dir.run("bound --scores 1,x --class 0").refused(), "invalid value 'x' for '--scores <F,F,…>'");
}
