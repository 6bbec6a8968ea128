//! Matrices of NumPy and SciPy with their labels, and each way in which they can be wrong.

use std::fs;
use std::io::{Cursor, Write};

use ove::io::read::{Format, OnError, ReadOptions, read};
use ove::{Dataset, Error};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An array as NumPy writes it.
fn npy(kind: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), bytes].concat()
}

fn ints(values: &[i32]) -> Vec<u8> {
    npy("<i4", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

fn floats(values: &[f32]) -> Vec<u8> {
    npy("<f4", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

fn shape(sizes: [i64; 2]) -> Vec<u8> {
    npy("<i8", "(2,)", &sizes.map(i64::to_le_bytes).concat())
}

/// An archive of arrays.
fn archive(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (n, (name, array)) in arrays.iter().enumerate() {
        let method = if n % 2 == 0 { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method)).unwrap();
        archive.write_all(array).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// The arrays of a matrix of three rows and four columns.
fn arrays() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("indices", ints(&[3, 0, 1, 2])),
        ("indptr", ints(&[0, 2, 2, 4])),
        ("format", npy("|S3", "()", b"csr")),
        ("shape", shape([3, 4])),
        ("data", floats(&[1.5, -2.0, 0.0, 4.0])),
    ]
}

/// The same with another array.
fn with(name: &str, array: Vec<u8>) -> Vec<u8> {
    let mut arrays = arrays();
    arrays.iter_mut().find(|(own, _)| *own == name).unwrap().1 = array;
    archive(&arrays)
}

fn in_folder(files: &[(&str, &[u8])], options: &ReadOptions) -> Result<Dataset, String> {
    let folder = TempDir::new().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let labels_file = options.labels_file.as_ref().map(|name| folder.path().join(name));
    let path = folder.path().join(files[0].0);
    let found = read(&path, &ReadOptions { labels_file, ..options.clone() });
    found.map_err(|error: Error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

fn unlabelled() -> ReadOptions {
    ReadOptions { labels_required: false, ..ReadOptions::default() }
}

/// Each row as `label;label feature:value …`.
fn show(data: &Dataset) -> Vec<String> {
    let row = |n: usize| {
        let labels: Vec<&str> = data.labels[n].iter().map(|&k| data.classes[k as usize].as_str()).collect();
        let row = data.rows().row(n);
        let entries = row.indices.iter().zip(row.values).map(|(feature, value)| format!(" {feature}:{value}"));
        labels.join(";") + &entries.collect::<String>()
    };
    (0..data.len()).map(row).collect()
}

const ROWS: [&str; 3] = [" 0:-2 3:1.5", "", " 2:4"];

#[test]
fn sparse_matrices_with_every_kind_of_labels() {
    let x = archive(&arrays());
    let unicode: Vec<u8> = "zéx".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    let several = archive(&[
        ("indices", ints(&[5, 10, 5, 0])),
        ("indptr", ints(&[0, 2, 3, 4])),
        ("format", npy("<U3", "()", &"csr".chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<_>>())),
        ("shape", shape([3, 12])),
        ("data", npy("|b1", "(4,)", &[1, 1, 1, 1])),
    ]);
    for (name, labels, expected) in [
        ("x.labels.npy", ints(&[7, 10, 7]), ["7", "10", "7"]),
        ("x.labels.npy", npy("<f8", "(3, 1)", &[7f64, 2.5, -1.0].map(f64::to_le_bytes).concat()), ["7", "2.5", "-1"]),
        ("x.labels.npy", npy(">i2", "(3,)", &[7i16, -2, 300].map(i16::to_be_bytes).concat()), ["7", "-2", "300"]),
        ("x.labels.npy", npy("<U1", "(3,)", &unicode), ["z", "é", "x"]),
        ("x.labels.npy", npy("|S2", "(3,)", b"a\0bbc\0"), ["a", "bb", "c"]),
        ("x.labels.txt", b"red shoes\r\n a, b \nc".to_vec(), ["red shoes", "a, b", "c"]),
        ("x.labels.npz", several, ["5;10", "5", "0"]),
    ] {
        let expected: Vec<String> = expected.iter().zip(ROWS).map(|(label, row)| format!("{label}{row}")).collect();
        let data = in_folder(&[("x.npz", &x), (name, &labels)], &ReadOptions::default()).unwrap();
        assert_eq!((show(&data), data.features()), (expected.clone(), 4), "{name}");
        // The same by its name, and by its first bytes.
        let of = ReadOptions { labels_file: Some("y".into()), ..ReadOptions::default() };
        let data = in_folder(&[("x", &x), ("y", &labels)], &of).unwrap();
        assert_eq!(show(&data), expected);
    }
    let several = ReadOptions {
        columns: ove::io::read::Columns { label_separator: Some(";".into()), ..Default::default() },
        ..ReadOptions::default()
    };
    let data = in_folder(&[("x.npz", &x), ("x.labels.txt", b"b; a\nb\na\n")], &several).unwrap();
    assert_eq!((show(&data)[0].as_str(), data.classes.len()), ("b;a 0:-2 3:1.5", 2));
    // Labels are numbered as numbers.
    let data = in_folder(&[("x.npz", &x), ("x.labels.npy", &ints(&[10, 9, 9]))], &ReadOptions::default()).unwrap();
    assert_eq!(data.classes, ["9", "10"]);
    assert_eq!(show(&in_folder(&[("x.npz", &x)], &unlabelled()).unwrap()), ROWS);
}

#[test]
fn dense_matrices() {
    let y = ints(&[1, 2]);
    let row_by_row = [1f32, 0.0, -2.5, 3.0, 4.0, 0.0].map(f32::to_le_bytes).concat();
    let column_by_column = [1i8, 3, 0, 4, -2, 0].map(|v| v as u8);
    let fortran = npy("|i1", "(2, 3)", &column_by_column);
    let fortran =
        String::from_utf8_lossy(&fortran).contains("False").then(|| replaced(&fortran, b"False", b"True ")).unwrap();
    let half = npy("<f2", "(2, 3)", &[0x3c00u16, 0, 0xc100, 0x4200, 0x4400, 0].map(u16::to_le_bytes).concat());
    for (content, third) in [(npy("<f4", "(2, 3)", &row_by_row), "-2.5"), (fortran, "-2"), (half, "-2.5")] {
        let data = in_folder(&[("x.npy", &content), ("x.labels.npy", &y)], &ReadOptions::default()).unwrap();
        assert_eq!(show(&data), [format!("1 0:1 2:{third}"), "2 0:3 1:4".to_owned()]);
        assert_eq!(data.features(), 3);
    }
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    [&bytes[..at], new, &bytes[at + old.len()..]].concat()
}

#[test]
fn wrong_matrices() {
    let csr = "expected an indptr that increases from 0 to 4 at most, as data and indices end";
    for (content, expected) in [
        (with("indptr", ints(&[0, 3, 2, 4])), format!(": {csr}")),
        (with("indptr", ints(&[0, 2, 2, 5])), format!(": {csr}")),
        (with("indptr", ints(&[1, 2, 2, 4])), format!(": {csr}")),
        (with("indptr", ints(&[0, -2, 2, 4])), format!(": {csr}")),
        (with("indptr", ints(&[0, 4])), ": expected 3 rows, as shape says, found an indptr of 2 numbers".into()),
        (with("indices", ints(&[3, 0, 1, 4])), ":3: expected a column from 0 to 3, as the shape says, found 4".into()),
        (with("indices", ints(&[-1, 0, 1, 2])), ":1: expected a column from 0 to 3, as the shape says, found -1".into()),
        (with("indices", ints(&[3, 3, 1, 2])), ":1: expected each column once per row, found 3 again".into()),
        (with("data", floats(&[1.0, f32::NAN, 1.0, 1.0])), ":1: expected a finite 32-bit number in column 0, found NaN".into()),
        (with("shape", shape([i64::MAX, 4])), ": expected 9223372036854775807 rows, as shape says, found an indptr of 4 numbers".into()),
        (with("shape", shape([3, -4])), ": shape: expected the numbers of rows and columns".into()),
        (with("shape", shape([3, 1 << 40])), ": expected at most 4294967295 columns, found 1099511627776".into()),
        (
            with("format", npy("|S3", "()", b"coo")),
            ": expected a sparse matrix in the format csr, found 'coo'; save it with scipy.sparse.save_npz(\"x.npz\", X.tocsr())".into(),
        ),
        (
            with("data", npy("|O", "(4,)", b"\x80\x03cos\nsystem\n")),
            ": data: expected numbers or strings, found pickled Python objects, which are never loaded; save them as an \
             array of numbers or strings, with y.astype(str)".into(),
        ),
        (with("data", npy("<f4", "(1000000000000,)", b"1234")), ": data: expected 4000000000000 bytes for the shape [1000000000000], found 4".into()),
        (with("data", npy("<c8", "(4,)", &[0; 32])), ": data: expected numbers or strings, found values of the type '<c8'".into()),
        (with("data", npy("<U1", "(4,)", &[0; 16])), ": expected numbers in data, and whole numbers in indices and indptr".into()),
        (with("data", b"\x93NUMPY\x01\x00\xff".to_vec()), ": data: the header is cut short or damaged".into()),
        (
            archive(&[("x", floats(&[1.0])), ("y", ints(&[1]))]),
            ": expected a sparse matrix, as scipy.sparse.save_npz writes it, found the arrays x, y".into(),
        ),
    ] {
        let found = in_folder(&[("x.npz", &content)], &unlabelled()).expect_err("a wrong file was read");
        assert_eq!(found, format!("x.npz{expected}"));
    }
    let whole = archive(&arrays());
    for end in (0..whole.len()).step_by(3) {
        let options = ReadOptions { format: Some(Format::Npz), ..unlabelled() };
        assert!(in_folder(&[("x.npz", &whole[..end])], &options).is_err(), "the first {end} bytes");
    }
    for (content, expected) in [
        (npy("<f4", "(6,)", &[0; 24]), "expected a matrix with columns, found an array of the shape [6]"),
        (
            npy("<f4", "(99999999999, 0)", &[]),
            "expected a matrix with columns, found an array of the shape [99999999999, 0]",
        ),
        (
            npy("<f4", "(99999999999, 99999999999)", &[]),
            "expected an array that fits memory, found the shape [99999999999, 99999999999]",
        ),
        (npy("<U1", "(1, 1)", &[0; 4]), "expected numbers, found strings"),
        (npy("<f4", "(2, 2)", &[0; 12]), "expected 16 bytes for the shape [2, 2], found 12"),
    ] {
        let found = in_folder(&[("x.npy", &content)], &unlabelled()).unwrap_err();
        assert_eq!(found, format!("x.npy: {expected}"));
    }
    let skip = ReadOptions { on_error: OnError::Skip, ..unlabelled() };
    let data = in_folder(&[("x.npz", &with("indices", ints(&[3, 0, 1, 9])))], &skip).unwrap();
    assert_eq!((show(&data), data.skipped.count()), (ROWS[..2].iter().map(|row| row.to_string()).collect(), 1));
}

#[test]
fn wrong_labels() {
    let x = archive(&arrays());
    let found = in_folder(&[("x.npz", &x)], &ReadOptions::default()).unwrap_err();
    let files = "x.labels.npy, x.labels.npz, x.labels.txt";
    assert_eq!(
        found,
        format!("x.npz: expected its labels, found none of {files}; name another file with --labels FILE")
    );
    for (name, labels, expected) in [
        ("x.labels.npy", ints(&[1, 2]), ": expected 3 rows of labels, as x.npz has, found 2"),
        (
            "x.labels.npy",
            npy("<i4", "(3, 2)", &[0; 24]),
            ": expected one label per row, found an array of the shape [3, 2]",
        ),
        ("x.labels.npy", floats(&[1.0, f32::NAN, 1.0]), ":2: expected a label, found 'NaN'"),
        ("x.labels.npy", npy("|S1", "(3,)", b"a\0c"), ":2: expected a label, found ''"),
        ("x.labels.npy", npy("|S1", "(3,)", b"a\xffc"), ":2: expected UTF-8 in value 2"),
        ("x.labels.txt", b"a\n\nc\n".to_vec(), ":2:1: expected a label, found none"),
        ("x.labels.npz", with("shape", shape([3, 4])), ":2: expected a label, found none"),
    ] {
        let found = in_folder(&[("x.npz", &x), (name, &labels)], &ReadOptions::default()).unwrap_err();
        assert!(found.contains("x.npz has") || found.starts_with(name), "{found}");
        assert_eq!(found, format!("{name}{expected}"));
    }
}
