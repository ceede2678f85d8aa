"""Calls every public method of every context of the installed SDK once, and compares the outcome
with `docs/sdk-coverage.md`. The methods are read from the package, so that one missing from the
page is detected."""

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
LOGIN_IS_VALID = ": paper accounts do not support this; your login is valid"
# The SDK itself refuses these without a US account, so they are called again with one.
ELSEWHERE = re.compile(r"only available in the US data center|not (available|supported) (in|for) the US", re.IGNORECASE)
# Values where the type alone does not determine a plausible one.
BY_NAME = {
    ("str", "symbol"): "9001.HK", ("str", "market"): "HK", ("str", "currency"): "HKD", ("str", "settlement_currency"): "HKD",
    ("str", "start"): "2026-11-01", ("str", "end"): "2026-11-13",
}
PAGE = harness.ROOT / "docs/sdk-coverage.md"
ROW = re.compile(r"^\| (\w+Context\.\w+) \| (.+?) \| (answered|refused|client|not called) \| (.+?) \|$")


def coverage():
    """The documented outcome of each method, with its message or codes."""
    rows = [ROW.match(line) for line in PAGE.read_text().splitlines() if re.match(r"\| \w+Context\.", line)]
    assert all(rows), "a line of the table cannot be read"
    table = {row[1]: (row[3], "" if row[4] == "-" else row[4]) for row in rows}
    assert len(table) == len(rows), "a method is listed twice"
    return table


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
    """Arguments for the required parameters of a function, in order; `of` has their types."""
    wanted = [one for one in inspect.signature(function).parameters.values() if one.name != "self" and one.default is one.empty]
    return [value(of.get(one.name, "str"), one.name) for one in wanted]


def value(kind, name):
    """A value that a parameter of this kind accepts."""
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
        # Only an account with holdings may write topics.
        cls.server.request("GET", "/v1/asset/stock", cls.generous)
        cls.american = cls.server.account("american", "--region", "us", "--rate", "unlimited", "--quota", "1000")

    def outcome(self, opened, context, method):
        """The outcome of a call: "answered", "elsewhere", code and message of a refusal, or the
        error."""
        try:
            declared = getattr(getattr(openapi, context), method)
            getattr(opened, method)(*values(declared, TYPES.get((context, method), {})))
            return "answered"
        except OpenApiException as error:
            return "elsewhere" if ELSEWHERE.search(error.message) else f"{error.code} {error.message}"
        except (AttributeError, TypeError, ValueError) as error:
            return f"not called: {error!r}"

    def compare(self, documented, found):
        outcome, beside = documented
        if outcome == "refused":
            subject, login = re.fullmatch(r"(.+?)( \*)?", beside).groups()
            self.assertEqual(found, f"{NOT_OFFERED} {subject} are not offered here" + (LOGIN_IS_VALID if login else ""))
        elif outcome == "not called":
            self.assertTrue(found.startswith("not called"), found)
        elif outcome == "answered" and beside:
            self.assertIn(found.split(" ")[0], ["answered", *beside.split(", ")], found)
        else:
            self.assertEqual(found, "answered")

    def test_every_method_of_every_context_does_what_the_page_says(self):
        table = coverage()
        self.assertTrue({"QuoteContext", "TradeContext"} <= set(contexts()))
        there = {f"{context}.{method}" for context in contexts() for method in methods(context)}
        self.assertEqual(there, set(table), "the package and the page have the same methods")
        self.assertGreater(len(there), 200)
        # References are held to the end. The SDK shares connections between contexts, and a dropped
        # context closes those that it made, even during a call of the next.
        opened = [
            (name, getattr(openapi, name)(self.server.config(self.generous)), getattr(openapi, name)(self.server.config(self.american)))
            for name in contexts()
        ]
        for context, at_home, abroad in opened:
            for method in methods(context):
                with self.subTest(context=context, method=method):
                    found = self.outcome(at_home, context, method)
                    if found == "elsewhere":
                        found = self.outcome(abroad, context, method)
                    self.compare(table[f"{context}.{method}"], found)


if __name__ == "__main__":
    unittest.main()
