import os

import pandas as pd

URL = os.environ["CHANDLER_URL"] + "/v1/quote/history-candlesticks"
HEAD = {"Authorization": "Bearer " + os.environ["CHANDLER_TOKEN"]}

# Prices are exact: decimals, not floats.
days = pd.read_parquet(f"{URL}?symbol=9001.HK&period=day&start=2026-01-01&format=parquet", storage_options=HEAD)
print(days[["time", "open", "high", "low", "close", "volume"]].tail(2))
print(type(days["close"].iloc[0]).__name__)

# As floats, for arithmetic, and in the market's time.
days["close"] = days["close"].astype(float)
days["time"] = days["time"].dt.tz_convert("Asia/Hong_Kong")
print(days.set_index("time")["close"].rolling(20).mean().iloc[-1].round(3))

# The same out of CSV, prices brought to today's basis.
candles = pd.read_csv(
    f"{URL}?symbol=CNDL.US&period=5m&session=extended&adjust=forward&start=2026-11-12&end=2026-11-12&format=csv",
    storage_options=HEAD)
candles["time"] = pd.to_datetime(candles["time"], utc=True)
print(len(candles), "candles")

# Where a header cannot be set, the token may be part of the address.
token = os.environ["CHANDLER_TOKEN"]
print(len(pd.read_csv(f"{URL}?symbol=9001.HK&period=week&limit=52&format=csv&access_token={token}")), "weeks")
