#!/usr/bin/env python3
"""Runs the bench on prepared data and prints its table.

  python measure.py CHANDLER BENCH DATA WORK

Imports are timed from outside, with processor time and peak memory of the process and the wall time: on a
shared machine only the processor time is comparable.
"""
import glob
import os
import platform
import shutil
import subprocess
import sys
import threading
import time

import pyarrow.parquet as pq

CLOCK = "2026-11-15T02:00:00Z"
# Microseconds for a thousand candles.
TARGETS = {"1m": 120, "day": 120, "60m": 200, "week": 400, "day forward": 200}
TARGET_OTHER = 2000
# Runs of the two imports that have a target; the quickest counts.
IMPORTS = 3


class Import:
    """One `chandler import`, measured."""

    def __init__(self, chandler, store, *files):
        # A plain folder is one of SQLite.
        place = store if ":" in store else f"sqlite:{store}"
        command = [chandler, "--store", place, "--clock", CLOCK, "import", *files]
        began = time.time()
        self.anonymous = 0
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        watch = threading.Thread(target=self.watch, args=(process.pid,))
        watch.start()
        self.text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.seconds = time.time() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.join()
        if process.returncode != 0:
            sys.exit(f"import of {files} failed:\n{self.text}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss / 1024

    def watch(self, pid):
        """The resident set counts the mapped database file; what the process holds itself is counted apart."""
        while True:
            try:
                with open(f"/proc/{pid}/status") as lines:
                    held = [int(line.split()[1]) for line in lines if line.startswith("RssAnon")]
            except (OSError, IndexError):
                return
            if not held:
                return
            self.anonymous = max(self.anonymous, held[0] / 1024)
            time.sleep(0.02)


def rows_of(*paths):
    return sum(pq.ParquetFile(path).metadata.num_rows for path in paths)


def size_of(directory):
    return sum(os.path.getsize(path) for path in glob.glob(f"{directory}/*"))


def cpu_name():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def stolen():
    """Stolen processor time (taken by the host for others), and total processor time, in ticks."""
    with open("/proc/stat") as lines:
        ticks = [int(value) for value in next(lines).split()[1:9]]
    return ticks[7], sum(ticks)


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = " / ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} x {cpu_name()}, {memory:.0f} GB, Linux {platform.release()}; load average before: {load}\n")


def fresh(work, name):
    path = f"{work}/{name}"
    shutil.rmtree(path, ignore_errors=True)
    return path


def verdict(value, target, more_is_better=False):
    return "met" if (value >= target if more_is_better else value <= target) else "**missed**"


def imports(chandler, data, work):
    print("| import | rows | wall s | rows/s | processor s per million rows | memory MB (own) | target rows/s | |")
    print("|---|---|---|---|---|---|---|---|")

    def line(name, done, rows, target):
        rate = rows / done.seconds
        outcome = verdict(rate, target, True) if target else ""
        memory = f"{done.memory:.0f} ({done.anonymous:.0f})"
        print(f"| {name} | {rows:,} | {done.seconds:.1f} | {rate / 1e6:.2f} M | {done.cpu / rows * 1e6:.2f} | {memory} | "
              f"{target / 1e6 if target else ''}{' M' if target else ''} | {outcome} |", flush=True)

    def best(name, files):
        """The quickest of a few imports into a fresh store: others use the machine too."""
        done = []
        for _ in range(IMPORTS):
            store = fresh(work, name)
            done.append(Import(chandler, store, files))
        return store, min(done, key=lambda one: one.seconds)

    minutes = rows_of(f"{data}/m1_all.parquet")
    store, done = best("store", f"{data}/m1_all.parquet")
    line("Parquet, one file", done, minutes, 2.2e6)
    sizes = {"1-minute": (minutes, size_of(store), 6.5)}
    other, done = best("other", f"{data}/m1")
    line("Parquet, a file a symbol", done, minutes, 2.2e6)
    other = fresh(work, "other")
    with open(f"{data}/m1.csv", "rb") as lines:
        csv_rows = sum(block.count(b"\n") for block in iter(lambda: lines.read(1 << 22), b"")) - 1
    line("CSV, one file", Import(chandler, other, f"{data}/m1.csv"), csv_rows, 0.8e6)
    other = fresh(work, "other")
    hard = rows_of(f"{data}/hard.parquet")
    line("Parquet, harder walk", Import(chandler, other, f"{data}/hard.parquet"), hard, None)
    sizes["1-minute, harder walk"] = (hard, size_of(other), 9.0)
    shutil.rmtree(other)
    before, days = size_of(store), rows_of(f"{data}/d1_all.parquet")
    line("Parquet, daily", Import(chandler, store, f"{data}/d1_all.parquet"), days, None)
    sizes["daily"] = (days, size_of(store) - before, None)
    line("Parquet, 700 days of minutes", Import(chandler, store, f"{data}/long.parquet"), rows_of(f"{data}/long.parquet"), None)
    Import(chandler, store, f"{data}/actions.csv")
    return store, sizes


