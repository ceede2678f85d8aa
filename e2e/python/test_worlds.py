"""Worlds through the unmodified SDKs: a program that has the API key of a world runs on a past day.
Raw packets are tested in `crates/server/tests/it/trade/worlds.rs`."""

import datetime
import importlib
import unittest
from decimal import Decimal

import harness
import trade_clients
from live_market import LiveMarket
from paper_market import utc
from test_subscribe import DAILY, DAY, EVE, MINUTES, OPEN, SYMBOL

CLOCK, STEP = "CLOCK.WORLD", "STEP.WORLD"


def unix(instant):
    return int(datetime.datetime.fromisoformat(instant).timestamp())


class Program:
    """A program in a world. It writes down what it sees, in order."""

    def __init__(self, package, server, account):
        self.api = importlib.import_module(f"{package}.openapi")
        options = {"enable_print_quote_packages": False} if package == "longport" else {}
        config = trade_clients.config(package, server, account, **options)
        self.seen, self.steps = [], 0
        self.context, self.trade = self.api.QuoteContext(config), self.api.TradeContext(config)
        self.context.set_on_quote(self.on_quote)
        self.context.set_on_trades(lambda symbol, event: self.seen.extend(
            (symbol, int(trade.timestamp.timestamp()), trade.price, trade.volume) for trade in event.trades))
        self.context.subscribe([SYMBOL], [self.api.SubType.Quote, self.api.SubType.Trade])
        self.context.subscribe([CLOCK], [self.api.SubType.Quote])
        harness.wait_for(lambda: self.seen, "the first push of the clock")

    def on_quote(self, symbol, event):
        self.seen.append((symbol, int(event.timestamp.timestamp()), event.last_done, event.volume))
        if symbol == CLOCK:
            self.steps = event.volume

    def step(self, symbol=STEP):
        """Steps, and waits until everything of the step was seen. Returns where the clock is."""
        (clock,) = self.context.quote([symbol])
        harness.wait_for(lambda: self.seen[-1][:2] == (CLOCK, int(clock.timestamp.timestamp())), "the clock")
        return int(clock.timestamp.timestamp())

    def now(self):
        return int(self.context.quote([CLOCK])[0].timestamp.timestamp())


class Market(unittest.TestCase):
    """A server, and programs in its worlds."""

    package = "longbridge"
    minutes = MINUTES
    maxDiff = None

    def setUp(self):
        # The server is an hour before the first minute.
        self.server = LiveMarket(SYMBOL, self.minutes, DAILY, EVE, (DAY,), OPEN - 3600)
        self.addCleanup(self.server.kill)
        self.owner = self.server.account("owner")

    def world(self, name, start=OPEN - 60):
        settings = {"name": name, "start": utc(start), "end": utc(OPEN + 7 * 3600), "markets": ["HK"], "cash": {"HKD": "500000"}}
        status, envelope = self.server.request("POST", "/v1/worlds", self.owner, settings)
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        return envelope["data"]["credentials"]

    def program(self, name, **options):
        return Program(self.package, self.server, self.world(name, **options))


class Worlds(Market):
    """Tests that run once for each package."""

    def test_a_program_steps_through_a_past_morning(self):
        program = self.program("morning")
        self.assertEqual([program.step() for _ in range(3)], [OPEN, OPEN + 60, OPEN + 120])
        price, second = Decimal, lambda number: OPEN + number
        self.assertEqual(program.seen[:12], [
            # The first pushes. The quote of the opening, without volume, is for candles only.
            (SYMBOL, OPEN - 62400, price("298.6"), 1000000), (CLOCK, second(-60), price(0), 0),
            (SYMBOL, OPEN, price(300), 0), (CLOCK, OPEN, price(3), 1),
            (SYMBOL, second(20), price(299), 0), (SYMBOL, second(40), price(302), 0),
            (SYMBOL, second(59), price("300.5"), 10000), (SYMBOL, second(59), price(301), 0),
            (SYMBOL, second(59), price(301), 10000),
            (SYMBOL, second(60), price(301), 0), (SYMBOL, second(60), price(301), 10000), (CLOCK, second(60), price(5), 2),
        ])
        candles = program.context.candlesticks(SYMBOL, program.api.Period.Min_1, 10, program.api.AdjustType.NoAdjust)
        self.assertEqual([candle.close for candle in candles], [price(301), price(302)])
        (quote,) = program.context.quote([SYMBOL])
        self.assertEqual((quote.last_done, quote.volume), (price(302), 18000))
        # The server's own clock has not moved.
        (quote,) = self.server.quotes(self.owner).quote([SYMBOL])
        self.assertEqual(quote.last_done, price("298.6"))

    def test_two_runs_see_the_same(self):
        first, second = self.program("first"), self.program("second")
        for _ in range(4):
            first.step()
        for _ in range(4):
            second.step()
        self.assertEqual(first.seen, second.seen)

    def test_an_order_fills_at_its_instant(self):
        program = self.program("orders")
        program.step()
        self.assertEqual(program.step("STEP-10.WORLD"), OPEN + 10)
        api = program.api
        order = program.trade.submit_order(
            SYMBOL, api.OrderType.LO, api.OrderSide.Buy, Decimal(200), api.TimeInForceType.Day, submitted_price=Decimal(306))
        program.step("STEP-110.WORLD")
        self.assertEqual(program.now(), OPEN + 120)
        detail = program.trade.order_detail(order.order_id)
        self.assertEqual((detail.status, detail.executed_price), (api.OrderStatus.Filled, Decimal(301)))
        self.assertEqual(int(detail.updated_at.timestamp()), OPEN + 120)
        (held,) = program.trade.stock_positions().channels[0].positions
        self.assertEqual((held.symbol, held.quantity), (SYMBOL, Decimal(200)))


class LongportWorlds(Worlds):
    package = "longport"


if __name__ == "__main__":
    unittest.main()
