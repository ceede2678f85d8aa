"""The public SDKs behind one client interface: requests and responses as plain values. Decimals are
`Decimal`, instants are Unix seconds, members of enumerations are their names, objects are
dictionaries.

The two Python packages run in this process. Others are programs that read a request from each
line of their standard input and write a line of JSON for it: `{"ok": …}`, or `{"error": …}` with
the text of the refusal."""

import datetime
import importlib
import json
import queue
import re
import subprocess
import threading
from decimal import Decimal

import harness

# Fields that every SDK has, by object; `{}` are lists of further objects.
FEE = {"code": str, "name": str, "amount": Decimal, "currency": str}
CHARGES = {"total_amount": Decimal, "currency": str, "items": {"code": str, "name": str, "fees": FEE}}
ORDER = {
    "order_id": str, "status": str, "side": str, "symbol": str, "order_type": str, "quantity": Decimal,
    "executed_quantity": Decimal, "price": Decimal, "executed_price": Decimal, "last_done": Decimal, "submitted_at": int,
    "updated_at": int, "msg": str, "tag": str, "time_in_force": str, "currency": str, "stock_name": str, "remark": str,
}
HISTORY = {"price": Decimal, "quantity": Decimal, "status": str, "msg": str, "time": int}
SHAPES = {
    "submit": {"order_id": str},
    "replace": {}, "cancel": {},
    "pushes": {
        "order_id": str, "status": str, "side": str, "symbol": str, "order_type": str, "submitted_quantity": Decimal,
        "submitted_price": Decimal, "executed_quantity": Decimal, "executed_price": Decimal, "last_share": Decimal,
        "last_price": Decimal, "submitted_at": int, "updated_at": int, "msg": str, "tag": str, "currency": str,
        "account_no": str, "stock_name": str, "remark": str,
    },
    "today_orders": ORDER, "history_orders": ORDER,
    "order_detail": {**ORDER, "history": HISTORY, "charge_detail": CHARGES},
    "today_executions": {
        "order_id": str, "trade_id": str, "symbol": str, "trade_done_at": int, "quantity": Decimal, "price": Decimal},
    "account_balance": {
        "total_cash": Decimal, "max_finance_amount": Decimal, "remaining_finance_amount": Decimal, "risk_level": int,
        "margin_call": Decimal, "currency": str, "net_assets": Decimal, "init_margin": Decimal, "maintenance_margin": Decimal,
        "buy_power": Decimal,
        "cash_infos": {
            "withdraw_cash": Decimal, "available_cash": Decimal, "frozen_cash": Decimal, "settling_cash": Decimal,
            "currency": str},
        "frozen_transaction_fees": {"currency": str, "frozen_transaction_fee": Decimal},
    },
    "stock_positions": {
        "symbol": str, "symbol_name": str, "quantity": Decimal, "available_quantity": Decimal, "currency": str,
        "cost_price": Decimal, "market": str, "init_quantity": Decimal},
    "cash_flow": {
        "transaction_flow_name": str, "direction": str, "business_type": str, "balance": Decimal, "currency": str,
        "business_time": int, "symbol": str, "description": str},
}
SHAPES["history_executions"] = SHAPES["today_executions"]


class Refused(Exception):
    """A refusal, by its code and its message."""

    def __init__(self, code, text):
        super().__init__(f"{code} {text}")
        self.code, self.text = code, text


def plain(value, shape):
    """A value of an SDK, or of a program's line, in the common form."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [plain(one, shape) for one in value]
    if isinstance(shape, dict):
        of = value.get if isinstance(value, dict) else lambda name: getattr(value, name)
        return {name: plain(of(name), inner) for name, inner in shape.items()}
    if shape is int and isinstance(value, datetime.datetime):
        return int(value.timestamp())
    if shape is str and not isinstance(value, str):
        # A member of an enumeration, as `OrderStatus.New`.
        return re.fullmatch(r"\w+\.(\w+?)_?", repr(value))[1]
    return shape(value)


def moment(seconds):
    """A time as the SDKs accept it: naive, in the zone of the machine, which is UTC here."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(tzinfo=None)


