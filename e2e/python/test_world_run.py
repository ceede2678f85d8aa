"""`chandler world run` with programs that use the unmodified SDKs. The figures of its report are
compared with those that pandas computes from what the program has read."""

import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

import pandas

import harness

CASH = 1_000_000
SYMBOLS = ("9001.HK", "9002.HK")
FAKETIME = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu/faketime/libfaketime.so.1")

# Crosses of two averages of daily closes, decided at 15:45. Records what the account is worth
# after every close, and at the end what it has done.
STRATEGY = """
import datetime, json, sys, zoneinfo
from decimal import Decimal
from longbridge.openapi import *

config = Config.from_apikey_env()
quotes, trade = QuoteContext(config), TradeContext(config)
zone = zoneinfo.ZoneInfo("Asia/Hong_Kong")
first, last, fast, slow = datetime.date(2026, 9, 1), datetime.date(2026, 11, 13), 2, 6
begin = quotes.quote(["CLOCK.WORLD"])[0].timestamp


def step_to(day, hour, minute):
    to = datetime.datetime.combine(day, datetime.time(hour, minute), zone)
    now = quotes.quote(["CLOCK.WORLD"])[0].timestamp.astimezone(zone)
    quotes.quote([f"STEP-{int((to - now).total_seconds())}.WORLD"])


def trading_days(market):
    day, days = first, set()
    while day <= last:
        until = min(day + datetime.timedelta(days=30), last)
        days.update(quotes.trading_days(market, day, until).trading_days)
        day = until + datetime.timedelta(days=1)
    return days


def decide(symbol):
    closes = [candle.close for candle in quotes.candlesticks(symbol, Period.Day, slow, AdjustType.ForwardAdjust)]
    rising = sum(closes[-fast:]) * slow > sum(closes) * fast
    positions = [position for position in trade.stock_positions([symbol]).channels[0].positions]
    held = positions[0].quantity if positions else Decimal(0)
    if rising and held == 0:
        trade.submit_order(symbol, OrderType.MO, OrderSide.Buy, Decimal(2000), TimeInForceType.Day)
    elif not rising and held > 0:
        trade.submit_order(symbol, OrderType.MO, OrderSide.Sell, held, TimeInForceType.Day)


equity = []
open_days = trading_days(Market.HK)
# The curve has every day on which a market was open.
for day in sorted(open_days | trading_days(Market.US)):
    step_to(day, 15, 45)
    for symbol in ("9001.HK", "9002.HK"):
        if day in open_days:
            decide(symbol)
    if day == datetime.date(2026, 10, 5):
        # More than the account can pay.
        trade.submit_order("9001.HK", OrderType.MO, OrderSide.Buy, Decimal(500_000), TimeInForceType.Day)
    step_to(day, 16, 30)
    balance = trade.account_balance("HKD")[0]
    equity.append([day.isoformat(), str(balance.net_assets), str(balance.total_cash)])
# 09:00 on the next day is the end of the world.
quotes.quote(["STEP-86400.WORLD"])
now = quotes.quote(["CLOCK.WORLD"])[0].timestamp
history = dict(start_at=begin, end_at=now + datetime.timedelta(days=1))
# The history ends before today.
fills = {fill.trade_id: fill for fill in trade.history_executions(**history) + trade.today_executions()}.values()
orders = {order.order_id: order for order in trade.history_orders(**history) + trade.today_orders()}.values()
charges = {order.order_id: str(trade.order_detail(order.order_id).charge_detail.total_amount) for order in orders}
prices = {}
for symbol in ("9001.HK", "9002.HK"):
    days = quotes.history_candlesticks_by_date(symbol, Period.Day, AdjustType.ForwardAdjust, first, last)
    minute = quotes.history_candlesticks_by_offset(
        symbol, Period.Min_1, AdjustType.ForwardAdjust, True, 1, datetime.datetime(2026, 9, 1, 9, 30))
    prices[symbol] = {
        "first": str(minute[0].open),
        "closes": {candle.timestamp.astimezone(zone).date().isoformat(): str(candle.close) for candle in days}}
json.dump({
    "begin": begin.timestamp(), "end": now.timestamp(), "equity": equity, "charges": charges, "prices": prices,
    "fills": [[fill.order_id, fill.symbol, int(fill.trade_done_at.timestamp()), str(fill.price), str(fill.quantity)] for fill in fills],
    "orders": {order.order_id: [str(order.side).split(".")[-1], str(order.status).split(".")[-1]] for order in orders},
}, open(sys.argv[1], "w"))
"""

