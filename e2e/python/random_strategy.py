"""A strategy with random decisions, to be run in a world: it steps, looks at the last price, and
submits or cancels an order by chance. Makes the same requests as e2e/node/random_strategy.js and
e2e/rust/src/random_strategy.rs.

    random_strategy.py PACKAGE SYMBOL SEED STEPS step|clock

`clock` waits for the push of the clock after every step, `step` does not wait for pushes."""

import importlib
import json
import os
import queue
import sys
from decimal import Decimal

package, symbol, seed, steps, mode = sys.argv[1:]
api = importlib.import_module(package + ".openapi")
config = api.Config.from_apikey_env() if package == "longbridge" else api.Config.from_env()
quotes, trade = api.QuoteContext(config), api.TradeContext(config)
state = int(seed)


def draw(below):
    """A random number, the same in every language."""
    global state
    state = (state * 1103515245 + 12345) % 2**31
    return (state >> 16) % below


clocks = queue.Queue()
quotes.set_on_quote(lambda name, event: clocks.put(event.timestamp) if name == "CLOCK.WORLD" else None)
quotes.subscribe([symbol], [api.SubType.Quote, api.SubType.Trade])
if mode == "clock":
    quotes.subscribe(["CLOCK.WORLD"], [api.SubType.Quote])

submitted, refused, last = 0, 0, None
for number in range(int(steps)):
    (clock,) = quotes.quote(["STEP.WORLD"])
    while mode == "clock" and clocks.get(timeout=60) < clock.timestamp:
        pass
    # Orders of this security have prices in fifths.
    fifths = int(quotes.quote([symbol])[0].last_done * 5)
    try:
        if draw(10) < 5:
            side = api.OrderSide.Buy if draw(3) < 2 else api.OrderSide.Sell
            price = Decimal(fifths + draw(11) - 5) / 5
            quantity = Decimal(100 * (1 + draw(3)))
            last = trade.submit_order(
                symbol, api.OrderType.LO, side, quantity, api.TimeInForceType.Day, submitted_price=price,
                remark=f"step {number}").order_id
            submitted += 1
        elif draw(4) == 0 and last is not None:
            trade.cancel_order(last)
    except api.OpenApiException:
        # Refusals are part of the strategy: a short sale, or an order that has ended.
        refused += 1
print(json.dumps({"submitted": submitted, "refused": refused}), flush=True)
os._exit(0)
