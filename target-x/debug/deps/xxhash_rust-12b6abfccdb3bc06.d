/tmp/w/recommend/target-x/debug/deps/xxhash_rust-12b6abfccdb3bc06.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/utils.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh32_common.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh64_common.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh3_common.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh3.rs

/tmp/w/recommend/target-x/debug/deps/libxxhash_rust-12b6abfccdb3bc06.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/utils.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh32_common.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh64_common.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh3_common.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh3.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/lib.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/utils.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh32_common.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh64_common.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh3_common.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/xxhash-rust-0.8.19/src/xxh3.rs:
