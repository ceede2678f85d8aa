#!/bin/sh
# Fuzzes every target for the given number of seconds. Installs cargo-fuzz under target/ on first use.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-20}
tools=$PWD/target/tools
[ -x "$tools/bin/cargo-fuzz" ] || CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --debug --locked --version 0.13.2 --root "$tools" cargo-fuzz
PATH=$tools/bin:$PATH
export PATH
# The sanitizer flags are unstable; this lets the stable compiler take them.
export RUSTC_BOOTSTRAP=1
cargo fuzz build --release

# As many targets at a time as there are processors. New inputs go to corpus, which is not committed; seeds are.
logs=$PWD/target/fuzz
mkdir -p "$logs"
fuzz() {
    target=$1
    mkdir -p "fuzz/corpus/$target"
    set -- "fuzz/corpus/$target"
    [ ! -d "fuzz/seeds/$target" ] || set -- "$@" "fuzz/seeds/$target"
    cargo fuzz run --release "$target" "$@" -- \
        -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=5 -print_final_stats=0 >"$logs/$target.log" 2>&1
}

failed=0
running=
finish() {
    for one in $running; do
        if wait "${one#*:}"; then
            echo "fuzz: ${one%:*}: $(tail -n 1 "$logs/${one%:*}.log")"
        else
            cat "$logs/${one%:*}.log"
            echo "fuzz: ${one%:*} FAILED" >&2
            failed=1
        fi
    done
    running=
}
processors=$(nproc)
count=0
for target in block text packet frame order; do
    fuzz "$target" &
    running="$running $target:$!"
    count=$((count + 1))
    if [ $((count % processors)) -eq 0 ]; then finish; fi
done
finish
exit "$failed"
