"""The profit of an account, equal to an independent computation from its executions and cash flow.

The market is that of `paper_market.py`: a dividend on Thursday, a split on Friday, two currencies,
partial closes, and a purchase that goes beyond a short position."""

import json
import unittest
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import harness
from paper_market import CANDLES, FRIDAY, THURSDAY, WEDNESDAY, Market, instant

DAYS = [WEDNESDAY, THURSDAY, FRIDAY]
MARKETS = {"700.HK": "HK", "LAMP.US": "US"}
# Shares after the split of Friday for one before.
SPLIT = ("700.HK", instant(FRIDAY, "00:00:00"), 5)


def cents(value):
    """A fraction as text with two decimals, half away from zero."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return str(exact.quantize(Decimal("0.01"), ROUND_HALF_UP) + 0)


def opening_of(symbol, day):
    """When a trading date begins: midnight in Hong Kong, 20:00 of the evening before in New York."""
    if MARKETS[symbol] == "HK":
        return instant(day, "00:00:00")
    return instant(day, "00:00:00", "US") - 4 * 3600


def close_before(symbol, day):
    """The last close of the days before, as traded."""
    earlier = [one for one in DAYS if one < day and one in CANDLES[symbol]]
    return Fraction(CANDLES[symbol][earlier[-1]].split("\n")[-1].split()[4]) if earlier else None


class Book:
    """Positions at average cost, by replaying executions and cash flows."""

    def __init__(self):
        self.quantity, self.cost, self.flows = {}, {}, {}
        self.trips, self.open = [], {}

    def pay(self, symbol, amount):
        self.flows[symbol] = self.flows.get(symbol, 0) + amount
        # A charge of a fill that has just closed a trade belongs to that trade.
        if symbol in self.open:
            self.open[symbol]["result"] += amount

    def split(self, symbol, ratio):
        self.quantity[symbol] = self.quantity.get(symbol, 0) * ratio

    def trade(self, symbol, change, price, charges, at):
        held = self.quantity.get(symbol, 0)
        # A trade beyond zero closes the position first.
        is_against = held * change < 0
        closing = (max(change, -held) if held > 0 else min(change, -held)) if is_against else 0
        self.flows[symbol] = self.flows.get(symbol, 0) - change * price - charges
        left_charges = charges
        if closing:
            trip = self.open[symbol]
            trip["result"] -= closing * price + charges
            left_charges = 0
            self.cost[symbol] += self.cost[symbol] * Fraction(closing, held)
            self.quantity[symbol] = held + closing
            if held + closing == 0:
                self.trips.append({**trip, "closed": at})
                del self.open[symbol]
        opening = change - closing
        if opening:
            trip = self.open.setdefault(symbol, {"symbol": symbol, "side": "long" if opening > 0 else "short", "opened": at, "result": 0})
            trip["result"] -= opening * price + left_charges
            self.cost[symbol] = self.cost.get(symbol, 0) + opening * price
            self.quantity[symbol] = self.quantity.get(symbol, 0) + opening


class Performance(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = Market(WEDNESDAY, "10:00:15")
        self.addCleanup(self.server.kill)
        self.account = self.server.trader("trader", "--cash", "HKD=500000,USD=10000")

    def read(self, path):
        status, envelope = self.server.request("GET", path, self.account)
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        return envelope["data"]

    def submit(self, symbol, side, quantity, price):
        body = {"symbol": symbol, "side": side, "order_type": "LO", "submitted_quantity": str(quantity),
                "submitted_price": price, "time_in_force": "Day"}
        status, envelope = self.server.request("POST", "/v1/trade/order", self.account, body)
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)

    def events(self, until):
        """Executions with their charges, other cash flows of securities, and the split, by time."""
        flows = self.read(f"/v1/asset/cashflow?start_time=1&end_time={until}&size=10000")["list"]
        charges, events = {}, []
        for row in flows:
            key = (int(row["business_time"]), row["symbol"])
            if row["transaction_flow_name"] == "Fee":
                charges[key] = charges.get(key, 0) - Fraction(row["balance"])
            elif row["transaction_flow_name"] == "Dividend":
                events.append((*key, "pay", Fraction(row["balance"])))
        executed = self.read(f"/v3/trade/execution/all?start_at=1&end_at={until}")["trades"]
        for row in executed:
            key = (int(row["trade_done_at"]), row["symbol"])
            sign = 1 if row["side"] == "Buy" else -1
            events.append((*key, "trade", (sign * Fraction(row["quantity"]), Fraction(row["price"]), charges.pop(key, 0))))
        self.assertEqual(charges, {}, "every charge belongs to an execution")
        if until >= SPLIT[1]:
            events.append((SPLIT[1], SPLIT[0], "split", SPLIT[2]))
        # At one instant a dividend is paid before shares are split.
        return sorted(events, key=lambda event: (event[0], event[2] == "split"))

    @staticmethod
    def replayed(events):
        book = Book()
        for at, symbol, kind, value in events:
            if kind == "pay":
                book.pay(symbol, value)
            elif kind == "split":
                book.split(symbol, value)
            else:
                book.trade(symbol, *value, at)
        return book

    def check(self, day, time, market="HK"):
        """Compares the answer at an instant with the computation; returns the answer."""
        self.server.move(day, time, market)
        now = instant(day, time, market)
        found = self.read("/v1/asset/performance")
        events = self.events(now)
        book = self.replayed(events)
        prices = {row["symbol"]: Fraction(row["price"]) for row in self.read("/v1/asset/portfolio")["positions"]}
        expected = {}
        for symbol, flows in book.flows.items():
            quantity = book.quantity[symbol]
            value = quantity * prices.get(symbol, 0)
            today = next(one for one in reversed(DAYS) if opening_of(symbol, one) <= now)
            start = opening_of(symbol, today)
            before = self.replayed([event for event in events if event[1] == symbol and event[0] < start])
            held = before.quantity.get(symbol, 0)
            at_open = before.flows.get(symbol, 0) + (held * close_before(symbol, today) if held else 0)
            realised = flows + book.cost[symbol]
            expected[symbol] = [str(int(quantity)), cents(flows + value - at_open), cents(realised), cents(flows + value)]
        names = ("quantity", "day", "realised", "total")
        self.assertEqual({row["symbol"]: [row[name] for name in names] for row in found["securities"]}, expected)
        for row in found["securities"]:
            self.assertEqual(Decimal(row["realised"]) + Decimal(row["unrealised"]), Decimal(row["total"]))
        trips = [[one["symbol"], one["side"], one["opened"], one["closed"], cents(Fraction(one["result"]))] for one in book.trips]
        names = ("symbol", "side")
        shown = [[*(row[name] for name in names), int(row["opened_at"]), int(row["closed_at"]), row["profit"]] for row in found["trades"]]
        self.assertEqual(sorted(shown), sorted(trips))
        won = sum(one["result"] > 0 for one in book.trips)
        self.assertEqual((found["trades_closed"], found["trades_won"]), (len(trips), won))
        self.check_totals(found, expected)
        return found

    def check_totals(self, found, expected):
        """Sums per currency, and all in HKD at the current rates."""
        rates = {"HKD": Decimal(1), "USD": Decimal("7.8")}
        sums = {"HKD": Decimal(0), "USD": Decimal(0)}
        for symbol, (_, _, _, total) in expected.items():
            sums["USD" if symbol.endswith("US") else "HKD"] += Decimal(total)
        shown = {row["currency"]: Decimal(row["total"]) for row in found["currencies"]}
        self.assertEqual(shown, {currency: sums[currency] for currency in shown})
        self.assertEqual(len(shown), len({symbol.endswith("US") for symbol in expected}))
        total = sum(amount * rates[currency] for currency, amount in sums.items())
        self.assertEqual(Decimal(found["totals"]["total"]), total.quantize(Decimal("0.01"), ROUND_HALF_UP))

    def test_profits_equal_an_independent_computation(self):
        self.submit("700.HK", "Buy", 200, "306")
        self.check(WEDNESDAY, "10:02:30")
        self.submit("700.HK", "Sell", 100, "304")
        part = self.check(WEDNESDAY, "10:05:00")
        self.assertEqual(part["trades_closed"], 0, "a partial close does not end the trade")
        self.server.move(WEDNESDAY, "09:30:15", "US")
        self.submit("LAMP.US", "Sell", 10, "190")
        self.check(WEDNESDAY, "09:32:15", "US")
        self.submit("LAMP.US", "Buy", 30, "189")
        reversed_ = self.check(WEDNESDAY, "09:34:00", "US")
        self.assertEqual([row["side"] for row in reversed_["trades"]], ["short"])
        # Cash of the dividend, 4.50 for each of 100 shares.
        paid = self.check(THURSDAY, "10:02:00")
        held = next(row for row in paid["securities"] if row["symbol"] == "700.HK")
        self.assertEqual(Decimal(held["day"]), 450 + 100 * (Decimal("301.2") - Decimal("305.8")))
        self.check(FRIDAY, "10:00:15")
        self.submit("700.HK", "Sell", 300, "60")
        self.check(FRIDAY, "10:02:30")
        # The command line shows the same, with times in RFC 3339.
        words = ("performance", "--account", "trader", "--benchmark", "700.HK", "--format", "json")
        shown = json.loads(harness.chandler(self.server.store, *words, clock=self.server.clock))
        answer = self.read("/v1/asset/performance")
        self.assertEqual(shown["securities"], answer["securities"])
        self.assertEqual((shown["at"], shown["trades"][0]["opened_at"]), ("2026-03-20T02:02:30Z", "2026-03-18T13:32:00Z"))
        last = shown["equity"]["points"][-1]
        self.assertEqual(last["date"], FRIDAY)
        self.check_curve(shown["equity"]["points"])

    def check_curve(self, points):
        """Nothing was put in after the beginning, so growth is relative to the initial cash."""
        initial = Fraction(500_000) + 10_000 * Fraction("7.8")
        peak = initial
        for point in points:
            worth = Fraction(point["net_assets"])
            peak = max(peak, worth)
            self.assertAlmostEqual(float(point["growth"]), float(worth / initial), 8)
            self.assertAlmostEqual(float(point["drawdown"]), float((peak - worth) / peak), 8)


if __name__ == "__main__":
    unittest.main()
