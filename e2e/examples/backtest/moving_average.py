"""Holds a security while its short average is above its long one. Decides once a day, before the
close. Unchanged in a world, with a paper account and in production: the environment decides."""

import datetime
import os
import sys
import time
import zoneinfo
from decimal import Decimal

from longbridge.openapi import (
    AdjustType, Config, OpenApiException, OrderSide, OrderType, Period, QuoteContext, TimeInForceType, TradeContext)

SYMBOL, LOT = os.environ.get("SYMBOL", "9001.HK"), Decimal(500)
FAST, SLOW = (int(word) for word in (sys.argv[1:] + ["5", "20"])[:2])
MARKET = zoneinfo.ZoneInfo("Asia/Hong_Kong")
DECIDE_AT = datetime.time(15, 45)

config = Config.from_apikey_env()
quotes, trade = QuoteContext(config), TradeContext(config)


def clock():
    """The market's clock, if the server has one, else this machine's."""
    try:
        return quotes.quote(["CLOCK.WORLD"])[0].timestamp.astimezone(MARKET)
    except (OpenApiException, IndexError):
        return datetime.datetime.now(MARKET)


def wait(seconds):
    """In a world, time passes by steps. Returns whether there is more time."""
    try:
        (step,) = quotes.quote([f"STEP-{seconds}.WORLD"])
        return int(step.trade_status) != 8
    except (OpenApiException, ValueError):
        time.sleep(seconds)
        return True


def next_decision(now):
    at = datetime.datetime.combine(now.date(), DECIDE_AT, MARKET)
    return at if now < at else at + datetime.timedelta(days=1)


def is_rising():
    candles = quotes.candlesticks(SYMBOL, Period.Day, SLOW, AdjustType.ForwardAdjust)
    closes = [candle.close for candle in candles]
    return len(closes) == SLOW and sum(closes[-FAST:]) * SLOW > sum(closes) * FAST


def held():
    positions = trade.stock_positions([SYMBOL]).channels[0].positions
    return positions[0].quantity if positions else Decimal(0)


def submit(side, quantity):
    trade.submit_order(SYMBOL, OrderType.MO, side, quantity, TimeInForceType.Day)


def affordable():
    """Whole lots for nine tenths of the buying power."""
    price = quotes.quote([SYMBOL])[0].last_done
    cash = trade.account_balance("HKD")[0].buy_power * Decimal("0.9")
    return cash // (price * LOT) * LOT


while True:
    now = clock()
    if not wait(int((next_decision(now) - now).total_seconds())):
        break
    if clock().date().weekday() >= 5:
        continue
    rising, quantity = is_rising(), held()
    if rising and quantity == 0 and affordable() > 0:
        submit(OrderSide.Buy, affordable())
    elif not rising and quantity > 0:
        submit(OrderSide.Sell, quantity)
