"""The list of orders in a world, for `chandler world run -- run_world.py WORK minutes|orders`: with the public SDK, through HTTP and a
WebSocket. `minutes` steps minute by minute with the quotes of all securities, as other engines call a strategy with every candle;
`orders` steps from one order to the next."""
import os
import pathlib
import sys
import time
from decimal import Decimal
from importlib.metadata import version

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "paper"))

from given import Given
from longbridge.openapi import (
    Config, OpenApiException, OrderSide, OrderStatus, OrderType, QuoteContext, SubType, TimeInForceType, TopicType, TradeContext)

SILENT_S = 1


class ListOfOrders:
    def __init__(self, given, mode):
        self.given, self.mode = given, mode
        config = Config.from_apikey_env()
        self.quotes, self.trade = QuoteContext(config), TradeContext(config)
        stamps = given.candles[0]["time"].tolist()
        # The end of each minute, at which its candle fills orders.
        self.ends = [stamp + 60 for stamp in stamps]
        self.minute_of = {end: minute for minute, end in enumerate(self.ends)}
        self.ids, self.numbers, self.filled, self.seen = {}, {}, [], 0
        self.done = set()
        self.now = stamps[0] - 60
        self.trade.set_on_order_changed(self.on_order)
        self.trade.subscribe([TopicType.Private])
        if mode == "minutes":
            self.quotes.set_on_quote(self.on_quote)
            self.quotes.subscribe(given.symbols, [SubType.Quote])

    def on_quote(self, symbol, event):
        self.seen += 1

    def on_order(self, event):
        if event.status == OrderStatus.Filled:
            self.done.add(event.order_id)
            self.filled.append((event.order_id, int(event.updated_at.timestamp()), event.executed_price))

    def step_to(self, at):
        if at > self.now:
            self.quotes.quote([f"STEP-{at - self.now}.WORLD"])
            self.now = at

    def submit(self, order, symbol, side, quantity, cents):
        side = OrderSide.Buy if side > 0 else OrderSide.Sell
        answer = self.trade.submit_order(
            self.given.symbols[symbol], OrderType.LO, side, Decimal(quantity), TimeInForceType.GoodTilCanceled,
            submitted_price=Decimal(cents) / 100)
        self.ids[order] = answer.order_id
        self.numbers[answer.order_id] = order

    def cancel(self, order):
        if self.ids[order] in self.done:
            return
        try:
            self.trade.cancel_order(self.ids[order])
        except OpenApiException:
            # It has been filled, and the push is on the way.
            pass

    def run(self):
        for minute, end in enumerate(self.ends):
            steps = self.given.steps.get(minute, ())
            if not steps and self.mode == "orders":
                continue
            for step, order, *terms in steps:
                if step == "submit":
                    # In the last second, so that the next candle is the first to fill it.
                    self.step_to(end - 1)
                    self.submit(order, *terms)
            self.step_to(end)
            for step, order, *_ in steps:
                if step == "cancel":
                    self.cancel(order)
        self.step_to(self.ends[-1])

    def fills(self):
        """Executions by order, minute and cents, once no more order pushes come."""
        known = -1
        while known < len(self.filled):
            known = len(self.filled)
            time.sleep(SILENT_S)
        return [
            (self.numbers[order], self.minute_of[at], round(price * 100)) for order, at, price in self.filled]


def main():
    work, mode = sys.argv[1:]
    began = time.perf_counter()
    strategy = ListOfOrders(Given(work), mode)
    prepared = time.perf_counter()
    strategy.run()
    ran = time.perf_counter()
    name = f"world-{mode}"
    strategy.given.report(name, version("longbridge"), prepared - began, ran - prepared, strategy.fills())
    # The threads of the SDK do not end by themselves.
    os._exit(0)


main()
