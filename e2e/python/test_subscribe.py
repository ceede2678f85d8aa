"""Quote subscriptions through the unmodified SDKs: callbacks, and the candles that the SDKs build of
the pushes. Raw packets are tested in `crates/server/src/link/subscription_tests.rs`."""

import importlib
import unittest
from decimal import Decimal

import harness
import live_market
from live_market import LiveMarket, Listener, plain_candle, plain_quote, plain_trade
from paper_market import instant, utc

EVE, DAY, NEXT = "2026-03-17", "2026-03-18", "2026-03-19"
SYMBOL = "700.HK"
# 09:30 in Hong Kong.
OPEN = 1773797400
DAY_STAMP = OPEN - 9 * 3600 - 1800
MONDAY_STAMP = DAY_STAMP - 2 * 86400
# The first two minutes of the day, and an official daily candle that differs from them.
MINUTES = (
    f"{SYMBOL},2026-03-18T01:30:00Z,300,302,299,301,10000,3005000",
    f"{SYMBOL},2026-03-18T01:31:00Z,301,303,300,302,8000,2412000",
)
DAILY = (f"{SYMBOL},{EVE},297,299,296,298.6,1000000,298000000", f"{SYMBOL},{DAY},300,310,295,308,9000000,2727000000")
PERIODS = (
    *(f"Min_{minutes}" for minutes in (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240)), "Day", "Week", "Month", "Quarter",
    "Year")


def decimals(*values):
    return tuple(Decimal(value) if isinstance(value, (str, float)) else value for value in values)


class Subscriptions(unittest.TestCase):
    """Tests that run once for each package, with a separate server and account."""

    package = "longbridge"
    maxDiff = None

    def serve(self, now=OPEN, minutes=MINUTES, daily=DAILY, days=(DAY,), symbol=SYMBOL, eve=EVE, **options):
        self.server = LiveMarket(symbol, minutes, daily, eve, days, now, **options)
        self.addCleanup(self.server.kill)
        self.account = self.server.account("listener", "--rate", "unlimited")

    def listen(self, **options):
        return Listener(self.package, self.server, self.account, **options)

    def subscribed(self, count, other_than=None):
        """Waits until the account has a connection with this number of subscribed securities."""
        def counts():
            return [of["count"] for id, of in self.server.connections(self.account).items() if id != other_than]
        harness.wait_for(lambda: counts() == [count], lambda: f"{count} subscriptions on one connection, not {counts()}")

    def last_quote(self, listener):
        return plain_quote(listener.quotes[SYMBOL][-1])


