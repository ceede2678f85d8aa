"""Processor time (user and system) of single commands, each a separate process: medians of many alternating runs.

The demo market is made once. `--version` is the base cost of a process of this size; the chart is given as a multiple of it."""

import os
import statistics
import subprocess
import sys

RUNS = int(os.environ.get("RUNS", "40"))
TARGET_MS = 50
# Wide enough for 200 candles and their prices.
SCREEN = {"COLUMNS": "220", "LINES": "50", "TERM": "xterm-256color", "CLICOLOR_FORCE": "1"}


def cost(command, environment):
    """Milliseconds of processor time of one process."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def main():
    binary, store = sys.argv[1], f"sqlite:{sys.argv[2]}"
    chandler = [binary, "--store", store]
    subprocess.run([*chandler, "demo", "--format", "json"], check=True, stdout=subprocess.DEVNULL)
    chart = ["--format", "chart", "-n", "200"]
    questions = {
        "--version": [binary, "--version"],
        "table of 10 days": [*chandler, "kline", "9001.HK"],
        "chart of 200 days": [*chandler, "kline", "9001.HK", *chart],
        "chart of 200 adjusted weeks": [*chandler, "kline", "9001.HK", "-p", "week", "--adjust", "forward", *chart],
        "chart of 200 minutes, all sessions": [*chandler, "kline", "CNDL.US", "-p", "1m", "--session", "all", *chart],
    }
    environment = {**os.environ, **SCREEN}
    found = {name: [] for name in questions}
    # Alternating, so that other load of the machine affects all alike.
    for _ in range(RUNS):
        for name, command in questions.items():
            found[name].append(cost(command, environment))
    least = statistics.median(found["--version"])
    print(f"{'command':36}{'median ms':>10}{'worst ms':>10}{'x --version':>13}{'target ms':>11}")
    for name, times in found.items():
        median = statistics.median(times)
        target = TARGET_MS if name.startswith("chart") else ""
        print(f"{name:36}{median:>10.1f}{max(times):>10.1f}{median / least:>13.1f}{target:>11}")


main()
