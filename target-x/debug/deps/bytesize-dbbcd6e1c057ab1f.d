/tmp/w/recommend/target-x/debug/deps/bytesize-dbbcd6e1c057ab1f.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/display.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/parse.rs

/tmp/w/recommend/target-x/debug/deps/libbytesize-dbbcd6e1c057ab1f.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/display.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/parse.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/lib.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/display.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytesize-2.7.0/src/parse.rs:
