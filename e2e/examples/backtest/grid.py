"""Buys a lot at every fall by a step, and sells it at every rise by one. Looks every five minutes of
the session. The environment decides where: a world, a paper account or production."""

import datetime
import os
import sys
import time
import zoneinfo
from decimal import Decimal

from longbridge.openapi import (
    Config, OpenApiException, OrderSide, OrderType, QuoteContext, TimeInForceType, TradeContext)

SYMBOL, LOT, LOTS_MAX = os.environ.get("SYMBOL", "9001.HK"), Decimal(500), 10
STEP = Decimal(sys.argv[1] if sys.argv[1:] else "1.00")
MARKET = zoneinfo.ZoneInfo("Asia/Hong_Kong")
OPEN, CLOSE = datetime.time(9, 35), datetime.time(15, 55)

config = Config.from_apikey_env()
quotes, trade = QuoteContext(config), TradeContext(config)


def clock():
    try:
        return quotes.quote(["CLOCK.WORLD"])[0].timestamp.astimezone(MARKET)
    except (OpenApiException, IndexError):
        return datetime.datetime.now(MARKET)


def wait(seconds):
    try:
        (step,) = quotes.quote([f"STEP-{seconds}.WORLD"])
        return int(step.trade_status) != 8
    except (OpenApiException, ValueError):
        time.sleep(seconds)
        return True


def until_next_look(now):
    """Five minutes, or until the next opening of a weekday."""
    if OPEN <= now.time() < CLOSE and now.weekday() < 5:
        return 300
    opening = datetime.datetime.combine(now.date(), OPEN, MARKET)
    while opening <= now or opening.weekday() >= 5:
        opening += datetime.timedelta(days=1)
    return int((opening - now).total_seconds())


base, lots = None, 0
while wait(until_next_look(clock())):
    price = quotes.quote([SYMBOL])[0].last_done
    base = base or price
    if price <= base - STEP and lots < LOTS_MAX:
        base, lots, side = base - STEP, lots + 1, OrderSide.Buy
    elif price >= base + STEP and lots > 0:
        base, lots, side = base + STEP, lots - 1, OrderSide.Sell
    else:
        continue
    trade.submit_order(SYMBOL, OrderType.MO, side, LOT, TimeInForceType.Day)
