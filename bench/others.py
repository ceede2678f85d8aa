#!/usr/bin/env python3
"""Runs the queries of `peers.py` on ArcticDB (on LMDB) and on rows of PostgreSQL, with the candles of its Parquet files.

  python others.py DATA WORK     prints a table: bytes a candle, candles loaded a second, p50 of Q1 to Q4 in milliseconds

`bench/run.sh others` installs what it needs. PostgreSQL is a new cluster in WORK, without fsync, on a socket there (`cluster.py`).
Answers are compared with the Parquet files before anything is timed.
"""
import glob
import os
import shutil
import sys
import time

import arcticdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from cluster import USER, Cluster
from peers import BUCKET, COUNT, KIND, NAMES, QUESTIONS, RUNS, Files, check, choices, fold

PRICES = ("open", "high", "low", "close", "turnover")
# The maximum number of rows that peers read to derive a thousand longer candles: an hour of minutes, a week of days.
ROWS = {"Q1": COUNT, "Q2": COUNT, "Q3": (COUNT + 1) * 60, "Q4": (COUNT + 1) * 7}


def series(data):
    """Kind, symbol and columns of each file; prices in thousandths become floats, as the others have them."""
    for kind in ("m1", "d1"):
        for path in sorted(glob.glob(f"{data}/peer/{kind}/*.parquet")):
            table = pq.read_table(path)
            columns = {name: table.column(i).to_numpy() for i, name in enumerate(NAMES)}
            for name in PRICES:
                columns[name] = columns[name] / 1000
            yield kind, os.path.basename(path)[:-8], columns


def folder_bytes(folder):
    """Allocated bytes: the file of LMDB is sparse."""
    return sum(os.stat(os.path.join(base, name)).st_blocks * 512 for base, _, names in os.walk(folder) for name in names)


class Arctic:
    name = f"ArcticDB {arcticdb.__version__}"

    def __init__(self, data, work):
        import pandas
        self.pandas = pandas
        folder = f"{work}/arctic"
        shutil.rmtree(folder, ignore_errors=True)
        client = arcticdb.Arctic(f"lmdb://{folder}?map_size=8GB")
        self.libraries = {kind: client.create_library(kind) for kind in ("m1", "d1")}
        self.rows, self.seconds = 0, 0.0
        for kind, symbol, columns in series(data):
            frame = pandas.DataFrame({name: columns[name] for name in NAMES[1:]},
                                     index=pandas.to_datetime(columns["time"], unit="s"))
            began = time.perf_counter()
            self.libraries[kind].write(symbol, frame)
            self.seconds += time.perf_counter() - began
            self.rows += len(frame)
        self.bytes = folder_bytes(folder)

    def ask(self, question, symbol, until):
        library = self.libraries[KIND[question]]
        # Enough days for a thousand candles, nights and holidays included.
        days = {"Q1": 10, "Q2": 1600, "Q3": 330, "Q4": 8000}[question]
        end = self.pandas.Timestamp(until, unit="s")
        frame = library.read(symbol, date_range=(end - self.pandas.Timedelta(days=days), end)).data
        times = frame.index.to_numpy().astype("datetime64[s]").astype(np.int64)
        columns = [times, *(frame[name].to_numpy() for name in NAMES[1:])]
        return fold(columns, BUCKET[question]) if question in BUCKET else [column[-COUNT:] for column in columns]


class Postgres:
    """Rows with the primary key of symbol and time, as one would begin."""

    def __init__(self, data, cluster):
        self.db = psycopg.connect(host=cluster.folder, port=cluster.port, user=USER, dbname="postgres", autocommit=True)
        self.name = f"PostgreSQL {self.db.info.server_version // 10000} rows"
        self.load(data)

    def load(self, data):
        kinds = "text, bigint, " + ", ".join(["double precision"] * 4) + ", bigint, double precision"
        columns = ", ".join(f"{name} {kind} not null" for name, kind in zip(("symbol", *NAMES), kinds.split(", ")))
        for kind in ("m1", "d1"):
            self.db.execute(f"create table {kind} ({columns}, primary key (symbol, time))")
        self.rows, self.seconds = 0, 0.0
        for kind, symbol, values in series(data):
            rows = len(values["time"])
            table = pa.table({"symbol": [symbol] * rows, **values})
            began = time.perf_counter()
            text = pa.BufferOutputStream()
            pc.write_csv(table, text, pc.WriteOptions(include_header=False))
            with self.db.cursor().copy(f"copy {kind} from stdin (format csv)") as copy:
                copy.write(text.getvalue().to_pybytes())
            self.seconds += time.perf_counter() - began
            self.rows += rows
        self.db.execute("vacuum analyze")
        self.bytes = self.db.execute("select sum(pg_total_relation_size(t)) from unnest(array['m1', 'd1']::regclass[]) t").fetchone()[0]

    def ask(self, question, symbol, until):
        text = (f"select {', '.join(NAMES)} from {KIND[question]} where symbol = %s and time <= %s "
                f"order by time desc limit {ROWS[question]}")
        rows = self.db.execute(text, (symbol, until), prepare=True, binary=True).fetchall()
        columns = [np.array(column)[::-1] for column in zip(*rows)]
        return fold(columns, BUCKET[question]) if question in BUCKET else columns

def timed(peers, data):
    """The best p50 of the runs, in milliseconds, by peer and question."""
    random = np.random.default_rng(42)
    picks = {question: choices(data, question, random) for question in KIND}
    best = {}
    for question, pick in picks.items():
        for peer in peers:
            check((Files(data), peer), pick, question)
    for _ in range(RUNS):
        for question, pick in picks.items():
            for peer in peers:
                times = []
                for _ in range(QUESTIONS):
                    symbol, until = pick()
                    began = time.perf_counter()
                    peer.ask(question, symbol, until)
                    times.append((time.perf_counter() - began) * 1e3)
                key = (peer.name, question)
                best[key] = min(best.get(key, np.inf), np.percentile(times, 50))
    return best


def main():
    data, work = sys.argv[1:3]
    os.makedirs(work, exist_ok=True)
    with Cluster(f"{work}/postgres", durable=False) as cluster:
        peers = (Arctic(data, work), Postgres(data, cluster))
        best = timed(peers, data)
        peers[1].db.close()
    print("| 1000 candles, p50 ms, columns in Python | candles | bytes a candle | million loaded a second | Q1: 1m | Q2: daily | Q3: 60m | Q4: weekly |")
    print("|---|---|---|---|---|---|---|---|")
    for peer in peers:
        times = " | ".join(f"{best[peer.name, question]:.2f}" for question in KIND)
        print(f"| {peer.name} | {peer.rows:,} | {peer.bytes / peer.rows:.1f} | {peer.rows / peer.seconds / 1e6:.2f} | {times} |")


if __name__ == "__main__":
    main()
