"""Single trades: the speed of their import, their size on disk, and the time of capital distribution over a day of 100,000 of them.

python bench/trades.py CHANDLER WORK
"""

import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLOCK = "2026-11-13T17:00:00+08:00"
SYMBOLS = ["700.HK", "5.HK", "9988.HK"]
DAYS, TRADES = 21, 100_000
RUNS, QUESTIONS = 3, 200
IMPORT_TARGET, BYTES_TARGET, ANSWER_TARGET_MS = 1.5e6, 6.0, 5.0


def trading_days():
    """The last weekdays; none of them is a holiday in Hong Kong."""
    day, days = datetime.date(2026, 11, 13), []
    while len(days) < DAYS:
        if day.weekday() < 5 and day != datetime.date(2026, 10, 19):
            days.append(day)
        day -= datetime.timedelta(days=1)
    return days[::-1]


def day_of(random, symbol, day):
    """A busy day: trades spread over both halves of it, prices in ticks, lots with few large ones, one in thirty an odd lot."""
    zone = datetime.timezone(datetime.timedelta(hours=8))
    midnight = int(datetime.datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())
    seconds = np.sort(random.integers(0, 19_799, TRADES))
    times = midnight + np.where(seconds < 9000, 34_200 + seconds, 46_800 + seconds - 9000)
    prices = (12_000 + np.cumsum(random.integers(-1, 2, TRADES))).clip(1000) * 0.05
    lots = np.where(random.random(TRADES) < 0.05, random.integers(1, 400, TRADES), random.integers(1, 8, TRADES))
    odd = random.random(TRADES) < 1 / 30
    return pa.table({
        "symbol": pa.array([symbol] * TRADES).dictionary_encode().cast(pa.string()),
        "time": pa.array(times, pa.int64()),
        "price": pa.array(np.round(prices, 2)),
        "volume": pa.array(np.where(odd, random.integers(1, 100, TRADES), lots * 100), pa.int64()),
        "direction": pa.array(random.integers(0, 3, TRADES), pa.int32()),
        "type": pa.array(np.where(odd, "D", "")),
    })


def made(work):
    path = f"{work}/trades.parquet"
    if not os.path.exists(path):
        random = np.random.default_rng(7)
        tables = [day_of(random, symbol, day) for symbol in SYMBOLS for day in trading_days()]
        pq.write_table(pa.concat_tables(tables), path + ".part")
        os.rename(path + ".part", path)
    return path


def run(chandler, store, *words):
    command = [chandler, "--store", f"sqlite:{store}", "--clock", CLOCK, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def imported(chandler, work, path):
    best = None
    for _ in range(RUNS):
        store = f"{work}/store"
        shutil.rmtree(store, ignore_errors=True)
        began = time.time()
        run(chandler, store, "import", path)
        best = min(best or 1e9, time.time() - began)
    return store, best


def query_times(chandler, store):
    """Milliseconds of a query over HTTP on this machine; responses are not cached."""
    token = json.loads(run(chandler, store, "account", "create", "bench", "--rate", "unlimited", "--format", "json"))["access_token"]
    command = [chandler, "--store", f"sqlite:{store}", "--clock", CLOCK, "serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = f"http://{json.loads(server.stdout.readline())['http']}"
        took = {}
        for name in ("trades", "capital-flow", "capital-distribution"):
            request = urllib.request.Request(f"{address}/v1/quote/{name}?symbol=700.HK", headers={"authorization": f"Bearer {token}"})
            took[name] = []
            for _ in range(QUESTIONS):
                began = time.perf_counter()
                with urllib.request.urlopen(request, timeout=20) as answer:
                    answer.read()
                took[name].append((time.perf_counter() - began) * 1000)
        return took
    finally:
        server.terminate()
        server.wait()


def verdict(met):
    return "met" if met else "**missed**"


def main():
    chandler, work = sys.argv[1:3]
    os.makedirs(work, exist_ok=True)
    path = made(work)
    rows = pq.ParquetFile(path).metadata.num_rows
    store, seconds = imported(chandler, work, path)
    size = os.path.getsize(f"{store}/candles.db")
    print("| single trades | | target | |\n|---|---|---|---|")
    print(f"| import of {rows:,} from Parquet, rows a second | {rows / seconds / 1e6:.2f} M | 1.5 M | {verdict(rows / seconds >= IMPORT_TARGET)} |")
    print(f"| bytes a trade on the disk, everything included | {size / rows:.2f} | {BYTES_TARGET:.0f} | {verdict(size / rows <= BYTES_TARGET)} |")
    for name, took in query_times(chandler, store).items():
        p50 = statistics.median(took)
        target = ANSWER_TARGET_MS if name == "capital-distribution" else None
        print(f"| {name} of a day of {TRADES:,}, p50 over HTTP, ms | {p50:.2f} | {target or ''} | {verdict(p50 <= target) if target else ''} |")


if __name__ == "__main__":
    main()
