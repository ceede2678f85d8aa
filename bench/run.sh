#!/bin/sh
# Benchmarks. `others`, `postgres`, `catalogue` and the part `postgres` of `live` need an installed PostgreSQL.
#   bench/run.sh                              generates data once, imports, checks, queries, and prints a table; SYMBOLS=40 for a small run
#   bench/run.sh page [VISITS]                the chart page in Chromium
#   bench/run.sh page-live [SECONDS]          CPU time of the browser beside 3,000 securities with live prices
#   bench/run.sh paper [PART…]                the paper account compared with other engines, whose packages are a gigabyte
#   bench/run.sh lists                        watchlists and the list of securities
#   bench/run.sh live [PART…]                 live pushes and ingest, beside Redis if it is installed
#   bench/run.sh worlds [PART…]               worlds: steps, the highest speed, memory, fairness, forks, a year of orders
#   bench/run.sh mirror [PART…]               a mirror of another server: speed without limits, rate with limits
#   bench/run.sh trades                       single trades
#   bench/run.sh build                        a build from scratch, and its parts
#   bench/run.sh others                       the queries of `make bench` on ArcticDB and PostgreSQL
#   bench/run.sh postgres [PART…]             nodes on PostgreSQL compared with one server on SQLite
#   bench/run.sh catalogue                    tables of the size of docs/scaling.md
#   BEFORE=exe AFTER=exe bench/run.sh before  compares two executables on SQLite
set -eu
cd "$(dirname "$0")/.."
if [ "${1-}" = build ]; then
    make --silent setup page >&2
    exec python3 bench/build.py
fi
if [ "${1-}" = page ]; then
    make --silent setup-e2e page >&2
    cargo build --release --locked -p chandler >&2
    e2e/run.sh --install-browser
    exec node bench/page/measure.mjs target/release/chandler target/bench/page target/e2e/node "${2-20}"
fi
if [ "${1-}" = page-live ]; then
    make --silent setup-e2e page >&2
    profile=${PROFILE:-release}
    cargo build --profile "$profile" --locked -p chandler >&2
    e2e/run.sh --install-browser
    [ "$profile" = dev ] && profile=debug
    exec node bench/page/live.mjs "target/$profile/chandler" target/bench/page-live target/e2e/node "${2-20}"
fi
# Installs the engines that ours is compared with, and the SDK: a gigabyte.
install_engines() {
    python=target/bench/paper-venv/bin/python
    mkdir -p target/bench/paper
    if cmp -s bench/paper/requirements.txt target/bench/paper/installed.txt && [ -x "$python" ]; then return; fi
    # One of the engines requires Python 3.12 or newer.
    for found in "${PYTHON:-python3}" python3.14 python3.13 python3.12 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python; do
        if "$found" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then break; fi
    done
    "$found" -m venv target/bench/paper-venv
    "$python" -m pip install --quiet --disable-pip-version-check -r bench/paper/requirements.txt
    cp bench/paper/requirements.txt target/bench/paper/installed.txt
}
if [ "${1-}" = paper ]; then
    shift
    install_engines
    work=target/bench/paper
    cargo build --release --locked -p chandler -p bench >&2
    exec "$python" bench/paper/measure.py target/release/bench target/release/chandler "$work" "$@"
fi
if [ "${1-}" = lists ]; then
    mkdir -p target/bench
    cargo build --release --locked -p chandler -p bench >&2
    exec target/release/bench lists target/release/chandler target/bench
fi
if [ "${1-}" = live ]; then
    shift
    mkdir -p target/bench
    # Ten thousand connections, in the server and in the load.
    ulimit -n "$(ulimit -H -n)"
    profile=${PROFILE:-release}
    cargo build --profile "$profile" --locked -p chandler -p bench >&2
    exec python3 bench/live.py "target/$profile/chandler" "target/$profile/bench" target/bench/live "$@"
fi
if [ "${1-}" = worlds ]; then
    shift
    mkdir -p target/bench/worlds
    profile=${PROFILE:-release}
    cargo build --profile "$profile" --locked -p chandler -p bench >&2
    printf '| worlds | measured | goal | |\n|---|---|---|---|\n'
    [ $# -gt 0 ] || set -- stepped sdk max resting moving fork year
    for part in "$@"; do
        case $part in sdk | year) install_engines ;; esac
        if [ "$part" = year ]; then
            echo
            "$python" bench/worlds/year.py "target/$profile/bench" "target/$profile/chandler" target/bench/worlds/year
        else
            BENCH_PYTHON=${python-} "target/$profile/bench" worlds "$part" "target/$profile/chandler" target/bench/worlds
        fi
    done
    exit
fi
if [ "${1-}" = mirror ]; then
    shift
    mkdir -p target/bench/mirror
    profile=${PROFILE:-release}
    cargo build --profile "$profile" --locked -p chandler -p bench >&2
    printf '| mirror | measured | goal | |\n|---|---|---|---|\n'
    [ $# -gt 0 ] || set -- speed limits
    for part in "$@"; do
        "target/$profile/bench" mirror "$part" "target/$profile/chandler" target/bench/mirror
    done
    exit
fi
if [ "${1-}" = catalogue ]; then
    shift
    mkdir -p target/bench
    exec python3 bench/catalogue.py target/bench/catalogue "$@"
fi
case "${1-}" in
postgres | before) symbols=${SYMBOLS:-100} ;;
*) symbols=${SYMBOLS:-500} ;;
esac
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
if [ "${1-}" = before ]; then
    # Both executables exist already.
    : "${BEFORE:?names the executable before}" "${AFTER:?names the executable after}"
    cargo build --release --locked -p bench >&2
elif [ "${1-}" != others ]; then
    cargo build --release --locked -p chandler -p bench >&2
elif ! "$python" -c 'import arcticdb, psycopg' 2>/dev/null; then
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check arcticdb 'psycopg[binary]'
fi
if [ "${1-}" = trades ]; then
    exec "$python" bench/trades.py target/release/chandler "$work/trades"
fi
# The marker is written last: data of an interrupted run is generated again.
if [ ! -e "$data/made" ]; then
    "$python" bench/prepare.py "$data" --symbols "$symbols" --daily-symbols "$daily" >&2
    touch "$data/made"
fi
case "${1-}" in
others) exec "$python" bench/others.py "$data" "$work/others" ;;
before) exec "$python" bench/before.py "$BEFORE" "$AFTER" target/release/bench "$data" "$work/before" ;;
postgres)
    shift
    exec "$python" bench/postgres.py target/release/chandler target/release/bench "$data" "$work/postgres" "$@"
    ;;
esac
exec "$python" bench/measure.py target/release/chandler target/release/bench "$data" "$work/run"
