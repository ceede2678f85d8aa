"""Every refusal as the SDK reports it: the code, and a helpful message."""

import json
import unittest

import harness
import questions
from longbridge.openapi import OpenApiException

DAY = {"period": "day", "adjust": "none", "offset": {"forward": False, "count": 1}}
TRANSPORTS = ("ws", "http")


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.generous = harness.shared()

    def refused(self, quotes, question, code, says=""):
        with self.assertRaises(OpenApiException) as caught:
            questions.ask(quotes, question)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(says, caught.exception.message)
        return caught.exception

    def test_what_cannot_be_answered_is_refused_with_its_code(self):
        restricted = self.server.account("hong kong alone", "--markets", "HK", "--rate", "unlimited")
        for transport in TRANSPORTS:
            whole, part = self.server.quotes(self.generous, transport), self.server.quotes(restricted, transport)
            for question in questions.load("refusals.json"):
                with self.subTest(transport=transport, name=question["name"]):
                    quotes = part if "markets" in question else whole
                    says = question["symbol"] if question["code"] == 301603 else ""
                    self.refused(quotes, question, question["code"], says)
            # A refusal does not affect the connection.
            self.assertEqual(len(questions.ask(part, {**DAY, "symbol": "9001.HK"})), 1)

    def test_a_refusal_over_http_has_a_trace_and_the_status_of_its_kind(self):
        quotes = self.server.quotes(self.generous, "http")
        refusal = self.refused(quotes, {**DAY, "symbol": "1.HK"}, 301600, "1.HK")
        self.assertTrue(refusal.trace_id)
        body = {"symbol": "9099.HK", "period": 1000, "query_type": 1, "offset_request": {"count": 1}}
        status, envelope = self.server.request("POST", "/quote/history-candlesticks", self.generous, body)
        self.assertEqual((status, envelope["code"]), (404, 301603))
        self.assertIn("9099.HK", envelope["message"])

    def test_the_sixty_first_request_in_thirty_seconds_is_refused_over_every_transport(self):
        account = self.server.account("hasty")
        quotes = self.server.quotes(account, "http")
        question = {**DAY, "symbol": "9001.HK"}
        for _ in range(60):
            self.assertEqual(len(questions.ask(quotes, question)), 1)
        self.refused(quotes, question, 301606)
        self.refused(self.server.quotes(account), question, 301606)
        # Only history has a rate limit.
        self.assertEqual(len(quotes.static_info(["9001.HK"])), 1)

    def test_one_flag_lifts_the_limits_of_an_account(self):
        quotes, question = self.server.quotes(self.server.account("mine", "--unlimited"), "http"), {**DAY, "symbol": "9001.HK"}
        for _ in range(61):
            self.assertEqual(len(questions.ask(quotes, question)), 1)

    def test_a_client_paces_itself_by_the_announced_limits(self):
        # The first immediately and then one a second: the third is sent after two seconds, and the
        # window of an hour is full.
        account = self.server.account("slow", "--rate", "2/3600")
        quotes, question = self.server.quotes(account), {**DAY, "symbol": "9001.HK"}
        for _ in range(2):
            self.assertEqual(len(questions.ask(quotes, question)), 1)
        self.refused(quotes, question, 301606)

    def test_the_fourth_security_is_beyond_a_quota_of_three(self):
        for transport in TRANSPORTS:
            account = self.server.account(f"three over {transport}", "--quota", "3", "--rate", "unlimited")
            quotes = self.server.quotes(account, transport)
            for symbol in ("9001.HK", "CNDL.US", "609001.SH"):
                self.assertEqual(len(questions.ask(quotes, {**DAY, "symbol": symbol})), 1)
            self.refused(quotes, {**DAY, "symbol": "9002.HK"}, 301607)
            # Charged securities stay free, under any spelling; latest candles have no quota.
            self.assertEqual(len(questions.ask(quotes, {**DAY, "symbol": "09001.HK"})), 1)
            self.assertEqual(len(quotes.static_info(["9002.HK"])), 1)
            shown = harness.chandler(self.server.store, "account", "show", account["name"], "--format", "json")
            usage = json.loads(shown)["usage"]
            self.assertEqual((usage["used"], usage["limit"]), (3, 3))
            self.assertEqual({one["symbol"] for one in usage["securities"]}, {"9001.HK", "CNDL.US", "609001.SH"})

    def test_what_is_refused_is_not_charged(self):
        account = self.server.account("unlucky", "--quota", "1", "--rate", "unlimited", "--markets", "HK")
        quotes = self.server.quotes(account)
        for symbol, code in (("1.HK", 301600), ("9099.HK", 301603), ("CNDL.US", 301604)):
            self.refused(quotes, {**DAY, "symbol": symbol}, code)
        self.assertEqual(len(questions.ask(quotes, {**DAY, "symbol": "9001.HK"})), 1)

    def test_a_revoked_account_is_refused_everywhere(self):
        account = self.server.account("gone", "--rate", "unlimited")
        contexts = {transport: self.server.quotes(account, transport) for transport in TRANSPORTS}
        question = {**DAY, "symbol": "9001.HK"}
        for quotes in contexts.values():
            self.assertEqual(len(questions.ask(quotes, question)), 1)
        harness.chandler(self.server.store, "account", "revoke", "gone")
        self.server.hear()
        for transport in TRANSPORTS:
            with self.subTest(transport=transport), self.assertRaises(OpenApiException):
                questions.ask(self.server.quotes(account, transport), question)
        with self.assertRaises(OpenApiException):
            questions.ask(contexts["http"], question)

    def test_a_wrong_secret_is_a_wrong_signature(self):
        account = {**self.generous, "app_secret": "0" * 64}
        for transport in TRANSPORTS:
            self.refused(self.server.quotes(account, transport), {**DAY, "symbol": "9001.HK"}, 403201)

    def test_a_wrong_token_and_a_wrong_key_have_their_codes(self):
        for field, code in (("access_token", 401004), ("app_key", 403203)):
            account = {**self.generous, field: "nonsense"}
            self.refused(self.server.quotes(account), {**DAY, "symbol": "9001.HK"}, code)

    def test_what_is_not_offered_is_refused_as_such(self):
        for transport in TRANSPORTS:
            quotes = self.server.quotes(self.generous, transport)
            calls = [(quotes.depth, "9001.HK"), (quotes.brokers, "9001.HK")]
            for call, *arguments in calls:
                with self.assertRaises(OpenApiException) as caught:
                    call(*arguments)
                self.assertEqual(caught.exception.code, 301602)


if __name__ == "__main__":
    unittest.main()
