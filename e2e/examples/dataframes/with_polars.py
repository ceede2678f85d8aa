import os

import polars as pl

URL = os.environ["CHANDLER_URL"] + "/v1/quote/history-candlesticks"
TOKEN = os.environ["CHANDLER_TOKEN"]

# The token is part of the address: polars has no headers for CSV.
days = pl.read_csv(f"{URL}?symbol=9001.HK&period=day&start=2026-01-01&format=csv&access_token={TOKEN}")
print(days.select("time", "open", "high", "low", "close", "volume").tail(2))

# Prices in Parquet are exact decimals.
exact = pl.read_parquet(f"{URL}?symbol=9001.HK&period=day&start=2026-01-01&format=parquet&access_token={TOKEN}")
print(exact.schema["close"])

# Lazily, and only two of the columns cross the network. The pieces of one answer count as one request.
minutes = pl.scan_parquet(
    f"{URL}?symbol=CNDL.US&period=1m&start=2026-10-01&limit=10000&format=parquet&access_token={TOKEN}")
hourly = minutes.group_by_dynamic("time", every="1h").agg(pl.col("volume").sum())
print(hourly.collect().height, "hours")
