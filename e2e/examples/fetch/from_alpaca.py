"""Unadjusted candles from Alpaca: `from_alpaca.py 1Min 2026-03-18 2026-03-19 AAPL BRK.B`, or `1Day`.

Writes candles.csv. Key and secret as for Alpaca's own programs, in the environment."""

import csv
import json
import os
import sys
import urllib.parse
import urllib.request
from decimal import Decimal

HEAD = {f"APCA-API-{name}": os.environ["APCA_API_" + name.replace("-", "_")] for name in ("KEY-ID", "SECRET-KEY")}
ADDRESS = os.environ.get("APCA_API_DATA_URL", "https://data.alpaca.markets") + "/v2/stocks/bars?"
length, start, end, *symbols = sys.argv[1:]
query = {"timeframe": length, "start": start, "end": end, "symbols": ",".join(symbols), "adjustment": "raw", "limit": 10000}
with open("candles.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["symbol", "time", "open", "high", "low", "close", "volume", "turnover"])
    while True:
        request = urllib.request.Request(ADDRESS + urllib.parse.urlencode(query), headers=HEAD)
        with urllib.request.urlopen(request, timeout=60) as answer:
            page = json.load(answer, parse_float=Decimal)
        for symbol, bars in page["bars"].items():
            for bar in bars:
                turnover = round(Decimal(bar["vw"]) * bar["v"], 6)
                rows.writerow([f"{symbol}.US", *(bar[name] for name in "tohlcv"), turnover])
        if not page["next_page_token"]:
            break
        query["page_token"] = page["next_page_token"]
