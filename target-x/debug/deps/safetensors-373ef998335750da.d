/tmp/w/recommend/target-x/debug/deps/safetensors-373ef998335750da.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/slice.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/tensor.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/../README.md

/tmp/w/recommend/target-x/debug/deps/libsafetensors-373ef998335750da.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/slice.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/tensor.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/../README.md

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/lib.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/slice.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/tensor.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/safetensors-0.8.0/src/../README.md:
