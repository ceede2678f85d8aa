"""Every method of the SDKs' trade context that trades or reads a paper account, with both Python
packages: responses and error messages. Whole sessions are in `test_session.py`, permissions in
`test_trade_access.py`."""

import datetime
import importlib
import unittest
from decimal import Decimal

import harness
import trade_clients
from paper_market import THURSDAY, WEDNESDAY, Market, instant
from trade_clients import moment

PACKAGES = ("longbridge", "longport")
SYMBOL = "700.HK"


class Trading(unittest.TestCase):
    """Tests that run once for each package, with a separate server and account."""

    package = "longbridge"
    maxDiff = None

    def setUp(self):
        self.server = Market(WEDNESDAY, "10:00:15")
        self.addCleanup(self.server.kill)
        self.account = self.server.trader("trader", "--cash", "HKD=500000,USD=20000")
        self.api = importlib.import_module(f"{self.package}.openapi")
        self.trade = self.api.TradeContext(trade_clients.config(self.package, self.server, self.account))

    def submit(self, quantity, order_type="LO", side="Buy", symbol=SYMBOL, time_in_force="Day", **terms):
        """Submits an order; returns its id. Prices and quantities are written as text."""
        decimals = {name: Decimal(value) if isinstance(value, str) and name != "remark" else value for name, value in terms.items()}
        return self.trade.submit_order(
            symbol, getattr(self.api.OrderType, order_type), getattr(self.api.OrderSide, side), Decimal(quantity),
            getattr(self.api.TimeInForceType, time_in_force), **decimals).order_id

    def refused(self, call, *arguments, **values):
        """Code and message of a refusal."""
        with self.assertRaises(self.api.OpenApiException) as refused:
            call(*arguments, **values)
        return refused.exception.code, refused.exception.message

    def status(self, order_id):
        return self.trade.order_detail(order_id).status


class Methods(Trading):
    def test_balances_are_in_the_requested_currency(self):
        (balance,) = self.trade.account_balance()
        # 500,000 and USD 20,000 at 7.8.
        self.assertEqual((balance.currency, balance.total_cash), ("HKD", Decimal(656000)))
        self.assertEqual(
            {info.currency: (info.available_cash, info.frozen_cash, info.withdraw_cash) for info in balance.cash_infos},
            {"HKD": (500000, 0, 500000), "USD": (20000, 0, 20000)})
        self.assertEqual(balance.remaining_finance_amount, Decimal(656000))
        (balance,) = self.trade.account_balance("USD")
        # 656,000 / 7.8; the remaining finance amount is the dollars only.
        self.assertEqual((balance.currency, balance.total_cash), ("USD", Decimal("84102.56")))
        self.assertEqual((balance.remaining_finance_amount, balance.max_finance_amount), (Decimal(20000), Decimal(0)))
        self.assertEqual((balance.risk_level, balance.margin_call, balance.frozen_transaction_fees), (0, Decimal(0), []))
        # At the built-in rate of 1.1.
        (balance,) = self.trade.account_balance("CNH")
        self.assertEqual((balance.currency, balance.total_cash), ("CNH", Decimal("596363.64")))
        self.assertEqual(
            self.refused(self.trade.account_balance, "EUR"), (602001, "currency is one of HKD, USD and CNH"))

    def test_estimates_ratios_and_funds(self):
        LO, Buy, Sell = self.api.OrderType.LO, self.api.OrderSide.Buy, self.api.OrderSide.Sell
        ask = self.trade.estimate_max_purchase_quantity
        # 1,600 cost 488,320 and charges, 1,700 would be 518,840.
        estimate = ask(SYMBOL, LO, Buy, price=Decimal("305.2"))
        self.assertEqual((estimate.cash_max_qty, estimate.margin_max_qty), (1600, 1600))
        # 1,000 of them are ordered, which leaves 193,640.14: 600 for 183,120 and charges. The order
        # itself may still have all.
        order = self.submit("1000", submitted_price="306")
        self.assertEqual(ask(SYMBOL, LO, Buy, price=Decimal("305.2")).cash_max_qty, 600)
        self.assertEqual(ask(SYMBOL, LO, Buy, price=Decimal("305.2"), currency="HKD", order_id=order).cash_max_qty, 1600)
        self.assertEqual(ask(SYMBOL, LO, Sell, price=Decimal("305.2")).cash_max_qty, 0)
        self.server.move(WEDNESDAY, "10:02:00")
        self.assertEqual(ask(SYMBOL, LO, Sell, price=Decimal("305.2")).cash_max_qty, 200)
        # Without a price, the last price is used.
        self.assertEqual(ask(SYMBOL, LO, Buy, None).cash_max_qty, 600)
        self.assertEqual(self.refused(ask, SYMBOL, LO, Buy, None, "EUR"), (602001, "currency is one of HKD, USD and CNH"))
        self.assertEqual(self.refused(ask, SYMBOL, LO, Buy, None, None, "5"), (602001, "order not found"))
        ratio = self.trade.margin_ratio(SYMBOL)
        self.assertEqual((ratio.im_factor, ratio.mm_factor, ratio.fm_factor), (Decimal("0.35"), Decimal("0.3"), Decimal("0.25")))
        ratio = self.trade.margin_ratio("LAMP.US")
        self.assertEqual((ratio.im_factor, ratio.mm_factor, ratio.fm_factor), (1, 1, 1))
        self.assertEqual(self.refused(self.trade.margin_ratio, "1.HK"), (602001, "symbol not tradable"))
        (channel,) = self.trade.fund_positions(["HK0000676327"]).channels
        self.assertEqual((channel.account_channel, channel.positions), ("lb_papertrading", []))

    def test_lists_are_filtered(self):
        api, trade = self.api, self.trade
        filled, open_order = self.submit("200", submitted_price="306"), self.submit("100", submitted_price="290")
        self.server.move(WEDNESDAY, "10:02:00")
        ids = lambda orders: [order.order_id for order in orders]
        self.assertEqual(ids(trade.today_orders()), [open_order, filled])
        self.assertEqual(ids(trade.today_orders(status=[api.OrderStatus.Filled])), [filled])
        self.assertEqual(ids(trade.today_orders(status=[api.OrderStatus.Filled, api.OrderStatus.New])), [open_order, filled])
        self.assertEqual(ids(trade.today_orders(symbol=SYMBOL, side=api.OrderSide.Buy, market=api.Market.HK)), [open_order, filled])
        self.assertEqual(ids(trade.today_orders(order_id=filled)), [filled])
        for none in ({"symbol": "LAMP.US"}, {"side": api.OrderSide.Sell}, {"market": api.Market.US}, {"order_id": "1"}):
            self.assertEqual(ids(trade.today_orders(**none)), [], none)
        self.assertEqual((trade.history_orders(), trade.history_executions()), ([], []))
        self.assertEqual([one.trade_id for one in trade.today_executions(SYMBOL, filled)], [f"{filled}-1"])
        self.assertEqual(trade.today_executions("LAMP.US"), [])
        # A day later both are history: one was filled, the other has expired.
        self.server.move(THURSDAY, "09:30:00")
        day = {"start_at": moment(instant(WEDNESDAY, "00:00:00")), "end_at": moment(instant(WEDNESDAY, "23:59:59"))}
        self.assertEqual(trade.today_orders(), [])
        self.assertEqual(
            [(order.order_id, order.status) for order in trade.history_orders(**day)],
            [(open_order, api.OrderStatus.Expired), (filled, api.OrderStatus.Filled)])
        self.assertEqual(ids(trade.history_orders(SYMBOL, [api.OrderStatus.Filled], api.OrderSide.Buy, api.Market.HK, **day)), [filled])
        before = {name: at - datetime.timedelta(days=1) for name, at in day.items()}
        self.assertEqual((trade.history_orders(**before), trade.history_executions(**before)), ([], []))
        (execution,) = trade.history_executions(SYMBOL, **day)
        self.assertEqual(
            (execution.order_id, execution.quantity, execution.price), (filled, Decimal(200), Decimal("305.2")))
        self.assertEqual(execution.trade_done_at, moment(instant(WEDNESDAY, "10:02:00")))

    def test_positions_and_flows_are_filtered(self):
        api, trade = self.api, self.trade
        self.submit("200", submitted_price="306")
        self.server.move(WEDNESDAY, "10:02:00")
        (channel,) = trade.stock_positions([SYMBOL, "LAMP.US"]).channels
        self.assertEqual([position.symbol for position in channel.positions], [SYMBOL])
        (channel,) = trade.stock_positions(["LAMP.US"]).channels
        self.assertEqual(channel.positions, [])
        day = (moment(instant(WEDNESDAY, "00:00:00")), moment(instant(WEDNESDAY, "23:59:59")))
        names = lambda flows: [flow.transaction_flow_name for flow in flows]
        # The fill and its six charges, newest first; two deposits before.
        self.assertEqual(names(trade.cash_flow(*day)), ["Fee"] * 6 + ["BuyStock"] + ["Deposit"] * 2)
        self.assertEqual(names(trade.cash_flow(*day, symbol=SYMBOL)), ["Fee"] * 6 + ["BuyStock"])
        self.assertEqual(names(trade.cash_flow(*day, business_type=api.BalanceType.Cash, page=2, size=6)), ["BuyStock"] + ["Deposit"] * 2)
        self.assertEqual(trade.cash_flow(*day, business_type=api.BalanceType.Stock), [])
        self.assertEqual(trade.cash_flow(*day, symbol="LAMP.US"), [])
        self.assertEqual(self.refused(trade.cash_flow, *reversed(day)), (602001, "start_time is after end_time"))

    def test_a_detail_has_every_charge_and_every_state(self):
        api = self.api
        order_id = self.submit("200", submitted_price="306", remark="a name")
        detail = self.trade.order_detail(order_id)
        self.assertEqual((detail.charge_detail.total_amount, detail.charge_detail.items), (Decimal(0), []))
        self.server.move(WEDNESDAY, "10:02:00")
        detail = self.trade.order_detail(order_id)
        self.assertEqual((detail.status, detail.symbol, detail.stock_name), (api.OrderStatus.Filled, SYMBOL, "Lamp & Wick"))
        self.assertEqual((detail.quantity, detail.executed_quantity, detail.price), (200, 200, Decimal(306)))
        self.assertEqual((detail.executed_price, detail.last_done), (Decimal("305.2"), Decimal("305.2")))
        self.assertEqual((detail.side, detail.order_type, detail.time_in_force, detail.tag), (
            api.OrderSide.Buy, api.OrderType.LO, api.TimeInForceType.Day, api.OrderTag.Normal))
        self.assertEqual((detail.currency, detail.msg, detail.remark), ("HKD", "", "a name"))
        self.assertEqual(detail.submitted_at, moment(instant(WEDNESDAY, "10:00:15")))
        self.assertEqual(detail.updated_at, moment(instant(WEDNESDAY, "10:02:00")))
        absent = (detail.trigger_price, detail.trigger_at, detail.trigger_status, detail.outside_rth, detail.expire_date,
                  detail.trailing_amount, detail.trailing_percent, detail.limit_offset)
        self.assertEqual(absent, (None,) * 8)
        self.assertEqual((detail.free_status, detail.deductions_status, detail.platform_deducted_status), (
            api.CommissionFreeStatus.None_, api.DeductionStatus.None_, api.DeductionStatus.None_))
        self.assertEqual((detail.free_amount, detail.deductions_amount, detail.platform_deducted_amount), (None,) * 3)
        self.assertEqual([(row.status, row.price, row.quantity, row.msg, row.time) for row in detail.history], [
            (api.OrderStatus.Filled, Decimal("305.2"), 200, "Execution of 200", moment(instant(WEDNESDAY, "10:02:00"))),
            (api.OrderStatus.New, 306, 200, "", moment(instant(WEDNESDAY, "10:00:15"))),
            (api.OrderStatus.WaitToNew, 306, 200, "", moment(instant(WEDNESDAY, "10:00:15")))])
        # 61,040: 15 + 62 + 3.45 + 1.65 + 0.09 + 2.56.
        charges = detail.charge_detail
        self.assertEqual((charges.total_amount, charges.currency), (Decimal("84.75"), "HKD"))
        self.assertEqual([(item.code, item.name, [(fee.code, fee.name, fee.amount) for fee in item.fees]) for item in charges.items], [
            (api.ChargeCategoryCode.Broker, "Broker Fees", [("PLATFORM", "Platform fee", Decimal(15))]),
            (api.ChargeCategoryCode.Third, "Third-party Fees", [
                ("STAMP_DUTY", "Stamp duty", Decimal(62)), ("TRADING_FEE", "Trading fee", Decimal("3.45")),
                ("SFC_LEVY", "SFC transaction levy", Decimal("1.65")), ("AFRC_LEVY", "AFRC transaction levy", Decimal("0.09")),
                ("SETTLEMENT", "Settlement fee", Decimal("2.56"))])])
        # The row of the list agrees with the detail in their common fields.
        (row,) = self.trade.today_orders()
        for name in ("order_id", "status", "quantity", "executed_quantity", "price", "executed_price", "submitted_at",
                     "updated_at", "last_done", "msg", "tag", "remark", "currency", "stock_name", "trigger_status", "outside_rth"):
            self.assertEqual(getattr(row, name), getattr(detail, name), name)


class OrderTypes(Trading):
    """Which terms are stored, and the state of each order type after acceptance."""

    def check(self, order_id, status, **terms):
        detail = self.trade.order_detail(order_id)
        self.assertEqual(detail.status, getattr(self.api.OrderStatus, status))
        for name, value in terms.items():
            self.assertEqual(getattr(detail, name), value, name)

    def test_types_of_hong_kong(self):
        released = self.api.TriggerStatus
        self.check(self.submit("100", "MO"), "New", price=None)
        self.check(self.submit("100", "ELO", submitted_price="300"), "New", price=Decimal(300))
        self.check(self.submit("100", "ALO", submitted_price="300"), "New", price=Decimal(300))
        self.check(self.submit("100", "AO"), "New", price=None)
        self.check(self.submit("100", "SLO", submitted_price="300"), "New", price=Decimal(300))
        self.check(self.submit("30", "ODD", submitted_price="300"), "New", quantity=30)
        self.check(
            self.submit("100", "LIT", submitted_price="310", trigger_price="309"), "VarietiesNotReported",
            price=Decimal(310), trigger_price=Decimal(309), trigger_status=released.Deactive, trigger_at=None)
        self.check(
            self.submit("100", "MIT", trigger_price="309"), "VarietiesNotReported",
            price=None, trigger_price=Decimal(309), trigger_status=released.Deactive)
        self.check(
            self.submit("100", "TSLPAMT", trailing_amount="5", limit_offset="1"), "VarietiesNotReported",
            trailing_amount=Decimal(5), limit_offset=Decimal(1), trigger_status=released.Active)
        self.check(
            self.submit("100", "TSLPPCT", trailing_percent="2.5", limit_offset="1"), "VarietiesNotReported",
            trailing_percent=Decimal("2.5"), limit_offset=Decimal(1), trigger_status=released.Active)

    def test_times_in_force(self):
        # Known wrong: `longport` has another literal than `longbridge` for it, and the server cannot
        # distinguish their requests.
        long_term = self.api.OrderTag.LongTerm if self.package == "longbridge" else self.api.OrderTag.Unknown
        self.check(
            self.submit("100", time_in_force="GoodTilCanceled", submitted_price="300"), "New",
            time_in_force=self.api.TimeInForceType.GoodTilCanceled, tag=long_term, expire_date=None)
        last = datetime.date(2026, 3, 31)
        self.check(
            self.submit("100", time_in_force="GoodTilDate", submitted_price="300", expire_date=last), "New",
            time_in_force=self.api.TimeInForceType.GoodTilDate, tag=long_term, expire_date=last)

    def test_hours_of_the_united_states(self):
        # 22:00 of Tuesday in New York: the overnight session of Wednesday. Other orders wait for
        # their session.
        outside = self.api.OutsideRTH
        lamp = {"symbol": "LAMP.US", "submitted_price": "180"}
        self.check(self.submit("10", **lamp), "NotReported", outside_rth=outside.RTHOnly, currency="USD")
        self.check(self.submit("10", outside_rth=outside.AnyTime, **lamp), "NotReported", outside_rth=outside.AnyTime)
        self.check(self.submit("10", outside_rth=outside.Overnight, **lamp), "New", outside_rth=outside.Overnight)
        self.assertEqual(
            self.refused(self.submit, "10", time_in_force="GoodTilCanceled", outside_rth=outside.Overnight, **lamp),
            (602001, "time in force not support"))

    def test_a_market_order_of_the_united_states(self):
        # 09:31 opens at 190.1 with volume 9,000: all of 100. 1.00 for the platform and 0.30 for
        # clearing.
        self.server.move(WEDNESDAY, "09:30:30", "US")
        order_id = self.submit("100", "MO", symbol="LAMP.US")
        self.server.move(WEDNESDAY, "09:32:00", "US")
        self.check(order_id, "Filled", executed_price=Decimal("190.1"), price=None, outside_rth=self.api.OutsideRTH.RTHOnly)
        self.assertEqual(self.trade.order_detail(order_id).charge_detail.total_amount, Decimal("1.3"))
        # A trailing stop. 09:32 is forming and has opened at 190.6, so the stop is 189.6; 09:33
        # opens below that. Sold in that candle at its open, 189.5, which is above the limit of
        # 189.6 − 0.6.
        trailing = self.submit("100", "TSLPAMT", "Sell", "LAMP.US", trailing_amount="1", limit_offset="0.6")
        self.server.move(WEDNESDAY, "09:33:00", "US")
        self.check(trailing, "VarietiesNotReported", trigger_status=self.api.TriggerStatus.Active)
        self.server.move(WEDNESDAY, "09:34:00", "US")
        self.check(
            trailing, "Filled", executed_price=Decimal("189.5"), trigger_status=self.api.TriggerStatus.Released,
            trigger_at=moment(instant(WEDNESDAY, "09:34:00", "US")))

    def test_a_conditional_order_is_released_and_can_be_withdrawn(self):
        order_id = self.submit("100", "LIT", submitted_price="306", trigger_price="305.4")
        other = self.submit("100", "MIT", trigger_price="309")
        self.trade.replace_order(other, Decimal(200), trigger_price=Decimal("308"))
        self.check(other, "VarietiesNotReported", quantity=200, trigger_price=Decimal(308))
        self.trade.cancel_order(other)
        self.check(other, "Canceled")
        # 10:01 touches 305.4: released at its end, filled at the open of 10:02.
        self.server.move(WEDNESDAY, "10:02:00")
        released = moment(instant(WEDNESDAY, "10:02:00"))
        self.check(order_id, "New", trigger_status=self.api.TriggerStatus.Released, trigger_at=released)
        self.server.move(WEDNESDAY, "10:03:00")
        self.check(order_id, "Filled", executed_price=Decimal("305.6"))


