"""Digests of worlds: equal runs of a program are equal, and a killed server loses no order."""

import json
import random
import unittest
from decimal import Decimal

from live_market import random_candles
from test_subscribe import DAILY, DAY, EVE, OPEN, SYMBOL
import test_worlds

STEPS = 60


class WorldLogs(test_worlds.Market):
    """Tests that run once for each package."""

    # The same candles in every run.
    minutes = tuple(random_candles(SYMBOL, DAY, 20260318))

    def shown(self, name):
        status, envelope = self.server.request("GET", f"/v1/worlds/{name}", self.owner)
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        return envelope["data"]

    def trade(self, program, seed):
        """A strategy that decides by its last price and by chance, which is seeded."""
        chance, api = random.Random(seed), program.api
        for _ in range(STEPS):
            program.step()
            last = next(entry[2] for entry in reversed(program.seen) if entry[0] == SYMBOL)
            if chance.random() < 0.3:
                side = chance.choice((api.OrderSide.Buy, api.OrderSide.Buy, api.OrderSide.Sell))
                price = (last + Decimal(chance.randrange(-5, 6)) / 10).quantize(Decimal("0.2"))
                try:
                    program.trade.submit_order(
                        SYMBOL, api.OrderType.LO, side, Decimal(100 * chance.randrange(1, 4)), api.TimeInForceType.Day,
                        submitted_price=price - price % Decimal("0.2"), remark=str(chance.random()))
                except api.OpenApiException as error:
                    # A refused order is part of the strategy.
                    program.seen.append(("refused", error.code))

    def test_a_seeded_strategy_has_the_same_digest_in_every_run(self):
        runs = []
        for name in ("one", "two", "three"):
            program = self.program(name)
            self.trade(program, 7)
            runs.append((self.shown(name)["digest"], program.seen))
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(runs[0], runs[2])
        self.trade(self.program("other"), 8)
        self.assertNotEqual(self.shown("other")["digest"], runs[0][0])
        same = self.diff("one", "two")
        self.assertEqual((same.returncode, same.stdout[:7]), (0, "equal: "), same)
        other = self.diff("one", "other", options=("--format", "json"))
        self.assertEqual((other.returncode, json.loads(other.stdout)["equal"]), (1, False), other)

    def test_a_killed_server_loses_no_order(self):
        program = self.program("killed")
        orders, api = [], program.api
        for number in range(20):
            program.step()
            if number % 3 == 0:
                order = program.trade.submit_order(
                    SYMBOL, api.OrderType.LO, api.OrderSide.Buy, Decimal(100), api.TimeInForceType.Day,
                    submitted_price=Decimal(280))
                orders.append((order.order_id, program.now()))
        self.server.kill()
        self.server.start()
        shown = self.shown("killed")
        # Steps of the last moment may be lost, but the clock is not before the last order.
        self.assertGreaterEqual(test_worlds.unix(shown["now"]), orders[-1][1])
        self.assertIn(shown["state"], ("paused",))
        listed = program.trade.today_orders()
        self.assertEqual(sorted(order.order_id for order in listed), sorted(order for order, _ in orders))
        # It goes on.
        self.assertGreater(program.context.quote([test_worlds.STEP])[0].timestamp.timestamp(), orders[-1][1])


class LongportWorldLogs(WorldLogs):
    package = "longport"


if __name__ == "__main__":
    unittest.main()
