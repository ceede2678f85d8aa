"""Worlds through the unmodified SDKs: a program that has the API key of a world runs on a past day.
Raw packets are tested in `crates/server/tests/it/trade/worlds.rs`."""

import datetime
import importlib
import unittest
from decimal import Decimal

import harness
import live_market
import trade_clients
from live_market import LiveMarket, plain_candle
from paper_market import utc
from test_subscribe import DAILY, DAY, EVE, MINUTES, OPEN, SYMBOL

CLOCK, STEP = "CLOCK.WORLD", "STEP.WORLD"
# A program that starts the clock of its world, and ends after some pushes without closing anything.
SHORT_PROGRAM = """
import importlib, os, sys, threading, urllib.request
package, symbol, pushes, run = sys.argv[1:]
api = importlib.import_module(package + ".openapi")
config = api.Config.from_apikey_env() if package == "longbridge" else api.Config.from_env()
context, seen, enough = api.QuoteContext(config), [], threading.Event()

def on_quote(symbol, event):
    seen.append(event)
    if len(seen) >= int(pushes):
        enough.set()

context.set_on_quote(on_quote)
context.subscribe([symbol], [api.SubType.Quote])
token = os.environ["LONGBRIDGE_ACCESS_TOKEN"]
request = urllib.request.Request(
    os.environ["LONGBRIDGE_HTTP_URL"] + "/v1/world/run", run.encode(), {"authorization": "Bearer " + token}, method="POST")
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()
assert enough.wait(20), len(seen)
os._exit(0)
"""


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
        self.serve(self.minutes, DAILY)

    def serve(self, minutes, daily):
        # The server is an hour before the first minute.
        self.server = LiveMarket(SYMBOL, minutes, daily, EVE, (DAY,), OPEN - 3600)
        self.addCleanup(self.server.kill)
        self.owner = self.server.account("owner")

    def world(self, name, start=OPEN - 60):
        settings = {"name": name, "start": utc(start), "end": utc(OPEN + 7 * 3600), "markets": ["HK"], "cash": {"HKD": "500000"}}
        status, envelope = self.server.request("POST", "/v1/worlds", self.owner, settings)
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        return envelope["data"]["credentials"]

    def program(self, name, **options):
        return Program(self.package, self.server, self.world(name, **options))

    def diff(self, *names, options=()):
        """Runs `chandler world diff` on the store of the running server."""
        # The server stores steps a moment after its response, but before it returns a log.
        for name in names:
            status, envelope = self.server.request("GET", f"/v1/worlds/{name}/log?limit=1", self.owner)
            self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        return harness.run_chandler(self.server.store, "world", "diff", *names, "--account", "owner", *options)


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

    def shown(self, name):
        status, envelope = self.server.request("GET", f"/v1/worlds/{name}", self.owner)
        self.assertEqual(status, 200, envelope)
        return envelope["data"]

    def test_w9_a_program_that_is_started_again_misses_no_minute(self):
        minutes = tuple(live_market.random_candles(SYMBOL, DAY, 9))
        self.serve(minutes, (DAILY[0], live_market.folded(SYMBOL, DAY, minutes)))
        world = self.world("restarted")
        names = {"HTTP_URL": self.server.url, "QUOTE_WS_URL": self.server.socket_url, "TRADE_WS_URL": self.server.socket_url}
        names |= {name: world[name.lower()] for name in ("APP_KEY", "APP_SECRET", "ACCESS_TOKEN")}
        environment = {f"{prefix}_{name}": value for prefix in ("LONGBRIDGE", "LONGPORT") for name, value in names.items()}
        stop = OPEN + 3600
        harness.run_python(SHORT_PROGRAM, environment, self.package, SYMBOL, "20", f'{{"speed": 600, "stop_at": "{utc(stop)}"}}')
        harness.wait_for(lambda: self.shown("restarted")["paused_alone"], "a world without connections that is paused")
        before = self.shown("restarted")
        self.assertEqual(before["state"], "paused")
        self.assertLess(before["now"], utc(stop))

        api = importlib.import_module(f"{self.package}.openapi")
        options = {"enable_print_quote_packages": False} if self.package == "longport" else {}
        context = api.QuoteContext(trade_clients.config(self.package, self.server, world, **options))
        # It is connected, and the clock stands until it has subscribed.
        context.quote([SYMBOL])
        self.assertEqual((self.shown("restarted")["state"], self.shown("restarted")["now"]), ("paused", before["now"]))
        context.subscribe_candlesticks(SYMBOL, api.Period.Min_1)
        harness.wait_for(lambda: self.shown("restarted")["now"] == utc(stop), "the instant at which the world stops")

        def pulled():
            candles = context.candlesticks(SYMBOL, api.Period.Min_1, 1000, api.AdjustType.NoAdjust)
            return [plain_candle(candle) for candle in candles]

        def built():
            return [plain_candle(candle) for candle in context.realtime_candlesticks(SYMBOL, api.Period.Min_1, 1000)]

        self.assertGreater(len(pulled()), 50)
        harness.wait_for(lambda: built() == pulled(), lambda: f"{built()[-3:]} as {pulled()[-3:]}")

    def test_a_program_with_auto_sees_every_step_without_stepping(self):
        settings = {
            "name": "auto", "start": utc(OPEN - 60), "end": utc(OPEN + 300), "markets": ["HK"], "auto": {"quiet_ms": 20}}
        status, envelope = self.server.request("POST", "/v1/worlds", self.owner, settings)
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        program = Program(self.package, self.server, envelope["data"]["credentials"])
        stepped = self.program("stepped")
        for _ in range(3):
            stepped.step()
        self.assertEqual(self.server.request("POST", "/v1/worlds/auto/run", self.owner, {})[0], 200)
        harness.wait_for(lambda: self.shown("auto")["state"] == "ended", "the end of the world")
        harness.wait_for(lambda: len(program.seen) >= len(stepped.seen), "the pushes of three steps")
        self.assertEqual(program.seen[:len(stepped.seen)], stepped.seen)


class LongportWorlds(Worlds):
    package = "longport"


if __name__ == "__main__":
    unittest.main()