class Mistakes(Trading):
    """An invalid request is refused with a code, and its message names the error. Nothing is
    stored."""

    def test_a_wrong_order_is_refused_in_words(self):
        limit = {"submitted_price": "305.2"}
        for words, quantity, terms in (
            ("symbol not tradable", "100", {"symbol": "1.HK", **limit}),
            ("symbol not tradable", "100", {"symbol": "600519.SH", **limit}),
            ("order type not support", "100", {"order_type": "TSMAMT", **limit}),
            ("order type not support", "100", {"symbol": "LAMP.US", "order_type": "ELO", **limit}),
            ("submitted_price required", "100", {}),
            ("submitted_price must be above 0", "100", {"submitted_price": "0"}),
            ("trigger_price required", "100", {"order_type": "LIT", **limit}),
            ("limit_offset required", "100", {"order_type": "TSLPAMT", "trailing_amount": "5"}),
            ("time in force not support", "100", {"order_type": "MO", "time_in_force": "GoodTilCanceled"}),
            ("expire_date required", "100", {"time_in_force": "GoodTilDate", **limit}),
            ("quantity must be a multiple of 100", "150", limit),
            ("submitted_quantity must be above 0", "-100", limit),
            ("order too large", "300100", limit),
            ("price must be a multiple of 0.2", "100", {"submitted_price": "305.1"}),
            ("price too far from 305", "100", {"submitted_price": "3000"}),
            ("trigger_price must differ from 305", "100", {"order_type": "MIT", "trigger_price": "305"}),
            ("remark must have at most 255 characters", "100", {"remark": "x" * 256, **limit}),
        ):
            with self.subTest(words=words):
                self.assertEqual(self.refused(self.submit, quantity, **terms), (602001, words))
        # A sale without holdings has a special code in Hong Kong.
        self.assertEqual(self.refused(self.submit, "100", side="Sell", **limit), (602301, "insufficient holdings"))
        self.assertEqual(self.trade.today_orders(), [])

    def test_what_an_account_cannot_afford_is_accepted_and_rejected(self):
        # 1,700 at 305.2 are 518,840.
        order_id = self.submit("1700", submitted_price="305.2")
        detail = self.trade.order_detail(order_id)
        self.assertEqual((detail.status, detail.msg), (self.api.OrderStatus.Rejected, "insufficient funds"))
        self.submit("200", submitted_price="306")
        self.server.move(WEDNESDAY, "10:02:00")
        order_id = self.submit("300", side="Sell", submitted_price="305.2")
        detail = self.trade.order_detail(order_id)
        self.assertEqual((detail.status, detail.msg), (self.api.OrderStatus.Rejected, "insufficient holdings"))

    def test_changes_of_unknown_or_finished_orders(self):
        for call, arguments in (
            (self.trade.cancel_order, ("1",)), (self.trade.order_detail, ("1",)), (self.trade.replace_order, ("1", Decimal(100))),
            (self.trade.cancel_order, ("no number",)),
        ):
            self.assertEqual(self.refused(call, *arguments), (602001, "order not found"))
        order_id = self.submit("200", submitted_price="306")
        self.assertEqual(
            self.refused(self.trade.replace_order, order_id, Decimal(250), price=Decimal(306)),
            (602001, "quantity must be a multiple of 100"))
        self.server.move(WEDNESDAY, "10:02:00")
        for call, arguments in ((self.trade.cancel_order, (order_id,)), (self.trade.replace_order, (order_id, Decimal(300)))):
            self.assertEqual(self.refused(call, *arguments), (602001, "order is FilledStatus"))

    def test_an_order_of_another_account_is_not_found(self):
        order_id = self.submit("100", submitted_price="300")
        stranger = self.api.TradeContext(trade_clients.config(self.package, self.server, self.server.trader("stranger")))
        for call in (stranger.cancel_order, stranger.order_detail):
            self.assertEqual(self.refused(call, order_id), (602001, "order not found"))
        self.assertEqual(stranger.today_orders(), [])
        self.assertEqual(self.status(order_id), self.api.OrderStatus.New)


