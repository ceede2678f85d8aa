# The two commands of the README are `make demo` and `make test`; the rest is what they are made of.
# Everything is idempotent: on a fresh Debian machine with Rust, Node and Python it installs what it needs.

CARGO ?= cargo
STORE ?= sqlite:target/demo

TOOLCHAIN := $(or $(RUSTUP_TOOLCHAIN),$(shell .ci/toolchain))
ifneq ($(TOOLCHAIN),)
export RUSTUP_TOOLCHAIN := $(TOOLCHAIN)
endif

.PHONY: demo demo-market demo-build test setup setup-test setup-e2e lint deny unit e2e e2e-busy lose e2e-rust e2e-more fuzz bench page dist dist-build dist-try deb packaging pictures

demo: demo-build
	target/demo/chandler --store $(STORE) demo --serve

# All of it but the server, which only ends when it is told to.
demo-market: demo-build
	target/demo/chandler --store $(STORE) demo

demo-build: setup page
	$(CARGO) build --profile demo --locked -p chandler

test: setup lint deny packaging unit e2e fuzz

# A C compiler (C++ for the fuzzer), the Rust of rust-toolchain.toml, Python's venv, Node.
setup:
	@./setup.sh

# The pages that the executable carries: packages by lock file, everything generated under target/. Only when something changed.
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

# One build for lints, tests and end-to-end, so that nothing is compiled twice: of the same packages and features, by the same
# compiler, which lints our own crates as it goes.
CHECKED = RUSTC_WORKSPACE_WRAPPER="$(CURDIR)/.ci/clippy" $(CARGO) test --workspace --locked

lint: page
	$(CARGO) fmt --all --check
	$(CHECKED) --no-run

# Licences, origins and duplicate versions of dependencies, as deny.toml allows them; advisories where their database can be
# reached. Built without optimisation, the tool is there in two minutes and takes five seconds.
CARGO_DENY = 0.20.2
DENY = target/tools/bin/cargo-deny
deny: setup
	@$(DENY) --version 2>/dev/null | grep -qx "cargo-deny $(CARGO_DENY)" || \
	    CARGO_PROFILE_DEV_DEBUG=0 $(CARGO) install --quiet --debug --locked --root target/tools cargo-deny@$(CARGO_DENY)
	$(DENY) --locked check bans licenses sources
	@if $(DENY) fetch db 2>/dev/null; then $(DENY) --locked check --disable-fetch advisories; \
	else echo "deny: advisories NOT CHECKED: their database cannot be reached" >&2; fi

# A PostgreSQL server, which only tests need.
setup-test:
	@./setup.sh --test

unit: page setup-test
	node --test crates/server/page/test/*.test.js
	$(CHECKED)

# A browser, which only the end-to-end tests need, and what other tests need.
setup-e2e:
	@./setup.sh --e2e

# The public Python SDKs, and the pages in a browser, against real servers on loopback.
e2e: setup-e2e setup-test page
	$(CHECKED) --no-run --quiet
	@CHANDLER_E2E_BUILT=1 ./e2e/run.sh

# The same again and again on a machine whose processors are taken: a test that depends on how fast the machine is fails. WORDS go to
# e2e/run.sh: `make e2e-busy TIMES=3 WORDS="--browser desk.test.js"`.
TIMES ?= 10
WORDS ?=
e2e-busy: setup-e2e setup-test page
	$(CHECKED) --no-run --quiet
	@CHANDLER_E2E_BUILT=1 ./e2e/busy.sh $(TIMES) $(WORDS)

# Several servers on PostgreSQL, and losing things again and again: servers, databases, the way between them. ROUNDS=50 takes an hour. A short
# form of it is in `make e2e`.
ROUNDS ?= 3
lose: setup-test page
	@CARGO="$(CARGO)" CHANDLER_E2E_ROUNDS=$(ROUNDS) ./e2e/run.sh test_losing test_rolling test_nodes test_postgres

# The same scenarios with the Rust SDK, which takes minutes to build.
e2e-rust: setup
	$(CARGO) build --locked --manifest-path e2e/rust/Cargo.toml --target-dir target
	@CARGO="$(CARGO)" ./e2e/run.sh --with target/debug/e2e
	@CARGO="$(CARGO)" ./e2e/run.sh --with target/debug/e2e-example-first
	@CARGO="$(CARGO)" ./e2e/run.sh --with target/debug/e2e-example-years
	@CARGO="$(CARGO)" CHANDLER_E2E_RUST=$(CURDIR)/target/debug ./e2e/run.sh test_session.Session.test_by_longbridge_in_rust test_documents.Strategies.test_rust

# Examples whose packages weigh a gigabyte: vn.py.
e2e-more: setup
	@CARGO="$(CARGO)" ./e2e/run.sh --more

# A minute of fuzzing; `make fuzz SECONDS=3600` for longer.
SECONDS ?= 20
fuzz:
	@./fuzz/run.sh $(SECONDS)

bench:
	@./bench/run.sh

# The executable for others, in target/dist: a tarball, a package for Debian and Ubuntu, a wheel for pip, checksums. It asks for the glibc
# of the machine that built it, so build it on Debian 12; what is newer is refused. CPU=x86-64 is for processors without AVX2.
PACKAGE = target/release/package
CPU ?=
PACK = python3 packaging/dist/pack.py $(if $(CPU),--baseline) $(if $(TAG),--tag $(TAG))
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

# Installs each of them in a clean folder and uses it. TRY=--system installs the Debian package by apt, for a machine that is thrown away.
TRY ?=
dist-try:
	python3 packaging/dist/try.py $(TRY)

# The packing, with a small stand-in for the executable. The files for several nodes. The units of systemd, as far as systemd itself can tell; a machine without it
# cannot, and says so.
packaging: setup
	python3 packaging/dist/test_pack.py
	python3 packaging/nodes/test_nodes.py
	@if command -v systemd-analyze >/dev/null; then packaging/check.sh; \
	else echo "packaging: NOT CHECKED: no systemd-analyze on this machine" >&2; fi

# The pictures of the README, from the demo in Chromium.
pictures: demo-build setup-e2e
	e2e/run.sh --install-browser
	node e2e/pictures.mjs target/demo/chandler target/pictures target/e2e/node docs/images
