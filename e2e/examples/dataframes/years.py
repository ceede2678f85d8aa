import io
import os
import time

import polars as pl
import requests

URL = os.environ["CHANDLER_URL"] + "/v1/quote/history-candlesticks"
HEAD = {"Authorization": "Bearer " + os.environ["CHANDLER_TOKEN"]}


def history(**query):
    """All candles of a query, ten thousand at a time."""
    query |= {"limit": 10_000, "format": "parquet"}
    pages = []
    while True:
        answer = requests.get(URL, headers=HEAD, params=query, timeout=60)
        if answer.status_code == 429:
            time.sleep(int(answer.headers["Retry-After"]))
            continue
        answer.raise_for_status()
        pages.append(pl.read_parquet(io.BytesIO(answer.content)))
        if "x-next" not in answer.headers:
            return pl.concat(pages).sort("time")
        query["next"] = answer.headers["x-next"]


minutes = history(symbol="CNDL.US", period="1m", session="extended", start="2026-09-01")
print(minutes.height, "minutes,", "ascending" if minutes["time"].is_sorted() else "disordered")
