# The two commands of the README are `make demo` and `make test`; the rest is what they are made of.
# Everything is idempotent: on a fresh Debian machine with Rust, Node and Python it installs what it needs.

CARGO ?= cargo
STORE ?= sqlite:target/demo

.PHONY: demo test setup setup-e2e lint unit e2e e2e-rust fuzz bench

demo: setup
	$(CARGO) build --release --locked -p chandler
	target/release/chandler --store $(STORE) demo --serve

test: setup lint unit e2e fuzz

# A C compiler (C++ for the fuzzer), the two Rust components that some toolchain installs leave out, Python's venv.
setup:
	@./setup.sh

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --lib --bins --locked -- -D warnings

unit:
	$(CARGO) test --workspace --locked

# A browser, which only the end-to-end tests need.
setup-e2e:
	@./setup.sh --e2e

# The public Python SDKs, and the pages in a browser, against real servers on loopback.
e2e: setup-e2e
	@CARGO="$(CARGO)" ./e2e/run.sh

# The same scenarios with the Rust SDK, which takes minutes to build.
e2e-rust: setup
	$(CARGO) build --locked --manifest-path e2e/rust/Cargo.toml --target-dir target
	@CARGO="$(CARGO)" ./e2e/run.sh --with target/debug/e2e

# A minute of fuzzing; `make fuzz SECONDS=3600` for longer.
SECONDS ?= 20
fuzz:
	@./fuzz/run.sh $(SECONDS)

bench:
	@./bench/run.sh
