#!/bin/sh
# What a chart in the terminal costs, in processor time of the whole process. `BINARY=target/debug/chandler bench/terminal.sh`
# measures another build; a release build is made where none is named.
set -eu
cd "$(dirname "$0")/.."
binary=${BINARY:-target/release/chandler}
if [ -z "${BINARY:-}" ]; then
    cargo build --release --locked -p chandler >&2
fi
exec python3 bench/terminal.py "$binary" target/bench/terminal
