#!/usr/bin/env python3
"""Compares nodes on PostgreSQL with one server on SQLite, alternating: serving, cold reads, rate decisions, imports.

    python postgres.py CHANDLER BENCH DATA WORK [PART…]        parts: import nodes cold rate; all by default

PostgreSQL is a new cluster in WORK, on loopback, with Debian's durability settings, and removed at the end. `bench/run.sh postgres` installs what it needs.
"""
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from zoneinfo import ZoneInfo

import pyarrow.compute as pc
import pyarrow.parquet as pq

from before import spread
from cluster import Cluster
from measure import CLOCK, Import, fresh, machine, rows_of

PARTS = ("import", "nodes", "cold", "rate")
TURNS = 3
IMPORT_GOAL = 1 / 3
NODE_GOAL = 90
NEW_YORK = ZoneInfo("America/New_York")


def imported(chandler, cluster, data, work):
    """The same file into a folder and into an empty database, in turns."""
    rows = rows_of(f"{data}/m1_all.parquet")
    ratios, speeds = [], {"SQLite": [], "PostgreSQL": []}
    for turn in range(TURNS):
        took = {}
        for engine in sorted(speeds, reverse=bool(turn % 2)):
            store = f"sqlite:{fresh(work, 'single')}" if engine == "SQLite" else cluster.create("nodes")
            took[engine] = Import(chandler, store, f"{data}/m1_all.parquet").seconds
            speeds[engine].append(rows / took[engine] / 1e6)
        ratios.append(took["SQLite"] / took["PostgreSQL"])
    print("| import of Parquet | rows | million rows a second: median (least to most) | of SQLite | goal |\n|---|---|---|---|---|")
    for engine, values in speeds.items():
        is_ours = engine == "PostgreSQL"
        met = "met" if statistics.median(ratios) >= IMPORT_GOAL else "**missed**"
        print(f"| {engine} | {rows:,} | {spread(values)} | {spread(ratios) if is_ours else '1'} | {f'a third: {met}' if is_ours else ''} |")
    [[size]] = cluster.rows("select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace "
                            "where n.nspname like 'chandler%' and c.relkind = 'r'", "nodes")
    single = sum(entry.stat().st_size for entry in os.scandir(f"{work}/single"))
    print(f"\n{rows:,} minutes: {single / rows:.2f} bytes a candle in SQLite, {int(size) / rows:.2f} in PostgreSQL, everything included.\n", flush=True)


def appended(chandler, cluster, data, work):
    """A further day of minutes for each security: the last block of every series is written again."""
    table = pq.read_table(f"{data}/m1_all.parquet", columns=["symbol", "time"])
    symbols = table.column("symbol").unique().to_pylist()
    day = datetime.datetime.fromtimestamp(pc.max(table.column("time")).as_py(), NEW_YORK).date()
    written = []
    for _ in range(TURNS):
        day += datetime.timedelta(days=3 if day.weekday() == 4 else 1)
        opening = int(datetime.datetime(day.year, day.month, day.day, 9, 30, tzinfo=NEW_YORK).timestamp())
        with open(f"{work}/day.csv", "w") as rows:
            rows.write("symbol,time,open,high,low,close,volume\n")
            rows.writelines(f"{symbol},{opening + 60 * minute},10.{minute % 90 + 10},11,9,10.5,{1000 + minute * 7}\n"
                            for symbol in symbols for minute in range(390))
        cluster.rows("checkpoint")
        [[before]] = cluster.rows("select pg_current_wal_lsn()")
        Import(chandler, cluster.url("nodes"), f"{work}/day.csv")
        [[count]] = cluster.rows(f"select pg_wal_lsn_diff(pg_current_wal_lsn(), '{before}')")
        written.append(int(count) / len(symbols) / 1024)
    print(f"A further day of {len(symbols)} securities, 390 minutes each: {spread(written)} KB of WAL a security, right after a checkpoint.\n", flush=True)


def ready(chandler, cluster, data, work):
    """Both stores, where the import was not measured."""
    if not os.path.exists(f"{work}/single/candles.db"):
        Import(chandler, f"sqlite:{fresh(work, 'single')}", f"{data}/m1_all.parquet")
    if cluster.rows("select 1 from pg_database where datname = 'nodes'") == []:
        Import(chandler, cluster.create("nodes"), f"{data}/m1_all.parquet")
    os.sync()


def plan(chandler, cluster, work, name, servers):
    path = f"{work}/{name}.json"
    chandler = os.path.abspath(chandler)
    single = {"name": "one server on SQLite", "executable": chandler, "store": f"sqlite:{os.path.abspath(work)}/single"}
    nodes = []
    for number in range(servers):
        copy = os.path.abspath(f"{work}/copy-{number}")
        nodes.append({"name": f"node {number + 1} on PostgreSQL", "executable": chandler, "store": cluster.url("nodes"), "goal": NODE_GOAL,
                      "arguments": ["--cache", copy], "copy": copy})
    with open(path, "w") as out:
        json.dump({"questions": os.path.abspath(f"{work}/single"), "work": os.path.abspath(f"{work}/servers"), "connections": [1, 16, 256], "cache_mb": 512,
                   "servers": [single, *nodes]}, out)
    return path


def run(*command):
    subprocess.run(command, check=True)
    print(flush=True)


def main():
    chandler, bench, data, work, *parts = sys.argv[1:]
    parts = parts or list(PARTS)
    if set(parts) - set(PARTS):
        sys.exit(f"postgres.py: parts are {', '.join(PARTS)}")
    os.makedirs(work, exist_ok=True)
    # What app secrets on PostgreSQL are sealed with; a folder has its own.
    os.environ["CHANDLER_KEY_FILE"] = os.path.abspath(f"{work}/key")
    if os.path.exists(f"{work}/key"):
        os.remove(f"{work}/key")
    machine()
    began = time.time()
    port = os.environ.get("PG_PORT")
    with Cluster(f"{work}/pg", int(port) if port else None) as cluster:
        print(f"PostgreSQL {cluster.version()}, fsync on, clock of the bench {CLOCK}\n", flush=True)
        if "import" in parts:
            imported(chandler, cluster, data, work)
            appended(chandler, cluster, data, work)
        ready(chandler, cluster, data, work)
        if "nodes" in parts:
            run(bench, "turns", plan(chandler, cluster, work, "turns", 2))
            run(bench, "first", plan(chandler, cluster, work, "first", 1))
        if "cold" in parts:
            run(bench, "cold", cluster.url("nodes"), f"{work}/cold")
        if "rate" in parts:
            run(bench, "rate", cluster.url("nodes"))
    load = " / ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Load average after: {load}. {time.time() - began:.0f} s.")


if __name__ == "__main__":
    main()
