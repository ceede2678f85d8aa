"""A whole session of a trader on three past days, with each of the public SDKs: funding, a purchase
in parts over several candles, replacement, cancellation, a dividend, a split, a sale, and a cash
statement at the end. Everything is deterministic, so everything is compared entirely.

The candles are those of `paper_market.py`; every number below follows from them and from the
rules of docs/paper.md:

- A candle takes effect a minute after its stamp, on orders that existed before its stamp, for at
  most a tenth of its volume.
- A limit order is filled at the open if that is better, else at the limit if the candle crosses it.
- Charges are those of everything the order traded on the day; a fill pays their increase.
"""

import os
import unittest
from decimal import Decimal

import harness
import trade_clients
from paper_market import FRIDAY, THURSDAY, WEDNESDAY, Market, charges_of_fills, hong_kong_charges, instant
from trade_clients import Program, PythonClient

SYMBOL = "700.HK"
# The amounts of the three fills of the purchase, and of the two fills of the sale.
BOUGHT = [200 * Decimal("305.2"), 300 * Decimal("305.6"), 100 * Decimal("305.8")]
SOLD = [2000 * Decimal("60.5"), 1000 * Decimal("60.7")]
# 15 + 184 + 10.36 + 4.95 + 0.27 + 7.70 for 183,300; 15 + 182 + 10.27 + 4.91 + 0.27 + 7.63 for 181,700.
FEES_BOUGHT, FEES_SOLD = Decimal("222.28"), Decimal("220.08")
DIVIDEND = 600 * Decimal("4.5")
# 500,000 − 183,300 − 222.28, then + 2,700, then + 181,700 − 220.08.
CASH_BOUGHT, CASH_PAID, CASH_SOLD = Decimal("316477.72"), Decimal("319177.72"), Decimal("500657.64")
# USD 20,000 at 7.8.
DOLLARS = Decimal(156000)


# Known wrong: `longport` has another literal than `longbridge` for the tag of long-term orders, and
# the server cannot distinguish their requests.
TAG = {"longbridge": "LongTerm", "longport": "Unknown"}


