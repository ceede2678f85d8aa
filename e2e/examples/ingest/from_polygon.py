"""The stock stream of Polygon (Massive), a message in each line of standard input: minutes (AM),
seconds (A), of which partial minutes are built, and trades (T)."""

import json
import sys
from decimal import Decimal

from chandler_ingest import Ingest

# The running minute of each symbol.
minutes = {}


def candle(bar, final):
    return {
        "symbol": f"{bar['sym']}.US", "time": bar["s"], "open": bar["o"], "high": bar["h"], "low": bar["l"], "close": bar["c"],
        "volume": bar["v"], "turnover": f"{Decimal(bar['vw']) * bar['v']:.6f}", "final": final}


def partial(bar):
    """The minute of a second, so far."""
    second = candle({**bar, "s": bar["s"] // 60_000 * 60_000}, False)
    so_far = minutes.get(bar["sym"])
    if so_far and so_far["time"] == second["time"]:
        second["open"] = so_far["open"]
        second["high"] = max(so_far["high"], second["high"], key=Decimal)
        second["low"] = min(so_far["low"], second["low"], key=Decimal)
        second["volume"] += so_far["volume"]
        second["turnover"] = str(Decimal(second["turnover"]) + Decimal(so_far["turnover"]))
    minutes[bar["sym"]] = second
    return second


def trade(of):
    return {"symbol": f"{of['sym']}.US", "time": of["t"], "price": of["p"], "volume": of["s"], "id": f"{of['x']}-{of['i']}"}


feed = Ingest("polygon")
for line in sys.stdin:
    message = json.loads(line, parse_float=str)
    bars = [bar for bar in message if bar["ev"] in ("AM", "A")]
    feed.send("candles", [candle(bar, True) if bar["ev"] == "AM" else partial(bar) for bar in bars])
    feed.send("trades", [trade(item) for item in message if item["ev"] == "T"])
