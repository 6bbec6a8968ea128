/tmp/w/recommend/target-x/debug/deps/humantime-167fcdcc6c3881cc.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/date.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/duration.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/wrapper.rs

/tmp/w/recommend/target-x/debug/deps/libhumantime-167fcdcc6c3881cc.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/date.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/duration.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/wrapper.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/lib.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/date.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/duration.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/humantime-2.4.0/src/wrapper.rs:
