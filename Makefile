# The two commands of the README are `make demo` and `make test`; the rest is what they are made of.
# Everything is idempotent: on a fresh Debian machine with Rust, Node and Python it installs what it needs.

CARGO ?= cargo
STORE ?= sqlite:target/demo

.PHONY: demo test setup lint unit fuzz bench

demo: setup
	$(CARGO) build --release --locked -p chandler
	target/release/chandler --store $(STORE) demo

test: setup lint unit fuzz

# A C compiler (C++ for the fuzzer) and the two Rust components that some toolchain installs leave out.
setup:
	@./setup.sh

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --lib --bins --locked -- -D warnings

unit:
	$(CARGO) test --workspace --locked

# A minute of fuzzing; `make fuzz SECONDS=3600` for longer.
SECONDS ?= 20
fuzz:
	@./fuzz/run.sh $(SECONDS)

bench:
	@./bench/run.sh
