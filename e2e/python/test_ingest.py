"""The adapters of `docs/ingest.md`: recorded messages of other services, and a server as the
service of the SDK."""

import os
import subprocess
import sys
import unittest
from decimal import Decimal

import harness
from live_market import LiveMarket

EXAMPLES = harness.ROOT / "e2e/examples/ingest"
RECORDED = harness.ROOT / "e2e/python/recorded"
DAY = "2026-03-18"
# 10:00 in New York.
TEN = 1773842400


class Adapters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Ingest requires the machine's clock.
        cls.server = harness.Server(clock="now")
        cls.addClassCleanup(cls.server.kill)
        cls.server.account("feeder", "--role", "operator")
        cls.reader = cls.server.account("reader", "--unlimited")

    def environment(self, *options):
        """The server, and a token that is only valid for ingest."""
        words = ("account", "ingest-token", "create", "feeder", "--format", "json", *options)
        token = harness.json.loads(harness.chandler(self.server.store, *words))
        self.assertTrue(token["scope"].startswith("ingest"))
        return {
            "PATH": f"{harness.BINARY.parent}:{os.environ['PATH']}", "HOME": str(harness.fresh_folder()), "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1", "CHANDLER_URL": self.server.url, "CHANDLER_TOKEN": token["access_token"]}

    def run_adapter(self, name, messages, *options):
        """Gives an adapter its messages; returns what it writes to stderr."""
        program = [sys.executable] if name.endswith(".py") else ["sh"]
        ran = subprocess.run(
            [*program, str(EXAMPLES / name)], input=messages, env=self.environment(*options), capture_output=True, text=True,
            timeout=harness.PATIENCE_S)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stderr

    def minutes(self, symbol):
        """The stored minutes of the day: time, prices, volume and turnover."""
        path = f"/v1/quote/history-candlesticks?symbol={symbol}&period=1m&start={DAY}&end={DAY}"
        status, envelope = self.server.request("GET", path, self.reader)
        rows = envelope["data"]["candlesticks"] if status == 200 else []
        prices = ("open", "high", "low", "close")
        return [
            (int(row["timestamp"]), *(Decimal(row[name]) for name in prices), int(row["volume"]), Decimal(row["turnover"]))
            for row in rows]

    def check(self, symbol, *expected):
        expected = [(at, *map(Decimal, prices.split()), volume, Decimal(turnover)) for at, prices, volume, turnover in expected]
        # A batch is visible a moment after its answer.
        harness.wait_for(
            lambda: self.minutes(symbol) == expected, lambda: f"{symbol}: {expected}, not {self.minutes(symbol)}")

    def test_alpaca(self):
        messages = (RECORDED / "alpaca.jsonl").read_text()
        self.assertEqual(self.run_adapter("from_alpaca.py", messages), "")
        apple = [
            (TEN, "190.3 190.6 190.2 190.5", 1250, "238012.5"), (TEN + 60, "190.5 190.7 190.4 190.4", 800, "152440")]
        self.check("AAPL.US", *apple)
        self.check("BRK.B.US", (TEN, "480 480.5 479.75 480.25", 300, "144030"))
        # The recorded messages have the same trade twice. Another run changes nothing.
        self.assertEqual(self.run_adapter("from_alpaca.py", messages), "")
        self.check("AAPL.US", *apple)
        # Trades are merged separately from minutes.
        exported = lambda: harness.chandler(self.server.store, "export", "AAPL.US", "--trades", clock="now").splitlines()
        harness.wait_for(lambda: len(exported()) == 1 + 2, lambda: f"two trades, not {exported()}")

    def test_polygon(self):
        messages = (RECORDED / "polygon.jsonl").read_text().splitlines(keepends=True)
        # A minute of which three seconds have come: its high is a number, not a text.
        self.run_adapter("from_polygon.py", "".join(messages[:4]))
        self.check("MSFT.US", (TEN, "400.2 1000.5 399.9 1000.5", 350, "170065"))
        self.assertEqual(self.run_adapter("from_polygon.py", "".join(messages)), "")
        self.check(
            "MSFT.US", (TEN, "400.2 1000.5 399.9 400.4", 415, "196378"), (TEN + 60, "400.4 400.4 400.4 400.4", 10, "4004"))

    def test_csv_from_standard_input(self):
        text = f"symbol,time,open,high,low,close,volume\n700.HK,{DAY} 09:30,300,302,299,301,10000\nnonsense\n"
        said = self.run_adapter("from_csv.sh", text)
        self.assertEqual(said.splitlines()[-1], "followed: 1 rows accepted, 0 replaced, 0 unchanged, 1 quarantined")
        self.check("700.HK", (1773797400, "300 302 299 301", 10000, "0"))

    def test_a_token_of_other_symbols(self):
        said = self.run_adapter("from_alpaca.py", (RECORDED / "alpaca.jsonl").read_text(), "--symbols", "*.HK,BRK.B.US")
        self.assertEqual(said.count("the token is not valid for this symbol"), 6, said)

    def test_another_server_through_its_sdk(self):
        # The names of the candles differ from those of other tests here.
        opening, symbol = 1773797400, "9988.HK"
        rows = (f"700.HK,{DAY}T01:30:00Z,300,302,299,301,10000,3005000", f"700.HK,{DAY}T01:31:00Z,301,303,300,302,8000,2412000")
        daily = (f"700.HK,2026-03-17,297,299,296,298.6,1000000,298000000",)
        source = LiveMarket("700.HK", rows, daily, "2026-03-17", (DAY,), opening - 30)
        self.addCleanup(source.kill)
        account = source.account("copied", "--rate", "unlimited")
        environment = {**harness.foreign_environment(account), **self.environment("--symbols", symbol)}
        adapter = subprocess.Popen(
            [sys.executable, str(EXAMPLES / "from_sdk.py"), symbol], env=environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(adapter.communicate)
        self.addCleanup(adapter.kill)
        counts = lambda: [of["count"] for of in source.connections(account).values()]
        harness.wait_for(lambda: counts() == [1] or adapter.poll() is not None, lambda: f"a subscription, not {counts()}")
        self.assertIsNone(adapter.poll(), "the adapter has ended")
        source.move(opening + 60)
        self.check(
            symbol, (opening, "80 80 80 80", 100, "8000"), (opening + 60, "80 80 80 80", 0, "0"))


if __name__ == "__main__":
    unittest.main()