class Newest(Trading):
    """Features of `longbridge` 5 that `longport` lacks."""

    def test_a_request_with_an_idempotency_key_is_made_once(self):
        first = self.submit("100", submitted_price="300", client_request_id=None)
        named = [self.trade.submit_order(
            SYMBOL, self.api.OrderType.LO, self.api.OrderSide.Buy, Decimal(100), self.api.TimeInForceType.Day,
            submitted_price=Decimal(300), client_request_id="mine").order_id for _ in range(2)]
        self.assertEqual(named[0], named[1])
        self.assertNotEqual(named[0], first)
        self.assertEqual(len(self.trade.today_orders()), 2)

    def test_all_executions(self):
        order_id = self.submit("500", submitted_price="306")
        self.server.move(WEDNESDAY, "10:03:00")
        answer = self.trade.all_executions(SYMBOL, order_id)
        self.assertEqual([(one.trade_id, one.quantity, one.side) for one in answer.trades], [
            (f"{order_id}-2", 300, self.api.OrderSide.Buy), (f"{order_id}-1", 200, self.api.OrderSide.Buy)])
        self.assertFalse(answer.has_more)
        self.assertEqual(self.trade.all_executions(page=2).trades, [])

    def test_terms_of_trailing_orders(self):
        order_id = self.submit(
            "100", "TSLPAMT", trailing_amount="5", limit_depth_level=-1, trigger_count=1, monitor_price="309")
        detail = self.trade.order_detail(order_id)
        self.assertEqual((detail.limit_depth_level, detail.trigger_count, detail.monitor_price), (-1, 1, Decimal(309)))
        self.assertEqual((detail.trigger_status, detail.attached_orders), (self.api.TriggerStatus.Deactive, []))

    def test_an_order_for_later(self):
        later = datetime.datetime.fromtimestamp(instant(WEDNESDAY, "10:02:30"), datetime.timezone.utc)
        order_id = self.submit("100", submitted_price="306", delayed_until=later)
        detail = self.trade.order_detail(order_id)
        self.assertEqual(detail.status, self.api.OrderStatus.DelayedNotReported)
        self.assertEqual(detail.delayed_until, moment(instant(WEDNESDAY, "10:02:30")))
        # Its time cannot change. Other terms can.
        for change in ({"delayed_until": later + datetime.timedelta(minutes=1)}, {"clear_delayed_until": True}):
            self.assertEqual(
                self.refused(self.trade.replace_order, order_id, Decimal(100), **change),
                (602001, "delayed_until cannot be replaced: cancel the order and submit another"))
        self.trade.replace_order(order_id, Decimal(200), price=Decimal(306), delayed_until=later)
        # At 10:02:30 it becomes an order of the engine: 10:03 is the first candle after, and opens
        # at 305.
        self.server.move(WEDNESDAY, "10:04:00")
        detail = self.trade.order_detail(order_id)
        self.assertEqual((detail.status, detail.executed_price), (self.api.OrderStatus.Filled, Decimal(305)))

    def test_attached_orders_close_what_their_order_has_bought(self):
        api = self.api
        order_id = self.submit("100", submitted_price="305.8", attached_params=api.SubmitAttachedParams(
            api.AttachedOrderType.Bracket, profit_taker_price=Decimal(306), stop_loss_price=Decimal(300),
            stop_loss_submit_price=Decimal("299.8"), time_in_force=api.TimeInForceType.GoodTilCanceled))
        profit, stop = self.trade.order_detail(order_id).attached_orders
        self.assertEqual(
            (profit.attached_type_display, profit.trigger_price, profit.submit_price, profit.activate_order_type),
            (api.AttachedOrderType.ProfitTaker, Decimal(306), None, api.OrderType.MO))
        self.assertEqual(
            (stop.attached_type_display, stop.trigger_price, stop.submit_price, stop.activate_order_type),
            (api.AttachedOrderType.StopLoss, Decimal(300), Decimal("299.8"), api.OrderType.LO))
        for one in (profit, stop):
            self.assertEqual(
                (one.status, one.trigger_status, one.quantity, one.executed_qty, one.executed_price, one.withdrawn),
                (api.OrderStatus.VarietiesNotReported, api.TriggerStatus.Deactive, Decimal(100), Decimal(0), None, False))
            self.assertEqual((one.time_in_force, one.gtd, one.tag), (api.TimeInForceType.GoodTilCanceled, None, api.OrderTag.LongTerm))
        self.trade.replace_order(order_id, Decimal(100), attached_params=api.ReplaceAttachedParams(
            api.AttachedOrderType.StopLoss, stop_loss_price=Decimal("304.8"), stop_loss_id=int(stop.order_id), main_id=int(order_id)))
        (found,) = self.trade.today_orders(order_id=stop.order_id, is_attached=True)
        self.assertEqual((found.order_type, found.side, found.trigger_price), (api.OrderType.LIT, api.OrderSide.Sell, Decimal("304.8")))
        self.assertEqual([order.order_id for order in self.trade.today_orders()], [order_id])
        # 10:02 reaches 306: the take profit takes the open of 10:03, 305, before the low of 304.8.
        self.server.move(WEDNESDAY, "10:04:00")
        profit, stop = self.trade.order_detail(order_id).attached_orders
        self.assertEqual((profit.status, profit.executed_price, profit.executed_amount), (api.OrderStatus.Filled, Decimal(305), Decimal(30500)))
        self.assertEqual((stop.status, stop.withdrawn), (api.OrderStatus.Canceled, True))
        detail = self.trade.order_detail(profit.order_id, is_attached=True)
        self.assertEqual((detail.executed_quantity, detail.attached_orders), (Decimal(100), []))
        self.assertEqual(self.trade.stock_positions().channels[0].positions, [])

    def test_attached_orders_are_refused_and_cancelled(self):
        api = self.api
        stop = lambda price: api.SubmitAttachedParams(api.AttachedOrderType.StopLoss, stop_loss_price=Decimal(price))
        self.assertEqual(
            self.refused(self.submit, "100", submitted_price="300", attached_params=stop("300")),
            (602001, "stop_loss_price must be below 300"))
        order_id = self.submit("100", submitted_price="300", attached_params=stop("290"))
        (attached,) = self.trade.order_detail(order_id).attached_orders
        for call in (self.trade.order_detail, self.trade.cancel_order):
            self.assertEqual(self.refused(call, order_id, is_attached=True), (602001, "order not found"))
        self.trade.cancel_order(attached.order_id, is_attached=True)
        self.trade.replace_order(order_id, Decimal(100), attached_params=api.ReplaceAttachedParams(
            api.AttachedOrderType.ProfitTaker, profit_taker_price=Decimal(310)))
        self.trade.replace_order(order_id, Decimal(100), attached_params=api.ReplaceAttachedParams(
            api.AttachedOrderType.Bracket, cancel_all_attached=True))
        self.assertEqual(
            [(one.trigger_price, one.status) for one in self.trade.order_detail(order_id).attached_orders],
            [(Decimal(290), api.OrderStatus.Canceled), (Decimal(310), api.OrderStatus.Canceled)])
        self.assertEqual(self.status(order_id), api.OrderStatus.New)

    def test_several_legs_are_not_offered(self):
        code, words = self.refused(
            self.trade.submit_multileg, self.api.OrderSide.Buy, self.api.OrderType.LO, Decimal(1),
            self.api.MultiLegStrategy.VerticalCallSpread, [("LAMP260417C190000.US", Decimal(1))], submitted_price=Decimal(1))
        self.assertEqual(code, 301602)
        self.assertIn("are not offered here", words)


