/tmp/w/recommend/target-x/debug/deps/unicode_general_category-c615a59333f052bf.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/category.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/tables.rs /tmp/w/recommend/target-x/debug/build/unicode-general-category-5eca1d3441e0de7c/out/category.rs

/tmp/w/recommend/target-x/debug/deps/libunicode_general_category-c615a59333f052bf.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/lib.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/category.rs /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/tables.rs /tmp/w/recommend/target-x/debug/build/unicode-general-category-5eca1d3441e0de7c/out/category.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/lib.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/category.rs:
/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-general-category-1.1.0/src/tables.rs:
/tmp/w/recommend/target-x/debug/build/unicode-general-category-5eca1d3441e0de7c/out/category.rs:

# env-dep:OUT_DIR=/tmp/w/recommend/target-x/debug/build/unicode-general-category-5eca1d3441e0de7c/out
