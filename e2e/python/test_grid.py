"""Grids with the SDK's grid context, on the exact candles of `paper_market.py`: every trigger, fill
and push of a morning, operations on a grid, and error messages.

From 305.2 in steps of 0.4; each candle takes effect a minute after its stamp:

- 10:01 reaches 305.6 (H 305.8): a sale is created at 10:02, filled at the 10:02 open, 305.6.
- 10:02 reaches 306 (H 306): a sale at 10:03, filled at 305.
- 10:03 opens at 305, two steps below: one purchase at 305, filled at 305.8.
- 10:04 opens at 305.8, two steps above: one sale at 305.8, which is not filled any more.
"""

import unittest
from decimal import Decimal

import harness
from longbridge.openapi import (
    GridContext, GridLimitEvent, GridTimeInForce, GridTradeRule, Market as MarketName, OpenApiException, TopicType, TradeContext,
    TriggerPriceType)
from paper_market import WEDNESDAY, Market, instant

SYMBOL = "700.HK"
LACKING = 602080
WRONG = 602001


def rule(
        base="305.2", upper="310", lower="300", kind=TriggerPriceType.Spread, up="0.4", down="0.4", quantity="100", most="1000",
        least="100", until=GridTimeInForce.GoodTilCanceled, **others):
    numbers = [Decimal(number) for number in (up, down, quantity, most, least)]
    return GridTradeRule(Decimal(base), Decimal(upper), Decimal(lower), kind, *numbers, until, **others)


