//! The tests of the command line, in one program: linking several takes longer than running them.
//!
//! Each test makes a folder, runs `ove` there and checks stdout, stderr and exit code. `cargo test --test all train::`
//! runs those of one file.

mod bound;
mod crash;
mod demo;
mod embed;
mod estimate;
mod evaluate;
mod export;
mod generate;
#[cfg(target_os = "linux")]
mod hostile;
mod inspect;
mod names;
mod overwriting;
mod predict;
mod probabilities;
mod program;
mod recommend;
mod reliability;
mod reproduce;
mod same_model;
#[cfg(feature = "serve")]
mod serve;
mod tables;
mod text;
mod train;
mod util;

#[test]
fn no_file_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = include_str!("all.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name == "all" || listed.contains(&format!("\nmod {name};\n")), "{name}.rs is not a part of all.rs");
    }
}
