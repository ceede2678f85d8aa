"""The scripts of `docs/importing.md` that fetch from other services: recorded answers, and the
import of what they write, without options."""

import csv
import http.server
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from decimal import Decimal

import harness

EXAMPLES = harness.ROOT / "e2e/examples/fetch"
RECORDED = harness.ROOT / "e2e/python/recorded/fetch"
LINES_MAX = 30


class Answers(http.server.BaseHTTPRequestHandler):
    """Alpaca and Stooq on loopback."""

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        if address.path == "/v2/stocks/bars":
            keys = self.headers["APCA-API-KEY-ID"], self.headers["APCA-API-SECRET-KEY"]
            expected = {
                "timeframe": "1Min", "start": "2026-03-18", "end": "2026-03-19", "symbols": "AAPL,BRK.B", "adjustment": "raw"}
            good = keys == ("key", "secret") and expected.items() <= query.items()
            name = {None: "alpaca_1.json", "QUFQTHxN": "alpaca_2.json"}[query.get("page_token")]
            body = (RECORDED / name).read_bytes()
        else:
            good = address.path == "/q/d/l/" and query["i"] == "d"
            body = (RECORDED / "stooq.csv").read_bytes() if query["s"] == "goog.us" else b"No data"
        self.send_response(200 if good else 400)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Fetch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        cls.addClassCleanup(service.server_close)
        cls.addClassCleanup(service.shutdown)
        address = f"http://127.0.0.1:{service.server_port}"
        cls.environment = {
            **os.environ, "PYTHONPATH": str(RECORDED / "modules"), "PYTHONDONTWRITEBYTECODE": "1", "TUSHARE_TOKEN": "recorded",
            "STOOQ_URL": address, "APCA_API_DATA_URL": address, "APCA_API_KEY_ID": "key", "APCA_API_SECRET_KEY": "secret"}

    def run_script(self, name, *words):
        """The folder in which a script was run, and its output."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        command = [sys.executable, str(EXAMPLES / name), *words]
        ran = subprocess.run(
            command, cwd=folder, env=self.environment, capture_output=True, text=True, timeout=harness.PATIENCE_S)
        return folder, ran

    def fetch(self, name, *words):
        """A store with what a script has written, imported without options."""
        folder, ran = self.run_script(name, *words)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        store = harness.fresh_folder()
        harness.chandler(store, "import", folder)
        self.assertNotIn(".csv", harness.chandler(store, "quarantine"))
        return store

    def candles(self, store, symbol, period="day", *options):
        """Time, prices, volume and turnover of the stored candles."""
        range_of_all = ("--start", "2004-01-01", "--end", "2026-11-14")
        text = harness.chandler(store, "kline", symbol, "--period", period, *range_of_all, "--format", "csv", *options)
        columns = ("time", "open", "high", "low", "close", "volume", "turnover")
        rows = csv.DictReader(io.StringIO(text))
        return [(row["time"][:16], *(Decimal(row[name]) for name in columns[1:])) for row in rows]

    def check(self, candles, *expected):
        self.assertEqual(candles, [(time, *map(Decimal, numbers.split())) for time, numbers in expected])

    def test_yfinance(self):
        store = self.fetch("from_yfinance.py", "AAPL", "0700.HK")
        # As traded before the split of 2020-08-31.
        self.check(
            self.candles(store, "AAPL.US"),
            ("2020-08-06T00:00", "441.62 457.65 439.19 455.61 50607200 0"),
            ("2020-08-07T00:00", "452.82 454.7 441.17 444.45 49511400 0"),
            ("2020-08-27T00:00", "508.57 509.94 495.33 500.04 38888100 0"),
            ("2020-08-28T00:00", "504.05 505.77 498.31 499.23 46907500 0"),
            ("2020-08-31T00:00", "127.58 131 126 129.04 225702700 0"))
        closes = [row[4] for row in self.candles(store, "AAPL.US", "day", "--adjust", "forward")]
        # A dividend of 0.82 per share at 455.61, and the split: 454.79 and 444.45 divided by 4.
        self.assertEqual(closes, [Decimal(text) for text in ("113.698", "111.113", "125.010", "124.808", "129.040")])
        self.check(
            self.candles(store, "700.HK"),
            ("2026-03-17T00:00", "612.5 618 610 615.5 18250300 0"), ("2026-03-18T00:00", "616 620.5 613 619 20114500 0"))

    def test_stooq(self):
        self.check(
            self.candles(self.fetch("from_stooq.py", "GOOG.US"), "GOOG.US"),
            ("2004-08-19T00:00", "2.4908 2.6921 2.3898 2.4997 897427216 0"),
            ("2004-08-20T00:00", "2.5158 2.7168 2.5033 2.6986 458857488 0"),
            ("2004-08-23T00:00", "2.7585 2.8264 2.7161 2.7247 366857940 0"))
        folder, ran = self.run_script("from_stooq.py", "none.us")
        self.assertEqual((ran.returncode, ran.stderr, list(folder.iterdir())), (1, "none.us: No data\n", []))

    def test_alpaca(self):
        store = self.fetch("from_alpaca.py", "1Min", "2026-03-18", "2026-03-19", "AAPL", "BRK.B")
        self.check(
            self.candles(store, "AAPL.US", "1m"),
            ("2026-03-18T09:30", "190.1 190.4 190.05 190.3 1200 228254.814"),
            ("2026-03-18T09:31", "190.3 190.6 190.2 190.5 900 171360"),
            ("2026-03-18T09:32", "190.5 190.7 190.4 190.4 800 152440"))
        self.check(
            self.candles(store, "BRK.B.US", "1m"),
            ("2026-03-18T09:30", "480 480.5 479.75 480.25 300 144037.5"), ("2026-03-18T09:31", "480.25 480.25 480 480 100 48010"))

    def test_tushare(self):
        store = self.fetch("from_tushare.py", "600519.SH")
        # Two answers of three days, which share one.
        self.check(
            self.candles(store, "600519.SH"),
            ("2026-03-16T00:00", "1500 1512.88 1495.5 1510 2103456 3164201234"),
            ("2026-03-17T00:00", "1510 1520 1505.01 1518.5 1801200 2726530500"),
            ("2026-03-18T00:00", "1518.5 1525 1511.11 1512 1999999 3034000001"),
            ("2026-03-19T00:00", "1512 1513 1490 1495.25 2500000 3750000000"),
            ("2026-03-20T00:00", "1495 1502.6 1493 1500 1700050 2547874125"))
        adjusted = self.candles(store, "600519.SH", "day", "--adjust", "forward")
        # 27.624 at a close of 1512; the announced plan without an ex-date is not imported.
        self.assertEqual([row[4] for row in adjusted][2:], [Decimal("1484.376"), Decimal("1495.25"), Decimal("1500")])

    def test_akshare(self):
        store = self.fetch("from_akshare.py", "600519.SH", "00700.HK", "105.AAPL.US")
        self.check(
            self.candles(store, "600519.SH"),
            ("2026-03-17T00:00", "1510 1520 1505.01 1518.5 1801200 2726530500"),
            ("2026-03-18T00:00", "1518.5 1525 1511.11 1512 2000000 3034000001"))
        self.check(
            self.candles(store, "700.HK"),
            ("2026-03-17T00:00", "612.5 618 610 615.5 18250300 11223456789"),
            ("2026-03-18T00:00", "616 620.5 613 619 20114500 12421234567.5"))
        self.check(
            self.candles(store, "AAPL.US"),
            ("2026-03-17T00:00", "189.5 190.9 188.75 190.1 41234567 7834567890"),
            ("2026-03-18T00:00", "190.2 192 189.9 191.35 39876543 7612345678"))

    def test_every_script_is_short_and_documented(self):
        page = (harness.ROOT / "docs/importing.md").read_text()
        scripts = sorted(EXAMPLES.glob("*.py"))
        self.assertEqual(len(scripts), 5)
        for script in scripts:
            self.assertLessEqual(len(script.read_text().splitlines()), LINES_MAX, script)
            self.assertIn(f"](../e2e/examples/fetch/{script.name})", page.replace("\n", " "), "not in docs/importing.md")


if __name__ == "__main__":
    unittest.main()
