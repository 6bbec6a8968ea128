//! `ove estimate`.

use crate::util::*;

#[test]
fn frequencies_by_every_method() {
    let dir = Dir::new();
    dir.create("counts", "5\n1\n0\n2\n");
    let sampled = "stochastic --epochs 600 --classes 2 --batch 8";
    for objective in ["one-vs-each", "softmax"] {
        for (method, within) in [("closed-form", 1e-6), ("batch", 1e-6), (sampled, 0.02)] {
            let found = dir.run(&format!("estimate counts --json --objective {objective} --method {method}")).json();
            near(&numbers(&found["probabilities"]), &[0.625, 0.125, 0.0, 0.25], within);
            assert_eq!(found["objective"], objective);
            assert_eq!(found["method"], method.split(' ').next().unwrap());
        }
    }
}

#[test]
fn names() {
    let dir = Dir::new();
    dir.create("counts", "big cat\t7\ndog\t2\n\n");
    let run = dir.run("estimate counts");
    assert_eq!(run.stderr, "one-vs-each by closed-form\n");
    assert_eq!(run.ok(), "big cat\t7\t0.77777778\ndog\t2\t0.22222222\n");
    let found = dir.run("estimate counts --json").json();
    assert_eq!(keys(&found), ["converged", "counts", "gradient", "method", "names", "objective", "probabilities"]);
    assert_eq!(found["names"], serde_json::json!(["big cat", "dog"]));
    dir.create("counts", "7\n2\n");
    assert_eq!(dir.run("estimate counts").ok(), "0\t7\t0.77777778\n1\t2\t0.22222222\n");
}

/// Measured by the exact gradient, whatever found the estimate.
#[test]
fn sampling_says_whether_it_converged() {
    let dir = Dir::new();
    dir.create("counts", "50\n10\n20\n");
    let sampled = |flags: &str| dir.run(&format!("estimate counts --method stochastic {flags}"));
    let (short, long) = (sampled("--epochs 1 --learning-rate 0.001"), sampled("--epochs 600 --negatives 2"));
    contains(&short.stderr, "one-vs-each by stochastic: not converged, the gradient is ");
    contains(&short.stderr, " % of that at equal probabilities; try more --epochs or another --learning-rate");
    contains(&long.stderr, "one-vs-each by stochastic: converged, the gradient is ");
    let exact = dir.run("estimate counts --json --method batch").json();
    assert!(exact["converged"] == true && exact["gradient"].as_f64().unwrap() < 1e-6, "{exact}");
    assert_eq!(sampled("--json --epochs 1 --learning-rate 0.001").json()["converged"], false);
    assert_eq!(sampled("--json --objective sampled-softmax").json()["converged"], Value::Null);
}

/// Proposition 3: with two values Bouchard's bound takes 49 : 4 for 7 : 2.
#[test]
fn bouchard_squares_two_counts() {
    let dir = Dir::new();
    dir.create("counts", "7\n2\n");
    for method in ["closed-form", "batch"] {
        let found = dir.run(&format!("estimate counts --json --objective bouchard --method {method}")).json();
        near(&numbers(&found["probabilities"]), &[49.0 / 53.0, 4.0 / 53.0], 1e-6);
    }
}

#[test]
fn bouchard_has_no_formula_for_three() {
    let dir = Dir::new();
    dir.create("counts", "3\n1\n2\n");
    let message = "error: `method` must be batch or stochastic: only softmax, one-vs-each and bouchard with two values \
                   have a closed form, got closed-form for bouchard\n";
    assert_eq!(dir.run("estimate counts --objective bouchard --method closed-form").refused(), message);
    assert_eq!(dir.run("estimate counts --objective bouchard --json").json()["method"], "batch");
}

#[test]
fn bad_counts() {
    let dir = Dir::new();
    let whole = "a count, a whole number, and a sum of counts below 2⁶⁴";
    for (text, message) in [
        ("3\n-1\n", format!("counts:2:1: expected {whole}, found '-1'")),
        ("a\t3\nlong name\tx\n", format!("counts:2:11: expected {whole}, found 'x'")),
        ("a\t3\nb\t\n", format!("counts:2:3: expected {whole}, found ''")),
        ("1\n18446744073709551615\n", format!("counts:2:1: expected {whole}, found '18446744073709551615'")),
        ("\n\n", "counts: expected at least one row, found none".into()),
        ("0\n0\n", "at least one count must be positive".into()),
    ] {
        dir.create("counts", text);
        assert_eq!(dir.run("estimate counts").refused(), format!("error: {message}\n"));
    }
}
