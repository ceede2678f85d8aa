#!/usr/bin/env python3
"""Compares two executables on SQLite, alternating: has a change made anything slower?

    python before.py BEFORE AFTER BENCH DATA WORK

Each imports its own stores, because a newer one may migrate a store. The result is the median of the ratios of adjacent turns.
"""
import json
import os
import statistics
import subprocess
import sys

from measure import Import, fresh, machine, rows_of

TURNS = 5
CONNECTIONS = (1, 16, 256)
# Beyond this ratio the change is reported as slower; turns of the same executable differ by as much.
SLOWER = 1.03


def imports(executables, data, work):
    """One import of each in turn, every other time in the opposite order, into a fresh store; the last stores stay."""
    print("| import | rows | before, rows/s | after | after against before, wall: median (least to most) | processor time | |")
    print("|---|---|---|---|---|---|---|")
    files = (("Parquet, minutes", "m1_all.parquet"), ("CSV, minutes", "m1.csv"), ("Parquet, days", "d1_all.parquet"))
    for name, file in files:
        done = {which: [] for which in executables}
        for turn in range(TURNS):
            for which in sorted(executables, reverse=bool(turn % 2)):
                store = fresh(work, f"{which}-{file}")
                done[which].append(Import(executables[which], store, f"{data}/{file}"))
        rows = rows_of(f"{data}/{file}") if file.endswith(".parquet") else lines_of(f"{data}/{file}")
        speed = {which: rows / statistics.median(one.seconds for one in of) / 1e6 for which, of in done.items()}
        wall, processor = ([getattr(after, what) / getattr(before, what) for before, after in zip(done["before"], done["after"])]
                           for what in ("seconds", "cpu"))
        print(f"| {name} | {rows:,} | {speed['before']:.2f} M | {speed['after']:.2f} M | {spread(wall)} | {spread(processor)} | "
              f"{verdict(statistics.median(processor))} |", flush=True)
    # Days and minutes, as in a typical store.
    for which, executable in executables.items():
        Import(executable, f"{work}/{which}-m1_all.parquet", f"{data}/d1_all.parquet")
    os.sync()


def lines_of(path):
    with open(path, "rb") as lines:
        return sum(block.count(b"\n") for block in iter(lambda: lines.read(1 << 22), b"")) - 1


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def verdict(ratio):
    return "not slower" if ratio <= SLOWER else "**slower**"


def plan(executables, work, cache_mb):
    path = f"{work}/plan-{cache_mb}.json"
    stores = {which: os.path.abspath(f"{work}/{which}-m1_all.parquet") for which in executables}
    servers = [{"name": f"{which}, {f'{cache_mb} MB' if cache_mb else 'nothing'} cached", "executable": os.path.abspath(executable), "store": f"sqlite:{stores[which]}",
                "goal": round(100 / SLOWER) if which == "after" else None} for which, executable in executables.items()]
    with open(path, "w") as out:
        json.dump({"questions": stores["after"], "work": os.path.abspath(f"{work}/servers"), "connections": list(CONNECTIONS) if cache_mb else [16],
                   "cache_mb": cache_mb, "servers": servers}, out)
    return path


def main():
    before, after, bench, data, work = sys.argv[1:6]
    os.makedirs(work, exist_ok=True)
    executables = {"before": before, "after": after}
    machine()
    imports(executables, data, work)
    print()
    for cache_mb in (512, 0):
        subprocess.run([bench, "turns", plan(executables, work, cache_mb)], check=True)
        print(flush=True)
    subprocess.run([bench, "first", plan(executables, work, 512)], check=True)


if __name__ == "__main__":
    main()
