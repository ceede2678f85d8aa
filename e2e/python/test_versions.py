"""Accounts that are pinned to an API date, with the real SDK: later additions are absent,
everything else is unchanged."""

import datetime
import unittest

import harness
from longbridge.openapi import AdjustType, OpenApiException, Period, SecurityBoard, TradeContext

SYMBOL = "9001.HK"


class Versions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.generous = harness.shared()

    def pinned(self, date):
        return self.server.account(f"as of {date}", "--api-date", date, "--rate", "unlimited")

    def refused(self, call, *arguments):
        with self.assertRaises(OpenApiException) as raised:
            call(*arguments)
        return raised.exception.code, raised.exception.message

    def test_history_is_available_from_its_day_on(self):
        first = datetime.date(2026, 11, 12)
        ask = (SYMBOL, Period.Day, AdjustType.NoAdjust, first, first)
        early, late = self.pinned("2023-11-02"), self.pinned("2023-11-03")
        words = "it was added on 2023-11-03, and this account is pinned to 2023-11-02"
        for transport, refusal in [
            ("ws", (301600, f"command 27 is unknown: {words}")), ("http", (404, f"not found: {words}")),
        ]:
            with self.subTest(transport=transport):
                self.assertEqual(len(self.server.quotes(late, transport).history_candlesticks_by_date(*ask)), 1)
                quotes = self.server.quotes(early, transport)
                self.assertEqual(self.refused(quotes.history_candlesticks_by_date, *ask), refusal)
                latest = quotes.candlesticks(SYMBOL, Period.Day, 3, AdjustType.NoAdjust)
                newest = self.server.quotes(self.generous).candlesticks(SYMBOL, Period.Day, 3, AdjustType.NoAdjust)
                self.assertEqual([one.close for one in latest], [one.close for one in newest])

    def test_a_security_has_no_board_before_2022_07_18(self):
        def board(account):
            [info] = self.server.quotes(account).static_info([SYMBOL])
            self.assertEqual(info.symbol, SYMBOL)
            return info.board

        self.assertEqual(board(self.pinned("2022-07-17")), SecurityBoard.Unknown)
        self.assertNotEqual(board(self.generous), SecurityBoard.Unknown)

    def test_account_funds_are_those_of_the_date_until_it_is_unset(self):
        account = self.pinned("2024-05-05")
        trade = TradeContext(self.server.config(account))
        status, envelope = self.server.request("GET", "/v1/asset/account", account)
        self.assertEqual(status, 200)
        [funds] = envelope["data"]["list"]
        self.assertFalse({"buy_power", "frozen_transaction_fees"} & set(funds))
        self.assertIn("net_assets", funds)
        # This SDK is newer than the date, and reports the missing field.
        _, words = self.refused(trade.account_balance)
        self.assertIn("missing field `buy_power`", words)
        self.assertEqual(trade.today_orders(), [])
        harness.chandler(self.server.store, "account", "set", "as of 2024-05-05", "--api-date", "newest")
        [balance] = harness.wait_for(lambda: balances(trade), "the newest form")
        self.assertEqual(balance.currency, "HKD")


def balances(trade):
    try:
        return trade.account_balance()
    except OpenApiException:
        return None


if __name__ == "__main__":
    unittest.main()
