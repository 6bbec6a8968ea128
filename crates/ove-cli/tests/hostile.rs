//! Model files from strangers: whatever they hold, each command ends soon, with an answer or a message, without a panic
//! and within four gigabytes of addresses.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ove::platform::digest::Digest;
use ove::platform::random::Stream;
use ove::synthetic::interactions;

use crate::util::*;

/// The place of the checksum, which is that of all bytes after it.
const CHECKSUM: std::ops::Range<usize> = 37..53;

/// A model of each kind, and what is done with it.
fn kinds(dir: &Dir) -> Vec<(&'static str, &'static [&'static str])> {
    dir.create("fruit.svm", FRUIT);
    dir.run("train fruit.svm -o linear --epochs 20").ok();
    dir.run("train fruit.svm -o factored --scores factored --rank 2 --epochs 20").ok();
    dir.run("train fruit.svm -o trees --scores trees --trees 2 --epochs 2").ok();
    let data = interactions(30, 12, 3, 0);
    let items = |user: usize| data.items_of(user).iter().map(|&item| format!(" {}", data.item_names[item as usize]));
    let lines = (0..data.len()).map(|user| format!("{}{}\n", data.users[user], items(user).collect::<String>()));
    dir.create("visits.txt", &lines.collect::<String>());
    dir.run("train visits.txt --format interactions -o recommender --rank 2 --epochs 2").ok();
    let of_classes: &[&str] = &[
        "inspect FILE",
        "inspect FILE --class pear",
        "predict FILE fruit.svm --top 2 --threads 1",
        "evaluate FILE fruit.svm --threads 1",
    ];
    let of_items: &[&str] = &[
        "inspect FILE",
        "recommend FILE --top 3 --threads 1",
        "recommend FILE --items i1,i2 --explain --threads 1",
        "similar FILE i1",
        "similar FILE --user u1",
    ];
    vec![("linear", of_classes), ("factored", of_classes), ("trees", of_classes), ("recommender", of_items)]
}

/// The file with the right checksum: a wrong one would hide what else is wrong.
fn signed(mut file: Vec<u8>) -> Vec<u8> {
    if file.len() >= CHECKSUM.end {
        let sum = format!("{:016x}", Digest::of(&file[CHECKSUM.end..]));
        file[CHECKSUM].copy_from_slice(sum.as_bytes());
    }
    file
}

/// Cuts the file, flips some of its bits, or writes other digits into its header.
fn changed(good: &[u8], random: &mut Stream) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    match random.below(4) {
        0 => bytes.truncate(random.below(good.len() as u64) as usize),
        1 => {
            let digits: Vec<usize> = (CHECKSUM.end..header).filter(|&at| bytes[at].is_ascii_digit()).collect();
            for _ in 0..1 + random.below(3) {
                bytes[digits[random.below(digits.len() as u64) as usize]] = b'0' + random.below(10) as u8;
            }
        }
        _ => {
            for _ in 0..1 + random.below(4) {
                let at = CHECKSUM.end as u64 + random.below((good.len() - CHECKSUM.end) as u64);
                bytes[at as usize] ^= 1 << random.below(8);
            }
        }
    }
    signed(bytes)
}

/// Starts the command with at most four gigabytes of addresses.
fn limited(dir: &Dir, words: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ove")]);
    command.args(words.split_whitespace()).current_dir(dir.path(""));
    let errors = fs::File::create(dir.path("errors")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn().unwrap()
}

fn try_changes(changes: usize) {
    let dir = Dir::new();
    let mut random = Stream::of(&[83]);
    for (kind, commands) in kinds(&dir) {
        let good = dir.bytes(kind);
        for words in commands {
            fs::write(dir.path("changed"), signed(good.clone())).unwrap();
            let code = code_within(&mut limited(&dir, &words.replace("FILE", "changed")), Duration::from_secs(60));
            assert_eq!(code, Some(0), "{kind}, {words}: {}", fs::read_to_string(dir.path("errors")).unwrap());
        }
        for n in 0..changes {
            fs::write(dir.path("changed"), changed(&good, &mut random)).unwrap();
            let words = commands[n % commands.len()].replace("FILE", "changed");
            let code = code_within(&mut limited(&dir, &words), Duration::from_secs(60));
            let errors = fs::read_to_string(dir.path("errors")).unwrap();
            assert!(matches!(code, Some(0 | 2)) && !errors.contains("panicked"), "{kind}, {words}: {code:?} {errors}");
            assert!(code == Some(0) || errors.starts_with("error: "), "{kind}, {words}: {errors}");
        }
    }
}

#[test]
fn changed_models_are_refused_or_used() {
    try_changes(20);
}

#[test]
#[ignore = "slow"]
fn very_many_changed_models_are_refused_or_used() {
    try_changes(1000);
}
