"""Signing in with `chandler login`, and the SDK in OAuth mode with the resulting token file."""

import json
import os
import signal
import stat
import unittest

import examples
import harness
import person
import questions

# The handle is built from the token file alone; if the SDK wants a browser, the test fails.
HANDLE = (
    "from longbridge.openapi import *\n"
    "def nowhere(url): raise SystemExit('the SDK wants a browser')\n"
    "oauth = OAuthBuilder(__import__('sys').argv[1]).build(nowhere)\n"
)
# Securities that the examples name.
CANDLES = "symbol,date,open,high,low,close,volume,turnover\n" + "".join(
    f"{symbol},2026-11-{day:02},10.5,11,10,10.{day},1000,10500\n"
    for symbol in ("700.HK", "AAPL.US", "TSLA.US", "NFLX.US") for day in (10, 11, 12, 13)
)


class OAuth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The most verbose log, so that a leaked secret would appear.
        cls.server = harness.Server(log="trace")
        candles = cls.server.folder / "examples.csv"
        candles.write_text(CANDLES)
        harness.chandler(cls.server.store, "import", candles)
        # The examples contain a fixed client id.
        cls.account, cls.login, cls.client_id = person.signed_in(
            cls.server, "Ana Lamp", "--rate", "unlimited", login=("--file-as", examples.CLIENT_ID))

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()

    def environment(self, transport):
        addresses = {name: value for name, value in self.account["environment"].items() if name.endswith("_URL")}
        return {"HOME": str(self.login.home), "LONGBRIDGE_QUOTE_TRANSPORT": transport, **addresses}

    def ask(self, script, transport):
        return harness.run_python(HANDLE + script, self.environment(transport), self.client_id)

    def test_the_token_file_has_the_form_of_the_sdk_and_is_private(self):
        token = self.login.tokens()[self.client_id]
        self.assertEqual(set(token), {"client_id", "access_token", "refresh_token", "expires_at"})
        self.assertEqual(token["client_id"], self.client_id)
        self.assertRegex(token["access_token"], "^ap_")
        self.assertIs(type(token["expires_at"]), int)
        self.assertGreater(token["expires_at"], harness.time.time() + 86_400)
        self.assertEqual(self.login.tokens()[examples.CLIENT_ID]["access_token"], token["access_token"])
        for place, mode in ((f"tokens/{self.client_id}", 0o600), ("tokens", 0o700)):
            found = os.stat(self.login.home / ".longbridge/openapi" / place)
            self.assertEqual(stat.S_IMODE(found.st_mode), mode, place)

    def test_nothing_secret_is_written_anywhere_else(self):
        script = (
            "quotes = QuoteContext(Config.from_oauth(oauth))\n"
            "quotes.history_candlesticks_by_offset('CNDL.US', Period.Day, AdjustType.NoAdjust, False, 1)\n"
        )
        self.ask(script, "ws")
        token = self.login.tokens()[self.client_id]
        otp = self.server.request("GET", "/v1/socket/token", token)[1]["data"]["otp"]
        book = json.loads((self.login.home / ".config/chandler/login.json").read_text())
        secrets = {
            "access token": token["access_token"], "refresh token": token["refresh_token"],
            "password": person.PASSWORD, "one-time password": otp,
            "registration": book["servers"][self.server.url]["registration_access_token"],
            "app secret": self.account["app_secret"], "key's token": self.account["access_token"],
        }
        places = {
            "log": self.server.log_text(),
            "audit": harness.chandler(self.server.store, "audit", "--format", "json", "-n", 10000),
            "accounts": harness.chandler(self.server.store, "account", "list", "--format", "json"),
            "login": "".join(self.login.output),
            "status": self.login.chandler("auth", "status"),
            "database": harness.everything_in(self.server.store),
        }
        for place, text in places.items():
            self.assertNotEqual(text, "", place)
            for name, secret in secrets.items():
                self.assertNotIn(secret, text, f"the {name} is in the {place}")

    def test_the_audit_has_every_event_of_the_login(self):
        rows = json.loads(harness.chandler(
            self.server.store, "audit", "--account", self.account["name"], "--format", "json", "-n", 1000))
        events = {row["event"] for row in rows}
        wanted = {"account.created", "password.set", "login.accepted", "device.approved", "tokens.issued"}
        self.assertTrue(events >= wanted, events)

    def test_history_over_both_transports(self):
        script = (
            "quotes = QuoteContext(Config.from_oauth(oauth))\n"
            "ask = quotes.history_candlesticks_by_offset\n"
            "print([str(one.close) for one in ask('CNDL.US', Period.Day, AdjustType.ForwardAdjust, False, 20)])\n"
        )
        wanted = questions.kline(self.server.store, ("CNDL.US", "--adjust", "forward", "-n", "20"))
        for transport in ("ws", "http"):
            self.assertEqual(self.ask(script, transport), f"{[row[4] for row in wanted]}\n")

    def test_the_profile_is_that_of_the_account_that_approved(self):
        script = "print(QuoteContext(Config.from_oauth(oauth)).member_id())\n"
        self.assertEqual(self.ask(script, "ws"), f"{self.account['account_id']}\n")

    def test_plain_http_with_the_handle(self):
        script = "import json\nprint(json.dumps(HttpClient.from_oauth(oauth).request('get', '/v1/socket/token')))\n"
        self.assertEqual(json.loads(self.ask(script, "ws"))["online"], 0)

    def test_the_examples_of_the_package_run_unchanged(self):
        # The history examples are not valid Python, and those of trading days request days that the
        # protocol no longer knows.
        methods = ("static_info", "quote", "candlesticks", "intraday", "trading_session")
        ran = {}
        for name, text in examples.examples(("QuoteContext", "AsyncQuoteContext"), methods):
            with self.subTest(example=name):
                # The asynchronous contexts sometimes abort at interpreter exit, after all output.
                codes = (0, -signal.SIGABRT) if name.startswith("Async") else (0,)
                ran[name] = harness.run_python(text, self.environment("ws"), codes=codes)
                self.assertNotIn("Visit", ran[name])
        self.assertTrue(ran.keys() >= {f"QuoteContext.{method}" for method in methods}, ran.keys())
        for context in ("QuoteContext", "AsyncQuoteContext"):
            for words in ("700.HK", "AAPL.US", "TSLA.US", "NFLX.US", "HKD", "USD"):
                self.assertIn(words, ran[f"{context}.static_info"])
            self.assertIn("10.13", ran[f"{context}.quote"])