class Pushes(Subscriptions):
    def test_a_minute_is_pushed_as_it_opens_and_as_it_ends(self):
        self.serve()
        listener = self.listen()
        listener.subscribe("Quote", "Trade")
        # The first push: the present state, without growth.
        harness.wait_for(lambda: listener.quotes[SYMBOL], "a first push")
        first = (OPEN, *decimals("300", "300", "300", "300"), 0, Decimal(0), 0, Decimal(0))
        self.assertEqual([plain_quote(quote) for quote in listener.quotes[SYMBOL]], [first])
        self.assertEqual(listener.trades[SYMBOL], [])

        listener.move(OPEN + 60)
        prints = [
            (OPEN + 20, Decimal(299), 0), (OPEN + 40, Decimal(302), 0), (OPEN + 59, Decimal("300.5"), 10000),
            (OPEN + 59, Decimal(301), 0), (OPEN + 60, Decimal(301), 0)]
        self.assertEqual([plain_trade(trade) for trade in listener.trades[SYMBOL]], prints)
        self.assertEqual({str(trade.direction) for trade in listener.trades[SYMBOL]}, {"TradeDirection.Neutral"})
        state = decimals("301", "300", "302", "299", 10000, "3005000")
        self.assertEqual([plain_quote(quote) for quote in listener.quotes[SYMBOL]], [
            first, (OPEN + 59, *state, 10000, Decimal(3005000)), (OPEN + 60, *state, 0, Decimal(0))])
        # The SDK's memory.
        (quote,) = listener.context.realtime_quote([SYMBOL])
        self.assertEqual(
            (quote.last_done, quote.open, quote.high, quote.low, quote.volume, quote.turnover), state)
        self.assertEqual([plain_trade(trade) for trade in listener.context.realtime_trades(SYMBOL)], prints)
        # And the server's answer.
        (quote,) = listener.context.quote([SYMBOL])
        self.assertEqual(
            (quote.last_done, quote.open, quote.high, quote.low, quote.volume, quote.turnover), state)
        self.assertEqual((quote.prev_close, int(quote.timestamp.timestamp())), (Decimal("298.6"), OPEN + 60))

    def test_candles_of_several_periods_follow_the_pushes(self):
        self.serve(OPEN - 60)
        listener = self.listen()
        for period in ("Min_1", "Min_5", "Day", "Week"):
            listener.context.subscribe_candlesticks(SYMBOL, listener.period(period))
        listener.move(OPEN)
        listener.move(OPEN + 60)
        first = (OPEN, *decimals("300", "302", "299", "301", 10000, "3005000"))
        opened = (OPEN + 60, *decimals("301", "301", "301", "301", 0, "0"))
        self.assertEqual(listener.built("Min_1"), [first, opened])
        self.assertEqual(listener.built("Min_5"), [first])
        self.assertEqual(listener.built("Day")[-1], (DAY_STAMP, *first[1:]))
        # The week began with the day before.
        week = (MONDAY_STAMP, *decimals("297", "302", "296", "301", 1010000, "301005000"))
        self.assertEqual(listener.built("Week"), [week])

        listener.move(OPEN + 120)
        day = decimals("300", "303", "299", "302", 18000, "5417000")
        self.assertEqual(listener.built("Day")[-1], (DAY_STAMP, *day))
        self.assertEqual(listener.built("Min_5"), [(OPEN, *day)])
        self.assertEqual(listener.built("Week"), [(MONDAY_STAMP, *decimals("297", "303", "296", "302", 1018000, "303417000"))])
        # Callbacks: every change, and once more when the next minute has opened.
        of_minutes = listener.candles_of("Min_1")
        self.assertEqual([plain_candle(event.candlestick) for event in of_minutes if event.is_confirmed], [first])
        changes = [plain_candle(event.candlestick) for event in of_minutes if not event.is_confirmed]
        self.assertEqual(changes[0], (OPEN, *decimals("300", "300", "300", "300", 0, "0")))
        self.assertEqual(changes[-1], (OPEN + 60, *decimals("301", "303", "300", "302", 8000, "2412000")))
        self.assertEqual(listener.periods(), {"Min_1", "Min_5", "Day", "Week"})
        self.assertEqual(plain_candle(listener.candles_of("Day")[-1].candlestick), (DAY_STAMP, *day))

    def test_only_confirmed_candles_if_the_program_asks_for_them(self):
        self.serve(OPEN - 60)
        mode = importlib.import_module(f"{self.package}.openapi").PushCandlestickMode.Confirmed
        listener = self.listen(push_candlestick_mode=mode)
        listener.context.subscribe_candlesticks(SYMBOL, listener.period("Min_1"))
        for minutes in range(3):
            listener.move(OPEN + 60 * minutes)
        confirmed = [(event.is_confirmed, plain_candle(event.candlestick)) for event in listener.candles[SYMBOL]]
        self.assertEqual(confirmed, [(True, (OPEN, *decimals("300", "302", "299", "301", 10000, "3005000")))])

    def test_yesterdays_volume_does_not_stay_in_todays_candle(self):
        self.serve(OPEN - 3600)
        listener = self.listen()
        listener.subscribe("Quote")
        listener.context.subscribe_candlesticks(SYMBOL, listener.period("Day"))
        harness.wait_for(lambda: listener.quotes[SYMBOL], "a first push")
        yesterday = self.last_quote(listener)
        self.assertEqual(yesterday[1:7], decimals("298.6", "297", "299", "296", 1000000, "298000000"))

        # The quote of the opening has no volume yet: for candles only.
        listener.move(OPEN)
        self.assertEqual([quote for quote in map(plain_quote, listener.quotes[SYMBOL]) if quote[0] >= OPEN], [])
        (memory,) = listener.context.realtime_quote([SYMBOL])
        self.assertEqual((memory.last_done, memory.volume), (Decimal("298.6"), 1000000))
        self.assertEqual(listener.built("Day")[-1], (DAY_STAMP, *decimals("300", "300", "300", "300", 0, "0")))

        listener.move(OPEN + 60)
        state = decimals("301", "300", "302", "299", 10000, "3005000")
        self.assertEqual(self.last_quote(listener)[1:7], state)
        (memory,) = listener.context.realtime_quote([SYMBOL])
        self.assertEqual((memory.last_done, memory.volume), (Decimal(301), 10000))
        self.assertEqual(listener.built("Day")[-1], (DAY_STAMP, *decimals("300", "302", "299", "301", 10000, "3005000")))

    def test_a_day_ends_with_its_daily_candle(self):
        self.serve(OPEN - 60)
        listener = self.listen()
        listener.subscribe("Quote", "Trade")
        for period in ("Min_1", "Day"):
            listener.context.subscribe_candlesticks(SYMBOL, listener.period(period))
        listener.move(instant(DAY, "16:09:59"))
        minutes, trades = listener.built("Min_1"), len(listener.trades[SYMBOL])
        end = instant(DAY, "16:10:00")
        listener.move(end)
        day = decimals("308", "300", "310", "295", 9000000, "2727000000")
        self.assertEqual(self.last_quote(listener), (end, *day, 0, Decimal(0)))
        self.assertEqual(listener.built("Day")[-1], (DAY_STAMP, *decimals("300", "310", "295", "308", 9000000, "2727000000")))
        self.assertEqual((listener.built("Min_1"), len(listener.trades[SYMBOL])), (minutes, trades))
        self.assertEqual(listener.built("Day"), listener.requested("Day"))

    def test_symbols_that_cannot_be_subscribed_do_not_stop_the_others(self):
        self.serve()
        account = self.server.account("hong kong alone", "--rate", "unlimited", "--markets", "HK")
        listener = Listener(self.package, self.server, account)
        listener.context.subscribe([SYMBOL, "XX", "AAPL.US", "1234.HK"], [listener.api.SubType.Quote])
        harness.wait_for(lambda: listener.quotes[SYMBOL], "a first push")
        (subscriptions,) = self.server.connections(account).values()
        left_out = [(one["symbol"], one["reason"]) for one in subscriptions["left_out"]]
        self.assertEqual(left_out, [("XX", "malformed"), ("AAPL.US", "no right")])
        # The security and the sentinel; another one waits for its first candle.
        self.assertEqual((subscriptions["count"], subscriptions["waiting"]), (2, ["1234.HK"]))

    def test_depth_and_brokers_can_be_subscribed_and_are_never_pushed(self):
        self.serve()
        listener = self.listen()
        listener.subscribe("Depth", "Brokers")
        listener.move(OPEN + 60)
        self.assertEqual((listener.never, listener.quotes[SYMBOL], listener.trades[SYMBOL]), ([], [], []))
        self.subscribed(2)

    def test_too_many_subscriptions_are_refused_as_a_whole(self):
        self.serve()
        listener = self.listen()
        many = [f"{number}.HK" for number in range(1, 500)] + [SYMBOL]
        with self.assertRaises(listener.api.OpenApiException) as refused:
            listener.context.subscribe(many, [listener.api.SubType.Quote])
        self.assertEqual(refused.exception.code, 301605)
        self.assertIn("too many subscriptions: 1 of 500 used", refused.exception.message)
        self.subscribed(1)
        listener.context.subscribe([SYMBOL], [listener.api.SubType.Quote])
        self.subscribed(2)


