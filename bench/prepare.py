#!/usr/bin/env python3
"""Makes the bench's files, deterministically.

  python prepare.py OUT [--symbols 500] [--daily-symbols 2000]

The walks come from the module that the environment variable GEN names (default ../shared/bench/gen.py beside the
repository), with its seeds; where that file is absent, a walk of the same shape is made here. Its candles are re-dated
day by day onto real trading days, so that an importer with a calendar accepts them:

  OUT/m1_all.parquet        AAAA.US ...: 1-minute candles, 250 full US trading days x 390 from 2025-01-06
  OUT/m1/SYMBOL.parquet     the same, a file a symbol
  OUT/m1.csv                the same, the first symbols only
  OUT/hard.parquet          HAAA.US ...: the harder walk: 30 % of the minutes missing, opens off the previous close,
                            irregular volume, skewed vwap, 2 to 4 decimals
  OUT/long.parquet          LAAA.US ...: 700 days from the first that US minutes are served for, because a thousand
                            240-minute candles take two years
  OUT/d1_all.parquet        600000.SH ...: 5200 daily candles on the mainland's trading days to the end of 2025
  OUT/d1/SYMBOL.parquet     the same, a file a symbol
  OUT/actions.csv           quarterly dividends and some splits for the daily symbols
  OUT/peer/m1, OUT/peer/d1  the first symbols in the Parquet form that suits that peer best
  OUT/rows.bin              the first symbols as raw integers, for the row-table peer

Columns: symbol (dictionary of utf8), time (int64, Unix seconds), open, high, low, close (float64), volume (int64),
turnover (float64). Compression and encodings are pyarrow's defaults: that is what people have.
"""
import argparse
import datetime
import importlib.util
import os
import time
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
CALENDARS = os.path.join(HERE, "..", "crates", "market", "calendars")
SEED = 20260101
PER_DAY = 390
M1_DAYS, LONG_DAYS, D1_DAYS = 250, 700, 5200
HARD_SYMBOLS, LONG_SYMBOLS, CSV_SYMBOLS, ROW_SYMBOLS, ROW_DAILY = 40, 20, 40, 100, 200
GROUP_ROWS = 1 << 20


# --- walks -----------------------------------------------------------------------------------------------------------


