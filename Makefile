# Commands for people. `make demo` and `make test` need nothing but a Debian or Ubuntu machine.

CARGO ?= cargo
export PATH := $(HOME)/.cargo/bin:$(PATH)
L4S   := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/release/l4s
DEMO  := out/demo
# Crates without input and output.
PURE  := units aqm cc model
NIGHTLY := nightly
# The crates for crates.io, and the release that their interfaces are compared with.
PUBLISHED := units aqm cc observe model bottleneck trace sim
BASELINE ?= $(shell git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD^ 2>/dev/null)

.DEFAULT_GOAL := help
# Every target is a name and no file.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(MAKEFILE_LIST))

help: ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: ## install the missing tools: a C compiler and Rust
	@scripts/setup.sh

build: setup ## the command l4s, in target/release
	@$(CARGO) build --release --locked -p l4s

# The demo takes the simulator and reports alone, unless all of l4s was built before.
DEMO_FEATURES = $(shell "$(L4S)" --version 2>/dev/null | grep -q 'BPF programs' || echo --no-default-features)

demo: ## DCTCP against Cubic through three AQMs, and the report of it
	@scripts/setup.sh --demo
	@$(CARGO) build --release --locked -p l4s $(DEMO_FEATURES)
	@mkdir -p out
	@"$(L4S)" run one-against-one --out $(DEMO) --replace
	@echo
	@echo "The report: file://$(CURDIR)/$(DEMO)/report.html"

live: build ## the demo to play with: a page in the browser, at 127.0.0.1:4545
	@"$(L4S)" live --open

e2e: build ## the live page in Chromium, against the server (installs Chromium and Node)
	@scripts/setup.sh --browser
	@cd web && npm ci --no-audit --no-fund --silent && L4S="$(L4S)" npm run --silent e2e

pictures: build ## redraw the pictures of the live page in docs, in Chromium
	@scripts/setup.sh --browser
	@cd web && npm ci --no-audit --no-fund --silent && L4S="$(L4S)" npm run --silent pictures

python: build ## the Python package in .venv, with its tests and notebooks
	@scripts/setup.sh --python
	@test -x .venv/bin/pip || python3 -m venv .venv
	@.venv/bin/pip install --quiet '.[test]'
	@.venv/bin/ruff format --check --quiet python && .venv/bin/ruff check --quiet python
	@.venv/bin/mypy
	@.venv/bin/pytest --quiet --mpl

dist: ## releases, in dist: static command, .deb, wheels, images, checksums (x86-64 and aarch64)
	@scripts/dist.sh

test-dist: ## install and use the packages of `make dist` in bare Debians without a compiler (as root)
	@scripts/test-dist.sh

wheel: ## only the wheels, in dist
	@scripts/wheel.sh

test: setup ## every test that is quick
	@$(CARGO) test --workspace --locked --quiet

test-bare: ## the README's commands on a bare Debian 13 (debootstrap, as root; about ten minutes)
	@scripts/bare.sh

test-programs: build linux ## real programs, in real and in virtual time, and their tables (installs them; 40 minutes)
	@scripts/programs.sh
	@scripts/programs.sh --on linux
	@scripts/repeats.sh

lint: setup prose ## format, lints, prose
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings

doc: setup ## the documentation of the crates, without a warning
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

examples: setup ## whether an example shows each public type of the crates for crates.io
	@scripts/examples.py

package: setup ## the crates for crates.io, packed and each built from its package, without a network
	@scripts/package.py

semver: setup ## the interfaces of the crates for crates.io against the last release (installs cargo-semver-checks)
ifeq ($(BASELINE),)
	@echo "l4s: there is no release before this commit, so nothing to compare with; \`make semver BASELINE=COMMIT\` names one"
else
	@$(CARGO) semver-checks --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet cargo-semver-checks
	@$(CARGO) semver-checks --baseline-rev $(BASELINE) $(PUBLISHED:%=-p l4s-%)
endif

msrv: setup ## the workspace with the oldest Rust that it supports (installs that by rustup)
	@rustup toolchain install --profile minimal "$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
	@$(CARGO) "+$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)" check --workspace --all-targets --locked

deny: setup ## known vulnerabilities, licences and sources of dependencies (installs cargo-deny)
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet cargo-deny
	@$(CARGO) deny --all-features check

