"""Runs of programs in worlds: equal runs, runs with steps that a crash or a full disk interrupts, and
runs before and after an import of revised data."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import subprocess
import sys
import threading
import unittest
from decimal import Decimal

import harness
import live_market
import test_worlds
from live_market import random_candles
from paper_market import utc
from test_subscribe import DAY, OPEN, SYMBOL

RUNS, SEED, STEPS = 20, 7, 40


class Runs(test_worlds.Market):
    """A strategy with random decisions from a seed runs in many worlds of equal settings. In stepped
    mode all runs have one digest, in whatever language the program is written, and whether it waits
    for the pushes of a step or not."""

    minutes = tuple(random_candles(SYMBOL, DAY, 20260318))

    def run_in_world(self, name, *command):
        """Runs a program in a new world: what it prints, and the digest and the journal of the world."""
        world = self.world(name)
        environment = {
            name: value
            for prefix in ("LONGBRIDGE", "LONGPORT")
            for name, value in {
                f"{prefix}_HTTP_URL": self.server.url, f"{prefix}_QUOTE_WS_URL": self.server.socket_url,
                f"{prefix}_TRADE_WS_URL": self.server.socket_url, f"{prefix}_APP_KEY": world["app_key"],
                f"{prefix}_APP_SECRET": world["app_secret"], f"{prefix}_ACCESS_TOKEN": world["access_token"],
            }.items()
        }
        environment = harness.foreign_environment({"environment": environment})
        ran = subprocess.run(
            [*map(str, command)], env=environment, cwd=harness.WORK, capture_output=True, text=True, timeout=harness.PATIENCE_S)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        status, envelope = self.server.request("GET", f"/v1/worlds/{name}", self.owner)
        self.assertEqual(status, 200, envelope)
        shown = envelope["data"]
        self.assertEqual(shown["step"], STEPS)
        return json.loads(ran.stdout), shown["now"], shown["digest"]

    def digest_of(self, runs):
        """The common digest of several runs, which are side by side."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda run: self.run_in_world(*run), runs))
        for (name, *_), other in zip(runs, found):
            if other != found[0]:
                diff = self.diff(runs[0][0], name)
                self.fail(f"{found[0]} != {other}\n{diff.stdout}{diff.stderr}")
        counts, _, digest = found[0]
        # The strategy trades, and is refused.
        self.assertGreater(counts["submitted"], 5)
        self.assertGreater(counts["refused"], 0)
        return digest

    def python(self, seed=SEED, package="longbridge", mode="step"):
        program = harness.ROOT / "e2e/python/random_strategy.py"
        return sys.executable, program, package, SYMBOL, seed, STEPS, mode

    def node(self):
        return "node", harness.ROOT / "e2e/node/random_strategy.js", SYMBOL, SEED, STEPS

    def rust(self):
        return pathlib.Path(os.environ["CHANDLER_E2E_RUST"]) / "e2e-random-strategy", SYMBOL, SEED, STEPS

    def test_twenty_runs_in_python_and_in_node_have_one_digest(self):
        ways = [("longbridge", "step"), ("longbridge", "clock"), ("longport", "step"), ("longport", "clock")]
        of_python = self.digest_of([
            (f"python-{number}", *self.python(package=package, mode=mode))
            for number in range(RUNS) for package, mode in [ways[number % len(ways)]]])
        of_node = self.digest_of([(f"node-{number}", *self.node()) for number in range(RUNS)])
        self.assertEqual(of_node, of_python)
        self.assertNotEqual(self.digest_of([("other", *self.python(seed=8))]), of_python)

    @unittest.skipUnless("CHANDLER_E2E_RUST" in os.environ, "run with `make e2e-rust`")
    def test_rust(self):
        of_rust = self.digest_of([(f"rust-{number}", *self.rust()) for number in range(RUNS)])
        self.assertEqual(self.digest_of([("python", *self.python())]), of_rust)


