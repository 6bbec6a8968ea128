//! What is written reads again as the same rows.

use ove::Dataset;
use ove::io::read::{ReadOptions, read};
use ove::io::write;
use proptest::prelude::*;
use tempfile::TempDir;

fn written(data: &Dataset, features: usize, labels: usize) -> (String, Dataset) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.xmc");
    write::xmc(&path, data, features, labels).unwrap();
    let options = ReadOptions { labels_required: false, ..ReadOptions::default() };
    (std::fs::read_to_string(&path).unwrap(), read(&path, &options).unwrap())
}

#[test]
fn every_kind_of_row() {
    let mut data = Dataset::new(0, vec!["a".into(), "b".into()]);
    data.push_entry(1, 0.5);
    data.push_entry(4, 0.1);
    data.end_row(&[1, 0]);
    data.weigh_row(2.5);
    data.push_entry(0, -1e-9);
    data.end_row(&[0]);
    data.end_row(&[]);
    data.end_row(&[1]);
    data.push_entry(2, 3.0);
    data.end_row(&[]);
    let (text, again) = written(&data, 7, 3);
    assert_eq!(text, "5 7 3\n1,0 1:0.5 4:0.1\n0 weight:2.5 0:-0.000000001\n \n1\n 2:3\n");
    assert_eq!((again.features(), again.classes.join(" ")), (7, "0 1".into()));
    assert_eq!(again.row_weights, [1.0, 2.5, 1.0, 1.0, 1.0]);
    assert!(again.labels.iter().eq(data.labels.iter()));
}

#[test]
fn a_place_that_is_not_there() {
    let error = write::xmc("no/such/folder".as_ref(), &Dataset::new(0, Vec::new()), 0, 0).unwrap_err();
    assert_eq!(error.to_string(), "no/such/folder: No such file or directory (os error 2)");
}

proptest! {
    #[test]
    fn round_trip(rows in prop::collection::vec(
        (prop::collection::vec(0u32..4, 0..3), prop::collection::btree_map(0u32..1000, any::<f32>(), 0..9)), 1..600,
    )) {
        let mut data = Dataset::new(1000, (0..4).map(|k: u32| k.to_string()).collect());
        for (labels, entries) in &rows {
            let entries = entries.iter().filter(|(_, value)| value.is_finite() && **value != 0.0);
            entries.for_each(|(&feature, &value)| data.push_entry(feature, value));
            data.end_row(labels);
        }
        data.drop_unused_classes();
        let (_, again) = written(&data, 1000, 4);
        prop_assert_eq!(again.labels.len(), data.len());
        prop_assert!(again.labels.iter().eq(data.labels.iter()));
        for (a, b) in data.rows().iter(0..data.len()).zip(again.rows().iter(0..data.len())) {
            prop_assert_eq!((a.indices, a.values), (b.indices, b.values));
        }
    }
}
