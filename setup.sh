#!/bin/sh
# Installs what the build needs and the machine lacks. Safe to run any number of times.
set -eu

need() { ! command -v "$1" >/dev/null 2>&1; }

if need cc || need c++; then
    if need apt-get; then
        echo "setup: no C and C++ compiler found; install gcc and g++ or clang and run this again" >&2
        exit 1
    fi
    run() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
    run apt-get update -q
    run apt-get install -qy --no-install-recommends gcc g++ libc6-dev
fi

if need cargo; then
    echo "setup: no Rust toolchain found; install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or newer" >&2
    exit 1
fi

cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
