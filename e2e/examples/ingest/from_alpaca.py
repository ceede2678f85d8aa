"""Alpaca's stock stream, a message in each line of standard input: bars (b), corrected bars (u) and
trades (t)."""

import json
import sys
from decimal import Decimal

from chandler_ingest import Ingest

# Conditions that are trade types here. "@" is a regular trade.
TYPES = "ABCDEFGHIKMPQSVWX1"


def candle(bar):
    turnover = Decimal(bar["vw"]) * bar["v"]
    return {
        "symbol": f"{bar['S']}.US", "time": bar["t"], "open": bar["o"], "high": bar["h"], "low": bar["l"], "close": bar["c"],
        "volume": bar["v"], "turnover": f"{turnover:.6f}", "final": True}


def trade(of):
    kind = next((condition for condition in of["c"] if condition in TYPES), "")
    return {
        "symbol": f"{of['S']}.US", "time": of["t"], "price": of["p"], "volume": of["s"], "type": kind,
        "id": f"{of['x']}-{of['i']}"}


feed = Ingest("alpaca")
for line in sys.stdin:
    message = json.loads(line, parse_float=str)
    feed.send("candles", [candle(item) for item in message if item["T"] in ("b", "u")])
    feed.send("trades", [trade(item) for item in message if item["T"] == "t"])