class Session(unittest.TestCase):
    maxDiff = None

    def test_by_longbridge_in_python(self):
        self.play(lambda server, account: PythonClient("longbridge", server, account))

    def test_by_longport_in_python(self):
        self.play(lambda server, account: PythonClient("longport", server, account), "longport")

    def test_by_longport_in_node(self):
        self.play(lambda _, account: Program(["node", str(harness.ROOT / "e2e/node/session.js")], account), "longport")

    @unittest.skipUnless("CHANDLER_E2E_RUST" in os.environ, "run with `make e2e-rust`")
    def test_by_longbridge_in_rust(self):
        self.play(lambda _, account: Program([os.path.join(os.environ["CHANDLER_E2E_RUST"], "e2e-session")], account))

    def open_server(self):
        return Market(WEDNESDAY, "09:55:00")

    def play(self, open_client, package="longbridge"):
        self.long_term = TAG[package]
        self.assertEqual(sum(hong_kong_charges(sum(BOUGHT)).values()), FEES_BOUGHT)
        self.assertEqual(sum(hong_kong_charges(sum(SOLD)).values()), FEES_SOLD)
        self.server = self.open_server()
        self.addCleanup(self.server.kill)
        account = self.server.trader("trader", "--cash", "HKD=490000,USD=20000")
        self.number = account["account_id"]
        self.client = open_client(self.server, account)
        self.expected = []
        self.fund()
        self.buy_in_parts()
        self.be_rejected_and_cancel()
        self.be_paid_and_wait()
        self.sell()
        self.lists()
        self.statement_of_cash()
        self.client.close()

    # The order of a push, and the fields that all of its pushes share.
    def order_id(self, number):
        return str(self.number * 1_000_000_000 + number)

    def expect_push(self, number, status, at, last=None, **changes):
        """Adds an expected push. Unnamed fields are as in the last push of the order."""
        of = self.order_id(number)
        before = next((push for push in reversed(self.expected) if push["order_id"] == of), None)
        last_share, last_price = last or (None, None)
        self.expected.append({
            "symbol": SYMBOL, "order_type": "LO", "currency": "HKD", "stock_name": "Lamp & Wick", "tag": "Normal",
            "account_no": f"P{self.number}", "msg": "", "remark": "", "executed_quantity": Decimal(0), "executed_price": None,
            **(before or {"submitted_at": at}), **changes,
            "order_id": of, "status": status, "updated_at": at, "last_share": last_share, "last_price": last_price,
        })

    def check_pushes(self):
        """Every expected push has arrived, in order, and no other."""
        self.assertEqual(self.client.pushes(count=len(self.expected)), self.expected)

    def fund(self):
        # Its first request opens the account, with its initial cash.
        self.assertEqual(self.client.account_balance()["total_cash"], 490000 + DOLLARS)
        self.server.manage("paper/trader/deposit", amount="10000", currency="HKD")
        balance = self.client.account_balance()
        self.assertEqual((balance["total_cash"], balance["currency"]), (500000 + DOLLARS, "HKD"))
        self.assertEqual(balance["frozen_transaction_fees"], [])

    def buy_in_parts(self):
        self.server.move(WEDNESDAY, "10:00:15")
        at = instant(WEDNESDAY, "10:00:15")
        submitted = self.client.submit(
            symbol=SYMBOL, side="Buy", order_type="LO", quantity="1000", price="306", remark="in parts")
        self.assertEqual(submitted, {"order_id": self.order_id(1)})
        terms = {"side": "Buy", "submitted_quantity": Decimal(1000), "submitted_price": Decimal(306), "remark": "in parts"}
        self.expect_push(1, "WaitToNew", at, **terms)
        self.expect_push(1, "New", at)
        self.check_pushes()
        # 306,000 and its charges are frozen: 15 + 306 + 17.29 + 8.26 + 0.46 + 12.85.
        self.check_cash(available="193640.14", frozen="306359.86", settling="0", withdraw="193640.14", fees="359.86")
        # 10:00 began before the order. 10:01 opens at 305.2 with volume 2,000: 200 at the open.
        self.server.move(WEDNESDAY, "10:02:00")
        fill = (Decimal(200), Decimal("305.2"))
        self.expect_push(1, "PartialFilled", instant(WEDNESDAY, "10:02:00"), fill,
                  executed_quantity=Decimal(200), executed_price=Decimal("305.2"))
        self.check_pushes()
        # 10:02 opens at 305.6 with volume 3,000: 300. On average (61,040 + 91,680) / 500.
        self.server.move(WEDNESDAY, "10:03:00")
        fill = (Decimal(300), Decimal("305.6"))
        self.expect_push(1, "PartialFilled", instant(WEDNESDAY, "10:03:00"), fill,
                  executed_quantity=Decimal(500), executed_price=Decimal("305.44"))
        self.check_pushes()
        self.replace_and_cancel()

    def replace_and_cancel(self):
        self.server.move(WEDNESDAY, "10:03:30")
        at = instant(WEDNESDAY, "10:03:30")
        self.client.replace(order_id=self.order_id(1), quantity="800", price="305.8")
        terms = {"submitted_quantity": Decimal(800), "submitted_price": Decimal("305.8")}
        self.expect_push(1, "WaitToReplace", at, **terms)
        self.expect_push(1, "PendingReplace", at)
        self.expect_push(1, "PartialFilled", at)
        self.check_pushes()
        # 10:03 began before the new terms, so its 305 fills nothing. 10:04 opens at the limit,
        # which does not cross it, and falls to 305.6, which does: 100 of 1,000 at the limit.
        self.server.move(WEDNESDAY, "10:05:00")
        self.expect_push(1, "PartialFilled", instant(WEDNESDAY, "10:05:00"), (Decimal(100), Decimal("305.8")),
                  executed_quantity=Decimal(600), executed_price=Decimal("305.5"))
        self.check_pushes()
        self.server.move(WEDNESDAY, "10:05:30")
        at = instant(WEDNESDAY, "10:05:30")
        self.client.cancel(order_id=self.order_id(1))
        for status in ("WaitToCancel", "PendingCancel", "PartialWithdrawal"):
            self.expect_push(1, status, at)
        self.check_pushes()
        # Bought and paid, to be settled on Friday.
        self.check_cash(available="316477.72", frozen="0", settling="-183522.28", withdraw="316477.72")
        self.check_position(quantity=600, cost="305.5", init=None)
        # 600 shares at the last close, 305.8: 183,480, with margin requirements of 0.35 and 0.3.
        balance = self.client.account_balance()
        net = CASH_BOUGHT + DOLLARS + Decimal(183480)
        self.assertEqual(balance["net_assets"], net)
        self.assertEqual(balance["init_margin"], Decimal("64218"))
        self.assertEqual(balance["maintenance_margin"], Decimal("55044"))
        self.assertEqual(balance["buy_power"], net - Decimal("64218"))
        self.assertEqual((balance["risk_level"], balance["margin_call"]), (0, Decimal(0)))

    def be_rejected_and_cancel(self):
        self.server.move(WEDNESDAY, "10:05:40")
        at = instant(WEDNESDAY, "10:05:40")
        # 336,600 and charges exceed the cash. The order is stored anyway, with the reason.
        self.client.submit(symbol=SYMBOL, side="Buy", order_type="LO", quantity="1100", price="306")
        terms = {"side": "Buy", "submitted_quantity": Decimal(1100), "submitted_price": Decimal(306)}
        self.expect_push(2, "Rejected", at, msg="insufficient funds", **terms)
        self.check_pushes()
        with self.assertRaises(trade_clients.Refused) as refused:
            self.client.cancel(order_id=self.order_id(2))
        self.assertEqual(refused.exception.code, 602001)
        self.assertIn("order is RejectedStatus", refused.exception.text)
        self.client.submit(symbol=SYMBOL, side="Buy", order_type="LO", quantity="100", price="300")
        self.client.cancel(order_id=self.order_id(3))
        terms = {"side": "Buy", "submitted_quantity": Decimal(100), "submitted_price": Decimal(300)}
        self.expect_push(3, "WaitToNew", at, **terms)
        for status in ("New", "WaitToCancel", "PendingCancel", "Canceled"):
            self.expect_push(3, status, at)
        self.check_pushes()

    def be_paid_and_wait(self):
        self.server.move(THURSDAY, "10:02:00")
        # At midnight the dividend: 2,700, so the cost of a share is 301.
        self.check_cash(available="319177.72", frozen="0", settling="-183522.28", withdraw="319177.72")
        self.check_position(quantity=600, cost="301", init=600)
        at = instant(THURSDAY, "10:02:00")
        self.client.submit(
            symbol=SYMBOL, side="Buy", order_type="LO", quantity="100", price="250", time_in_force="GoodTilCanceled")
        terms = {"side": "Buy", "submitted_quantity": Decimal(100), "submitted_price": Decimal(250), "tag": self.long_term}
        self.expect_push(4, "WaitToNew", at, **terms)
        self.expect_push(4, "New", at)
        self.check_pushes()
        # Friday begins with the split, which cancels every order for the old shares. Wednesday's
        # purchase is settled.
        self.server.move(FRIDAY, "09:45:15")
        self.expect_push(4, "Canceled", instant(FRIDAY, "00:00:00"), msg=f"corporate action {FRIDAY}")
        self.check_pushes()
        self.check_cash(available="319177.72", frozen="0", settling="0", withdraw="319177.72")
        self.check_position(quantity=3000, cost="60.2", init=3000)

    def sell(self):
        at = instant(FRIDAY, "09:45:15")
        self.client.submit(symbol=SYMBOL, side="Sell", order_type="LO", quantity="3000", price="60.5", remark="out")
        terms = {"side": "Sell", "submitted_quantity": Decimal(3000), "submitted_price": Decimal("60.5"), "remark": "out"}
        self.expect_push(5, "WaitToNew", at, **terms)
        self.expect_push(5, "New", at)
        self.check_pushes()
        self.check_position(quantity=3000, cost="60.2", init=3000, available=0)
        # 10:00 opens at the limit and rises above it: 2,000 of 20,000 at the limit. 10:01 opens at
        # 60.7: the rest, at the open. One clock move applies both, each with its instant. On
        # average 181,700 / 3,000.
        self.server.move(FRIDAY, "10:02:30")
        self.expect_push(5, "PartialFilled", instant(FRIDAY, "10:01:00"), (Decimal(2000), Decimal("60.5")),
                  executed_quantity=Decimal(2000), executed_price=Decimal("60.5"))
        self.expect_push(5, "Filled", instant(FRIDAY, "10:02:00"), (Decimal(1000), Decimal("60.7")),
                  executed_quantity=Decimal(3000), executed_price=Decimal("60.5667"))
        self.check_pushes()
        self.assertEqual(self.client.stock_positions(), [])
        # Received and available immediately, but not withdrawable before it is settled.
        self.check_cash(available="500657.64", frozen="0", settling="181479.92", withdraw="319177.72")
        balance = self.client.account_balance()
        for figure in ("total_cash", "net_assets", "buy_power", "remaining_finance_amount"):
            self.assertEqual(balance[figure], CASH_SOLD + DOLLARS, figure)
        # In dollars: 656,657.64 / 7.8, to the cent.
        balance = self.client.account_balance(currency="USD")
        self.assertEqual((balance["currency"], balance["net_assets"]), ("USD", Decimal("84186.88")))
        self.assertEqual(balance["remaining_finance_amount"], Decimal(20000))

    def lists(self):
        start, end = instant(WEDNESDAY, "00:00:00"), instant(FRIDAY, "23:59:59")
        statuses = lambda orders: [(order["order_id"], order["status"]) for order in orders]
        self.assertEqual(
            statuses(self.client.today_orders()), [(self.order_id(5), "Filled"), (self.order_id(4), "Canceled")])
        self.assertEqual(statuses(self.client.history_orders(start=start, end=end)), [
            (self.order_id(3), "Canceled"), (self.order_id(2), "Rejected"), (self.order_id(1), "PartialWithdrawal")])
        sold = [(self.order_id(5), f"{self.order_id(5)}-{number}", SYMBOL, instant(FRIDAY, time), quantity, Decimal(price))
                for number, time, quantity, price in ((2, "10:02:00", 1000, "60.7"), (1, "10:01:00", 2000, "60.5"))]
        self.assertEqual([tuple(one.values()) for one in self.client.today_executions()], sold)
        bought = [(self.order_id(1), f"{self.order_id(1)}-{number}", SYMBOL, instant(WEDNESDAY, time), quantity, Decimal(price))
                  for number, time, quantity, price in (
                      (3, "10:05:00", 100, "305.8"), (2, "10:03:00", 300, "305.6"), (1, "10:02:00", 200, "305.2"))]
        self.assertEqual([tuple(one.values()) for one in self.client.history_executions(start=start, end=end)], bought)
        self.check_detail()

    def check_detail(self):
        detail = self.client.order_detail(order_id=self.order_id(1))
        # The last push of an order and its detail agree.
        push = [one for one in self.expected if one["order_id"] == self.order_id(1)][-1]
        for name in ("status", "executed_quantity", "executed_price", "submitted_at", "updated_at", "msg", "remark", "tag"):
            self.assertEqual(detail[name], push[name], name)
        self.assertEqual((detail["quantity"], detail["price"], detail["last_done"]), (800, Decimal("305.8"), Decimal("305.8")))
        # A row for each push, newest first: the fill, else the price and the remaining quantity.
        pushes = [one for one in self.expected if one["order_id"] == self.order_id(1)]
        rows = [{
            "status": one["status"], "time": one["updated_at"],
            "price": one["last_price"] or one["submitted_price"],
            "quantity": one["last_share"] or one["submitted_quantity"] - one["executed_quantity"],
            "msg": f"Execution of {one['last_share']}" if one["last_share"] else "",
        } for one in reversed(pushes)]
        self.assertEqual(detail["history"], [{name: row[name] for name in trade_clients.HISTORY} for row in rows])
        charges = detail["charge_detail"]
        self.assertEqual((charges["total_amount"], charges["currency"]), (FEES_BOUGHT, "HKD"))
        by_group = {item["code"]: {fee["code"]: fee["amount"] for fee in item["fees"]} for item in charges["items"]}
        wanted = hong_kong_charges(sum(BOUGHT))
        self.assertEqual(by_group, {"Broker": {"PLATFORM": wanted.pop("PLATFORM")}, "Third": wanted})

    def statement_of_cash(self):
        """Every cash movement, newest first: a row for each deposit, each amount, each charge and
        the dividend."""
        rows = [("Deposit", Decimal(490000), "HKD", "", ""), ("Deposit", Decimal(20000), "USD", "", ""),
                ("Deposit", Decimal(10000), "HKD", "", "")]
        wanted = [(*row, instant(WEDNESDAY, "09:55:00")) for row in rows]
        for name, sign, amounts, times in (
            ("BuyStock", -1, BOUGHT, [(WEDNESDAY, "10:02:00"), (WEDNESDAY, "10:03:00"), (WEDNESDAY, "10:05:00")]),
            ("SellStock", 1, SOLD, [(FRIDAY, "10:01:00"), (FRIDAY, "10:02:00")]),
        ):
            if name == "SellStock":
                wanted.append(("Dividend", DIVIDEND, "HKD", SYMBOL, "700", instant(THURSDAY, "00:00:00")))
            for amount, charges, time in zip(amounts, charges_of_fills(amounts), times, strict=True):
                wanted.append((name, sign * amount, "HKD", SYMBOL, "700", instant(*time)))
                wanted += [("Fee", -charge, "HKD", SYMBOL, code, instant(*time)) for code, charge in charges.items()]
        found = self.client.cash_flow(start=instant(WEDNESDAY, "09:00:00"), end=instant(FRIDAY, "16:30:00"), size=100)
        fields = ("transaction_flow_name", "balance", "currency", "symbol", "description", "business_time")
        of = lambda row: tuple(row[name] or "" if name == "symbol" else row[name] for name in fields)
        self.assertEqual([of(row) for row in found], list(reversed(wanted)))
        for row in found:
            self.assertEqual((row["direction"], row["business_type"]), ("Out" if row["balance"] < 0 else "In", "Cash"))
        self.assertEqual(sum(row["balance"] for row in found if row["currency"] == "HKD"), CASH_SOLD)

    def check_cash(self, fees=None, **figures):
        balance = self.client.account_balance()
        (cash,) = [info for info in balance["cash_infos"] if info["currency"] == "HKD"]
        self.assertEqual(cash, {"currency": "HKD", **{f"{name}_cash": Decimal(text) for name, text in figures.items()}})
        frozen = [] if fees is None else [{"currency": "HKD", "frozen_transaction_fee": Decimal(fees)}]
        self.assertEqual(balance["frozen_transaction_fees"], frozen)

    def check_position(self, quantity, cost, init, available=None):
        self.assertEqual(self.client.stock_positions(), [{
            "symbol": SYMBOL, "symbol_name": "Lamp & Wick", "quantity": quantity, "currency": "HKD", "market": "HK",
            "available_quantity": quantity if available is None else available, "cost_price": Decimal(cost),
            "init_quantity": init,
        }])


