# make demo   build and see the whole method on made data
# make test   everything that has to pass: format, lints, tests, doctests, command line, Python checks
# make bench  beside the speed of memory, and beside others on the data in OVE_DATA (default ../shared/data)

PYTHON ?= python3
VENV := .venv
export OVE_DATA ?= $(abspath ../shared/data)

.PHONY: demo test lint rust-test python-test bench clean

demo:
	cargo run --release --package ove-cli -- demo

test: lint rust-test python-test

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --quiet

rust-test:
	cargo test --workspace

# Independent references and the browser: scikit-learn, safetensors, headless Chromium.
python-test: $(VENV)/installed
	cargo build --package ove-cli
	OVE=$(abspath target/debug/ove) $(VENV)/bin/pytest -q tests/python

bench: $(VENV)/installed
	cargo run --release --package ove --example amazoncat
	cargo run --release --package ove --example many_classes
	cargo build --release --package ove-cli
	OVE=$(abspath target/release/ove) $(VENV)/bin/python bench/newsgroups.py

$(VENV)/installed: tests/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement tests/python/requirements.txt
	touch $@

clean:
	cargo clean
	rm -rf $(VENV) demo report
