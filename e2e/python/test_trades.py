"""Single trades, capital flow and capital distribution, over both transports, and refusals."""

import csv
import datetime
import decimal
import io
import unittest

import harness
from longbridge.openapi import AdjustType, OpenApiException, Period, TradeDirection, TradeSession

SYMBOLS = ("9001.HK", "CNDL.US", "609001.SH")


class Trades(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()
        cls.contexts = {transport: cls.server.quotes(cls.account, transport) for transport in ("ws", "http")}

    def each(self):
        for transport, quotes in self.contexts.items():
            with self.subTest(transport=transport):
                yield quotes

    def exported(self, symbol, day):
        text = harness.chandler(self.server.store, "export", symbol, "--trades", "--start", day, "--end", day)
        return list(csv.DictReader(io.StringIO(text)))

    def test_the_latest_trades_are_those_of_the_command_line(self):
        directions = {"neutral": TradeDirection.Neutral, "down": TradeDirection.Down, "up": TradeDirection.Up}
        stored = self.exported("9001.HK", "2026-11-13")[-50:]
        for quotes in self.each():
            found = quotes.trades("9001.HK", 50)
            self.assertEqual(len(found), 50)
            for one, row in zip(found, stored):
                self.assertEqual((one.price, one.volume), (decimal.Decimal(row["price"]), int(row["volume"])))
                self.assertEqual(one.timestamp.timestamp(), datetime.datetime.fromisoformat(row["time"]).timestamp())
                self.assertEqual((one.trade_type, one.direction), (row["type"], directions[row["direction"]]))
                self.assertEqual(one.trade_session, TradeSession.Intraday)

    def test_the_trades_of_a_minute_make_its_candle(self):
        rows = self.exported("9001.HK", "2026-11-13")
        quotes = self.contexts["ws"]
        minute = quotes.history_candlesticks_by_offset(
            "9001.HK", Period.Min_1, AdjustType.NoAdjust, False, 1, datetime.datetime(2026, 11, 13, 10, 0)
        )[0]
        begins = minute.timestamp.timestamp()
        inside = [row for row in rows if 0 <= datetime.datetime.fromisoformat(row["time"]).timestamp() - begins < 60]
        prices = [decimal.Decimal(row["price"]) for row in inside]
        self.assertEqual((prices[0], max(prices), min(prices), prices[-1]), (minute.open, minute.high, minute.low, minute.close))
        self.assertEqual(sum(int(row["volume"]) for row in inside), minute.volume)

    def test_in_less_out_is_the_last_line_of_the_flow(self):
        for quotes in self.each():
            for symbol in SYMBOLS:
                lines = quotes.capital_flow(symbol)
                self.assertGreater(len(lines), 200)
                times = [line.timestamp for line in lines]
                self.assertEqual(times, sorted(set(times)))
                found = quotes.capital_distribution(symbol)
                sums = [
                    sum((part.large, part.medium, part.small)) for part in (found.capital_in, found.capital_out)
                ]
                self.assertEqual(sums[0] - sums[1], lines[-1].inflow)
                self.assertTrue(all(part.large > 0 and part.small > 0 for part in (found.capital_in, found.capital_out)))

    def test_flow_is_computed_from_directions(self):
        total = decimal.Decimal(0)
        for row in self.exported("9001.HK", "2026-11-13"):
            sign = {"up": 1, "down": -1}.get(row["direction"], 0)
            total += sign * decimal.Decimal(row["price"]) * int(row["volume"])
        self.assertEqual(self.contexts["ws"].capital_flow("9001.HK")[-1].inflow, total)

    def test_a_security_without_trades_has_no_quotes(self):
        for quotes in self.each():
            for ask in (lambda: quotes.trades("9002.HK", 5), lambda: quotes.capital_flow("9002.HK"), lambda: quotes.capital_distribution("9002.HK")):
                with self.assertRaises(OpenApiException) as refused:
                    ask()
                self.assertEqual(refused.exception.code, 301603)
            with self.assertRaises(OpenApiException) as refused:
                quotes.trades("9001.HK", 1001)
            self.assertEqual(refused.exception.code, 301607)
            with self.assertRaises(OpenApiException) as refused:
                quotes.trades("1.HK", 5)
            self.assertEqual(refused.exception.code, 301600)


if __name__ == "__main__":
    unittest.main()