class OlderAttached(Trading):
    """`longport` cannot attach orders, and reads an order that has some."""

    package = "longport"

    def test_an_order_with_attached_orders_is_read(self):
        body = {
            "symbol": SYMBOL, "order_type": "LO", "side": "Buy", "submitted_quantity": "100", "submitted_price": "305.8",
            "time_in_force": "Day",
            "attached_params": {"attached_order_type": "BRACKET", "profit_taker_price": "306", "stop_loss_price": "300"},
        }
        status, document = self.server.request("POST", "/v1/trade/order", self.account, body)
        self.assertEqual((status, document["code"]), (200, 0), document)
        order_id = document["data"]["order_id"]
        (order,) = self.trade.today_orders()
        self.assertEqual((order.order_id, order.status), (order_id, self.api.OrderStatus.New))
        _, document = self.server.request("GET", f"/v1/trade/order?order_id={order_id}", self.account)
        profit, stop = (one["order_id"] for one in document["data"]["attached_orders"])
        self.server.move(WEDNESDAY, "10:04:00")
        detail = self.trade.order_detail(profit)
        self.assertEqual((detail.status, detail.executed_price), (self.api.OrderStatus.Filled, Decimal(305)))
        self.assertEqual(self.status(stop), self.api.OrderStatus.Canceled)


class OlderMethods(Methods):
    package = "longport"


class OlderOrderTypes(OrderTypes):
    package = "longport"


class OlderMistakes(Mistakes):
    package = "longport"


if __name__ == "__main__":
    unittest.main()
