#!/bin/sh
# Repeats the end-to-end tests on a machine whose processors are all busy with other work: tests
# that depend on the speed of the machine fail here.
#   e2e/busy.sh [ROUNDS [WORDS FOR run.sh…]]    ten rounds of everything
#   e2e/busy.sh 3 --browser dashboard.test.js   three rounds of one file
# Every round has a log, and a row in the printed table: its number, duration, result, and the names
# of the failed tests.
# LOAD is the number of processes that use the processors (default: the number of processors), LOGS
# the folder of the logs.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-10}
[ $# -eq 0 ] || shift
logs=${LOGS:-$PWD/target/e2e/busy}
load=${LOAD:-$(nproc)}
mkdir -p "$logs"
# Time limit of a round and its load.
ROUND_S=5400

# How the test runners of Python and Node report a failure.
failures() {
    sed -nE -e 's/^(FAIL|ERROR): ([^ ]+) \((.*)\)$/\3/p' -e 's/^ *✖ (.*) \([0-9.]+m?s\)$/\1/p' -e 's/^not ok [0-9]+ - //p' "$1" | sort -u
}

pids=
unload() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    pids=
}
trap unload EXIT
trap 'exit 130' INT TERM

failed=0
printf '%5s %8s  %s\n' round seconds result
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    log=$logs/round-$round.log
    for _ in $(seq "$load"); do
        timeout "$ROUND_S" sh -c 'while :; do :; done' &
        pids="$pids $!"
    done
    start=$(date +%s)
    result=passed
    timeout --kill-after=60 "$ROUND_S" ./e2e/run.sh "$@" >"$log" 2>&1 || result="FAILED ($log)"
    unload
    [ "$result" = passed ] || failed=$((failed + 1))
    printf '%5s %8s  %s\n' "$round" "$(($(date +%s) - start))" "$result"
    if [ "$result" != passed ]; then failures "$log" | sed 's/^/                  /'; fi
done
echo "$rounds rounds, $failed failed"
[ "$failed" -eq 0 ]