class Ends(Subscriptions):
    def test_types_add_up_and_end_one_by_one(self):
        self.serve(OPEN)
        listener = self.listen()
        listener.subscribe("Quote")
        harness.wait_for(lambda: listener.quotes[SYMBOL], "a first push")
        listener.subscribe("Trade")
        kinds = {one.symbol: {str(kind) for kind in one.sub_types} for one in listener.context.subscriptions()}
        self.assertEqual(kinds[SYMBOL], {"SubType.Quote", "SubType.Trade"})
        listener.unsubscribe("Quote")
        self.subscribed(2)
        listener.clear()
        listener.move(OPEN + 60)
        self.assertEqual((len(listener.quotes[SYMBOL]), len(listener.trades[SYMBOL])), (0, 5))
        listener.unsubscribe("Trade")
        self.subscribed(1)
        listener.clear()
        listener.move(OPEN + 120)
        self.assertEqual((listener.quotes[SYMBOL], listener.trades[SYMBOL]), ([], []))

    def test_the_last_period_ends_the_pushes(self):
        self.serve(OPEN - 60)
        listener = self.listen()
        for period in ("Min_1", "Day"):
            listener.context.subscribe_candlesticks(SYMBOL, listener.period(period))
        self.subscribed(2)
        listener.move(OPEN)
        listener.context.unsubscribe_candlesticks(SYMBOL, listener.period("Min_1"))
        listener.clear()
        listener.move(OPEN + 60)
        self.assertEqual(listener.periods(), {"Day"})
        listener.context.unsubscribe_candlesticks(SYMBOL, listener.period("Day"))
        self.subscribed(1)
        listener.clear()
        listener.move(OPEN + 120)
        self.assertEqual(listener.candles[SYMBOL], [])


    def check_no_longer_pushed(self, *command):
        """Nothing is pushed after an operator's command, although the client sends no request."""
        self.serve(OPEN - 60)
        listener = self.listen()
        listener.subscribe("Quote", "Trade")
        self.subscribed(2)
        harness.chandler(self.server.store, *command, clock=self.server.clock)
        self.server.hear()
        self.server.move(OPEN)

        def subscribed():
            _, envelope = self.server.request("GET", "/v1/connections?account=listener", self.server.operator)
            return [one["subscriptions"]["count"] for one in envelope["data"]["connections"]]

        harness.wait_for(lambda: sum(subscribed()) == 0, lambda: f"no subscriptions, not {subscribed()}")
        self.server.move(OPEN + 60)
        self.assertEqual(listener.trades[SYMBOL], [])

    def test_pushes_end_with_the_right(self):
        self.check_no_longer_pushed("account", "withdraw", "listener", "HK")

    def test_pushes_end_with_the_account(self):
        self.check_no_longer_pushed("account", "revoke", "listener")


