"""The demo, as a newcomer sees it: its market moves, a first order is filled, and its clock never
goes back. Under the machine's clock, because the demo starts in the newest session."""

import json
import queue
import subprocess
import threading
import unittest
from datetime import datetime

import harness

SYMBOL = "9001.HK"
# Lot size of the security in the demo.
LOT = 500
# What a newcomer waits for, in seconds.
QUOTE_S, FILL_S = 15, 60
# Limit for generating two million candles, which takes a busy machine minutes without optimization.
GENERATE_S = 300


class Demo(harness.Server):
    """`chandler demo --serve` in a new store."""

    def __init__(self):
        self.store = self.folder = harness.fresh_folder()
        self.start()

    def start(self):
        command = ["timeout", str(harness.SERVER_LIFE_S), str(harness.BINARY), "--store", f"sqlite:{self.store}"]
        command += ["demo", "--quiet", "--serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]
        self.log = open(self.folder / "server.log", "a")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.lines = []
        reader = threading.Thread(target=self.read_lines, daemon=True)
        reader.start()
        reader.join(GENERATE_S)
        if not self.is_ready():
            self.kill()
            raise AssertionError(f"not ready after {self.lines}: {self.log_text()}")
        (opened,) = [line for line in self.lines if line.startswith("Open http://")]
        self.address = opened.split("http://")[1].split("/")[0]
        self.url = f"http://{self.address}"

    def read_lines(self):
        """Reads what it prints, up to the last line."""
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if self.is_ready():
                break

    def is_ready(self):
        return bool(self.lines) and self.lines[-1].startswith("print(")

    def owner(self):
        return json.loads((self.store / "demo-account.json").read_text())

    def clock(self):
        status, envelope = self.request("GET", "/v1/admin/clock", self.owner())
        assert status == 200, envelope
        return datetime.fromisoformat(envelope["data"]["now"]), envelope["data"]


class MovingMarket(unittest.TestCase):
    def test_quotes_move_an_order_is_filled_and_the_clock_never_goes_back(self):
        from longbridge.openapi import OrderSide, OrderStatus, OrderType, SubType, TimeInForceType, TopicType, TradeContext

        demo = Demo()
        self.addCleanup(demo.kill)
        self.assertTrue(any(line.startswith("The prices are simulated. The market is replayed at 10×") for line in demo.lines), demo.lines)
        began, shown = demo.clock()
        self.assertEqual((shown["pace"], shown["speed"]), ("running", 10))
        # 10:00 in Hong Kong, and little later.
        self.assertEqual(began.hour, 2, shown)
        status, envelope = demo.request("GET", "/v1/me", demo.owner())
        self.assertEqual((status, envelope["data"]["simulated_speed"]), (200, 10))

        quotes, pushed = demo.quotes(demo.owner()), queue.SimpleQueue()
        quotes.set_on_quote(lambda symbol, push: pushed.put((symbol, push.timestamp, push.volume)))
        quotes.subscribe([SYMBOL], [SubType.Quote])
        first = pushed.get(timeout=QUOTE_S)
        self.assertEqual(first[0], SYMBOL)
        self.assertGreater(pushed.get(timeout=QUOTE_S)[1:], first[1:])

        trade, changes = TradeContext(demo.config(demo.owner())), queue.SimpleQueue()
        trade.set_on_order_changed(changes.put)
        trade.subscribe([TopicType.Private])
        order = trade.submit_order(SYMBOL, OrderType.MO, OrderSide.Buy, LOT, TimeInForceType.Day).order_id
        change = changes.get(timeout=FILL_S)
        while not (change.order_id == order and change.status == OrderStatus.Filled):
            change = changes.get(timeout=FILL_S)

        # Killed, without a chance to store the time.
        before, _ = demo.clock()
        demo.kill()
        demo.start()
        after, _ = demo.clock()
        self.assertGreaterEqual(after, before)
        self.assertLess((after - before).total_seconds(), 86_400)
        self.assertEqual(demo.stop(), 0)


if __name__ == "__main__":
    unittest.main()
