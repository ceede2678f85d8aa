"""Statements with the public SDK: requested, fetched from the returned address, and equal to the
trades.

The market is that of `paper_market.py`; the numbers of the trade are those of `test_session.py`."""

import json
import unittest
import urllib.error
import urllib.request
from decimal import Decimal

import harness
from longbridge.openapi import AssetContext, OpenApiException, StatementType
from paper_market import FRIDAY, THURSDAY, WEDNESDAY, Market, hong_kong_charges
from trade_clients import PythonClient

SATURDAY = "2026-03-21"
AMOUNT = 200 * Decimal("305.2")


def fetch(url):
    """Fetches an address without credentials, as a program that knows only the address."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()


class Statements(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = Market(WEDNESDAY, "10:00:15")
        self.addCleanup(self.server.kill)
        self.account = self.server.trader("trader", "--cash", "HKD=500000")
        self.client = PythonClient("longbridge", self.server, self.account)
        self.client.submit(symbol="700.HK", side="Buy", order_type="LO", quantity="200", price="306")
        self.context = AssetContext(self.server.config(self.account))

    def statements(self, kind=StatementType.Daily, **options):
        return [(one.dt, one.file_key) for one in self.context.statements(kind, **options).list]

    def test_a_date_is_listed_when_it_is_over_and_equal_to_what_was_traded(self):
        self.assertEqual(self.statements(), [])
        self.server.move(SATURDAY, "09:00:00")
        self.assertEqual([dt for dt, _ in self.statements()], [20260320, 20260319, 20260318])
        self.assertEqual([dt for dt, _ in self.statements(start_date=20260319, limit=1)], [20260320])
        self.assertEqual(self.statements(StatementType.Monthly), [])
        files = {dt: json.loads(fetch(self.context.statement_download_url(key).url)) for dt, key in self.statements()}
        fees = sum(hong_kong_charges(AMOUNT).values())
        first = files[20260318]
        trade = first["StockTradeSums"][0]["Trades"][0]
        self.assertEqual(Decimal(trade["ClearAmount"]), -AMOUNT - fees)
        self.assertEqual(sum(Decimal(fee["Amount"]) for fee in trade["Fees"]), fees)
        self.assertEqual((trade["TradeDate"], trade["SettleDate"]), (WEDNESDAY, FRIDAY))
        before = {}
        for dt in sorted(files):
            balances = {row["CurrencyCode"]: row for row in files[dt]["AccountBalanceSum"]["AccountBalances"]}
            changes = {}
            for group in files[dt]["AccountBalanceChangeSums"]:
                for row in group["AccountBalanceChanges"]:
                    changes[row["CurrencyCode"]] = changes.get(row["CurrencyCode"], 0) + Decimal(row["Amount"])
            for currency, row in balances.items():
                begin, change, ledger = (Decimal(row[name]) for name in ("BeginAmount", "ChangeAmount", "LedgerAmount"))
                self.assertEqual((begin, begin + change), (before.get(currency, 0), ledger))
                self.assertEqual(change, changes.get(currency, 0))
                before[currency] = ledger
        # The dividend of Thursday, and the split of Friday.
        self.assertEqual([row["CashAmount"] for row in files[20260319]["Corps"]], ["900.00"])
        holding = files[20260320]["EquityHoldingSums"][0]["EquityHoldings"][0]
        self.assertEqual(
            [holding[name] for name in ("BeginQuantity", "ChangeQuantity", "LedgerQuantity")], ["200", "800", "1000"])

    def test_an_address_cannot_be_changed_and_a_key_of_another_account_is_not_found(self):
        self.server.move(THURSDAY, "09:00:00")
        [(_, key)] = self.statements()
        url = self.context.statement_download_url(key).url
        fetch(url)
        for wrong in (url.replace("20260318", "20260317"), url.replace("expires=", "expires=9"), url[:-1]):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                fetch(wrong)
            self.assertEqual(refused.exception.code, 403)
        other = AssetContext(self.server.config(self.server.trader("other")))
        for context, wanted in ((other, key), (self.context, key + "x")):
            with self.assertRaises(OpenApiException) as refused:
                context.statement_download_url(wanted)
            self.assertEqual((refused.exception.code, refused.exception.message), (602001, "statement not found"))

    def test_what_the_clock_has_passed_is_made_without_a_request(self):
        # An open order makes the account follow the clock.
        self.client.submit(
            symbol="700.HK", side="Buy", order_type="LO", quantity="100", price="200", time_in_force="GoodTilCanceled")
        self.server.move(SATURDAY, "09:30:00")

        def made():
            return [day for (day,) in harness.rows(self.server.store, "select day from statement where kind = 1 order by day")]

        harness.wait_for(lambda: FRIDAY in made(), lambda: f"the statement of Friday: {made()}")
        self.assertEqual(made(), [WEDNESDAY, THURSDAY, FRIDAY])

    def test_a_pdf_in_chinese_has_its_font_and_the_command_line_the_same_statement(self):
        self.server.move(THURSDAY, "09:00:00")
        [(_, key)] = self.statements()
        pdf = fetch(self.context.statement_download_url(key.replace(".json", ".pdf")).url)
        self.assertTrue(pdf.startswith(b"%PDF-"))
        out = self.server.folder / "statement.pdf"
        whose, clock = ("--account", "trader"), self.server.clock
        harness.chandler(self.server.store, "statement", "download", "--lang", "zh-HK", "-o", out, *whose, clock=clock)
        self.assertIn(b"/Identity-H", out.read_bytes())
        shown = harness.chandler(self.server.store, "statement", "show", "--format", "json", *whose, clock=clock)
        self.assertEqual(json.loads(shown), json.loads(fetch(self.context.statement_download_url(key).url)))


if __name__ == "__main__":
    unittest.main()