class Candles(Subscriptions):
    """What an SDK has built of the pushes is what the server answers, at any time of a day."""

    def compare(self, listener, where, sessions="Intraday"):
        different = {}
        for period in PERIODS:
            built, requested = listener.built(period), listener.requested(period, sessions)
            if built != requested:
                different[period] = {"only in the SDK": set(built) - set(requested), "only answered": set(requested) - set(built)}
        with self.subTest(at=where):
            self.assertEqual(different, {})

    def follow(self, instants, sessions="Intraday", listener=None):
        """Subscribes to all periods, and compares at each of these instants."""
        listener = listener or self.listen()
        for period in PERIODS:
            listener.context.subscribe_candlesticks(
                self.server.symbol, listener.period(period), getattr(listener.api.TradeSessions, sessions))
        for at, where in instants:
            listener.move(at)
            self.compare(listener, where, sessions)
        return listener

    def days(self, now, days, instants, symbol=SYMBOL, eve=EVE):
        """Serves some days, and follows them from a time of the first on."""
        minutes = {day: live_market.random_candles(symbol, day, seed) for seed, day in enumerate(days)}
        # A completed day is never built from minutes, so each has its daily candle: the same one.
        daily = [live_market.folded(symbol, day, rows) for day, rows in minutes.items()]
        before = f"{symbol},{eve},297,299,296,298.6,1000000,298000000"
        self.serve(instant(days[0], now), tuple(sum(minutes.values(), [])), (before, *daily), days, symbol, eve)
        self.follow([(instant(day, time), f"{day} {time}") for day, time in instants])

    def test_a_day_in_hong_kong_from_before_it_opens(self):
        times = (
            "09:29:59", "09:30:00", "09:30:30", "09:31:00", "09:32:00", "10:00:00", "11:59:00", "12:00:00", "12:30:00",
            "13:00:00", "13:01:00", "14:37:20", "15:59:00", "16:00:00", "16:09:59", "16:10:00", "18:00:00")
        self.days("09:00:00", (DAY, NEXT), [*((DAY, time) for time in times), (NEXT, "09:31:00"), (NEXT, "16:10:00")])

    def test_a_day_in_hong_kong_from_the_middle_of_a_minute(self):
        times = ("11:08:00", "12:00:00", "13:02:00", "16:00:00", "16:10:00")
        self.days("11:07:31", (DAY,), [(DAY, time) for time in times])

    def test_a_half_day_in_hong_kong(self):
        day, eve = live_market.HALF_DAY, "2026-02-13"
        times = ("09:31:00", "11:59:00", "12:00:00", "12:09:59", "12:10:00", "13:00:00")
        self.days("09:00:00", (day,), [(day, time) for time in times], eve=eve)

    def test_an_index(self):
        times = ("09:30:00", "09:31:00", "12:00:00", "13:02:00", "16:00:00", "16:10:00")
        self.days("09:00:00", (DAY,), [(DAY, time) for time in times], "HSI.HK")

    def test_a_day_in_shanghai_in_lots(self):
        times = ("09:30:00", "09:31:00", "11:30:00", "13:02:00", "15:00:00", "15:10:00")
        self.days("09:00:00", (DAY,), [(DAY, time) for time in times], "600519.SH")

    def test_a_day_in_new_york_with_its_early_and_late_hours(self):
        symbol, eve, day = "AAPL.US", "2026-07-14", "2026-07-15"
        minutes = live_market.random_candles(symbol, day, 3)
        daily = (f"{symbol},{eve},298,302,297,301,5000000,1500000000",)
        self.serve(instant(day, "03:00:00", "US"), tuple(minutes), daily, (day,), symbol, eve)
        times = (
            "04:00:00", "04:01:00", "07:13:20", "09:29:00", "09:30:00", "09:31:00", "12:00:00", "15:59:00", "16:00:00",
            "16:01:00", "18:30:00", "19:59:00", "20:00:00")
        self.follow([(instant(day, time, "US"), time) for time in times], "All")

    def check_overnight(self, sessions, *rights, **options):
        """The last minutes of a night in New York, and the first of the morning."""
        symbol, eve, day = "AAPL.US", "2026-07-14", "2026-07-15"
        start = instant(day, "03:50", "US")
        minutes = [f"{symbol},{utc(start + 60 * at)},190,190.4,189.9,190.1,{100 * at},{19005 * at}" for at in range(20)]
        daily = (f"{symbol},{eve},188,191,187,189.7,5000000,900000000",)
        self.serve(instant(day, "03:40", "US"), tuple(minutes), daily, (day,), symbol, eve)
        account = self.server.account("by night", "--rate", "unlimited", *rights)
        listener = Listener(self.package, self.server, account, **options)
        listener.subscribe("Trade")
        self.follow([(instant(day, time, "US"), time) for time in ("04:00:00", "04:05:00")], "All", listener)
        self.assertEqual({str(trade.trade_session) for trade in listener.trades[symbol]}, sessions)

    def test_nights_are_pushed_to_those_who_may_see_them(self):
        self.check_overnight({"TradeSession.Overnight", "TradeSession.Pre"}, "--overnight", enable_overnight=True)

    def test_nights_are_not_pushed_to_others(self):
        self.check_overnight({"TradeSession.Pre"})

    def test_eighteen_periods_are_one_subscription(self):
        self.serve(OPEN - 60, log="info,requests=debug")
        listener = self.listen()
        for period in PERIODS:
            listener.context.subscribe_candlesticks(SYMBOL, listener.period(period))
        self.subscribed(2)
        # The sentinel, and one for each period.
        requests = lambda name: len([line for line in self.server.log_text().splitlines() if name in line])
        harness.wait_for(lambda: requests("subscriptions") >= 19, lambda: f"19 subscriptions, not {requests('subscriptions')}")
        self.assertEqual((requests("subscriptions"), requests("static_info")), (19, 1))
        listener.move(OPEN)
        self.assertEqual(listener.periods(), set(PERIODS))


