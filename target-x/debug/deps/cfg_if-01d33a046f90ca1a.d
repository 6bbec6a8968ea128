/tmp/w/recommend/target-x/debug/deps/cfg_if-01d33a046f90ca1a.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/cfg-if-1.0.5/src/lib.rs

/tmp/w/recommend/target-x/debug/deps/libcfg_if-01d33a046f90ca1a.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/cfg-if-1.0.5/src/lib.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/cfg-if-1.0.5/src/lib.rs:
