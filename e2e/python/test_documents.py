"""The pages about SDKs and tools: their code is that of the examples, and the examples run."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import harness
import person

import yaml
from longbridge.openapi import AdjustType, Period

DOCS, EXAMPLES = harness.ROOT / "docs", harness.ROOT / "e2e/examples"
# A comment with a path, then a block of code.
QUOTED = re.compile(r"<!-- (e2e/examples/\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


# The output of the documented strategy on its day, in any language. The three round trips lose 75,
# win 375 and lose 250; the balance of 500,000 also drops by the charges.
STRATEGY = """\
09:37 bought 500 at 92.100
10:17 sold 500 at 91.950
13:27 bought 500 at 91.350
14:37 sold 500 at 92.100
15:22 bought 500 at 91.750
15:32 sold 500 at 91.250
6 orders, charges 402.95 net assets 499647.05
""".splitlines()


# The output of the documented grid on that day. Matched first in, first out, without charges: 325
# lost, then 325, 725, 200 and 200.
GRID = """\
10:34 buy 500 at 91.500 filled at 91.550
11:32 buy 500 at 91.000 filled at 90.900
11:58 buy 500 at 90.500 filled at 90.500
13:21 sell 500 at 91.000 filled at 90.900
13:31 sell 500 at 91.500 filled at 91.550
13:44 sell 500 at 92.000 filled at 91.950
14:03 sell 500 at 92.500 filled at 92.450
14:21 buy 500 at 92.000 filled at 92.050
14:49 buy 500 at 91.500 filled at 91.550
15:15 sell 500 at 92.000 filled at 91.950
15:27 buy 500 at 91.500 filled at 91.400
15:59 buy 500 at 91.000 filled at 91.050
bases 92 91.5 91 90.5 91 91.5 92 92.5 92 91.5 92 91.5 91
bought 3500 sold 2500 profit 1125.00
Canceled
""".splitlines()


def quoted():
    return [(page.name, path, code) for page in sorted(DOCS.glob("*.md")) for path, code in QUOTED.findall(page.read_text())]


class Pages(unittest.TestCase):
    def test_a_page_shows_the_example_that_is_run(self):
        for page, path, code in quoted():
            with self.subTest(page=page, path=path):
                self.assertEqual(code, (harness.ROOT / path).read_text())

    def test_every_example_is_on_a_page(self):
        files = {str(path.relative_to(harness.ROOT)) for path in EXAMPLES.rglob("*") if path.is_file()}
        self.assertEqual({path for _, path, _ in quoted()}, {path for path in files if "__pycache__" not in path})


class Runner(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()
        cls.environment = {
            **harness.foreign_environment(cls.account),
            "CHANDLER_URL": cls.server.url, "CHANDLER_TOKEN": cls.account["access_token"],
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def check(self, path, *says, program=None, **environment):
        """An example must succeed and print its expected output."""
        program = program or {".py": sys.executable, ".js": "node"}[pathlib.Path(path).suffix]
        with tempfile.TemporaryDirectory(dir=harness.WORK, prefix="home-") as folder:
            ran = subprocess.run(
                [program, str(EXAMPLES / path)], env={**self.environment, "HOME": folder, **environment}, cwd=folder,
                capture_output=True, text=True, timeout=harness.PATIENCE_S * 2)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for text in says:
            self.assertIn(text, ran.stdout)


class Strategies(Runner):
    """The documented strategy in each language, and the grid, on a day of the demo market: one
    clock, one result."""

    def play(self, program, path, says=STRATEGY):
        server = harness.Server(clock="2026-11-12T01:30:00Z")
        self.addCleanup(server.kill)
        account = server.account("quant", "--role", "operator", "--rate", "unlimited", "--cash", "HKD=500000")
        with tempfile.TemporaryDirectory(dir=harness.WORK, prefix="home-") as folder:
            environment = {**harness.foreign_environment(account), "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"}
            ran = subprocess.run(
                [*program, str(path)] if program else [str(path)], env=environment, cwd=folder, capture_output=True, text=True,
                timeout=harness.PATIENCE_S * 4)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.splitlines(), says)

    def test_python(self):
        self.play([sys.executable], EXAMPLES / "python/strategy.py")

    def test_grid(self):
        self.play([sys.executable], EXAMPLES / "python/grid.py", GRID)

    def test_node(self):
        self.play(["node"], EXAMPLES / "node/strategy.js")

    @unittest.skipUnless("CHANDLER_E2E_RUST" in os.environ, "run with `make e2e-rust`")
    def test_rust(self):
        self.play([], pathlib.Path(os.environ["CHANDLER_E2E_RUST"]) / "e2e-example-strategy")


class Backtests(unittest.TestCase):
    """The commands of the page about backtests, with the strategies that it shows."""

    PAGE = DOCS / "backtesting.md"

    def run_command(self, command, codes=(0,)):
        """A command of the page, as a user would type it: stdout."""
        with tempfile.TemporaryDirectory(dir=harness.WORK, prefix="home-") as folder:
            for path in (EXAMPLES / "backtest").glob("*.py"):
                (pathlib.Path(folder) / path.name).write_text(path.read_text())
            names = pathlib.Path(folder) / "bin"
            names.mkdir()
            (names / "chandler").symlink_to(harness.BINARY)
            python = f"#!/bin/sh\nexec {sys.executable} \"$@\"\n"
            for name in ("python", "python3"):
                (names / name).write_text(python)
                (names / name).chmod(0o755)
            environment = {
                "PATH": f"{names}:{os.environ['PATH']}", "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1",
                "CHANDLER_STORE": harness.store_argument(harness.fresh_store()), "CHANDLER_CLOCK": harness.NOW}
            ran = subprocess.run(
                ["sh", "-c", command], env=environment, cwd=folder, capture_output=True, text=True,
                timeout=harness.PATIENCE_S * 4)
            files = {path.name for path in pathlib.Path(folder).iterdir()}
        self.assertIn(ran.returncode, codes, ran.stderr)
        return ran.stdout, files

    def commands(self, *words):
        """The commands of the page that contain these words, each with the output that follows it."""
        blocks = re.findall(r"```sh\n(.*?)```(?:\n\n```\n(.*?)```)?", self.PAGE.read_text(), re.DOTALL)
        found = []
        for commands, output in blocks:
            for command in commands.replace("\\\n", " ").splitlines():
                if command.startswith("chandler world run") and all(word in command for word in words):
                    found.append((command, output))
        return found

    def test_the_first_result(self):
        ((command, output),) = self.commands("--html")
        stdout, files = self.run_command(command)
        self.assertIn("report.html", files)
        # The name and the start of the world are those of another day.
        for line in output.splitlines()[2:]:
            self.assertIn(line, stdout.splitlines())

    def test_checks(self):
        ((command, _),) = self.commands("max_drawdown")
        self.assertIn("passed: trades >= 3", self.run_command(command)[0])

    def test_the_sweep(self):
        ((command, output),) = self.commands("--sweep")
        columns = lambda text: [line.split()[:8] for line in text.splitlines()]
        self.assertEqual(columns(self.run_command(command)[0]), columns(output))

    def test_the_workflow(self):
        (workflow,) = re.findall(r"```yaml\n(.*?)```", self.PAGE.read_text(), re.DOTALL)
        steps = [step.get("run", "") for step in yaml.safe_load(workflow)["jobs"]["backtest"]["steps"]]
        steps = [step for step in steps if step.startswith("chandler ")]
        self.assertEqual(len(steps), 2)
        # The repository has a strategy, and files of candles.
        security = "symbol,currency,lot_size\\n9001.HK,HKD,500\\n"
        repository = ["mkdir data", "cp moving_average.py strategy.py", f"printf '{security}' >data/securities.csv"] + [
            f"chandler export 9001.HK --period {period} --start 2026-06-01 --output data/{period}.csv" for period in ("1m", "day")]
        stdout, files = self.run_command("\n".join(["set -e", *repository, *steps]))
        self.assertIn("report.html", files)
        self.assertRegex(stdout, r"trades +[1-9]")
        self.assertIn("passed: max_drawdown < 20%", stdout)

    def test_a_grid(self):
        ((command, output),) = self.commands("grid.py")
        stdout, _ = self.run_command(command)
        for line in output.splitlines():
            self.assertIn(line, stdout.splitlines())

    def test_pairs(self):
        ((command, _),) = self.commands("pairs.py")
        # The program may act some minutes later in another run.
        stdout, _ = self.run_command(command)
        self.assertRegex(stdout, r"trades +[1-9]")


# Put into the Python of a strategy: its clock runs as fast as that of the server.
SHORT_SLEEPS = """
import os, time
sleep = time.sleep
time.sleep = lambda seconds: sleep(seconds / float(os.environ["CLOCK_SPEED"]))
"""


class OnPaper(unittest.TestCase):
    """The strategies of the page about backtests, unchanged, with a paper account: the server has a
    running clock, and no world."""

    def orders_of(self, path, clock, speed, *words):
        """Runs a strategy until its account has an order."""
        server = harness.Server(clock=f"{clock},run@{speed}")
        self.addCleanup(server.kill)
        server.report_rates()
        account = server.account("quant", "--rate", "unlimited", "--cash", "HKD=1000000")

        def orders():
            status, envelope = server.request("GET", "/v1/trade/order/today", account)
            self.assertEqual(status, 200, envelope)
            return envelope["data"]["orders"]

        with tempfile.TemporaryDirectory(dir=harness.WORK, prefix="home-") as folder:
            (pathlib.Path(folder) / "sitecustomize.py").write_text(SHORT_SLEEPS)
            environment = {
                **harness.foreign_environment(account), "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": folder,
                "CLOCK_SPEED": str(speed)}
            with open(pathlib.Path(folder) / "errors", "w+") as errors:
                program = subprocess.Popen(
                    [sys.executable, str(EXAMPLES / "backtest" / path), *words], env=environment, cwd=folder, stderr=errors)
                try:
                    found = harness.wait_for(lambda: orders() or program.poll() is not None, f"an order of {path}")
                    errors.seek(0)
                    self.assertIsNone(program.poll(), errors.read())
                    return found
                finally:
                    program.kill()
                    program.wait()

    def check(self, orders, symbols, since):
        order = orders[0]
        self.assertIn(order["symbol"], symbols)
        self.assertEqual((order["side"], order["order_type"]), ("Buy", "MO"))
        # By the clock of the server, on the day at which it began.
        self.assertIn(int(order["submitted_at"]) - since, range(0, 8 * 3600))

    def test_moving_average(self):
        # Twenty minutes before it decides, which are twenty seconds.
        orders = self.orders_of("moving_average.py", "2026-11-11T07:25:00Z", 60, "1", "3")
        self.check(orders, {"9001.HK"}, 1794381900)

    def test_grid(self):
        orders = self.orders_of("grid.py", "2026-11-12T01:34:00Z", 300, "0.05")
        self.check(orders, {"9001.HK"}, 1794447240)

    def test_pairs(self):
        orders = self.orders_of("pairs.py", "2026-11-12T07:29:00Z", 20)
        self.check(orders, {"9001.HK", "9002.HK"}, 1794468540)


class InWorlds(Runner):
    """The documented programs that step a world, in each language."""

    def run_in_world(self, *command):
        settings = {
            "name": f"by-{pathlib.Path(command[-1]).name.replace('.', '-')}", "start": "2026-11-12T09:30:00+08:00",
            "end": "2026-11-12T10:00:00+08:00", "markets": ["HK"], "cash": {"HKD": "100000"}}
        status, envelope = self.server.request("POST", "/v1/worlds", self.account, settings)
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        keys = envelope["data"]["credentials"]
        environment = {
            f"{prefix}_{name}": keys[name.lower()]
            for prefix in ("LONGBRIDGE", "LONGPORT") for name in ("APP_KEY", "APP_SECRET", "ACCESS_TOKEN")}
        ran = subprocess.run(
            command, env={**self.environment, **environment}, cwd=harness.WORK, capture_output=True, text=True,
            timeout=harness.PATIENCE_S)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        *minutes, fill = ran.stdout.splitlines()
        self.assertEqual([line.split()[0][11:16] for line in minutes], ["01:35", "01:40", "01:45", "01:50", "01:55"])
        self.assertRegex(fill, r"^bought 500 at \d+\.\d+$")
        return ran.stdout.replace("Z ", " ").replace(".000", "")

    def test_node(self):
        self.run_in_world("node", str(EXAMPLES / "node/world.js"))

    @unittest.skipUnless("CHANDLER_E2E_RUST" in os.environ, "run with `make e2e-rust`")
    def test_rust(self):
        self.run_in_world(str(pathlib.Path(os.environ["CHANDLER_E2E_RUST"]) / "e2e-example-world"))


class Live(Runner):
    """The documented subscriptions, in a market whose minutes last a second."""

    def setUp(self):
        self.server = harness.Server(clock="2026-11-12T01:30:00Z,run@60")
        self.addCleanup(self.server.kill)
        self.account = self.server.account("watcher", "--rate", "unlimited")
        self.environment = {**self.environment, **self.account["environment"]}

    def run_example(self, *command):
        ran = subprocess.run(command, env=self.environment, cwd=harness.WORK, capture_output=True, text=True, timeout=harness.PATIENCE_S)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout.splitlines()

    def check_both(self, lines):
        """Quotes of both securities, and complete minutes of one."""
        minutes = [line for line in lines if line.startswith("minute ")]
        self.assertGreaterEqual(len(minutes), 3, lines)
        self.assertEqual(len(set(minutes)), len(minutes))
        quotes = [line for line in lines if re.match(r"2026-11-12.* 900[12]\.HK \d+\.\d+ \d+$", line)]
        self.assertGreaterEqual(len(quotes), 10, lines)
        self.assertTrue(any("9001.HK" in line for line in quotes) and any("9002.HK" in line for line in quotes), lines)

    def test_quotes_in_python(self):
        lines = self.run_example(sys.executable, str(EXAMPLES / "python/live.py"))
        self.assertEqual(len(lines), 10)
        self.assertEqual({line.split()[2] for line in lines}, {"9001.HK", "9002.HK"})
        # They move.
        self.assertGreater(len({line for line in lines if "9001.HK" in line}), 2)

    def test_candles_in_python(self):
        first, *minutes, last = self.run_example(sys.executable, str(EXAMPLES / "python/live_candles.py"))
        self.assertRegex(first, r"^\d+ minutes so far$")
        self.assertRegex(last, r"^now \d+\.\d+$")
        self.assertEqual(len(minutes), 3)
        candles = self.server.quotes(self.account).candlesticks("9001.HK", Period.Min_1, 1000, AdjustType.NoAdjust)
        stored = {f"{one.timestamp} {one.open} {one.high} {one.low} {one.close} {one.volume}" for one in candles}
        self.assertEqual(set(minutes) - stored, set())

    def test_node(self):
        self.check_both(self.run_example("node", str(EXAMPLES / "node/live.js")))

    @unittest.skipUnless("CHANDLER_E2E_RUST" in os.environ, "run with `make e2e-rust`")
    def test_rust(self):
        self.check_both(self.run_example(str(pathlib.Path(os.environ["CHANDLER_E2E_RUST"]) / "e2e-example-live")))


class Examples(Runner):
    def test_python(self):
        self.check("python/first.py", "89.500 89.950 7923500\n", "True\n22 days\n166 candles, the first: TradeSession.Pre")
        self.check("python/years.py", "9913 minutes, ascending")
        self.check("python/errors.py", "9001.HK 10 candles", "1.HK 301600 1.HK is not known", "301603")

    def test_topics_in_python(self):
        account = self.server.account("by example in topics", "--cash", "HKD=1000")
        self.check("python/topics.py", "Lot sizes\n1 reply\n", **account["environment"])

    def test_python_by_token_file(self):
        _, login, client_id = person.signed_in(self.server, "by example", "--rate", "unlimited")
        self.check("python/oauth.py", "5 candles", HOME=str(login.home), CLIENT_ID=client_id)

    def test_node(self):
        self.check("node/first.js", "22 days\n166 candles\n", "code: 301600")
        self.check("node/years.js", "9913 minutes, ascending")

    def test_pandas(self):
        self.check("dataframes/with_pandas.py", "Decimal\n91.685\n166 candles\n52 weeks\n")

    def test_polars(self):
        self.check("dataframes/with_polars.py", "Decimal(precision=18, scale=6)", "hours")

    def test_duckdb(self):
        self.check("dataframes/with_duckdb.py", "11 months\n52 weeks\n")

    def test_years_of_minutes_over_http(self):
        self.check("dataframes/years.py", "30753 minutes, ascending")


@unittest.skipUnless("CHANDLER_E2E_MORE" in os.environ, "run with `make e2e-more`")
class More(Runner):
    def test_vnpy(self):
        with tempfile.TemporaryDirectory(dir=harness.WORK, prefix="home-") as home:
            python = os.environ["CHANDLER_E2E_MORE"]
            self.check("vnpy/backtest.py", "1690 days, the last closed at 89.95", "61 trades", program=python, HOME=home)


if __name__ == "__main__":
    unittest.main()
