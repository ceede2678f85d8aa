#!/bin/sh
# The bench: makes its data once, imports, checks, asks, and prints one table. `SYMBOLS=40 make bench` is a small run.
# `bench/run.sh page [VISITS]` is another one: the chart page in Chromium.
set -eu
cd "$(dirname "$0")/.."
if [ "${1-}" = page ]; then
    make --silent setup-e2e page >&2
    cargo build --release --locked -p chandler >&2
    e2e/run.sh --install-browser
    exec node bench/page/measure.mjs target/release/chandler target/bench/page target/e2e/node "${2-20}"
fi
symbols=${SYMBOLS:-500}
daily=$((symbols * 4))
work=target/bench
data=$work/data-$symbols
mkdir -p "$work"
python=$work/venv/bin/python
if [ ! -x "$python" ]; then
    python3 -m venv "$work/venv"
fi
if ! "$python" -c 'import duckdb, numpy, pyarrow' 2>/dev/null; then
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check numpy pyarrow duckdb
fi
cargo build --release --locked -p chandler -p bench >&2
# The mark is written last: data of an interrupted run is made again.
if [ ! -e "$data/made" ]; then
    "$python" bench/prepare.py "$data" --symbols "$symbols" --daily-symbols "$daily" >&2
    touch "$data/made"
fi
exec "$python" bench/measure.py target/release/chandler target/release/bench "$data" "$work/run"
