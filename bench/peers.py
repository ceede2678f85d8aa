#!/usr/bin/env python3
"""The same questions to DuckDB and to Parquet files read with pyarrow.

  python peers.py DATA WORK     prints tab-separated lines: peer, question, p50 p90 p99 worst p50 (us); and sizes

Q1 1000 one-minute candles before a random T, Q2 1000 daily, Q3 1000 60-minute from one-minute, Q4 1000 weekly from
daily. The peers stop at columns: nothing is rounded, adjusted or encoded. Best of three runs, which lie apart.
"""
import glob
import os
import sys
import time

import duckdb
import numpy as np
import pyarrow.parquet as pq

COUNT, RUNS, QUESTIONS = 1000, 3, 60
NAMES = ("time", "open", "high", "low", "close", "volume", "turnover")
# Regular US hours begin at half past in either half of the year, in UTC too; Chinese weeks begin on Mondays at +08:00.
BUCKET = {"Q3": lambda t: (t - 1800) // 3600, "Q4": lambda t: ((t + 28800) // 86400 + 3) // 7}
BUCKET_SQL = {"Q3": "(time - 1800) // 3600", "Q4": "((time + 28800) // 86400 + 3) // 7"}
KIND = {"Q1": "m1", "Q2": "d1", "Q3": "m1", "Q4": "d1"}


def fold(columns, bucket):
    key = bucket(columns[0])
    starts = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
    time_, open_, high, low, close, volume, turnover = columns
    ends = np.append(starts[1:], len(key)) - 1
    folded = (time_[starts], open_[starts], np.maximum.reduceat(high, starts), np.minimum.reduceat(low, starts),
              close[ends], np.add.reduceat(volume, starts), np.add.reduceat(turnover, starts))
    return [column[-COUNT:] for column in folded]


class Files:
    """A file a symbol in the form that suits the questions: integers, small row groups, delta encoding, zstd."""

    name = "Parquet, pyarrow"

    def __init__(self, data):
        self.data = data

    def ask(self, question, symbol, until):
        file = pq.ParquetFile(f"{self.data}/peer/{KIND[question]}/{symbol}.parquet", memory_map=True)
        rows = COUNT if question in ("Q1", "Q2") else None
        groups = []
        for group in reversed(range(file.num_row_groups)):
            meta = file.metadata.row_group(group)
            if meta.column(0).statistics.min > until:
                continue
            groups.insert(0, group)
            # The group that reaches across T counts for nothing; enough whole ones before it end the search.
            if rows is not None and meta.column(0).statistics.max <= until:
                rows -= meta.num_rows
                if rows <= 0:
                    break
        table = file.read_row_groups(groups, use_threads=False)
        columns = [table.column(i).to_numpy() for i in range(7)]
        end = int(np.searchsorted(columns[0], until, "right"))
        if question in BUCKET:
            return fold([column[:end] for column in columns], BUCKET[question])
        return [column[end - COUNT:end] for column in columns]


class Duck:
    name = "DuckDB table"

    def __init__(self, data, work):
        path = f"{work}/peer.duckdb"
        for old in glob.glob(path + "*"):
            os.remove(old)
        self.db = duckdb.connect(path)
        self.db.execute("set threads = 2")
        began, rows = time.time(), 0
        for kind in ("m1", "d1"):
            source = f"read_parquet('{data}/{kind}_all.parquet')"
            self.db.execute(f"create table {kind} as select * from {source} order by symbol, time")
            rows += self.db.execute(f"select count(*) from {kind}").fetchone()[0]
        self.db.execute("checkpoint")
        self.rows, self.seconds, self.bytes = rows, time.time() - began, os.path.getsize(path)

    def ask(self, question, symbol, until):
        kind, names = KIND[question], ", ".join(NAMES)
        where = f"from {kind} where symbol = ? and time <= ?"
        if question in BUCKET:
            text = (f"select min(time), arg_min(open, time), max(high), min(low), arg_max(close, time), sum(volume), "
                    f"sum(turnover) {where} group by {BUCKET_SQL[question]} order by 1 desc limit {COUNT}")
        else:
            text = f"select {names} {where} order by time desc limit {COUNT}"
        answer = self.db.execute(text, [symbol, int(until)]).fetchnumpy()
        return [np.asarray(column)[::-1] for column in answer.values()]


def choices(data, question, random):
    kind = KIND[question]
    symbols = sorted(os.path.basename(path)[:-8] for path in glob.glob(f"{data}/peer/{kind}/*.parquet"))
    times = pq.read_table(f"{data}/peer/{kind}/{symbols[0]}.parquet", columns=["time"])["time"].to_numpy()
    if question in BUCKET:
        key = BUCKET[question](times)
        starts = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
        times = times[starts[COUNT]:]
    else:
        times = times[COUNT - 1:]
    return lambda: (str(random.choice(symbols)), int(random.choice(times)))


def check(peers, pick, question):
    """Both peers agree, or neither is timed."""
    symbol, until = pick()
    a, b = (peer.ask(question, symbol, until) for peer in peers)
    scale = (1, 1000, 1000, 1000, 1000, 1, 1000)
    for left, right, factor in zip(a, b, scale):
        assert len(left) == COUNT and len(right) == COUNT, (question, symbol, until, len(left), len(right))
        assert np.allclose(left / factor, right.astype(float), rtol=1e-12), (question, symbol, until)


def main():
    data, work = sys.argv[1:3]
    duck, files = Duck(data, work), Files(data)
    print(f"size\t{duck.name}\t{duck.rows}\t{duck.bytes}\t{duck.seconds:.2f}")
    for kind in ("m1", "d1"):
        paths = glob.glob(f"{data}/peer/{kind}/*.parquet")
        rows = sum(pq.ParquetFile(path).metadata.num_rows for path in paths)
        print(f"size\t{files.name} {kind}\t{rows}\t{sum(map(os.path.getsize, paths))}\t0")
    random = np.random.default_rng(42)
    picks = {question: choices(data, question, random) for question in KIND}
    runs = {}
    for question, pick in picks.items():
        check((files, duck), pick, question)
    for _ in range(RUNS):
        for question, pick in picks.items():
            for peer in (files, duck):
                times = []
                for _ in range(QUESTIONS):
                    symbol, until = pick()
                    began = time.perf_counter()
                    peer.ask(question, symbol, until)
                    times.append((time.perf_counter() - began) * 1e6)
                runs.setdefault((peer.name, question), []).append(np.percentile(times, [50, 90, 99]))
    for (peer, question), results in runs.items():
        best = min(results, key=lambda result: result[0])
        worst = max(result[0] for result in results)
        print(f"time\t{peer}\t{question}\t" + "\t".join(f"{value:.1f}" for value in (*best, worst)))


if __name__ == "__main__":
    main()