class Brackets(unittest.TestCase):
    """A purchase with a take profit and a stop loss, seen by SDKs that have no call to attach them:
    each is an order with its own detail and pushes."""

    maxDiff = None

    def test_by_longport_in_python(self):
        self.play(lambda server, account: PythonClient("longport", server, account))

    def test_by_longport_in_node(self):
        self.play(lambda _, account: Program(["node", str(harness.ROOT / "e2e/node/session.js")], account))

    @unittest.skipUnless("CHANDLER_E2E_RUST" in os.environ, "run with `make e2e-rust`")
    def test_by_longbridge_in_rust(self):
        self.play(lambda _, account: Program([os.path.join(os.environ["CHANDLER_E2E_RUST"], "e2e-session")], account))

    def play(self, open_client):
        server = Market(WEDNESDAY, "10:00:15")
        self.addCleanup(server.kill)
        account = server.trader("trader", "--cash", "HKD=500000")
        client = open_client(server, account)
        body = {
            "symbol": SYMBOL, "order_type": "LO", "side": "Buy", "submitted_quantity": "100", "submitted_price": "305.8",
            "time_in_force": "Day",
            "attached_params": {"attached_order_type": "BRACKET", "profit_taker_price": "306", "stop_loss_price": "300"},
        }
        status, document = server.request("POST", "/v1/trade/order", account, body)
        self.assertEqual((status, document["code"]), (200, 0), document)
        main = document["data"]["order_id"]
        _, document = server.request("GET", f"/v1/trade/order?order_id={main}", account)
        profit, stop = (one["order_id"] for one in document["data"]["attached_orders"])
        # The list has the order without its attached orders.
        self.assertEqual([order["order_id"] for order in client.today_orders()], [main])
        waiting = client.order_detail(order_id=stop)
        self.assertEqual((waiting["status"], waiting["order_type"], waiting["side"]), ("VarietiesNotReported", "MIT", "Sell"))
        # 10:01 opens at 305.2: the purchase. 10:02 reaches 306, so the take profit takes the open of
        # 10:03, 305, and the stop is cancelled.
        server.move(WEDNESDAY, "10:04:00")
        figures = lambda order: (order["status"], order["executed_quantity"], order["executed_price"])
        self.assertEqual(figures(client.order_detail(order_id=main)), ("Filled", Decimal(100), Decimal("305.2")))
        self.assertEqual(figures(client.order_detail(order_id=profit)), ("Filled", Decimal(100), Decimal(305)))
        self.assertEqual(client.order_detail(order_id=stop)["status"], "Canceled")
        self.assertEqual(client.stock_positions(), [])
        # The quantity of the attached orders follows the fill, so each is pushed again then.
        wanted = [
            (main, "WaitToNew", "10:00:15"), (main, "New", "10:00:15"),
            (profit, "VarietiesNotReported", "10:00:15"), (stop, "VarietiesNotReported", "10:00:15"),
            (main, "Filled", "10:02:00"), (stop, "VarietiesNotReported", "10:02:00"),
            (profit, "VarietiesNotReported", "10:02:00"), (profit, "New", "10:03:00"), (profit, "Filled", "10:04:00"),
            (stop, "Canceled", "10:04:00"),
        ]
        pushes = client.pushes(count=len(wanted))
        self.assertEqual(
            [(push["order_id"], push["status"], push["updated_at"]) for push in pushes],
            [(order_id, status, instant(WEDNESDAY, time)) for order_id, status, time in wanted])
        self.assertEqual((pushes[8]["last_share"], pushes[8]["last_price"]), (Decimal(100), Decimal(305)))
        client.close()


if __name__ == "__main__":
    unittest.main()
