"""Reference data: calendars, sessions, names, quotes; the same over both transports."""

import datetime
import unittest

import harness
from longbridge.openapi import (
    AdjustType, CalcIndex, FundamentalContext, Market, MarketContext, Period, PortfolioContext, TradeSession,
)


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server, account = cls.server, cls.account = harness.shared()
        cls.contexts = {transport: server.quotes(account, transport) for transport in ("ws", "http")}

    def each(self):
        for transport, quotes in self.contexts.items():
            with self.subTest(transport=transport):
                yield quotes

    def test_trading_days_leave_weekends_and_holidays_out(self):
        for quotes in self.each():
            days = quotes.trading_days(Market.HK, datetime.date(2026, 11, 1), datetime.date(2026, 11, 13))
            self.assertEqual([day.day for day in days.trading_days], [2, 3, 4, 5, 6, 9, 10, 11, 12, 13])
            days = quotes.trading_days(Market.US, datetime.date(2026, 11, 23), datetime.date(2026, 11, 30))
            self.assertEqual([day.day for day in days.trading_days], [23, 24, 25, 30])
            self.assertEqual([day.day for day in days.half_trading_days], [27])
            days = quotes.trading_days(Market.CN, datetime.date(2026, 10, 1), datetime.date(2026, 10, 9))
            self.assertEqual([day.day for day in days.trading_days], [8, 9])

    def test_trading_sessions_are_those_of_the_exchanges(self):
        for quotes in self.each():
            markets = quotes.trading_session()
            hours = lambda market, session: [
                (str(one.begin_time), str(one.end_time))
                for found in markets if found.market == market
                for one in found.trade_sessions if one.trade_session == session
            ]
            halves = [("09:30:00", "12:00:00"), ("13:00:00", "16:00:00")]
            self.assertEqual(hours(Market.HK, TradeSession.Intraday), halves)
            self.assertEqual(hours(Market.US, TradeSession.Intraday), [("09:30:00", "16:00:00")])
            self.assertEqual(hours(Market.US, TradeSession.Pre), [("04:00:00", "09:30:00")])
            self.assertEqual(hours(Market.US, TradeSession.Post), [("16:00:00", "20:00:00")])

    def test_static_information_leaves_unknown_symbols_out(self):
        for quotes in self.each():
            found = {one.symbol: one for one in quotes.static_info(["9001.HK", "CNDL.US", "1.HK", "9099.HK"])}
            self.assertEqual(set(found), {"9001.HK", "CNDL.US", "9099.HK"})
            harbour = found["9001.HK"]
            self.assertEqual(harbour.name_en, "Lamplight Harbour Holdings")
            self.assertEqual((harbour.currency, harbour.lot_size), ("HKD", 500))
            self.assertEqual(found["9099.HK"].name_cn, "未燃控股")

    def test_quotes_are_the_last_day(self):
        for quotes in self.each():
            found = {one.symbol: one for one in quotes.quote(["9001.HK", "CNDL.US", "1.HK"])}
            self.assertEqual(set(found), {"9001.HK", "CNDL.US"})
            for symbol, quote in found.items():
                before, last = quotes.history_candlesticks_by_offset(symbol, Period.Day, AdjustType.NoAdjust, False, 2)
                found_prices = (quote.open, quote.high, quote.low, quote.last_done, quote.volume)
                self.assertEqual(found_prices, (last.open, last.high, last.low, last.close, last.volume))
                self.assertEqual(quote.prev_close, before.close)
            self.assertIsNotNone(found["CNDL.US"].pre_market_quote)

    def test_both_transports_give_the_same(self):
        both = [
            [repr(quotes.quote(["9001.HK", "CNDL.US", "609001.SH"])), repr(quotes.static_info(["9001.HK", ".CHDL.US"])),
             repr(quotes.intraday("CNDL.US"))]
            for quotes in self.contexts.values()
        ]
        self.assertEqual(both[0], both[1])

    def test_calculated_indexes_follow_from_quotes_and_the_rest_is_empty(self):
        indexes = [
            CalcIndex.LastDone, CalcIndex.ChangeValue, CalcIndex.ChangeRate, CalcIndex.Volume, CalcIndex.Turnover, CalcIndex.Amplitude,
            CalcIndex.FiveDayChangeRate, CalcIndex.CapitalFlow, CalcIndex.Delta,
        ]
        for quotes in self.each():
            [quote] = quotes.quote(["9001.HK"])
            [found] = quotes.calc_indexes(["9001.HK", "9999.HK"], indexes)
            change = quote.last_done - quote.prev_close
            self.assertEqual(
                (found.symbol, found.last_done, found.change_value, found.volume, found.turnover),
                ("9001.HK", quote.last_done, change, quote.volume, quote.turnover))
            for rate, part in [(found.change_rate, change), (found.amplitude, quote.high - quote.low)]:
                self.assertAlmostEqual(float(rate), float(part / quote.prev_close * 100), delta=0.0051)
            self.assertIsNotNone(found.five_day_change_rate)
            self.assertEqual(found.capital_flow, quotes.capital_flow("9001.HK")[-1].inflow)
            self.assertEqual((found.delta, found.turnover_rate), (None, None))

    def test_markets_rates_and_dividends_are_those_stored(self):
        config = self.server.config(self.account)
        # References are held to the end: a dropped context closes connections that the next one
        # shares.
        market, portfolio, fundamentals = MarketContext(config), PortfolioContext(config), FundamentalContext(config)
        # A Sunday morning in Hong Kong.
        states = {str(one.market): one.trade_status for one in market.market_status().market_time}
        self.assertEqual(states, {"Market.HK": 108, "Market.US": 204, "Market.CN": 108})
        rates = {
            (one.base_currency, one.other_currency): one.average_rate
            for one in portfolio.exchange_rate().exchanges
        }
        # HKD for one unit; and USD for one HKD, which the official command line uses to convert.
        self.assertEqual((rates["HKD", "USD"], rates["HKD", "HKD"], rates["HKD", "CNH"]), (7.8, 1.0, 1.1))
        self.assertEqual(rates["USD", "HKD"], 0.12820513)
        for symbol in ("9001.HK", "CNDL.US"):
            status, envelope = self.server.request("GET", f"/v1/securities/{symbol}/actions", self.account)
            self.assertEqual(status, 200)
            paid = [one["ex_date"] for one in envelope["data"]["actions"] if one["cash"] != "0"]
            dividends = fundamentals.dividend(symbol).list
            self.assertEqual([one.ex_date for one in dividends], paid[::-1])
            self.assertTrue(all(one.symbol == symbol for one in dividends))
            self.assertGreaterEqual(len(fundamentals.corp_action(symbol).items), len(dividends))


if __name__ == "__main__":
    unittest.main()
