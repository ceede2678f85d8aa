"""Every query of the shared scenarios, over both transports, against the command line."""

import datetime
import decimal
import unittest
import zoneinfo

import harness
import questions
from longbridge.openapi import AdjustType, Period, TradeSessions


ALL_DAY = {
    "symbol": "CNDL.US", "period": "5m", "adjust": "none", "session": "all",
    "dates": {"start": "2026-11-12", "end": "2026-11-12"},
}


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()

    def check(self, quotes, overnight):
        for question in questions.load("questions.json"):
            with self.subTest(**question):
                wanted = questions.expected(self.server.store, question, overnight)
                self.assertEqual(questions.ask(quotes, question), wanted)

    def test_a_plain_client_sees_the_same_as_the_command_line(self):
        self.check(self.server.quotes(self.account), overnight=False)

    def test_a_client_that_wants_overnight_hours_sees_them(self):
        self.check(self.server.quotes(self.account, enable_overnight=True), overnight=True)

    def test_http_answers_are_those_of_the_long_connection(self):
        self.check(self.server.quotes(self.account, "http"), overnight=False)

    def test_http_gives_overnight_hours_to_clients_that_want_them(self):
        # SDK 5.3 always expects them over HTTP, and filters them itself if they are not requested.
        found = questions.ask(self.server.quotes(self.account, "http", enable_overnight=True), ALL_DAY)
        self.assertEqual(found, questions.expected(self.server.store, ALL_DAY, overnight=True))

    def test_all_eighteen_periods_are_requested(self):
        periods = {question["period"] for question in questions.load("questions.json")}
        self.assertEqual(periods, set(questions.PERIODS))
        self.assertEqual(len(periods), 18)

    def test_an_account_without_the_right_to_overnight_hours_gets_none(self):
        account = self.server.account("day only", "--rate", "unlimited")
        for who, sessions in ((account, {0, 1, 2}), (self.account, {0, 1, 2, 3})):
            found = questions.ask(self.server.quotes(who, enable_overnight=True), ALL_DAY)
            self.assertEqual({row[-1] for row in found}, sessions)


class Meaning(unittest.TestCase):
    """The meaning of candles, computed independently here, so that the code is not only compared
    with itself."""

    @classmethod
    def setUpClass(cls):
        server, account = harness.shared()
        cls.quotes = server.quotes(account)

    def since(self, date, period, adjust=AdjustType.NoAdjust):
        return self.quotes.history_candlesticks_by_date("CNDL.US", period, adjust, date, None)

    def test_longer_periods_are_days_put_together(self):
        begin_2023 = datetime.date(2023, 1, 1)
        new_york = zoneinfo.ZoneInfo("America/New_York")
        day = lambda candle: questions.utc(candle.timestamp).astimezone(new_york).date()
        begins = [
            (Period.Week, lambda date: date - datetime.timedelta(days=date.weekday())),
            (Period.Month, lambda date: date.replace(day=1)),
            (Period.Quarter, lambda date: date.replace(month=(date.month - 1) // 3 * 3 + 1, day=1)),
            (Period.Year, lambda date: date.replace(month=1, day=1)),
        ]
        for period, begin in begins:
            groups = {}
            for candle in self.since(begin_2023, Period.Day):
                groups.setdefault(begin(day(candle)), []).append(candle)
            longer = self.since(begin_2023, period)
            self.assertGreater(len(longer), 3)
            for candle in longer:
                group = groups[day(candle)]
                with self.subTest(period=str(period), begin=str(day(candle))):
                    self.assertEqual(candle.open, group[0].open)
                    self.assertEqual(candle.close, group[-1].close)
                    self.assertEqual(candle.high, max(one.high for one in group))
                    self.assertEqual(candle.low, min(one.low for one in group))
                    self.assertEqual(candle.volume, sum(one.volume for one in group))
                    self.assertEqual(candle.turnover, sum(one.turnover for one in group))

    def test_adjustment_changes_the_past_and_not_the_present(self):
        both = (AdjustType.NoAdjust, AdjustType.ForwardAdjust)
        plain, adjusted = (self.since(datetime.date(2011, 1, 3), Period.Day, adjust) for adjust in both)
        self.assertEqual([one.timestamp for one in plain], [one.timestamp for one in adjusted])
        self.assertGreater(plain[0].close, adjusted[0].close)
        ask = self.quotes.history_candlesticks_by_offset
        latest = [ask("CNDL.US", Period.Day, adjust, False, 1) for adjust in both]
        self.assertEqual(questions.rows(latest[0]), questions.rows(latest[1]))

    def test_the_latest_candles_are_the_end_of_history(self):
        for sessions in (TradeSessions.Intraday, TradeSessions.All):
            latest = self.quotes.candlesticks("CNDL.US", Period.Min_5, 30, AdjustType.NoAdjust, sessions)
            history = self.quotes.history_candlesticks_by_offset(
                "CNDL.US", Period.Min_5, AdjustType.NoAdjust, False, 30, None, sessions)
            self.assertEqual(questions.rows(latest), questions.rows(history))

    def test_the_line_of_the_day_is_its_minutes(self):
        lines = self.quotes.intraday("9001.HK")
        day = datetime.date(2026, 11, 13)
        minutes = self.quotes.history_candlesticks_by_date("9001.HK", Period.Min_1, AdjustType.NoAdjust, day, day)
        found = [(one.timestamp, one.price, one.volume, one.turnover) for one in lines]
        self.assertEqual(found, [(one.timestamp, one.close, one.volume, one.turnover) for one in minutes])
        volume, turnover = sum(one.volume for one in minutes), sum(one.turnover for one in minutes)
        self.assertAlmostEqual(lines[-1].avg_price, turnover / volume, delta=decimal.Decimal("0.000001"))


if __name__ == "__main__":
    unittest.main()