class Decisions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()

    def test_a_login_that_is_denied_reports_it_and_leaves_no_token(self):
        self.server.account("wary")
        harness.chandler(self.server.store, "account", "password", "wary", input=f"{person.PASSWORD}\n")
        login = person.Login(self.server)
        person.Person("wary", person.PASSWORD).decide(login.url(), "deny")
        code, output = login.result()
        self.assertNotEqual(code, 0)
        self.assertIn("denied", output)
        self.assertEqual(login.tokens(), {})

    def test_a_token_that_is_about_to_expire_is_renewed_in_its_file(self):
        account, login, client_id = person.signed_in(self.server, "staying")
        file = login.home / ".longbridge/openapi/tokens" / client_id
        before = json.loads(file.read_text())
        file.write_text(json.dumps({**before, "expires_at": int(harness.time.time()) + 200}))
        login.chandler("auth", "status")
        after = json.loads(file.read_text())
        self.assertGreater(after["expires_at"], harness.time.time() + 86_400)
        for secret in ("access_token", "refresh_token"):
            self.assertNotEqual(after[secret], before[secret])
        self.assertEqual(self.server.request("GET", "/v1/socket/token", after)[0], 200)
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)

    def test_after_logout_the_token_is_invalid_and_its_file_removed(self):
        account, login, client_id = person.signed_in(self.server, "leaving")
        token = login.tokens()[client_id]["access_token"]
        bearer = {"access_token": token}
        self.assertEqual(self.server.request("GET", "/v1/socket/token", bearer)[0], 200)
        status = login.chandler("auth", "status", "--format", "json")
        self.assertIn("leaving", status)
        self.assertNotIn(token, status)
        login.chandler("logout")
        self.assertEqual(login.tokens(), {})
        status, envelope = self.server.request("GET", "/v1/socket/token", bearer)
        self.assertEqual((status, envelope["code"]), (401, 401004))


if __name__ == "__main__":
    unittest.main()
