#!/usr/bin/env python3
"""Answers of a store against the files it was made from, computed a second time and differently.

  python check.py CHANDLER STORE DATA

Random symbols and times for every period, and forward-adjusted days with exact fractions. Prints how many candles were
compared; a difference ends the bench.
"""
import csv
import glob
import io
import os
import subprocess
import sys
from collections import defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow.parquet as pq

PER_DAY, COUNT, ROUNDS = 390, 1000, 2
MINUTES = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240)
NEW_YORK, SHANGHAI = ZoneInfo("America/New_York"), ZoneInfo("Asia/Shanghai")
CLOCK = "2026-11-15T02:00:00Z"


def source(path, symbol=None):
    table = pq.read_table(path, filters=[("symbol", "=", symbol)] if symbol else None)
    columns = [table[name].to_numpy() for name in ("time", "open", "high", "low", "close", "volume", "turnover")]
    thousandths = lambda column: np.rint(column * 1000).astype(np.int64)
    return [columns[0], *map(thousandths, columns[1:5]), columns[5], thousandths(columns[6])]


def fold(columns, keys, end):
    """Candles of equal keys up to the bucket that holds row `end`; the last thousand."""
    last = keys[end]
    end = int(np.searchsorted(keys, last, "right"))
    rows = []
    starts = np.flatnonzero(np.diff(keys[:end], prepend=keys[0] - 1))
    for start, stop in zip(starts[-COUNT:], [*starts[1:], end][-COUNT:]):
        part = [column[start:stop] for column in columns]
        rows.append((int(part[0][0]), int(part[1][0]), int(part[2].max()), int(part[3].min()), int(part[4][-1]),
                     int(part[5].sum()), int(part[6].sum())))
    return rows


def answer(chandler, store, symbol, period, before, *more):
    command = [chandler, "--store", f"sqlite:{store}", "--clock", CLOCK, "kline", symbol, "--period", period,
               "--count", str(COUNT), "--before", before, "--format", "csv", *more]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    thousandths = lambda value: Decimal(value) * 1000
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        prices = (thousandths(row[name]) for name in ("open", "high", "low", "close"))
        at = int(datetime.fromisoformat(row["time"]).timestamp())
        rows.append((at, *prices, int(row["volume"]), thousandths(row["turnover"])))
    return rows


def minutes(chandler, store, data, random):
    compared = 0
    short = sorted(glob.glob(f"{data}/m1/*.parquet"))
    long = [f"LAA{chr(65 + n)}.US" for n in range(20)]
    for n in MINUTES:
        for _ in range(ROUNDS):
            if n < 120:
                path = str(random.choice(short))
                symbol, columns = os.path.basename(path)[:-8], source(path)
            else:
                symbol = str(random.choice(long))
                columns = source(f"{data}/long.parquet", symbol)
            rows = len(columns[0])
            # Every day is whole, so a row's number says its day and its minute of the day.
            index = np.arange(rows)
            keys = index // PER_DAY * 1000 + index % PER_DAY // n
            per_day = -(-PER_DAY // n)
            end = int(random.integers((COUNT // per_day + 1) * PER_DAY, rows))
            # The stamp of the bucket: a question names a candle by its stamp.
            stamp = int(columns[0][np.searchsorted(keys, keys[end])])
            local = datetime.fromtimestamp(stamp, NEW_YORK).strftime("%Y-%m-%d %H:%M")
            expected = fold(columns, keys, end)
            same(answer(chandler, store, symbol, f"{n}m", local), expected, f"{symbol} {n}m before {local}")
            compared += len(expected)
    return compared


def days(chandler, store, data, random):
    compared = 0
    paths = sorted(glob.glob(f"{data}/d1/*.parquet"))
    actions = defaultdict(list)
    for row in csv.DictReader(open(f"{data}/actions.csv")):
        actions[row["symbol"]].append((date.fromisoformat(row["ex_date"]), row["cash"], row["split"]))
    for _ in range(ROUNDS * 2):
        path = str(random.choice(paths))
        symbol, columns = os.path.basename(path)[:-8], source(path)
        dates = [datetime.fromtimestamp(int(at), SHANGHAI).date() for at in columns[0]]
        end = int(random.integers(COUNT, len(dates)))
        daily = fold(columns, np.arange(len(dates)), end)
        text = dates[end].isoformat()
        same(answer(chandler, store, symbol, "day", text), daily, f"{symbol} days before {text}")
        adjusted = forward(daily, dates[end - COUNT + 1:end + 1], dates, columns[4], actions[symbol])
        same(answer(chandler, store, symbol, "day", text, "--adjust", "forward"), adjusted,
             f"{symbol} adjusted days before {text}")
        mondays = [day - timedelta(days=day.weekday()) for day in dates]
        keys = np.array([day.toordinal() for day in mondays])
        weeks = fold(columns, keys, len(dates) - 1)
        # A week is stamped with its Monday, traded or not.
        stamp = lambda key: int(datetime.combine(date.fromordinal(int(key)), datetime.min.time(), SHANGHAI).timestamp())
        weeks = [(stamp(key), *week[1:]) for key, week in zip(np.unique(keys)[-COUNT:], weeks)]
        same(answer(chandler, store, symbol, "week", dates[-1].isoformat()), weeks, f"{symbol} weeks")
        compared += 3 * COUNT
    return compared


def forward(rows, row_dates, dates, closes, actions):
    factors = []
    for ex_date, cash, split in actions:
        before = Fraction(int(closes[max(i for i, day in enumerate(dates) if day < ex_date)]), 1000)
        new = Fraction(*map(int, split.split(":"))) if split else 1
        factors.append((ex_date, (before - Fraction(cash or 0)) / new / before))
    adjusted, factor, pending = [], Fraction(1), sorted(factors)
    for row, day in zip(reversed(rows), reversed(row_dates)):
        while pending and pending[-1][0] > day:
            factor *= pending.pop()[1]
        # Half away from zero; prices are above it.
        prices = (int(price * factor + Fraction(1, 2)) for price in row[1:5])
        adjusted.append((row[0], *prices, *row[5:]))
    return adjusted[::-1]


def same(found, expected, what):
    if len(found) != len(expected):
        sys.exit(f"check: {what}: {len(found)} candles, not {len(expected)}")
    for a, b in zip(found, expected):
        if tuple(a) != tuple(b):
            sys.exit(f"check: {what}: {tuple(map(str, a))} is not {b}")


def main():
    chandler, store, data = sys.argv[1:4]
    random = np.random.default_rng(7)
    print(minutes(chandler, store, data, random) + days(chandler, store, data, random))


if __name__ == "__main__":
    main()
