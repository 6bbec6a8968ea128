//! `ove generate`.

use crate::util::*;

#[test]
fn generated_rows_train() {
    let dir = Dir::new();
    let made = dir.run("generate amazoncat-13k -o made --scale 0.0005 --json").json();
    assert_eq!((made["train"]["rows"].as_u64(), made["features"].as_u64()), (Some(593), Some(203_882)));
    let result = dir.run("train made/train.txt -o m --step sgd --valid made/test.txt --json").json();
    assert_eq!(result["rows"], 153);
    assert_eq!(
        dir.run("generate amazoncat-13k -o made --scale 0").refused(),
        "error: `scale` must be between 0.0001 and 10, got 0\n"
    );
}

#[test]
fn rows_of_any_shape() {
    let dir = Dir::new();
    let shape = "generate shape --rows 300 --features 70 --classes 40 --per-row 9";
    let made = dir.run(&format!("{shape} -o made.txt --json")).json();
    assert_eq!((&made["rows"], &made["classes"]), (&300.into(), &40.into()));
    contains(&dir.run(&format!("{shape} -o again.txt")).ok(), "rows             again.txt (300 rows, ");
    assert_eq!(dir.bytes("made.txt"), dir.bytes("again.txt"));
    let result = dir.run("train made.txt -o m --valid made.txt --epochs 20 --learning-rate 1 --json").json();
    assert_eq!((&result["features"], &result["classes"]), (&70.into(), &40.into()));
    assert!(result["error"].as_f64().unwrap() < 0.5, "{result}");
    assert_eq!(
        dir.run("generate shape --rows 3 --features 0 --classes 4 -o none.txt").refused(),
        "error: `features` must be between 1 and 4294967295, got 0\n"
    );
}
