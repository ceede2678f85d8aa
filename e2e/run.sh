#!/bin/sh
# The public SDKs and a real browser against real servers on loopback.
#   e2e/run.sh                     everything but the Rust SDK
#   e2e/run.sh TEST…               some of the Python scenarios (`e2e/run.sh test_paging`)
#   e2e/run.sh --browser [FILE…]   the pages in Chromium, all or some (`e2e/run.sh --browser device.test.js`)
#   e2e/run.sh --with COMMAND…     any command with a server and an account in its environment
# What they need is installed under target/ on first use.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/target/e2e
python=$work/venv/bin/python
mkdir -p "$work"
# What runs that were killed have left behind.
find "$work" -maxdepth 1 \( -name "store-*" -o -name "making-*" -o -name "home-*" \) -mmin +60 -exec rm -rf {} +

if ! cmp -s e2e/requirements.txt "$work/installed.txt" || [ ! -x "$python" ]; then
    python3 -m venv "$work/venv"
    if ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r e2e/requirements.txt; then
        echo "e2e: the SDKs cannot be installed: $(tr '\n' ' ' <e2e/requirements.txt)" >&2
        exit 1
    fi
    cp e2e/requirements.txt "$work/installed.txt"
fi

# The packages that drive the browser. Out of the source tree, so that nothing there has to be ignored.
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
    # Two files at a time: each has a server and a browser of its own. Every wait in them is bounded; so is the whole.
    (cd e2e/browser && timeout 300 node --test --test-reporter=spec --test-concurrency=2 "$@")
}

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
${CARGO:-cargo} build --quiet --locked -p chandler
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
    '')
        (cd e2e/python && "$python" -m unittest)
        browser
        ;;
    *)
        cd e2e/python
        exec "$python" -m unittest "$@"
        ;;
esac
