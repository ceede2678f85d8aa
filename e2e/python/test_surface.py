"""Every public method of every context of the installed SDK, called once: answered, kept inside the client, or told in words
that it is not offered. What there is to call is read from the package, so that a new method shows up here by itself."""

import ast
import datetime
import decimal
import inspect
import pathlib
import re
import unittest

import harness
import longbridge
from longbridge import openapi
from longbridge.openapi import OpenApiException

NOT_OFFERED = 301602
# The SDK refuses these itself without a US account, which has them asked for in turn.
ELSEWHERE = re.compile(r"only available in the US data center|not (available|supported) (in|for) the US", re.IGNORECASE)
# Values where the type alone does not say what is plausible.
BY_NAME = {
    ("str", "symbol"): "9001.HK", ("str", "market"): "HK", ("str", "currency"): "HKD", ("str", "settlement_currency"): "HKD",
    ("str", "start"): "2026-11-01", ("str", "end"): "2026-11-13",
}
# These want a value that only an answer of the server would have.
NOT_CALLED = {"AlertContext.update"}
# Answered from the client's own memory, or from what it received when it connected.
CLIENT_ALONE = re.compile(r"^(set_on_|realtime_|subscriptions$|unsubscribe$|member_id$|quote_level$|quote_package_details$)")
# Answered by the server.
ANSWERED = {
    "QuoteContext": {
        "static_info", "quote", "intraday", "candlesticks", "history_candlesticks_by_offset", "history_candlesticks_by_date",
        "trading_session", "trading_days", "trades", "capital_flow", "capital_distribution",
    },
    "TradeContext": {
        "subscribe", "unsubscribe", "history_executions", "today_executions", "all_executions", "history_orders", "today_orders",
        "account_balance", "cash_flow", "fund_positions", "stock_positions", "margin_ratio",
    },
}
# Offered, but not for the values that are made up here: there is no such order. `test_trading.py` has them answered.
REFUSED = {
    f"TradeContext.{method}"
    for method in ("submit_order", "replace_order", "cancel_order", "order_detail", "estimate_max_purchase_quantity")
}
WRONG_TERMS = 602001


def annotations():
    """Types of parameters by name, of each class and method, as the package declares them."""
    tree = ast.parse((pathlib.Path(longbridge.__file__).parent / "openapi.pyi").read_text())
    return {
        (declared.name, method.name): {one.arg: ast.unparse(one.annotation) for one in method.args.args if one.annotation}
        for declared in tree.body if isinstance(declared, ast.ClassDef)
        for method in declared.body if isinstance(method, ast.FunctionDef)
    }


TYPES = annotations()


PLAIN = {
    "str": "1", "int": 1, "float": 1.0, "bool": False, "Decimal": decimal.Decimal(1),
    "date": datetime.date(2026, 11, 12), "datetime": datetime.datetime(2026, 11, 12, 10, 0),
}


def values(function, of):
    """What a function wants at least, in its order; `of` has the types of its parameters."""
    wanted = [one for one in inspect.signature(function).parameters.values() if one.name != "self" and one.default is one.empty]
    return [value(of.get(one.name, "str"), one.name) for one in wanted]


def value(kind, name):
    """Something that a parameter of this kind takes."""
    kind = kind.strip("'\"").removeprefix("typing.")
    if pair := re.fullmatch(r"[Tt]uple\[(.*)\]", kind):
        return tuple(value(one.strip(), name) for one in pair[1].split(","))
    if listed := re.fullmatch(r"[Ll]ist\[(.*)\]", kind):
        return [value(listed[1], name.removesuffix("s"))]
    if kind.startswith(("Optional[", "None |")) or kind.endswith("| None"):
        return None
    if kind.startswith(("dict[", "Dict[")):
        return {}
    if kind.startswith("Callable["):
        return lambda *_: None
    kind = kind.removeprefix("Type[").removesuffix("]").rsplit(".", 1)[-1]
    if kind in PLAIN:
        return BY_NAME.get((kind, name), PLAIN[kind])
    enum = getattr(openapi, kind)
    members = [getattr(enum, one) for one in vars(enum) if not one.startswith("_") and one != "Unknown"]
    members = [one for one in members if isinstance(one, enum)]
    return members[0] if members else enum(*values(enum, TYPES.get((kind, "__init__"), {})))


def contexts():
    return [name for name in dir(openapi) if name.endswith("Context") and not name.startswith("Async")]


def methods(context):
    names = [name for name in dir(getattr(openapi, context)) if not name.startswith("_")]
    return [name for name in names if callable(getattr(getattr(openapi, context), name))]


class Surface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.generous = harness.shared()
        cls.american = cls.server.account("american", "--region", "us", "--rate", "unlimited", "--quota", "1000")

    def outcome(self, opened, context, method):
        """What became of a call: "answered", "not offered", "elsewhere", or what went wrong."""
        try:
            declared = getattr(getattr(openapi, context), method)
            getattr(opened, method)(*values(declared, TYPES.get((context, method), {})))
            return "answered"
        except OpenApiException as error:
            if error.code == NOT_OFFERED and re.search(r" are not offered here\b", error.message):
                return "not offered"
            return "elsewhere" if ELSEWHERE.search(error.message) else f"{error.code} {error.message}"
        except (AttributeError, TypeError, ValueError) as error:
            return f"not called: {error!r}"

    def test_every_method_of_every_context_is_answered_or_says_what_is_not_offered(self):
        self.assertTrue({"QuoteContext", "TradeContext"} <= set(contexts()))
        count = 0
        for context in contexts():
            at_home = getattr(openapi, context)(self.server.config(self.generous))
            abroad = getattr(openapi, context)(self.server.config(self.american))
            for method in methods(context):
                count += 1
                with self.subTest(context=context, method=method):
                    found = self.outcome(at_home, context, method)
                    if found == "elsewhere":
                        found = self.outcome(abroad, context, method)
                    if f"{context}.{method}" in NOT_CALLED:
                        self.assertTrue(found.startswith("not called"), found)
                        continue
                    if f"{context}.{method}" in REFUSED:
                        self.assertTrue(found.startswith(f"{WRONG_TERMS} "), found)
                    elif method in ANSWERED.get(context, ()) or CLIENT_ALONE.search(method):
                        self.assertEqual(found, "answered")
                    else:
                        self.assertEqual(found, "not offered")
        self.assertGreater(count, 200)


if __name__ == "__main__":
    unittest.main()