class Interrupted(test_worlds.Market):
    """A step that is interrupted because the server is killed, or because the disk is full."""

    minutes = tuple(random_candles(SYMBOL, DAY, 20260318))
    # Numbers of pushes that the program has got when the server is killed.
    MOMENTS = (1, 40, 150, 400, 800)
    ORDERS = 12
    # Bytes that files may have when the disk is full: the step fails at its first write, or at a
    # later one.
    FULL_AT = (1, 64 << 10, 256 << 10, 1 << 20)
    END = OPEN + 6 * 3600 + 2700
    # The address of the node for requests, if that is not the server's.
    address = None

    def trading(self, name):
        """A program that has orders which fill in the course of the day, and its world."""
        world = self.world(name)
        program = test_worlds.Program(self.package, self.server, world)
        program.step()
        last, api = program.context.quote([SYMBOL])[0].last_done, program.api
        for number in range(self.ORDERS):
            price = (last * 5 // 1 + 8 - 4 * number) / 5
            program.trade.submit_order(
                SYMBOL, api.OrderType.LO, api.OrderSide.Buy, Decimal(100), api.TimeInForceType.Day,
                submitted_price=price, remark=str(number))
        return program, world

    def data(self, method, path, account, body=None):
        status, envelope = self.server.request(method, path, account, body, address=self.address)
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        return envelope["data"]

    def step_to_the_end(self, world):
        return self.data("POST", "/v1/world/step", world, {"to": utc(self.END)})

    def outcome(self, world):
        """What the account has done: orders and fills by remark, and the cash."""
        orders = self.data("GET", "/v1/trade/order/today", world)["orders"]
        remarks = {order["order_id"]: order["remark"] for order in orders}
        fills = self.data("GET", "/v1/trade/execution/today", world)["trades"]
        cash = self.data("GET", "/v1/asset/account", world)["list"]
        return (
            sorted((order["remark"], order["status"], order["executed_price"], order["updated_at"]) for order in orders),
            sorted((remarks[fill["order_id"]], fill["trade_done_at"], fill["price"], fill["quantity"]) for fill in fills),
            [row["total_cash"] for row in cash],
        )

    def test_a_step_that_was_interrupted_is_continued_without_a_loss(self):
        _, world = self.trading("undisturbed")
        self.step_to_the_end(world)
        wanted = self.outcome(world)
        # Some orders fill, and some expire.
        self.assertEqual({status for _, status, *_ in wanted[0]}, {"FilledStatus", "ExpiredStatus"})
        unanswered, beside = 0, None
        if harness.ENGINE == "postgres":
            beside = harness.Server(self.server.store, clock=self.server.clock)
            self.addCleanup(beside.kill)
        for number, moment in enumerate(self.MOMENTS):
            program, world = self.trading(f"killed-{moment}")
            before, answered = len(program.seen), []

            def step():
                try:
                    answered.append(self.step_to_the_end(world))
                except (OSError, http.client.HTTPException):
                    pass

            stepping = threading.Thread(target=step)
            stepping.start()
            harness.wait_for(
                lambda: len(program.seen) - before >= moment or not stepping.is_alive(), lambda: f"push {moment}")
            self.server.kill()
            stepping.join(harness.PATIENCE_S)
            unanswered += not answered
            # The server is started again, or another node continues.
            if beside and number % 2:
                self.address = beside.address
            else:
                self.server.start()
            shown = self.data("GET", "/v1/world", world)
            # The orders were acknowledged before the step.
            self.assertIn(shown["state"], ("paused", "ended"))
            self.assertGreaterEqual(test_worlds.unix(shown["now"]), OPEN)
            self.assertEqual(len(self.outcome(world)[0]), self.ORDERS)
            if shown["now"] < utc(self.END):
                self.step_to_the_end(world)
            self.assertEqual(self.outcome(world), wanted, moment)
            lines = self.data("GET", f"/v1/worlds/killed-{moment}/log", self.owner)["lines"]
            recovered = [line for line in lines if line["kind"] == "recovered"]
            # The account was ahead of the stored clock at most once.
            self.assertLessEqual(len(recovered), 1, lines[-3:])
            if self.address:
                self.address = None
                self.server.start()
        self.assertGreater(unanswered, 0, "no step was interrupted")

    @unittest.skipIf(harness.ENGINE == "postgres", "the full disk is that of the database")
    def test_a_step_that_a_full_disk_has_stopped_is_completed_when_there_is_room(self):
        def shown(world):
            return {name: self.data("GET", "/v1/world", world)[name] for name in ("now", "step", "state", "digest")}

        _, world = self.trading("undisturbed")
        self.step_to_the_end(world)
        wanted = self.outcome(world), shown(world)
        _, other = self.trading("other")
        of_other = self.outcome(other), shown(other)
        stopped = 0
        for size in self.FULL_AT:
            _, world = self.trading(f"full-{size}")
            before = shown(world)
            self.server.limit_files(size)
            try:
                status, envelope = self.server.request("POST", "/v1/world/step", world, {"to": utc(self.END)})
                if status != 200:
                    stopped += 1
                    self.assertGreaterEqual(status, 500, envelope)
                    self.assertEqual(shown(world), before)
                self.assertEqual((self.outcome(other), shown(other)), of_other)
            finally:
                self.server.limit_files()
            if status != 200:
                self.step_to_the_end(world)
            self.assertEqual((self.outcome(world), shown(world)), wanted, size)
        self.assertGreater(stopped, 0, "no step was stopped")
        self.step_to_the_end(other)
        self.assertEqual((self.outcome(other), shown(other)), wanted)


class Revised(test_worlds.Market):
    """Data that is imported again between two runs."""

    minutes = tuple(random_candles(SYMBOL, DAY, 20260318))

    def test_a_difference_of_the_data_is_told_from_one_of_the_program(self):
        def run(name):
            program = self.program(name)
            for _ in range(10):
                program.step()
            return program

        before, second = run("before"), run("second")
        same = self.diff("before", "second")
        self.assertEqual((same.returncode, before.seen), (0, second.seen), same)
        # The sixth minute closes at its high, and not where it did.
        symbol, time, open, high, low, close, volume, turnover = self.minutes[5].split(",")
        file = self.server.folder / "revised.csv"
        file.write_text(live_market.HEADER + ",".join((symbol, time, open, str(Decimal(high) + 2), low, str(Decimal(high) + 2), volume, turnover)) + "\n")
        harness.chandler(self.server.store, "import", file, "--strict", "--period", "1m", "--replace")
        after = run("after")
        self.assertNotEqual(before.seen, after.seen)
        told = self.diff("before", "after")
        self.assertEqual(told.returncode, 1, told)
        self.assertIn(f"data changed: {SYMBOL} ", told.stdout)
        # And the first step that differs.
        self.assertRegex(told.stdout.split("data changed", 1)[1], r"step")
        # The past of the first run is not touched, and two runs with the new data are equal again.
        run("again")
        for names in (("before", "second"), ("after", "again")):
            same = self.diff(*names)
            self.assertEqual(same.returncode, 0, same)


if __name__ == "__main__":
    unittest.main()