class Client:
    """The common requests; `ask` sends one."""

    def __getattr__(self, name):
        if name not in SHAPES:
            raise AttributeError(name)
        return lambda **values: plain(self.ask(name, values), SHAPES[name])

    def pushes(self, count):
        """All pushes so far, once there are `count` of them."""
        return plain(self.ask("pushes", {"count": count}), SHAPES["pushes"])


class PythonClient(Client):
    def __init__(self, package, server, account):
        self.api = importlib.import_module(f"{package}.openapi")
        self.trade = self.api.TradeContext(config(package, server, account))
        self.received = []
        self.trade.set_on_order_changed(self.received.append)
        self.trade.subscribe([self.api.TopicType.Private])

    def ask(self, name, values):
        try:
            return getattr(self, f"do_{name}")(**values)
        except self.api.OpenApiException as error:
            raise Refused(error.code, error.message) from error

    def do_submit(self, symbol, side, order_type, quantity, price=None, time_in_force="Day", remark=None):
        return self.trade.submit_order(
            symbol, getattr(self.api.OrderType, order_type), getattr(self.api.OrderSide, side), Decimal(quantity),
            getattr(self.api.TimeInForceType, time_in_force), submitted_price=price and Decimal(price), remark=remark)

    def do_replace(self, order_id, quantity, price):
        self.trade.replace_order(order_id, Decimal(quantity), price=Decimal(price))

    def do_cancel(self, order_id):
        self.trade.cancel_order(order_id)

    def do_pushes(self, count):
        so_far = lambda: f"{count} pushes, after {len(self.received)}: {self.received}"
        harness.wait_for(lambda: len(self.received) >= count, so_far)
        return list(self.received)

    def do_today_orders(self):
        return self.trade.today_orders()

    def do_history_orders(self, start, end):
        return self.trade.history_orders(start_at=moment(start), end_at=moment(end))

    def do_order_detail(self, order_id):
        return self.trade.order_detail(order_id)

    def do_today_executions(self):
        return self.trade.today_executions()

    def do_history_executions(self, start, end):
        return self.trade.history_executions(start_at=moment(start), end_at=moment(end))

    def do_account_balance(self, currency=None):
        (balance,) = self.trade.account_balance(currency)
        return balance

    def do_stock_positions(self):
        (channel,) = self.trade.stock_positions().channels
        assert channel.account_channel == "lb_papertrading"
        return channel.positions

    def do_cash_flow(self, start, end, size):
        return self.trade.cash_flow(start_at=moment(start), end_at=moment(end), size=size)

    def close(self):
        del self.trade


def config(package, server, account, **options):
    """A configuration of one of the Python packages."""
    if package == "longbridge":
        return server.config(account, **options)
    api = importlib.import_module(f"{package}.openapi")
    return api.Config(
        account["app_key"], account["app_secret"], account["access_token"],
        http_url=server.url, quote_ws_url=server.socket_url, trade_ws_url=server.socket_url, **options)


class Program(Client):
    """A client in another language."""

    def __init__(self, command, account):
        self.process = subprocess.Popen(
            [*command], env=harness.foreign_environment(account), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        harness.atexit.register(self.process.kill)
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        # Ready, and subscribed.
        self.answer()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def answer(self):
        line = self.lines.get(timeout=harness.PATIENCE_S)
        assert line, f"the program has ended: {self.process.wait(harness.PATIENCE_S)}"
        found = json.loads(line)
        if "error" in found:
            # The code is in the text, at a different position in each language.
            code = re.search(r"\b(\d{6})\b", found["error"])
            raise Refused(code and int(code[1]), found["error"])
        return found["ok"]

    def ask(self, name, values):
        print(json.dumps({"do": name, **values}), file=self.process.stdin, flush=True)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(harness.PATIENCE_S) == 0
        self.process.stdout.close()