def gen_module():
    path = os.environ.get("GEN", os.path.join(HERE, "..", "..", "shared", "bench", "gen.py"))
    if not os.path.exists(path):
        return None
    spec = importlib.util.spec_from_file_location("gen", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def own_walk(rng, n, minute):
    """Thousandths of the currency: open, high, low, close, volume, turnover of one symbol."""
    decimals_2 = rng.random() < 0.6
    tick = 10 if decimals_2 else int(rng.choice([1, 5, 10, 20, 50]))
    lot = 1 if decimals_2 else int(rng.choice([100, 200, 500, 1000, 2000]))
    level = np.exp(rng.normal(4.0, 0.9)) * 1000 / tick if decimals_2 else rng.uniform(400, 1500)
    liquidity = np.exp(rng.normal(0, 1.2))
    currency = max(level * tick / 1000, 1)
    if minute:
        # More happens at the open and at the close than around noon.
        shape = np.resize(0.6 + 1.2 * np.linspace(-1, 1, PER_DAY) ** 4, n)
        sigma = max(level * 0.0006 * np.clip(liquidity**0.3, 0.3, 1.5), 0.15) * shape
        volume_mean = 4e6 / currency * liquidity * shape
    else:
        sigma = np.full(n, max(level * 0.014, 0.8))
        volume_mean = 2e8 / currency * liquidity
    gap = np.rint(rng.normal(0, sigma * 0.15)).astype(np.int64)
    moves = gap + np.rint(rng.standard_t(4, n) * sigma * 0.7).astype(np.int64)
    # The walk is reflected at 0.7 levels from its start, so that it stays bounded.
    band = max(int(level * 0.7), 1)
    path = np.abs((np.cumsum(moves) + band) % (4 * band) - 2 * band) - band
    close = np.maximum(int(level) + path, 2)
    opened = np.maximum(np.concatenate([[int(level)], close[:-1]]) + gap, 2)
    wick = 1 / (1 + sigma * 0.4)
    high = np.maximum(opened, close) + rng.geometric(wick) - 1
    low = np.maximum(np.minimum(opened, close) - rng.geometric(wick) + 1, 1)
    volume = np.maximum(np.rint(rng.lognormal(0, 0.8, n) * volume_mean / lot), 1).astype(np.int64) * lot
    vwap = low + (high - low) * rng.beta(3, 3, n)
    turnover = np.rint(vwap * tick * volume / 10).astype(np.int64) * 10
    return opened * tick, high * tick, low * tick, close * tick, volume, turnover


def hard_walk(rng, n):
    """As above in ten-thousandths, and harder to predict and compress."""
    tick = [100, 10, 1][int(rng.integers(3))]
    level = float(np.exp(rng.normal(4.0, 0.9))) * 10000 / tick
    sigma = max(level * 0.0006, 0.3) * np.resize(0.6 + 1.2 * np.linspace(-1, 1, PER_DAY) ** 4, n)
    band = max(int(level * 0.7), 1)
    path = np.cumsum(np.rint(rng.standard_t(3, n) * sigma).astype(np.int64))
    close = np.maximum(int(level) + np.abs((path + band) % (4 * band) - 2 * band) - band, 2)
    opened = np.maximum(np.concatenate([[int(level)], close[:-1]]) + np.rint(rng.standard_t(3, n) * sigma * 0.6).astype(np.int64), 2)
    high = np.maximum(opened, close) + np.rint(np.abs(rng.standard_t(4, n)) * sigma * 0.5).astype(np.int64)
    low = np.maximum(np.minimum(opened, close) - np.rint(np.abs(rng.standard_t(4, n)) * sigma * 0.5).astype(np.int64), 1)
    # Quiet minutes, odd lots and now and then a block trade.
    volume = rng.lognormal(6.5, 1.6, n) * np.where(rng.random(n) < 0.02, 40, 1)
    volume = np.maximum(np.rint(volume), 1).astype(np.int64)
    rounded = rng.random(n) < 0.4
    volume[rounded] = np.maximum(volume[rounded] // 100, 1) * 100
    vwap = low + (high - low) * rng.beta(1.5, 4, n)
    turnover = np.rint(vwap * tick * volume / 100).astype(np.int64) * 100
    traded = np.flatnonzero(rng.random(n) > 0.30)
    return traded, tuple(column[traded] for column in (opened * tick, high * tick, low * tick, close * tick, volume, turnover))


# --- dates and names ---------------------------------------------------------------------------------------------------


def trading_days(market, kinds=("full",)):
    with open(os.path.join(CALENDARS, f"{market}.csv")) as lines:
        rows = [line.strip().split(",") for line in lines if line[0].isdigit()]
    return [datetime.date.fromisoformat(day) for day, kind in rows if kind in kinds]


def us_minutes(first, count):
    """The regular minutes of `count` full days from `first` on; half days are left out."""
    days = [day for day in trading_days("us") if day >= first][:count]
    assert len(days) == count, "the calendar ends too early"
    zone = ZoneInfo("America/New_York")
    opens = [int(datetime.datetime.combine(day, datetime.time(9, 30), zone).timestamp()) for day in days]
    return (np.array(opens, np.int64)[:, None] + np.arange(PER_DAY)[None, :] * 60).ravel()


def cn_days(count):
    days = [day for day in trading_days("cn") if day <= datetime.date(2025, 12, 31)][-count:]
    assert len(days) == count, "the calendar begins too late"
    zone = ZoneInfo("Asia/Shanghai")
    return days, np.array([int(datetime.datetime.combine(day, datetime.time(0), zone).timestamp()) for day in days], np.int64)


def us_symbol(prefix, number):
    letters = [chr(65 + number // 26**place % 26) for place in range(3 - len(prefix) + 1)]
    return prefix + "".join(reversed(letters)) + ".US"


def cn_symbol(number):
    return f"{600000 + number}.SH"


# --- files -------------------------------------------------------------------------------------------------------------

SCHEMA = pa.schema(
    [("symbol", pa.dictionary(pa.int32(), pa.string())), ("time", pa.int64())]
    + [(name, pa.float64()) for name in ("open", "high", "low", "close")]
    + [("volume", pa.int64()), ("turnover", pa.float64())]
)


def table(symbol, times, columns, scale=1000):
    opened, high, low, close, volume, turnover = columns
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(times), np.int32)), pa.array([symbol]))
    prices = [pa.array(column / scale) for column in (opened, high, low, close)]
    return pa.Table.from_arrays([names, pa.array(times), *prices, pa.array(volume), pa.array(turnover / scale)], schema=SCHEMA)


PEER = {
    "compression": "zstd",
    "row_group_size": 8192,
    "use_dictionary": False,
    "column_encoding": {name: "DELTA_BINARY_PACKED" for name in SCHEMA.names[1:]},
}


def integers(times, columns):
    """The form that suits the Parquet peer best: thousandths as integers, in small row groups."""
    return pa.table([times, *columns], names=SCHEMA.names[1:])


class Gathered:
    """Writes one big file in row groups of about a million rows, as most writers do."""

    def __init__(self, path):
        self.writer, self.tables, self.rows = pq.ParquetWriter(path, SCHEMA), [], 0

    def add(self, rows):
        self.tables.append(rows)
        self.rows += rows.num_rows
        if self.rows >= GROUP_ROWS:
            self.flush()

    def flush(self):
        if self.tables:
            self.writer.write_table(pa.concat_tables(self.tables).unify_dictionaries(), row_group_size=GROUP_ROWS)
        self.tables, self.rows = [], 0

    def close(self):
        self.flush()
        self.writer.close()


def write_series(out, kind, names, times, walk, rows_file, row_symbols, csv_path=None):
    os.makedirs(f"{out}/{kind}", exist_ok=True)
    os.makedirs(f"{out}/peer/{kind}", exist_ok=True)
    gathered = Gathered(f"{out}/{kind}_all.parquet")
    csv = pc.CSVWriter(csv_path, CSV_SCHEMA, write_options=pc.WriteOptions(quoting_style="none")) if csv_path else None
    rows_file.write(np.array([min(row_symbols, len(names)), len(times)], "<i8").tobytes())
    for number, symbol in enumerate(names):
        columns = walk(np.random.default_rng([SEED, kind == "m1", number]), len(times), kind == "m1")
        rows = table(symbol, times, columns)
        pq.write_table(rows, f"{out}/{kind}/{symbol}.parquet")
        gathered.add(rows)
        if csv and number < CSV_SYMBOLS:
            csv.write_table(rows.set_column(0, "symbol", rows["symbol"].cast(pa.string())))
        if number < row_symbols:
            pq.write_table(integers(times, columns), f"{out}/peer/{kind}/{symbol}.parquet", **PEER)
            for column in (times, *columns):
                rows_file.write(np.ascontiguousarray(column, "<i8").tobytes())
    gathered.close()
    if csv:
        csv.close()


CSV_SCHEMA = pa.schema([("symbol", pa.string())] + list(SCHEMA)[1:])


def write_actions(path, names, days):
    """A dividend each quarter of the last twenty years, and four splits: about eighty events a symbol."""
    with open(path, "w") as out:
        out.write("symbol,ex_date,cash,split\n")
        for number, symbol in enumerate(names):
            rng = np.random.default_rng([SEED, 7, number])
            quarterly = list(range(60 + int(rng.integers(30)), len(days), 65))
            splits = set(rng.choice(quarterly, 4, replace=False).tolist())
            for at in quarterly:
                cash = "" if at in splits else f"{int(rng.integers(1, 30)) / 1000:.3f}"
                split = "2:1" if at in splits else ""
                out.write(f"{symbol},{days[at]},{cash},{split}\n")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("out")
    arguments.add_argument("--symbols", type=int, default=500)
    arguments.add_argument("--daily-symbols", type=int, default=2000)
    arguments = arguments.parse_args()
    out, began = arguments.out, time.time()
    os.makedirs(out, exist_ok=True)
    gen = gen_module()
    walk = gen.bars if gen else own_walk
    print("walks:", "gen.py" if gen else "own", flush=True)
    with open(f"{out}/rows.bin", "wb") as rows_file:
        minutes = us_minutes(datetime.date(2025, 1, 6), M1_DAYS)
        names = [us_symbol("A", number) for number in range(arguments.symbols)]
        write_series(out, "m1", names, minutes, walk, rows_file, ROW_SYMBOLS, f"{out}/m1.csv")
        days, midnights = cn_days(D1_DAYS)
        names = [cn_symbol(number) for number in range(arguments.daily_symbols)]
        write_series(out, "d1", names, midnights, walk, rows_file, ROW_DAILY)
        write_actions(f"{out}/actions.csv", names, days)
    hard = Gathered(f"{out}/hard.parquet")
    for number in range(HARD_SYMBOLS):
        traded, columns = hard_walk(np.random.default_rng([SEED, 3, number]), len(minutes))
        hard.add(table(us_symbol("H", number), minutes[traded], columns, 10000))
    hard.close()
    long_minutes = us_minutes(datetime.date(2023, 12, 4), LONG_DAYS)
    long = Gathered(f"{out}/long.parquet")
    for number in range(LONG_SYMBOLS):
        columns = walk(np.random.default_rng([SEED, 5, number]), len(long_minutes), True)
        long.add(table(us_symbol("L", number), long_minutes, columns))
    long.close()
    print(f"data made in {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
