"""Holds the cheaper of two securities, measured by their ratio against its average of the last
days. Follows the quotes that the server pushes, so that `--speed` drives it."""

import datetime
import threading
import zoneinfo
from decimal import Decimal

from longbridge.openapi import (
    AdjustType, Config, OrderSide, OrderType, Period, QuoteContext, SubType, TimeInForceType, TradeContext)

FIRST, SECOND, DAYS = "9001.HK", "9002.HK", 20
LOTS = {FIRST: Decimal(500), SECOND: Decimal(500)}
MARKET = zoneinfo.ZoneInfo("Asia/Hong_Kong")

config = Config.from_apikey_env()
quotes, trade = QuoteContext(config), TradeContext(config)
decided = set()


def decide():
    closes = [[candle.close for candle in quotes.candlesticks(symbol, Period.Day, DAYS, AdjustType.ForwardAdjust)]
              for symbol in (FIRST, SECOND)]
    ratios = [first / second for first, second in zip(*closes)]
    cheap = FIRST if ratios[-1] < sum(ratios) / len(ratios) else SECOND
    held = {position.symbol: position.quantity for position in trade.stock_positions().channels[0].positions}
    for symbol, quantity in held.items():
        if symbol != cheap and quantity > 0:
            trade.submit_order(symbol, OrderType.MO, OrderSide.Sell, quantity, TimeInForceType.Day)
    if not held.get(cheap):
        trade.submit_order(cheap, OrderType.MO, OrderSide.Buy, 10 * LOTS[cheap], TimeInForceType.Day)


def on_quote(symbol, quote):
    """Once a day, with the first quote after 15:30."""
    now = quote.timestamp.astimezone(MARKET)
    if now.time() >= datetime.time(15, 30) and now.date() not in decided:
        decided.add(now.date())
        decide()


quotes.set_on_quote(on_quote)
quotes.subscribe([FIRST, SECOND], [SubType.Quote])
threading.Event().wait()
