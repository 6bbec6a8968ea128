/tmp/w/recommend/target-x/debug/deps/equivalent-e7513aa93063c89a.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/equivalent-1.0.3/src/lib.rs

/tmp/w/recommend/target-x/debug/deps/libequivalent-e7513aa93063c89a.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/equivalent-1.0.3/src/lib.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/equivalent-1.0.3/src/lib.rs:
