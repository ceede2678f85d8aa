"""Connecting, staying connected, and reconnecting."""

import json
import threading
import unittest
from subprocess import PIPE

import caller
import harness
import questions
from longbridge.openapi import TopicType, TradeContext

QUESTION = {"symbol": "CNDL.US", "period": "1m", "adjust": "none", "offset": {"forward": False, "count": 1000}}


class First(unittest.TestCase):
    def test_the_environment_block_is_all_a_client_needs(self):
        server, _ = harness.shared()
        account = server.account("by environment")
        script = (
            "from longbridge.openapi import *\n"
            "quotes = QuoteContext(Config.from_apikey_env())\n"
            "print(len(quotes.history_candlesticks_by_offset('9001.HK', Period.Day, AdjustType.NoAdjust, False, 7)))\n"
        )
        for transport in ("ws", "http"):
            environment = {**account["environment"], "LONGBRIDGE_QUOTE_TRANSPORT": transport}
            self.assertEqual(harness.run_python(script, environment), "7\n")

    def test_overnight_is_a_matter_of_the_environment_too(self):
        server, account = harness.shared()
        script = (
            "from longbridge.openapi import *\n"
            "quotes = QuoteContext(Config.from_apikey_env())\n"
            "ask = quotes.history_candlesticks_by_offset\n"
            "candles = ask('CNDL.US', Period.Min_1, AdjustType.NoAdjust, False, 1000, None, TradeSessions.All)\n"
            "print(any(candle.trade_session == TradeSession.Overnight for candle in candles))\n"
        )
        for wanted, seen in (("true", "True\n"), ("false", "False\n")):
            environment = {**account["environment"], "LONGBRIDGE_ENABLE_OVERNIGHT": wanted}
            self.assertEqual(harness.run_python(script, environment), seen)

    def test_the_older_package_connects_in_its_constructor(self):
        server, account = harness.shared()
        script = (
            "from longport.openapi import *\n"
            "quotes = QuoteContext(Config.from_env())\n"
            "ask = quotes.history_candlesticks_by_offset\n"
            "candles = ask('CNDL.US', Period.Day, AdjustType.ForwardAdjust, False, 20)\n"
            "print([str(one.close) for one in candles])\n"
        )
        wanted = questions.kline(server.store, ("CNDL.US", "--adjust", "forward", "-n", "20"))
        self.assertEqual(harness.run_python(script, account["environment"]), f"{[row[4] for row in wanted]}\n")

    def test_the_profile_is_the_accounts(self):
        server, account = harness.shared()
        quotes = server.quotes(account)
        self.assertEqual(quotes.member_id(), account["account_id"])
        for market in ("HK", "US", "CN"):
            self.assertIn(market, quotes.quote_level())
        packages = {package.key: package for package in quotes.quote_package_details()}
        self.assertEqual(set(packages), {"chandler_hk", "chandler_us", "chandler_us_overnight", "chandler_cn"})
        restricted = server.quotes(server.account("one market", "--markets", "US"))
        self.assertNotIn("HK", restricted.quote_level())
        self.assertEqual([package.key for package in restricted.quote_package_details()], ["chandler_us"])

    def test_a_trade_context_that_subscribes_stays_on_one_connection(self):
        server, _ = harness.shared()
        account = server.account("trader")
        trade = TradeContext(server.config(account))
        trade.subscribe([TopicType.Private])
        self.assertEqual(server.online(account), 1)
        for _ in range(5):
            trade.unsubscribe([TopicType.Private])
            trade.subscribe([TopicType.Private])
        self.assertEqual(server.online(account), 1)
        # A quote context in addition takes another connection slot.
        quotes = server.quotes(account)
        self.assertEqual(len(questions.ask(quotes, QUESTION)), 1000)
        self.assertEqual(server.online(account), 2)

    def test_a_context_that_is_dropped_releases_its_slot(self):
        server, _ = harness.shared()
        account = server.account("one slot", "--connections", "1", "--rate", "unlimited")
        for _ in range(3):
            quotes = server.quotes(account)
            self.assertEqual(len(questions.ask(quotes, QUESTION)), 1000)
            del quotes
            harness.wait_for(lambda: server.online(account) == 0, "the slot")


