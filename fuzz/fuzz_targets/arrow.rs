#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ove_fuzz::arrow(bytes));