# Subscribes, and never ends by itself.
FOLLOWER = """
import sys, threading
from longbridge.openapi import *

config = Config.from_apikey_env()
quotes, trade = QuoteContext(config), TradeContext(config)
bought = False


def on_quote(symbol, quote):
    global bought
    if not bought:
        bought = True
        trade.submit_order(symbol, OrderType.MO, OrderSide.Buy, 500, TimeInForceType.Day)
    print(quote.timestamp.isoformat(), flush=True)


quotes.set_on_quote(on_quote)
quotes.subscribe(["9001.HK"], [SubType.Quote])
threading.Event().wait()
"""

CLOCKS = """
import datetime, threading
from longbridge.openapi import *

quotes = QuoteContext(Config.from_apikey_env())
for step in ("STEP-5400.WORLD", "STEP-90.WORLD", "STEP-86400.WORLD"):
    (clock,) = quotes.quote([step])
    for _ in range(3000):
        if datetime.datetime.now().timestamp() == clock.timestamp.timestamp():
            break
        threading.Event().wait(0.01)
    print(datetime.datetime.now().isoformat())
"""


class WorldRun(unittest.TestCase):
    maxDiff = None

    def run_world(self, script, *words, flags=(), codes=(0,), store=None):
        """Runs a Python script in a world of a new server: the report, and its stderr."""
        store = store or harness.fresh_store()
        with tempfile.NamedTemporaryFile("w", suffix=".py", dir=harness.WORK) as file:
            file.write(script)
            file.flush()
            command = [str(harness.BINARY), "--store", harness.store_argument(store), "--clock", harness.NOW, "world", "run", "--format", "json"]
            command += [*flags, "--", sys.executable, file.name, *map(str, words)]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=harness.PATIENCE_S * 2, cwd=harness.WORK)
        self.assertIn(ran.returncode, codes, ran.stderr)
        return json.loads(ran.stdout), ran.stderr

    def test_figures_equal_an_independent_computation(self):
        with tempfile.TemporaryDirectory(dir=harness.WORK) as folder:
            seen = pathlib.Path(folder) / "seen.json"
            flags = ["--from", "2026-09-01", "--to", "2026-11-13", "--cash", f"HKD={CASH}", "--markets", "HK"]
            report, _ = self.run_world(STRATEGY, seen, flags=flags)
            seen = json.loads(seen.read_text())
        figures = report["figures"]
        self.assertEqual((report["notes"], report["world"]["state"]), ([], "ended"))

        # The curve, from the balances that the program has read after every close.
        dates, values, cash = zip(*seen["equity"])
        curve = pandas.Series([float(value) for value in values], pandas.to_datetime(dates))
        self.assertEqual([row["date"] for row in report["equity"]], list(dates))
        self.assertEqual([row["net_assets"] for row in report["equity"]], list(values))
        whole = pandas.concat([pandas.Series([CASH], [pandas.Timestamp("2026-08-31")]), curve])
        held = curve - pandas.Series([float(value) for value in cash], curve.index)
        closes = pandas.DataFrame({
            symbol: pandas.Series({day: float(close) for day, close in of["closes"].items()}) / float(of["first"])
            for symbol, of in seen["prices"].items()})
        benchmark = closes.reindex(curve.index.strftime("%Y-%m-%d")).ffill().mean(axis=1)
        hold = pandas.concat([pandas.Series([1.0]), benchmark])

        fills = pandas.DataFrame(seen["fills"], columns=["order", "symbol", "at", "price", "quantity"])
        fills = fills.astype({"price": float, "quantity": float}).sort_values("at", kind="stable")
        fills["value"] = fills.price * fills.quantity
        buys = fills.order.map(lambda order: seen["orders"][order][0] == "Buy")
        fills["signed"] = fills.quantity.where(buys, -fills.quantity)
        fills["cash"] = fills.value.where(~buys, -fills.value)
        charges = {order: float(amount) for order, amount in seen["charges"].items()}
        won, trips, spans = 0, 0, []
        for _, one in fills.groupby("symbol"):
            # The number of the trip grows after each return to zero.
            position = one.signed.cumsum()
            trip = (position == 0).shift(fill_value=False).cumsum()
            for _, part in one.groupby(trip):
                closed = part.signed.sum() == 0
                spans.append((part["at"].min(), part["at"].max() if closed else seen["end"]))
                if closed:
                    trips += 1
                    won += part.cash.sum() - sum(charges[order] for order in part.order.unique()) > 0
        seconds = pandas.Series(0, range(int(seen["begin"]), int(seen["end"])))
        for start, end in spans:
            seconds.loc[int(start):int(end) - 1] = 1

        total = curve.iloc[-1] / CASH - 1
        expected = {
            "return": total,
            "benchmark_return": benchmark.iloc[-1] - 1,
            "excess_return": total - (benchmark.iloc[-1] - 1),
            "max_drawdown": (1 - whole / whole.cummax()).max(),
            "benchmark_drawdown": (1 - hold / hold.cummax()).max(),
            "net_assets": curve.iloc[-1],
            "profit": curve.iloc[-1] - CASH,
            "days": len(curve),
            "orders": len(seen["orders"]),
            "refused": sum(status == "Rejected" for _, status in seen["orders"].values()),
            "fills": len(fills),
            "trades": trips,
            "win_rate": won / trips,
            "turnover": fills.value.sum(),
            "turnover_ratio": fills.value.sum() / whole.mean(),
            "fees": sum(charges.values()),
            "exposure": (held / curve).mean(),
            "time_in_market": seconds.mean(),
        }
        self.assertGreater(trips, 5)
        self.assertEqual(expected["refused"], 1)
        self.assertEqual(set(figures), set(expected))
        for name, value in expected.items():
            with self.subTest(name):
                self.assertAlmostEqual(float(figures[name]), value, 6)
        self.assertEqual([order["symbol"] for order in report["refused"]], ["9001.HK"])

    def test_a_clock_at_full_speed_drives_a_program_to_the_end(self):
        flags = ["--from", "2026-11-12T09:00:00+08:00", "--to", "2026-11-13T16:30:00+08:00", "--markets", "HK", "--speed", "max"]
        report, said = self.run_world(FOLLOWER, flags=[*flags, "--linger", "1"])
        self.assertEqual((report["world"]["state"], report["program"]["outcome"]), ("ended", "stopped_at_end"))
        self.assertEqual((report["figures"]["orders"], report["figures"]["trades"]), (1, 0))
        self.assertGreater(report["figures"]["fills"], 0)
        times = [line for line in said.splitlines() if line.startswith("2026-11-1")]
        # Nothing was missed at either end: the clock has waited for the subscription.
        self.assertGreater(len(times), 500)
        self.assertTrue(any(time.startswith("2026-11-12T01:30") for time in times), times[:3])
        self.assertTrue(times[-1].startswith("2026-11-13T08:1"), times[-3:])

    @unittest.skipUnless(FAKETIME.exists(), "the package libfaketime is not installed")
    def test_fake_time_shows_the_clock_of_the_world(self):
        flags = ["--from", "2026-11-11T00:00:00Z", "--to", "2026-11-13", "--fake-time"]
        _, said = self.run_world("import os\nos.environ['TZ'] = 'UTC'\n" + CLOCKS, flags=flags)
        times = [line for line in said.splitlines() if line.startswith("2026-")]
        self.assertEqual(times, ["2026-11-11T01:30:00", "2026-11-11T01:31:30", "2026-11-12T01:31:30"])


if __name__ == "__main__":
    unittest.main()
