"""Accounts of two regions, at an address that serves all and at one that serves its region only."""

import unittest

import harness
import person
import questions
from longbridge.openapi import OpenApiException

DAY = {"symbol": "CNDL.US", "period": "day", "adjust": "none", "offset": {"forward": False, "count": 5}}


class Regions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(options=("--regional", "ap=127.0.0.1:0", "--regional", "us=127.0.0.1:0"))
        cls.regional = {one["region"]: one["http"] for one in cls.server.ready["regional"]}
        cls.accounts = {
            region: cls.server.account(f"at home in {region}", "--region", region, "--rate", "unlimited")
            for region in ("ap", "us")
        }

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()

    def each(self):
        """Every account over every transport."""
        for region, account in self.accounts.items():
            for transport in ("ws", "http"):
                with self.subTest(region=region, transport=transport):
                    yield region, account, transport

    def test_tokens_begin_with_their_region(self):
        for region, account in self.accounts.items():
            self.assertRegex(account["access_token"], f"^{region}_")

    def test_the_first_address_serves_all(self):
        for region, account, transport in self.each():
            self.assertEqual(len(questions.ask(self.server.quotes(account, transport), DAY)), 5)

    def test_an_address_of_a_region_serves_its_own(self):
        for region, account, transport in self.each():
            quotes = self.server.quotes(account, transport, address=self.regional[region])
            self.assertEqual(len(questions.ask(quotes, DAY)), 5)

    def test_an_address_of_another_region_has_names_but_no_prices(self):
        for region, account, transport in self.each():
            other = {"ap": "us", "us": "ap"}[region]
            quotes = self.server.quotes(account, transport, address=self.regional[other])
            self.assertEqual(len(quotes.static_info(["CNDL.US"])), 1)
            for ask in (lambda: questions.ask(quotes, DAY), lambda: quotes.quote(["CNDL.US"])):
                with self.assertRaises(OpenApiException) as caught:
                    ask()
                self.assertEqual(caught.exception.code, 301604)
                # The address to use instead.
                self.assertIn(self.server.address, caught.exception.message)

    def test_business_with_an_account_of_another_region_is_refused(self):
        for path in ("/v1/quota", "/v1/connections"):
            status, envelope = self.server.request("GET", path, self.accounts["us"], address=self.regional["ap"])
            self.assertEqual((status, envelope["code"]), (401, 401004), path)
            self.assertEqual(self.server.request("GET", path, self.accounts["us"])[0], 200)

    def test_a_token_file_has_the_region_of_the_account_that_approved(self):
        _, login, client_id = person.signed_in(self.server, "across by token file", "--region", "us")
        token = login.tokens()[client_id]["access_token"]
        self.assertRegex(token, "^us_")
        script = (
            "import sys\n"
            "from longbridge.openapi import *\n"
            "from longbridge.openapi import OpenApiException\n"
            "quotes = QuoteContext(Config.from_oauth(OAuthBuilder(sys.argv[1]).build(sys.exit)))\n"
            "try: print(len(quotes.history_candlesticks_by_offset('CNDL.US', Period.Day, AdjustType.NoAdjust, False, 5)))\n"
            "except OpenApiException as error: print(error.code)\n"
        )
        listeners = [(self.server.address, "5\n"), (self.regional["us"], "5\n"), (self.regional["ap"], "301604\n")]
        for address, output in listeners:
            places = {"LONGBRIDGE_HTTP_URL": f"http://{address}", "LONGBRIDGE_QUOTE_WS_URL": f"ws://{address}/v2"}
            for transport in ("ws", "http"):
                environment = {"HOME": str(login.home), "LONGBRIDGE_QUOTE_TRANSPORT": transport, **places}
                with self.subTest(address=address, transport=transport):
                    self.assertEqual(harness.run_python(script, environment, client_id), output)


if __name__ == "__main__":
    unittest.main()
