//! The tests of the library as its users see it, in one program: to link many takes longer than to run them.
//! `cargo test --test all solvers::` runs those of one file.

#![allow(clippy::disallowed_methods, reason = "references for our own")]

mod bad_input;
mod cache_parts;
mod checkpoint;
mod choice;
#[cfg(feature = "parquet")]
mod columnar;
mod continuation;
mod embedding;
mod evaluate;
mod factored;
mod file;
mod file_parts;
mod fit;
mod fitted;
mod fuzz;
mod held_out;
mod layers;
mod matrix;
#[cfg(feature = "npz")]
mod npz;
mod objective;
mod options;
mod paper;
mod parts;
mod read;
mod recommender;
mod roundtrip;
mod second_stage;
mod shards;
mod solvers;
mod tables;
mod text;
mod training;
mod trees;
mod views;
mod write;

#[test]
fn no_file_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = include_str!("all.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        // A program of its own, as it counts what is allocated.
        let is_program = ["all", "hostile"].contains(&name);
        assert!(is_program || listed.contains(&format!("\nmod {name};\n")), "{name}.rs is not a part of all.rs");
    }
}