miri: setup ## unit tests of the pure crates, and unsafe code of sim, under Miri (installs a nightly Rust)
	@rustup toolchain install $(NIGHTLY) --profile minimal --component miri --component rust-src
	@MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 $(CARGO) +$(NIGHTLY) miri test --locked --lib $(PURE:%=-p l4s-%)
	@MIRIFLAGS=-Zmiri-disable-isolation $(CARGO) +$(NIGHTLY) miri test --locked --lib -p l4s-sim -- prefetch:: half::

# A failed test is the business of `make test`: the report is made all the same.
coverage: setup ## the lines that the tests reach, in target/coverage (installs cargo-llvm-cov; an hour and more)
	@$(CARGO) llvm-cov --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet cargo-llvm-cov
	@! command -v rustup >/dev/null || rustup component add llvm-tools
	@$(CARGO) llvm-cov --workspace --locked --ignore-run-fail --html --output-dir target/coverage

prose: ## prose and spelling, by vale and typos (installs them)
	@scripts/setup.sh --prose
	@scripts/prose.py

bench: build ## ns and instructions per packet: disciplines, measurement, whole runs; real TCP where it can
	@scripts/setup.sh --packages valgrind
	@$(CARGO) bench --locked -p l4s-aqm -p l4s-cc -p l4s-flows -p l4s-measure -p l4s-sim -p l4s-lab
	@scripts/bench.py
	@"$(L4S)" run lab-speed --on kernel || [ $$? = 3 ]

bench-record: bench ## add these benchmarks to docs/reference/bench.json, once per release
	@scripts/bench.py --record

validate: build ## the simulator against Linux 7.3
	@"$(L4S)" validate

linux: ## the kernel of `--on linux`: fetch, configure, compile (some minutes, once)
	@linux/build.sh

vm: ## the virtual machine of `l4s vm`: a kernel of Debian and its modules (two minutes, once)
	@linux/vm.sh

test-vm: build vm ## the tests that need the virtual machine (half an hour or more; TEST_VM=quick for less)
	@linux/vm.sh 6.12
	@scripts/setup.sh --vm
	@scripts/test-vm.sh

reference: build linux ## repeat the kernel's measurements under the conditions of validation
	@"$(L4S)" run linux-7.3-wide --on linux --seeds 3 --json | sed 's/"wall_s":[^,]*,//' > target/linux-7.3-wide.jsonl
	@mv target/linux-7.3-wide.jsonl crates/cli/reference/linux-7.3-wide.jsonl

figures: build ## redraw the figures of README and docs
	@scripts/figures.sh

web: ## rebuild the front end into crates/report/assets/web and crates/live/assets (needs Node 20.19 and npm)
	@cd web && npm ci --no-audit --no-fund && npm run build && npm test

docs: setup ## the pages that are made from the code
	@scripts/traceability.sh
	@UPDATE_DOCS=1 $(CARGO) test --locked --quiet -p l4s-measure --test dictionary
	@UPDATE_DOCS=1 $(CARGO) test --locked --quiet -p l4s --test reference --test conformance
	@scripts/site.sh --python-api

snippets: build ## the snippets of README, tutorials and guides, run (four minutes; make python before, for those in Python)
	@scripts/setup.sh --programs || echo "not all programs can be installed: their snippets fail"
	@scripts/snippets.py

site: ## the site of docs, in target/site, and whether every link leads somewhere
	@scripts/site.sh

fuzz: setup ## every fuzz target for FUZZ_SECONDS (60) each
	@scripts/fuzz.sh $(or $(FUZZ_SECONDS),60)

sanitize: setup ## the tests of unsafe code, under the address sanitizer
	@RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address $(CARGO) test --locked -p l4s-lab -p l4s-linux --target "$$(rustc -vV | sed -n 's/host: //p')"

kills: setup ## every process of programs' runs killed in turn, L4S_KILL_ROUNDS (50) times
	@L4S_KILL_ROUNDS=$(or $(L4S_KILL_ROUNDS),50) $(CARGO) test --locked -p l4s --test hostile_programs -- nothing_is_left

mutants: setup ## mutation of the core; takes two hours (cargo install cargo-mutants)
	@$(CARGO) mutants --package l4s-aqm --file 'crates/aqm/src/dualpi2*' --file 'crates/aqm/src/dualpi2/**'; aqm=$$?; \
	$(CARGO) mutants --package l4s-cc --file 'crates/cc/src/classic_ecn/**' --output target --timeout 60 -- --lib classic_ecn && exit $$aqm

clean: ## remove everything that was built; results, in out, stay
	@rm -rf target dist .venv fuzz/target web/node_modules
