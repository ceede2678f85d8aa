#!/bin/sh
# The public SDKs and a real browser against real servers on loopback.
#   e2e/run.sh                     everything but the Rust SDK
#   e2e/run.sh --python            all Python scenarios
#   e2e/run.sh TEST…               some of the Python scenarios (`e2e/run.sh test_paging`)
#   e2e/run.sh --postgres TEST…    the same on PostgreSQL (`./setup.sh --test` installs one)
#   e2e/run.sh --browser [FILE…]   the pages in Chromium, all or some files (device.test.js)
#   e2e/run.sh --more              the examples whose packages are a gigabyte (vn.py)
#   e2e/run.sh --with COMMAND…     any command with a server and an account in its environment
# Dependencies are installed under target/ on first use.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/target/e2e
python=$work/venv/bin/python
mkdir -p "$work"
# Leftovers of killed runs.
find "$work" -maxdepth 1 \( -name "store-*" -o -name "making-*" -o -name "home-*" \) -mmin +60 -exec rm -rf {} +

if ! cmp -s e2e/requirements.txt "$work/installed.txt" || [ ! -x "$python" ]; then
    python3 -m venv "$work/venv"
    if ! "$python" -m pip install --quiet --disable-pip-version-check -r e2e/requirements.txt; then
        echo "e2e: the SDKs cannot be installed: $(tr '\n' ' ' <e2e/requirements.txt)" >&2
        exit 1
    fi
    cp e2e/requirements.txt "$work/installed.txt"
fi

# The Node SDK, separate from the browser driver: each has its own lock file. `npm ci` requires the
# binaries of every platform in the lock file, and not every registry has them; `npm install`
# respects the lock file too.
if ! cmp -s e2e/node/package-lock.json "$work/sdk-node/installed.json"; then
    mkdir -p "$work/sdk-node"
    cp e2e/node/package.json e2e/node/package-lock.json e2e/node/.npmrc "$work/sdk-node/"
    if ! (cd "$work/sdk-node" && npm install --ignore-scripts --loglevel error); then
        echo "e2e: the packages of e2e/node/package.json cannot be installed" >&2
        exit 1
    fi
    cp e2e/node/package-lock.json "$work/sdk-node/installed.json"
fi

# The packages of the browser driver. Outside the source tree, so that nothing there has to be
# ignored.
install_browser() {
    mkdir -p "$work/node"
    if ! cmp -s e2e/browser/package-lock.json "$work/node/installed.json"; then
        cp e2e/browser/package.json e2e/browser/package-lock.json e2e/browser/.npmrc "$work/node/"
        if ! (cd "$work/node" && npm ci --ignore-scripts --loglevel error); then
            echo "e2e: the packages of e2e/browser/package.json cannot be installed" >&2
            exit 1
        fi
        cp e2e/browser/package-lock.json "$work/node/installed.json"
    fi
}

browser() {
    install_browser
    CHANDLER_E2E_MARKET=$(cd e2e/python && "$python" -c 'import harness; print(harness.market())')
    CHANDLER_E2E_PYTHON=$python
    export CHANDLER_E2E_MARKET CHANDLER_E2E_PYTHON
    rm -rf "$work/screenshots"
    # Two files concurrently: each has a separate server and browser. Every wait in them is bounded;
    # so is the whole.
    cd e2e/browser
    exec timeout 1800 node --test --test-reporter=spec --test-concurrency=2 "$@"
}

# Scenarios mostly wait: for processes to start, for databases, for each other. So the browser, and
# scenarios that start separate PostgreSQL servers, run in the background, concurrently with all
# others. Their output is printed last.
SEVERAL="test_losing test_nodes test_postgres test_rolling"
several() {
    # A short form of the tests with several nodes; `make lose` runs the rest.
    cd e2e/python
    exec timeout 1800 "$python" -m unittest $SEVERAL
}

# Starts functions in the background. Each becomes the process of its tests, so that ending it ends
# these.
begun=
begin() {
    trap 'for one in $begun; do kill "${one#*:}" 2>/dev/null || true; done' EXIT
    trap 'exit 130' INT TERM
    for name in "$@"; do
        "$name" >"$work/$name.log" 2>&1 &
        begun="$begun $name:$!"
    done
}

# Waits for them, and prints their output.
end() {
    failed=0
    for one in $begun; do
        wait "${one#*:}" || failed=1
        cat "$work/${one%%:*}.log" >&2
    done
    begun=
    trap - EXIT
    return "$failed"
}

scenarios() (
    cd e2e/python
    one=$(ls test_*.py | sed 's/\.py$//' | grep -vxF "$(echo "$SEVERAL" | tr ' ' '\n')")
    code=0
    timeout 1800 "$python" -m unittest $one || code=$?
    # The same queries, refusals, ingested rows and interrupted steps on the other engine.
    CHANDLER_E2E_ENGINE=postgres timeout 600 "$python" -m unittest test_questions test_refusals test_levels test_ingest test_world_runs.Interrupted || code=$?
    exit "$code"
)

# Python scenarios, and the browser if named: all of them run, whatever fails.
everything() {
    # Made once, for all.
    (cd e2e/python && "$python" -c 'import harness; harness.market()')
    begin several "$@"
    code=0
    scenarios || code=1
    end || code=1
    return "$code"
}

# For the benchmark, which also drives the browser.
if [ "${1-}" = --install-browser ]; then
    install_browser
    exit
fi

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
# `make e2e` has built it with everything else.
[ -n "${CHANDLER_E2E_BUILT-}" ] || ${CARGO:-cargo} build --quiet --locked -p chandler
case ${1-} in
    --with)
        shift
        cd e2e/python
        exec "$python" serve_and_run.py "$@"
        ;;
    --browser)
        shift
        browser "$@"
        ;;
    --more)
        if ! cmp -s e2e/requirements-more.txt "$work/installed-more.txt"; then
            python3 -m venv "$work/venv-more"
            "$work/venv-more/bin/pip" install --quiet --disable-pip-version-check -r e2e/requirements-more.txt
            cp e2e/requirements-more.txt "$work/installed-more.txt"
        fi
        cd e2e/python
        CHANDLER_E2E_MORE=$work/venv-more/bin/python exec "$python" -m unittest test_documents.More
        ;;
    --postgres)
        shift
        cd e2e/python
        CHANDLER_E2E_ENGINE=postgres exec "$python" -m unittest "$@"
        ;;
    --python)
        everything
        ;;
    '')
        everything browser
        ;;
    *)
        cd e2e/python
        exec "$python" -m unittest "$@"
        ;;
esac
