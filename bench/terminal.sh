#!/bin/sh
# The cost of a chart in the terminal, in processor time of the whole process. `BINARY=target/debug/chandler bench/terminal.sh`
# measures another build; by default it builds a release.
set -eu
cd "$(dirname "$0")/.."
binary=${BINARY:-target/release/chandler}
if [ -z "${BINARY:-}" ]; then
    cargo build --release --locked -p chandler >&2
fi
exec python3 bench/terminal.py "$binary" target/bench/terminal
