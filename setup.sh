#!/bin/sh
# Installs missing dependencies of the build; with `--test` also those of the tests, with `--e2e` also those of the end-to-end tests.
# Idempotent.
set -eu

need() { ! command -v "$1" >/dev/null 2>&1; }

run() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# install "what is missing" "what to do by hand" PACKAGE…
install() {
    if need apt-get; then
        echo "setup: no $1 found; install $2 and run this again" >&2
        exit 1
    fi
    shift 2
    run apt-get update -q
    run apt-get install -qy --no-install-recommends "$@"
}

if need cc || need c++; then
    install "C and C++ compiler" "gcc and g++ or clang" gcc g++ libc6-dev
fi

python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || install "Python with venv" "Python 3.11 or newer" python3 python3-venv

if need cargo; then
    echo "setup: no Rust toolchain found; install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or newer" >&2
    exit 1
fi
# With rustup, rust-toolchain.toml names release and components. rustup installs them with the first call of cargo, unless that
# is disabled; then they are installed here. Without rustup, the installed Rust is used.
if ! cargo --version >/dev/null 2>&1 && ! need rustup; then rustup toolchain install; fi
cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || rustup component add clippy

# The pages are built with Node; the executable needs none. The Node of Debian 12 is too old, that of Debian 13 is not.
NODE=20.10
# new_enough VERSION: whether it is $NODE or newer, ignoring prefixes and suffixes of packagers.
new_enough() { [ "$(printf '%s\n' "$NODE" "$1" | sed 's/^v//; s/^[0-9]*://' | sort -V | head -n 1)" = "$NODE" ]; }
no_node() {
    echo "setup: $1; install Node $NODE or newer with npm and run this again" >&2
    exit 1
}

if need node; then
    if need apt-get; then no_node "no Node found"; fi
    run apt-get update -q
    offered=$(apt-cache policy nodejs | sed -n 's/^ *Candidate: //p')
    case "$offered" in '' | '(none)') no_node "no Node found, and apt has none" ;; esac
    new_enough "$offered" || no_node "no Node found, and apt's is $offered"
    install "Node" "Node $NODE or newer" nodejs
fi
new_enough "$(node --version)" || no_node "Node $(node --version) is too old"
if need npm; then
    install "npm" "npm" npm
fi

# Statements as PDF contain Chinese text, also in tests.
has_chinese_font() {
    for font in /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc /usr/share/fonts/truetype/wqy/wqy-microhei.ttc \
        /usr/share/fonts/truetype/wqy/wqy-zenhei.ttc /usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf; do
        [ ! -f "$font" ] || return 0
    done
    return 1
}
has_chinese_font || install "font with Chinese characters" "fonts-noto-cjk or fonts-wqy-microhei" fonts-wqy-microhei

# Tests start their own PostgreSQL server: on loopback, as an ordinary user, in a temporary folder.
# CHANDLER_TEST_POSTGRES is the folder of its programs, if not Debian's.
has_postgres() {
    for initdb in "${CHANDLER_TEST_POSTGRES-}"/initdb /usr/lib/postgresql/*/bin/initdb "$(command -v initdb)"; do
        [ ! -x "$initdb" ] || return 0
    done
    return 1
}
if [ "${1-}" = --test ] || [ "${1-}" = --e2e ]; then
    if ! has_postgres; then
        # Debian's package would create a database cluster and start it at every boot. The file that disables this is part of the
        # package below.
        install "PostgreSQL" "PostgreSQL 15 or newer, and say where its initdb is in CHANDLER_TEST_POSTGRES," postgresql-common
        conf=/etc/postgresql-common/createcluster.conf
        if ! grep -q '^ *create_main_cluster' "$conf"; then echo 'create_main_cluster = false' | run tee -a "$conf" >/dev/null; fi
        install "PostgreSQL" "PostgreSQL 15 or newer" postgresql
    fi
fi

if [ "${1-}" = --e2e ]; then
    # The browser of the page tests: Chromium without its windows starts faster and uses less memory.
    # CHANDLER_E2E_CHROMIUM names another one.
    if [ -z "${CHANDLER_E2E_CHROMIUM-}" ] && [ ! -x /usr/bin/chromium-headless-shell ]; then
        install "Chromium" "Chromium, and say where it is in CHANDLER_E2E_CHROMIUM," chromium-headless-shell
    fi
    # The clock of programs in worlds. The test is left out without it.
    if [ ! -e "/usr/lib/$(uname -m)-linux-gnu/faketime/libfaketime.so.1" ]; then
        install "libfaketime" "libfaketime" libfaketime
    fi
fi