def print_sizes(sizes, peers):
    print("\n| on disk | candles | bytes a candle, everything included | target | |")
    print("|---|---|---|---|---|")
    for name, (rows, size, target) in sizes.items():
        outcome = verdict(size / rows, target) if target else ""
        print(f"| {name} | {rows:,} | {size / rows:.2f} | {target or ''} | {outcome} |")
    for name, rows, size in peers:
        print(f"| peer: {name} | {rows:,} | {size / rows:.2f} | | |")


def print_queries(lines):
    print("\n| 1000 candles, in process, encoded | p50 us | p90 | p99 | worst p50 of 9 | bytes | target p50 | |")
    print("|---|---|---|---|---|---|---|---|")
    for name, p50, p90, p99, worst, size in lines:
        target = TARGETS.get(name, TARGET_OTHER)
        numbers = " | ".join(f"{float(value):.0f}" for value in (p50, p90, p99, worst))
        print(f"| {name} | {numbers} | {int(size):,} | {target} | {verdict(float(p50), target)} |")


def print_peers(ours, theirs):
    print("\n| p50 us of 1000 candles | Q1: 1m | Q2: daily | Q3: 60m | Q4: weekly |")
    print("|---|---|---|---|---|")
    mine = {"Q1": "1m", "Q2": "day", "Q3": "60m", "Q4": "week"}
    cells = [f"{float(ours[mine[question]]):.0f}" for question in mine]
    print("| chandler, encoded answer | " + " | ".join(cells) + " |")
    rows = theirs.get("SQLite rows, Rust", {})
    parts = [f"{float(ours[mine[q]]) / rows[q]:.2f}" if q in rows else "" for q in mine]
    print("| the same as a part of SQLite rows' time | " + " | ".join(parts) + " |")
    for peer, answers in theirs.items():
        print(f"| {peer}, columns only | " + " | ".join(f"{answers[q]:.0f}" if q in answers else "" for q in mine) + " |")


def tab_lines(*command):
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in text.splitlines()]


def main():
    chandler, bench, data, work = sys.argv[1:5]
    os.makedirs(work, exist_ok=True)
    began, (steal, ticks) = time.time(), stolen()
    machine()
    store, sizes = imports(chandler, data, work)
    here = os.path.dirname(os.path.abspath(__file__))
    # Otherwise the first queries would wait for the writes of the import.
    os.sync()
    compared = subprocess.run([sys.executable, f"{here}/check.py", chandler, store, data], capture_output=True, text=True)
    if compared.returncode != 0:
        sys.exit(compared.stderr)
    ours = tab_lines(bench, "query", store)
    theirs, peer_sizes = {}, []
    for line in tab_lines(bench, "rows", f"{work}/rows.db", f"{data}/rows.bin"):
        if line[0] == "load":
            peer_sizes.append((f"SQLite rows (loaded at {int(line[1]) / float(line[2]) / 1e6:.2f} M rows/s)", int(line[1]), int(line[3])))
        else:
            theirs.setdefault("SQLite rows, Rust", {})[line[0]] = float(line[1])
    os.remove(f"{work}/rows.db")
    for line in tab_lines(sys.executable, f"{here}/peers.py", data, work):
        if line[0] == "size":
            rate = f" (loaded at {int(line[2]) / float(line[4]) / 1e6:.2f} M rows/s)" if float(line[4]) else ""
            peer_sizes.append((line[1] + rate, int(line[2]), int(line[3])))
        else:
            theirs.setdefault(line[1], {})[line[2]] = float(line[3])
    for old in glob.glob(f"{work}/peer.duckdb*"):
        os.remove(old)
    print_sizes(sizes, peer_sizes)
    print_queries(ours)
    print_peers({line[0]: line[1] for line in ours}, theirs)
    print()
    print(subprocess.run([bench, "serve", chandler, store], check=True, capture_output=True, text=True).stdout)
    load = " / ".join(f"{value:.1f}" for value in os.getloadavg())
    steal, ticks = (after - before for after, before in zip(stolen(), (steal, ticks)))
    print(f"\nThe host took {100 * steal / ticks:.0f} % of the processors' time for others.")
    print(f"{int(compared.stdout):,} candles of answers compared with the source files: all equal. "
          f"p50 is the best of nine runs. Load average after: {load}. {time.time() - began:.0f} s.")


if __name__ == "__main__":
    main()
