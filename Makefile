# The two commands of the README are `make demo` and `make test`; the rest is what they are made of.
# Everything is idempotent: on a fresh Debian machine with Rust, Node and Python it installs what it needs.

CARGO ?= cargo
STORE ?= sqlite:target/demo

TOOLCHAIN := $(or $(RUSTUP_TOOLCHAIN),$(shell .ci/toolchain))
ifneq ($(TOOLCHAIN),)
export RUSTUP_TOOLCHAIN := $(TOOLCHAIN)
endif

.PHONY: demo demo-market demo-build test setup setup-e2e lint deny unit e2e e2e-rust e2e-more fuzz bench page deb packaging

demo: demo-build
	target/release/chandler --store $(STORE) demo --serve

# All of it but the server, which only ends when it is told to.
demo-market: demo-build
	target/release/chandler --store $(STORE) demo

demo-build: setup page
	$(CARGO) build --release --locked -p chandler

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

unit: page
	node --test crates/server/page/test/*.test.js
	$(CHECKED)

# A browser, which only the end-to-end tests need.
setup-e2e:
	@./setup.sh --e2e

# The public Python SDKs, and the pages in a browser, against real servers on loopback.
e2e: setup-e2e page
	$(CHECKED) --no-run --quiet
	@CHANDLER_E2E_BUILT=1 ./e2e/run.sh

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

# A package for Debian and Ubuntu, in target/debian. CPU=x86-64 is for processors without AVX2.
CARGO_DEB = 3.8.0
PACKAGE = target/release/package
CPU ?=
deb: setup page
	@target/tools/bin/cargo-deb --version 2>/dev/null | grep -qx $(CARGO_DEB) || \
	    $(CARGO) install --quiet --locked --root target/tools cargo-deb@$(CARGO_DEB)
	$(if $(CPU),RUSTFLAGS="-C target-cpu=$(CPU)") CHANDLER_PAGE_REQUIRED=1 $(CARGO) build --release --locked -p chandler
	rm -rf $(PACKAGE) && mkdir -p $(PACKAGE) && cp -r packaging/deb $(PACKAGE)/scripts
	$(if $(CPU),rm $(PACKAGE)/scripts/preinst)
	target/release/chandler man --dir $(PACKAGE)/man && gzip -9n $(PACKAGE)/man/*.1
	gzip -9nc CHANGELOG.md >$(PACKAGE)/changelog.gz
	for shell in bash zsh fish; do target/release/chandler completions $$shell >$(PACKAGE)/chandler.$$shell; done
	target/tools/bin/cargo-deb --no-build --locked -p chandler

# The units of systemd, as far as systemd itself can tell; a machine without it cannot, and says so.
packaging:
	@if command -v systemd-analyze >/dev/null; then packaging/check.sh; \
	else echo "packaging: NOT CHECKED: no systemd-analyze on this machine" >&2; fi