class Grids(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = Market(WEDNESDAY, "09:55:00")
        self.addCleanup(self.server.kill)
        self.account = self.server.trader("trader", "--cash", "HKD=500000,USD=20000")
        self.server.manage("paper/trader/position", symbol=SYMBOL, quantity="500", cost="300")
        self.grids = GridContext(self.server.config(self.account))
        self.trade = TradeContext(self.server.config(self.account))
        # Both callbacks append to one list, to record the order between them.
        self.received = []
        self.trade.set_on_grid_order_changed(lambda push: self.received.append(("grid", push.status, push.current_base_price)))
        self.trade.set_on_order_changed(
            lambda push: self.received.append((push.order_id, repr(push.status).split(".")[1], push.side)))
        self.trade.subscribe([TopicType.Private])
        self.server.move(WEDNESDAY, "10:00:15")

    def submit(self, *arguments, **values):
        return self.grids.submit(SYMBOL, "HKD", rule(*arguments, **values)).order_id

    def pushes(self, count):
        harness.wait_for(lambda: len(self.received) >= count, lambda: f"{count} pushes, after {len(self.received)}: {self.received}")
        return [push[:2] if push[0] != "grid" else push for push in self.received]

    def refused(self, call, *arguments):
        with self.assertRaises(OpenApiException) as refused:
            call(*arguments)
        return refused.exception.code, refused.exception.message

    def order_id(self, number):
        return str(self.account["account_id"] * 1_000_000_000 + number)

    def test_a_grid_runs_over_a_morning_and_every_change_is_pushed_in_order(self):
        grid_id = self.submit()
        self.assertEqual(grid_id, self.order_id(900_000_001))
        self.server.move(WEDNESDAY, "10:05:00")
        first, second, third, fourth = (self.order_id(number) for number in range(1, 5))
        expected = [
            ("grid", "Performing", "305.2"),
            ("grid", "Performing", "305.6"), (first, "WaitToNew"), (first, "New"),
            (first, "Filled"), ("grid", "Performing", "306"), (second, "WaitToNew"), (second, "New"),
            (second, "Filled"), ("grid", "Performing", "305"), (third, "WaitToNew"), (third, "New"),
            (third, "Filled"), ("grid", "Performing", "305.8"), (fourth, "WaitToNew"), (fourth, "New"),
        ]
        self.assertEqual(self.pushes(len(expected)), expected)

        history = self.grids.trigger_history(grid_id)
        self.assertFalse(history.has_more)
        self.assertEqual(
            [(one.id, one.action, one.trigger_price, one.executed_price, one.executed_qty, one.status)
             for one in history.trigger_orders],
            [(fourth, 2, Decimal("305.8"), None, 0, "NewStatus"),
             (third, 1, Decimal("305"), Decimal("305.8"), 100, "FilledStatus"),
             (second, 2, Decimal("306"), Decimal("305"), 100, "FilledStatus"),
             (first, 2, Decimal("305.6"), Decimal("305.6"), 100, "FilledStatus")])
        (newest,) = self.grids.trigger_history(grid_id, 1, 1).trigger_orders
        self.assertEqual(
            (newest.id, newest.name, newest.currency, newest.trigger_at.timestamp(), newest.trigger_status),
            (fourth, "Lamp & Wick", "HKD", instant(WEDNESDAY, "10:05:00"), 3))
        self.assertTrue(self.grids.trigger_history(grid_id, 1, 3).has_more)

        (grid,) = self.grids.list().grid_order
        # Of two sales and a purchase, the first sale is matched: 305.6 less 305.8.
        self.assertEqual(
            (grid.order_id, grid.symbol, grid.stock_name, grid.market, grid.status, grid.grid_status),
            (grid_id, SYMBOL, "Lamp & Wick", "HK", "Performing", "Performing"))
        self.assertEqual(
            (grid.trigger_times, grid.total_buy_quantity, grid.total_sell_quantity, grid.total_profit_balance),
            (4, Decimal(100), Decimal(200), Decimal(-20)))
        self.assertEqual(
            (grid.submitted_base_price, grid.current_base_price, grid.pre_trigger_base_price, grid.post_trigger_base_price),
            (Decimal("305.2"), Decimal("305.8"), Decimal("305"), Decimal("305.8")))
        self.assertEqual(
            (grid.trigger_price_type, grid.trigger_spread_up, grid.trigger_percent_up, grid.time_in_force, grid.upper_limit_event),
            (TriggerPriceType.Spread, Decimal("0.4"), None, GridTimeInForce.GoodTilCanceled, GridLimitEvent.Ignore))
        self.assertEqual(grid.created_at.timestamp(), instant(WEDNESDAY, "10:00:15"))

        detail = self.grids.detail(grid_id)
        self.assertEqual([order.id for order in detail.grid_sub_orders], [fourth, third, second, first])
        self.assertEqual((detail.suspend_reason, detail.sleeping_reason, detail.sub_has_more), ("", "", False))
        self.assertEqual([(row.history_id, row.status) for row in detail.grid_order_history], [("1", "Performing")])
        # The position matches the fills, and the orders of a grid are ordinary orders.
        (position,) = self.trade.stock_positions([SYMBOL]).channels[0].positions
        self.assertEqual(position.quantity, 400)
        self.assertEqual(len(self.trade.today_orders()), 4)

    def test_changes_of_a_grid_are_pushed_and_listed(self):
        first, other = self.submit(), self.submit(quantity="200")
        self.grids.suspend(first)
        detail = self.grids.detail(first)
        self.assertEqual((detail.status, detail.suspend_reason), ("Suspended", "user"))
        self.grids.restart(first)
        self.grids.replace(first, rule(
            base="306", kind=TriggerPriceType.Percent, up="2", down="1.5", until=GridTimeInForce.GoodTilDate,
            expire_time=instant(WEDNESDAY, "15:00:00"), multiple_trigger=True))
        detail = self.grids.detail(first)
        self.assertEqual(
            (detail.current_base_price, detail.trigger_price_type, detail.trigger_percent_up, detail.trigger_percent_down),
            (Decimal(306), TriggerPriceType.Percent, Decimal(2), Decimal("1.5")))
        self.assertEqual(
            (detail.time_in_force, detail.gtd, detail.expire_time.timestamp(), detail.multiple_trigger),
            (GridTimeInForce.GoodTilDate, WEDNESDAY, instant(WEDNESDAY, "15:00:00"), True))
        self.assertEqual((detail.grid_order_type_up, detail.trigger_buy_depth, detail.trigger_spread_up), ("GMO", 0, None))
        self.grids.cancel(other)
        self.assertEqual(
            self.pushes(6),
            [("grid", "Performing", "305.2"), ("grid", "Performing", "305.2"), ("grid", "Suspended", "305.2"),
             ("grid", "Performing", "305.2"), ("grid", "Performing", "306"), ("grid", "Canceled", "305.2")])
        self.assertEqual(
            [(row.history_id, row.status) for row in self.grids.detail(first).grid_order_history],
            [("4", "Performing"), ("3", "Performing"), ("2", "Suspended"), ("1", "Performing")])
        older = self.grids.detail(first, "3", 1)
        self.assertEqual(([row.history_id for row in older.grid_order_history], older.history_has_more), (["2"], True))

        ids = lambda answer: [grid.order_id for grid in answer.grid_order]
        self.assertEqual(ids(self.grids.list()), [other, first])
        self.assertEqual(ids(self.grids.list(sort_by="created_at", sort_order="asc")), [first, other])
        self.assertEqual(ids(self.grids.list(status="Performing,Suspended")), [first])
        self.assertEqual(ids(self.grids.list(market=MarketName.HK, symbol=SYMBOL)), [other, first])
        self.assertEqual(ids(self.grids.list(market=MarketName.US)), [])
        page = self.grids.list(1, 1)
        self.assertEqual((ids(page), page.has_more), ([other], True))
        self.assertEqual([grid.order_id for grid in self.grids.list_by_ids([first, "1", other])], [first, other])
        # It expires automatically.
        self.server.move(WEDNESDAY, "15:00:00")
        self.assertEqual(self.grids.detail(first).status, "Expired")

    def test_the_terms_of_a_security_are_returned(self):
        info = self.grids.symbol_info(SYMBOL)
        self.assertEqual((info.name, info.lot_size, info.buy_lot_size, info.sell_lot_size), ("Lamp & Wick", 100, 100, 100))
        steps = {(size.str_proceed, size.end_proceed): size.bid_size for size in info.bid_sizes}
        self.assertEqual(steps[(Decimal(200), Decimal(500))], Decimal("0.2"))
        self.assertEqual((info.channel_info.currency, info.channel_info.settlement_currency), ("HKD", ["HKD"]))
        self.assertFalse(info.channel_info.strategy_granted)
        self.assertFalse(info.channel_info.support_rth)
        # The call of older versions.
        agree = {"type": "strategy", "items": {"agree": "true"}}
        status, envelope = self.server.request("POST", "/v1/record/questionnaire", self.account, agree)
        self.assertEqual((status, envelope["data"]), (200, {}))
        self.assertTrue(self.grids.symbol_info(SYMBOL).channel_info.strategy_granted)
        american = self.grids.symbol_info("LAMP.US").channel_info
        self.assertEqual((american.currency, american.support_rth), ("USD", True))

    def test_a_mistake_is_refused_with_its_code_and_changes_nothing(self):
        submit = lambda **values: self.refused(self.grids.submit, SYMBOL, "HKD", rule(**values))
        # This SDK accepts depths, events at the bounds and order types, but sends none of them; the
        # server's tests cover those.
        for values, code, words in [
            ({"upper": "300", "lower": "310"}, WRONG, "upper_limit_price must be above lower_limit_price"),
            ({"base": "311"}, WRONG, "submitted_base_price must lie within lower_limit_price and upper_limit_price"),
            ({"up": "0"}, WRONG, "trigger_spread_up must be above 0"),
            ({"most": "100"}, WRONG, "upper_limit_quantity must be above lower_limit_quantity"),
            ({"quantity": "150"}, WRONG, "quantity must be a multiple of 100"),
            ({"until": GridTimeInForce.GoodTilDate}, LACKING, "expire_time required"),
            ({"rth": 3}, LACKING, "rth must be 0, 1 or 2"),
        ]:
            with self.subTest(values=values):
                found, message = submit(**values)
                self.assertEqual((found, message), (code, words))
        self.assertEqual(self.refused(self.grids.submit, "1.HK", "HKD", rule()), (WRONG, "symbol not tradable"))
        self.assertEqual(self.refused(self.grids.submit, SYMBOL, "USD", rule()), (WRONG, "settlement_currency must be HKD"))
        for call in (self.grids.detail, self.grids.trigger_history, self.grids.cancel, self.grids.suspend, self.grids.restart):
            self.assertEqual(self.refused(call, "1"), (WRONG, "grid order not found"))
        self.assertEqual(self.grids.list().grid_order, [])
        grid_id = self.submit()
        self.assertEqual(self.refused(self.grids.restart, grid_id), (WRONG, "grid order is Performing"))
        # To another account it does not exist.
        other = GridContext(self.server.config(self.server.trader("other")))
        self.assertEqual(self.refused(other.cancel, grid_id), (WRONG, "grid order not found"))
        self.assertEqual(other.list_by_ids([grid_id]), [])
        self.assertEqual(self.grids.detail(grid_id).status, "Performing")


if __name__ == "__main__":
    unittest.main()
