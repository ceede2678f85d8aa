"""Copies the one-minute candles of a compatible service: LONGBRIDGE_… name the service, CHANDLER_…
the server. The arguments are symbols."""

import queue
import sys

from chandler_ingest import Ingest
from longbridge.openapi import Config, Period, QuoteContext


def row(symbol, push):
    candle = push.candlestick
    return {
        "symbol": symbol, "time": int(candle.timestamp.timestamp()), "open": str(candle.open), "high": str(candle.high),
        "low": str(candle.low), "close": str(candle.close), "volume": candle.volume, "turnover": str(candle.turnover),
        "final": push.is_confirmed}


rows = queue.Queue()
quotes = QuoteContext(Config.from_apikey_env())
quotes.set_on_candlestick(lambda symbol, push: rows.put(row(symbol, push)))
for symbol in sys.argv[1:]:
    quotes.subscribe_candlesticks(symbol, Period.Min_1)
feed = Ingest("sdk")
while True:
    feed.send("candles", [rows.get(), *(rows.get() for _ in range(min(rows.qsize(), 999)))])