class Owner(unittest.TestCase):
    def connections(self, server, account):
        status, envelope = server.request("GET", "/v1/connections", account)
        self.assertEqual(status, 200, envelope)
        return {one["id"]: one for one in envelope["data"]["connections"]}

    def test_a_connection_closed_by_its_owner_frees_its_slot_and_the_sdk_reconnects(self):
        server, _ = harness.shared()
        account = server.account("tidy", "--connections", "2")
        quotes = server.quotes(account)
        self.assertEqual(len(questions.ask(quotes, QUESTION)), 1000)
        ((number, connection),) = self.connections(server, account).items()
        self.assertEqual((connection["account"], connection["door"]), ("tidy", "websocket"))
        self.assertEqual(server.request("DELETE", f"/v1/connections/{number}", account)[0], 200)
        # It reconnects with another connection.
        come_back = lambda: self.connections(server, account).keys() - {number}
        self.assertEqual(len(harness.wait_for(come_back, "the client")), 1)
        self.assertNotIn(number, self.connections(server, account))
        self.assertEqual(len(questions.ask(quotes, QUESTION)), 1000)

    def test_no_account_closes_a_connection_of_another(self):
        server, _ = harness.shared()
        account, stranger = server.account("minded"), server.account("stranger")
        quotes = server.quotes(account)
        self.assertEqual(len(questions.ask(quotes, QUESTION)), 1000)
        (number,) = self.connections(server, account)
        unknown = server.request("DELETE", "/v1/connections/999999", stranger)
        self.assertEqual(unknown[0], 404)
        self.assertEqual(server.request("DELETE", f"/v1/connections/{number}", stranger), unknown)
        self.assertEqual(list(self.connections(server, account)), [number])

    def test_a_token_that_is_renewed_replaces_the_previous_one(self):
        server, _ = harness.shared()
        account = server.account("renewing", "--rate", "unlimited")
        token = server.config(account).refresh_access_token()
        self.assertNotEqual(token, account["access_token"])
        renewed = {**account, "access_token": token}
        for transport in ("ws", "http"):
            self.assertEqual(len(questions.ask(server.quotes(renewed, transport), QUESTION)), 1000)


class Comeback(unittest.TestCase):
    def setUp(self):
        self.server = harness.Server()
        self.addCleanup(self.server.kill)
        self.account = self.server.generous()
        self.wanted = questions.expected(self.server.store, QUESTION, overnight=False)

    def calling(self):
        calling = Caller(self.server, self.account, self.wanted)
        self.addCleanup(calling.stop)
        return calling

    def assert_well(self, calling):
        """No error, except that the SDK may give up a request on a connection that it was about to
        find dead."""
        problems = calling.stop()
        self.assertTrue(len(problems) <= 1 and all("Client is closed" in one for one in problems), problems)

    def test_a_client_in_the_middle_of_calls_survives_a_restart(self):
        calling = self.calling()
        calling.wait_for_more(20)
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        calling.wait_for_more(20)
        self.assert_well(calling)

    def test_a_client_in_the_middle_of_calls_survives_a_crash(self):
        calling = self.calling()
        calling.wait_for_more(20)
        self.server.kill()
        self.server.start()
        calling.wait_for_more(20)
        self.assert_well(calling)

    def test_an_idle_client_survives_a_restart(self):
        quotes = self.server.quotes(self.account)
        self.assertEqual(questions.ask(quotes, QUESTION), self.wanted)
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        # It reconnects automatically.
        harness.wait_for(lambda: self.server.online(self.account) == 1, "the client")
        self.assertEqual(questions.ask(quotes, QUESTION), self.wanted)

    def test_http_calls_continue_after_a_restart(self):
        quotes = self.server.quotes(self.account, "http")
        self.assertEqual(questions.ask(quotes, QUESTION), self.wanted)
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.assertEqual(questions.ask(quotes, QUESTION), self.wanted)

    def test_many_clients_in_the_middle_of_calls_survive_a_restart(self):
        all_calling = [self.calling() for _ in range(4)]
        for calling in all_calling:
            calling.wait_for_more(5)
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        for calling in all_calling:
            calling.wait_for_more(5)
            self.assert_well(calling)


class Caller:
    """A client process that sends requests without pause, and its results."""

    def __init__(self, server, account, wanted):
        self.wanted = caller.digest(wanted)
        self.calls, self.problems = 0, []
        script = harness.pathlib.Path(caller.__file__)
        self.process = harness.subprocess.Popen([harness.sys.executable, script], stdin=PIPE, stdout=PIPE, text=True)
        with self.process.stdin as stdin_pipe:
            where = {"url": server.url, "socket_url": server.socket_url}
            json.dump({"account": account, **where, "question": QUESTION}, stdin_pipe)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        for line in self.process.stdout:
            if line.strip() != self.wanted:
                self.problems.append(line.strip())
            self.calls += 1

    def wait_for_more(self, number):
        """Waits for further responses, not counting the running call."""
        enough = self.calls + 1 + number
        so_far = lambda: f"{number} more calls, after {self.calls} with {self.problems[:3]}"
        harness.wait_for(lambda: self.calls >= enough, so_far)

    def stop(self):
        """Stops it; returns the errors so far."""
        self.process.kill()
        self.process.wait(harness.PATIENCE_S)
        self.thread.join(harness.PATIENCE_S)
        self.process.stdout.close()
        return self.problems


if __name__ == "__main__":
    unittest.main()
