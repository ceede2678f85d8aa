"""Earned levels: exactly at their thresholds, on the day they begin, and as the SDK sees them."""

import json
import unittest

import harness
import questions
from longbridge.openapi import OpenApiException

# Small quotas, so that the few securities of the demo reach them: the monthly quotas of levels 1 to
# 6.
QUOTAS = [1, 2, 3, 4, 5, 6]
SYMBOLS = ["9001.HK", "9002.HK", "9003.HK", "CNDL.US", "WICK.US", "WAX.US", "609001.SH"]
# Now is a Sunday: Friday's level applies, which is based on the complete day before.
THURSDAY, FRIDAY = "2026-11-12", "2026-11-13"
# The last instant of that Sunday in Hong Kong, and the first of Monday.
BEFORE, AFTER = "2026-11-15T15:59:59Z", "2026-11-15T16:00:00Z"
# The level of an account with exactly these assets.
ASSETS = [
    (1, "0"), (1, "9999.99"), (2, "10000"), (2, "79999.99"), (3, "80000"), (3, "399999.99"), (4, "400000"),
    (4, "3999999.99"), (5, "4000000"), (5, "5999999.99"), (6, "6000000"),
]
ORDERS = [(1, 160), (4, 161), (4, 1600), (5, 1601), (5, 2500), (6, 2501)]


