/tmp/w/recommend/target-x/debug/deps/memmap2-edfc0131443bc7e2.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/unix.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/advice.rs

/tmp/w/recommend/target-x/debug/deps/libmemmap2-edfc0131443bc7e2.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/unix.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/advice.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/lib.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/unix.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/memmap2-0.9.12/src/advice.rs:
