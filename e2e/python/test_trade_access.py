"""Who may trade, the state after a reconnect, and how clients are slowed down."""

import unittest
from decimal import Decimal

import harness
import person
from longbridge.openapi import (
    OpenApiException, OrderSide, OrderStatus, OrderType, TimeInForceType, TopicType, TradeContext)
from paper_market import WEDNESDAY, Market

SYMBOL = "700.HK"
# The handle is built from the token file alone, or the test fails.
BY_TOKEN_FILE = """
import sys
from decimal import Decimal
from longbridge.openapi import *
from longbridge.openapi import OpenApiException
def nowhere(url): raise SystemExit("the SDK wants a browser")
oauth = OAuthBuilder(sys.argv[1]).build(nowhere)
trade = TradeContext(Config.from_oauth(oauth))
order = trade.submit_order(
    "700.HK", OrderType.LO, OrderSide.Buy, Decimal(100), TimeInForceType.Day, submitted_price=Decimal(300))
print(trade.order_detail(order.order_id).status)
trade.cancel_order(order.order_id)
print(trade.order_detail(order.order_id).status)
try:
    HttpClient.from_oauth(oauth).request("post", "/v1/admin/clock", body={"now": "2026-03-18T02:01:00Z"})
except OpenApiException as error:
    print(error.code)
"""


def buy(trade, price="306", quantity="100"):
    return trade.submit_order(
        SYMBOL, OrderType.LO, OrderSide.Buy, Decimal(quantity), TimeInForceType.Day, submitted_price=Decimal(price)).order_id


class Access(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Market(WEDNESDAY, "10:00:15")
        cls.addClassCleanup(cls.server.kill)

    def test_a_program_trades_by_oauth_and_has_no_power_over_the_clock(self):
        account, login, client_id = person.signed_in(
            self.server, "by token file", "--role", "operator", "--rate", "unlimited", "--cash", "HKD=500000")
        addresses = {name: value for name, value in account["environment"].items() if name.endswith("_URL")}
        output = harness.run_python(BY_TOKEN_FILE, {"HOME": str(login.home), **addresses}, client_id)
        # The account is an operator; the program is not.
        self.assertEqual(output, "OrderStatus.New\nOrderStatus.Canceled\n403008\n")

    def test_a_token_without_the_scope_trade_opens_no_paper_account(self):
        # A token in an address is valid for candles only.
        account = self.server.trader("in the address", "--cash", "HKD=500000")
        question = "symbol=700.HK&period=1m&limit=1"
        token = account["access_token"]
        anonymous = {"access_token": ""}
        status, _ = self.ask("GET", f"/v1/quote/history-candlesticks?{question}&access_token={token}", anonymous)
        self.assertEqual(status, 200)
        for method, path in (
            ("GET", "/v1/asset/account"), ("GET", "/v1/asset/stock"), ("GET", "/v1/trade/order/today"),
            ("GET", "/v1/trade/order"), ("POST", "/v1/trade/order"), ("PUT", "/v1/trade/order"), ("DELETE", "/v1/trade/order"),
        ):
            status, envelope = self.ask(method, f"{path}?access_token={token}", anonymous)
            self.assertIn((status, envelope["code"]), ((401, 401001), (401, 401004), (403, 403008)), f"{method} {path}: {envelope}")

    def ask(self, method, path, account):
        """A request without an authorization header."""
        connection = harness.http.client.HTTPConnection(self.server.address, timeout=harness.PATIENCE_S)
        headers = {"content-type": "application/json"}
        connection.request(method, path, body="{}" if method in ("POST", "PUT") else None, headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, harness.json.loads(text)

    def test_an_account_that_is_read_only_reads_and_changes_nothing(self):
        account = self.server.trader("reader", "--cash", "HKD=500000")
        trade = TradeContext(self.server.config(account))
        order_id = buy(trade, "300")
        harness.chandler(self.server.store, "account", "set", "reader", "--read-only", "on", clock=self.server.clock)
        words = "this account is read-only: it may view orders and assets, but not change them"
        for call, arguments in (
            (buy, (trade,)), (trade.cancel_order, (order_id,)), (trade.replace_order, (order_id, Decimal(200))),
        ):
            with self.assertRaises(OpenApiException) as refused:
                call(*arguments)
            self.assertEqual((refused.exception.code, refused.exception.message), (403008, words))
        self.assertEqual([order.status for order in trade.today_orders()], [OrderStatus.New])
        self.assertEqual(trade.account_balance()[0].currency, "HKD")
        self.server.manage("accounts/reader", read_only=False)
        trade.cancel_order(order_id)
        self.assertEqual(trade.order_detail(order_id).status, OrderStatus.Canceled)

    def test_too_many_requests_are_answered_with_a_wait(self):
        trade = TradeContext(self.server.config(self.server.account("hasty", "--cash", "HKD=500000")))
        for _ in range(30):
            trade.fund_positions()
        with self.assertRaises(OpenApiException) as refused:
            # The SDK itself retries a rate-limited request a few times.
            for _ in range(30):
                trade.fund_positions()
        self.assertEqual(refused.exception.code, 429002)


class Comeback(unittest.TestCase):
    def setUp(self):
        self.server = Market(WEDNESDAY, "10:00:15", log="info,requests=debug")
        self.addCleanup(self.server.kill)
        self.account = self.server.trader("trader", "--cash", "HKD=500000")
        self.trade = TradeContext(self.server.config(self.account))
        self.pushes = []
        self.trade.set_on_order_changed(self.pushes.append)
        self.trade.subscribe([TopicType.Private])
        # The log is written after the response: a late line would later count as a second
        # subscription.
        harness.wait_for(lambda: self.subscriptions() == 1, "the first subscription in the log")

    def subscriptions(self):
        lines = self.server.log_text().splitlines()
        return len([line for line in lines if "trade_topics" in line])

    def wait_for(self, statuses):
        so_far = lambda: f"{statuses}, after {self.pushes}"
        harness.wait_for(lambda: len(self.pushes) >= len(statuses), so_far)
        self.assertEqual([push.status for push in self.pushes], statuses)

    def check_comeback(self, end):
        """A client is disconnected while its order is filled. It reads the missed state, and gets
        later pushes."""
        order_id = buy(self.trade)
        self.wait_for([OrderStatus.WaitToNew, OrderStatus.New])
        subscriptions = self.subscriptions()
        end()
        self.server.clock = "2026-03-18T02:02:00Z"
        self.server.start()
        # It reconnects and subscribes again automatically.
        harness.wait_for(lambda: self.subscriptions() > subscriptions, "a subscription")
        detail = self.trade.order_detail(order_id)
        self.assertEqual((detail.status, detail.executed_price), (OrderStatus.Filled, Decimal("305.2")))
        self.assertEqual(len(self.trade.today_executions(order_id=order_id)), 1)
        self.pushes.clear()
        other = buy(self.trade, "300")
        self.trade.cancel_order(other)
        self.wait_for([
            OrderStatus.WaitToNew, OrderStatus.New, OrderStatus.WaitToCancel, OrderStatus.PendingCancel, OrderStatus.Canceled])
        self.assertEqual({push.order_id for push in self.pushes}, {other})

    def test_after_a_restart(self):
        self.check_comeback(self.server.stop)

    def test_after_a_crash(self):
        self.check_comeback(self.server.kill)

    def test_a_connection_that_its_owner_closes_reconnects_and_listens(self):
        subscriptions = self.subscriptions()
        _, envelope = self.server.request("GET", "/v1/connections", self.account)
        (connection,) = envelope["data"]["connections"]
        self.server.request("DELETE", f"/v1/connections/{connection['id']}", self.account)
        harness.wait_for(lambda: self.subscriptions() > subscriptions, "a subscription")
        buy(self.trade, "300")
        self.wait_for([OrderStatus.WaitToNew, OrderStatus.New])

    def test_unsubscribed_connections_get_no_pushes_and_two_connections_get_each_push(self):
        other = TradeContext(self.server.config(self.account))
        heard = []
        other.set_on_order_changed(heard.append)
        other.subscribe([TopicType.Private])
        self.trade.unsubscribe([TopicType.Private])
        buy(self.trade, "300")
        harness.wait_for(lambda: len(heard) >= 2, lambda: f"two pushes, after {heard}")
        self.trade.subscribe([TopicType.Private])
        buy(self.trade, "300")
        self.wait_for([OrderStatus.WaitToNew, OrderStatus.New])
        harness.wait_for(lambda: len(heard) >= 4, lambda: f"four pushes, after {heard}")


if __name__ == "__main__":
    unittest.main()
