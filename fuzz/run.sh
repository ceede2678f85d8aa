#!/bin/sh
# Fuzzes every target for so many seconds each. Installs cargo-fuzz under target/ on first use.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-20}
tools=$PWD/target/tools
[ -x "$tools/bin/cargo-fuzz" ] || CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --debug --locked --version 0.13.2 --root "$tools" cargo-fuzz
PATH=$tools/bin:$PATH
export PATH
# The sanitizer flags are unstable; this lets the stable compiler take them.
export RUSTC_BOOTSTRAP=1
for target in block text packet frame order; do
    # What is found goes to corpus, which is not committed; seeds are.
    mkdir -p "fuzz/corpus/$target"
    set -- "fuzz/corpus/$target"
    [ ! -d "fuzz/seeds/$target" ] || set -- "$@" "fuzz/seeds/$target"
    cargo fuzz run --release "$target" "$@" -- \
        -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=5 -print_final_stats=0
done
