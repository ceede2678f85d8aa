"""Steps of a program with the public Python SDK: `steps.py STEPS EVERY` prints its steps per second. It has the quotes of one security,
and submits an order over HTTP after every EVERY-th step, unless that is 0."""
import os
import sys
import time
from decimal import Decimal

from longbridge.openapi import (
    Config, OrderSide, OrderType, QuoteContext, SubType, TimeInForceType, TradeContext)

SYMBOL = "T0.US"


def main():
    steps, every = map(int, sys.argv[1:])
    config = Config.from_apikey_env()
    quotes, trade = QuoteContext(config), TradeContext(config)
    seen = 0

    def on_quote(symbol, event):
        nonlocal seen
        seen += 1

    quotes.set_on_quote(on_quote)
    quotes.subscribe([SYMBOL], [SubType.Quote])
    began = time.perf_counter()
    for step in range(1, steps + 1):
        quotes.quote(["STEP.WORLD"])
        if every and step % every == 0:
            # Never fills.
            trade.submit_order(
                SYMBOL, OrderType.LO, OrderSide.Buy, Decimal(1), TimeInForceType.Day, submitted_price=Decimal(1))
    seconds = time.perf_counter() - began
    if not seen:
        sys.exit("no quotes")
    print(steps / seconds, flush=True)
    # The threads of the SDK do not end by themselves.
    os._exit(0)


main()
