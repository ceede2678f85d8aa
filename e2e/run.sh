#!/bin/sh
# The public SDKs against real servers on loopback. `e2e/run.sh` runs the Python scenarios, `e2e/run.sh TEST…` some of
# them (`e2e/run.sh test_paging`), `e2e/run.sh --with COMMAND…` any command with a server and an account in its
# environment. The SDKs are installed under target/ on first use.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/target/e2e
python=$work/venv/bin/python
mkdir -p "$work"
# What runs that were killed have left behind.
find "$work" -maxdepth 1 \( -name "store-*" -o -name "making-*" \) -mmin +60 -exec rm -rf {} +
if ! cmp -s e2e/requirements.txt "$work/installed.txt" || [ ! -x "$python" ]; then
    python3 -m venv "$work/venv"
    if ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r e2e/requirements.txt; then
        echo "e2e: the SDKs cannot be installed: $(tr '\n' ' ' <e2e/requirements.txt)" >&2
        exit 1
    fi
    cp e2e/requirements.txt "$work/installed.txt"
fi
${CARGO:-cargo} build --quiet --locked -p chandler
cd e2e/python
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
case ${1-} in
    --with) shift && exec "$python" serve_and_run.py "$@" ;;
    *) exec "$python" -m unittest "$@" ;;
esac