class Comeback(Subscriptions):
    """A client whose connection is lost subscribes again automatically."""

    def check(self, lose):
        self.serve(OPEN - 60)
        listener = self.listen()
        listener.subscribe("Quote", "Trade")
        for period in ("Min_1", "Day"):
            listener.context.subscribe_candlesticks(SYMBOL, listener.period(period))
        listener.move(OPEN)
        lose()
        listener.clear()
        for minutes in (1, 2):
            listener.move(OPEN + 60 * minutes)
            for period in ("Min_1", "Day"):
                self.assertEqual(listener.built(period), listener.requested(period), f"{minutes} {period}")
        state = decimals("302", "300", "303", "299", 18000, "5417000")
        self.assertEqual(self.last_quote(listener)[1:7], state)
        self.assertEqual(len(listener.trades[SYMBOL]), 9)

    def close(self):
        (lost,) = self.server.connections(self.account)
        self.server.request("DELETE", f"/v1/connections/{lost}", self.account)
        self.subscribed(2, other_than=lost)

    def test_what_it_missed_follows(self):
        """The clock moves while the client is away."""
        self.serve(OPEN - 60)
        listener = self.listen()
        listener.context.subscribe_candlesticks(SYMBOL, listener.period("Min_1"))
        listener.move(OPEN)
        (lost,) = self.server.connections(self.account)
        self.server.request("DELETE", f"/v1/connections/{lost}", self.account)
        self.server.move(OPEN + 60)
        self.subscribed(2, other_than=lost)
        listener.move(OPEN + 120)
        self.assertEqual(listener.built("Min_1"), listener.requested("Min_1"))

    def restart(self, end):
        end()
        self.server.start()
        self.subscribed(2)

    def test_after_its_connection_was_closed(self):
        self.check(self.close)

    def test_after_a_restart(self):
        self.check(lambda: self.restart(self.server.stop))

    def test_after_a_crash(self):
        self.check(lambda: self.restart(self.server.kill))


class OverHttp(Subscriptions):
    """With HTTP as the transport of requests, subscriptions still have a long connection."""

    def test_pushes_arrive(self):
        self.serve()
        listener = self.listen(transport="http")
        listener.subscribe("Quote", "Trade")
        listener.move(OPEN + 60)
        self.assertEqual(self.last_quote(listener)[:3], (OPEN + 60, Decimal(301), Decimal(300)))


class PushesByLongport(Pushes):
    package = "longport"


class EndsByLongport(Ends):
    package = "longport"


class CandlesByLongport(Candles):
    package = "longport"


class ComebackByLongport(Comeback):
    package = "longport"


if __name__ == "__main__":
    unittest.main()