class Levels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server()
        set_quotas(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()

    def operate(self, *arguments, **options):
        output = harness.chandler(self.server.store, "account", *arguments, **options)
        self.server.hear()
        return output

    def quota(self, account):
        status, envelope = self.server.request("GET", "/v1/quota", account)
        self.assertEqual((status, envelope["code"]), (200, 0))
        return envelope["data"]

    def holds(self, account, level, transport):
        """Checks the level of an account wherever it is shown, and its quota to the last security.
        """
        limit = QUOTAS[level - 1]
        shown = self.quota(account)
        self.assertEqual((shown["level"]["number"], shown["limit"], shown["used"]), (level, limit, 0))
        quotes = self.server.quotes(account, transport)
        for symbol in SYMBOLS[:limit]:
            self.assertEqual(len(ask(quotes, symbol)), 1)
        output = refusal(quotes, SYMBOLS[limit])
        # The limit, the level, and the reset date.
        for words in (f"{limit} of {limit}", f"level {level}", "2026-12-01"):
            self.assertIn(words, output)
        # Charged securities stay free.
        self.assertEqual(len(ask(quotes, SYMBOLS[0])), 1)
        shown = self.quota(account)
        self.assertEqual((shown["used"], shown["remaining"]), (limit, 0))
        self.assertEqual({one["symbol"] for one in shown["securities"]}, set(SYMBOLS[:limit]))

    def test_assets_must_reach_a_threshold(self):
        accounts = [self.server.account(f"worth {assets}", "--rate", "unlimited") for _, assets in ASSETS]
        rows = [f"worth {assets},{THURSDAY},HKD,{assets}" for _, assets in ASSETS]
        self.operate("reported-assets", "--file", "-", input="\n".join(["account,day,currency,amount", *rows]))
        for account, (level, assets) in zip(accounts, ASSETS, strict=True):
            with self.subTest(assets=assets):
                self.holds(account, level, "http")

    def test_orders_must_be_more_than_a_threshold(self):
        accounts = [self.server.account(f"{orders} orders", "--rate", "unlimited") for _, orders in ORDERS]
        rows = [f"{orders} orders,{THURSDAY},{orders}" for _, orders in ORDERS]
        self.operate("reported-orders", "--file", "-", input="\n".join(["account,day,count", *rows]))
        for account, (level, orders) in zip(accounts, ORDERS, strict=True):
            with self.subTest(orders=orders):
                self.holds(account, level, "ws")

    def test_other_currencies_count_at_the_rate_of_the_day(self):
        self.operate("rates", "USD", "7.8", "--day", "2026-11-01")
        for level, assets in ((1, "1282.05"), (2, "1282.06")):
            account = self.server.account(f"{assets} dollars", "--rate", "unlimited")
            self.operate("reported-assets", account["name"], assets, "USD", "--day", THURSDAY)
            self.holds(account, level, "http")

    def test_a_level_begins_with_the_next_trading_day(self):
        account = self.server.account("funded on Friday")
        self.operate("reported-assets", account["name"], "80000", "HKD", "--day", FRIDAY)
        for clock, level in ((harness.NOW, 1), (BEFORE, 1), (AFTER, 3)):
            shown = json.loads(harness.chandler(
                self.server.store, "quota", account["name"], "--format", "json", clock=clock))
            self.assertEqual((shown["level"]["number"], shown["limit"]), (level, QUOTAS[level - 1]), clock)
        shown = self.quota(account)
        self.assertEqual((shown["next_change"]["day"], shown["next_change"]["level"]), ("2026-11-16", 3))

    def test_a_rise_reaches_a_connection_that_is_open(self):
        account = self.server.account("rising", "--rate", "unlimited")
        quotes = self.server.quotes(account)
        self.assertEqual(len(ask(quotes, SYMBOLS[0])), 1)
        connection = self.connection(account)
        refusal(quotes, SYMBOLS[1])
        # The assets of Thursday are reported late.
        self.operate("reported-assets", account["name"], "10000", "HKD", "--day", THURSDAY)
        self.assertEqual(len(ask(quotes, SYMBOLS[1])), 1)
        self.assertIn("level 2", refusal(quotes, SYMBOLS[2]))
        self.operate("set", account["name"], "--level", "6")
        self.assertEqual(len(ask(quotes, SYMBOLS[2])), 1)
        self.assertEqual(self.connection(account), connection)

    def test_a_right_that_is_withdrawn_or_granted_reaches_a_connection_that_is_open(self):
        account = self.server.account("righted", "--rate", "unlimited", "--markets", "HK")
        quotes = self.server.quotes(account)
        connection = self.connection(account, quotes)
        with self.assertRaises(OpenApiException) as caught:
            ask(quotes, "CNDL.US")
        self.assertEqual(caught.exception.code, 301604)
        self.assertIn("US", caught.exception.message)
        self.operate("grant", account["name"], "US")
        self.assertEqual(len(ask(quotes, "CNDL.US")), 1)
        self.operate("withdraw", account["name"], "US")
        with self.assertRaises(OpenApiException) as caught:
            ask(quotes, "CNDL.US")
        self.assertEqual(caught.exception.code, 301604)
        self.assertEqual(self.connection(account), connection)

    def connection(self, account, quotes=None):
        """The only open connection of an account."""
        if quotes is not None:
            quotes.trading_session()
        (connection,) = self.server.request("GET", "/v1/connections", account)[1]["data"]["connections"]
        return connection

    def test_the_sdk_prints_the_numbers_when_it_connects(self):
        account = self.server.account("printed", "--rate", "unlimited")
        self.operate("reported-assets", account["name"], "400000", "HKD", "--day", THURSDAY)
        script = (
            "from longbridge.openapi import *\n"
            "quotes = QuoteContext(Config.from_apikey_env())\n"
            "quotes.history_candlesticks_by_offset('9001.HK', Period.Day, AdjustType.NoAdjust, False, 1)\n"
            "del quotes\n"
            "quotes = QuoteContext(Config.from_apikey_env())\n"
            "quotes.trading_session()\n"
        )
        environment = {**account["environment"], "LONGBRIDGE_PRINT_QUOTE_PACKAGES": "true"}
        output = harness.run_python(script, environment)
        self.assertIn("0/4", output)
        self.assertIn("1/4", output)


class Midnight(unittest.TestCase):
    def test_a_rise_at_midnight_reaches_a_connection_that_is_open(self):
        # The last seconds of Sunday in Hong Kong, with a running clock.
        server = harness.Server(clock="2026-11-15T15:59:56Z,run")
        self.addCleanup(server.kill)
        set_quotas(server)
        account = server.account("rising", "--rate", "unlimited")
        harness.chandler(server.store, "account", "reported-assets", account["name"], "10000", "HKD", "--day", FRIDAY)
        quotes = server.quotes(account)
        self.assertEqual(len(ask(quotes, SYMBOLS[0])), 1)
        before = server.request("GET", "/v1/connections", account)[1]["data"]["connections"]

        def risen():
            try:
                return ask(quotes, SYMBOLS[1])
            except OpenApiException as error:
                self.assertEqual(error.code, 301607)

        self.assertEqual(len(harness.wait_for(risen, "Monday")), 1)
        self.assertEqual(server.request("GET", "/v1/connections", account)[1]["data"]["connections"], before)
        shown = server.request("GET", "/v1/quota", account)[1]["data"]
        self.assertEqual((shown["level"]["number"], shown["level"]["as_of"]), (2, "2026-11-16"))


def set_quotas(server):
    for level, quota in enumerate(QUOTAS, 1):
        harness.chandler(server.store, "account", "levels", "set", level, "--quota", quota)


def ask(quotes, symbol):
    question = {"symbol": symbol, "period": "day", "adjust": "none", "offset": {"forward": False, "count": 1}}
    return questions.ask(quotes, question)


def refusal(quotes, symbol):
    """The refusal of a security beyond the quota."""
    try:
        ask(quotes, symbol)
    except OpenApiException as error:
        assert error.code == 301607, error
        return error.message
    raise AssertionError(f"{symbol} was answered")


if __name__ == "__main__":
    unittest.main()
