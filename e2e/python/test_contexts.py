"""Programs open both contexts, whichever package they use, and check their login with the account's
balance."""

import json
import os
import socket
import subprocess
import tempfile
import threading
import unittest

import harness

# The initial balance of every account: HKD 1,000,000, and USD 100,000 at 7.8.
BALANCE = "HKD 1780000.00"
BOTH = """
import sys
from {package}.openapi import Config, QuoteContext, TopicType, TradeContext
config = Config.{from_environment}()
quotes, trade = QuoteContext(config), TradeContext(config)
trade.subscribe([TopicType.Private])
trade.unsubscribe([TopicType.Private])
print(len(quotes.static_info(["9001.HK"])), "security")
(balance,) = trade.account_balance()
print(balance.currency, balance.total_cash)
"""
BOTH_IN_NODE = """
const { Config, QuoteContext, TopicType, TradeContext } = require("longport");
(async () => {
  const config = Config.fromEnv();
  const [quotes, trade] = [await QuoteContext.new(config), await TradeContext.new(config)];
  await trade.subscribe([TopicType.Private]);
  await trade.unsubscribe([TopicType.Private]);
  console.log((await quotes.staticInfo(["9001.HK"])).length, "security");
  const [balance] = await trade.accountBalance();
  console.log(balance.currency, balance.totalCash.toString());
  process.exit(0);
})();
"""
# How a program can pass its credentials and its server, and whether the package uses the address.
WAYS = (
    ("Config.from_env()", True),
    ("Config(app_key='{app_key}', app_secret='{app_secret}', access_token='{access_token}', "
     "http_url='{url}', quote_ws_url='{socket}', trade_ws_url='{socket}')", True),
    # Known wrong: docs/sdk-python.md, README.md, `chandler doctor` and `chandler account create`
    # warn about it.
    ("Config(app_key='{app_key}', app_secret='{app_secret}', access_token='{access_token}')", False),
)

# The forms of public programs with their keys in the source.
PROGRAMS = (
    """
from longport.openapi import Config, QuoteContext

config = Config(
    app_key="{app_key}",
    app_secret="{app_secret}",
    access_token="{access_token}",
)
ctx = QuoteContext(config)
print(len(ctx.static_info(["9001.HK"])), "security")
""",
    """
import longport.openapi as lp

class Market:
    def __init__(self, key, secret, token):
        self.config = lp.Config(key, secret, token, None, None, None, lp.Language.ZH_CN, enable_overnight=True)
        self.quotes, self.trade = lp.QuoteContext(self.config), lp.TradeContext(self.config)

market = Market("{app_key}", "{app_secret}", "{access_token}")
print(len(market.quotes.static_info(["9001.HK"])), "security", len(market.trade.account_balance()))
""",
    """
from longbridge.openapi import Config, QuoteContext

quotes = QuoteContext(Config.from_apikey("{app_key}", "{app_secret}", "{access_token}"))
print(len(quotes.static_info(["9001.HK"])), "security")
""",
    """
from longbridge import openapi

def context():
    return openapi.QuoteContext(openapi.Config.from_apikey("{app_key}", "{app_secret}", "{access_token}", enable_overnight=True))

print(len(context().static_info(["9001.HK"])), "security")
""",
)


class Contexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()

    def test_both_contexts_open_and_return_the_balance(self):
        for package, from_environment in (("longbridge", "from_apikey_env"), ("longport", "from_env")):
            with self.subTest(package=package):
                script = BOTH.format(package=package, from_environment=from_environment)
                output = harness.run_python(script, self.account["environment"])
                self.assertIn("1 security", output)
                self.assertIn(BALANCE, output)

    def test_both_contexts_open_in_node(self):
        environment = harness.foreign_environment(self.account)
        command = ["node", "-e", BOTH_IN_NODE]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=harness.PATIENCE_S)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("1 security", ran.stdout)
        self.assertIn(BALANCE, ran.stdout)

    def test_a_trade_context_without_topics_reconnects_after_a_restart(self):
        # It subscribes to nothing when it reconnects, and would reconnect every two seconds if that
        # were refused.
        from longport.openapi import Config, TradeContext

        server = harness.Server(log="info,requests=debug")
        account = server.generous()
        trade = TradeContext(Config(
            account["app_key"], account["app_secret"], account["access_token"],
            http_url=server.url, quote_ws_url=server.socket_url, trade_ws_url=server.socket_url))
        server.stop()
        server.start()

        def subscribed():
            lines = server.log_text().splitlines()
            return [line for line in lines if "trade_topics" in line]

        lines = harness.wait_for(subscribed, "a subscription")
        self.assertTrue(all('outcome="ok"' in line for line in lines), lines)
        del trade
        server.stop()


class Addresses(unittest.TestCase):
    """The hosts that a `longport` program contacts. Nothing leaves the machine: its proxy is a
    listener of this test."""

    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()
        cls.contacted = []
        cls.proxy = socket.create_server(("127.0.0.1", 0))
        cls.addClassCleanup(cls.proxy.close)
        threading.Thread(target=cls.refuse, daemon=True).start()

    @classmethod
    def refuse(cls):
        while True:
            try:
                connection, _ = cls.proxy.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(harness.PATIENCE_S)
                cls.contacted.append(connection.recv(4096).split(b"\r\n")[0].decode())
                connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    def test_keys_in_the_program_are_sent_elsewhere_unless_it_has_the_addresses_too(self):
        proxy = "http://127.0.0.1:%d" % self.proxy.getsockname()[1]
        environment = {**self.account["environment"], "HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": "127.0.0.1"}
        for way, is_heeded in WAYS:
            with self.subTest(way=way):
                self.contacted.clear()
                config = way.format(url=self.server.url, socket=self.server.socket_url, **self.account)
                script = (
                    "from longport.openapi import Config, QuoteContext\n"
                    f"print(len(QuoteContext({config}).static_info(['9001.HK'])), 'security')\n"
                )
                output = harness.run_python(script, environment, codes=(0,) if is_heeded else (1,))
                self.assertEqual("1 security" in output, is_heeded, output)
                self.assertEqual(self.contacted == [], is_heeded, self.contacted)

    def shim(self):
        """The environment of `chandler sdk-env --python-shim`, and nothing else of an account:
        programs contain their keys."""
        cache = tempfile.mkdtemp(dir=harness.WORK, prefix="home-")
        command = ("sdk-env", "--python-shim", "--url", self.server.url, "--format", "json")
        output = json.loads(harness.chandler(self.server.store, *command, environment={"XDG_CACHE_HOME": cache}))
        proxy = "http://127.0.0.1:%d" % self.proxy.getsockname()[1]
        return {**output["environment"], "PYTHONPATH": output["python_shim"], "HTTPS_PROXY": proxy, "HTTP_PROXY": proxy}

    def test_with_the_shim_programs_that_pass_their_keys_use_the_server(self):
        environment = self.shim()
        for program in PROGRAMS:
            with self.subTest(program=program):
                self.contacted.clear()
                output = harness.run_python(program.format(**self.account), environment)
                self.assertIn("1 security", output)
                self.assertEqual(self.contacted, [])
        # Without the folder the first of them contacts another host.
        del environment["PYTHONPATH"]
        harness.run_python(PROGRAMS[0].format(**self.account), environment, codes=(1,))
        self.assertNotEqual(self.contacted, [])

    def test_the_shim_changes_nothing_else(self):
        environment = self.shim()
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write("import builtins\nbuiltins.other_has_run = True\n")
            both = {**environment, "PYTHONPATH": environment["PYTHONPATH"] + os.pathsep + other}
            self.assertEqual(harness.run_python("print(other_has_run)", both), "True\n")
        # An address that the program passes is used, also if the others are missing.
        script = (
            "from longport.openapi import Config, QuoteContext\n"
            "config = Config('{app_key}', '{app_secret}', '{access_token}', http_url='http://127.0.0.1:1')\n"
            "print(isinstance(config, Config), callable(Config.from_env))\n"
            "try: QuoteContext(config)\n"
            "except Exception as error: print('127.0.0.1:1/' in str(error))\n"
        )
        self.assertEqual(harness.run_python(script.format(**self.account), environment), "True True\nTrue\n")
        # Neither a missing package nor missing addresses are an error.
        script = "import importlib.util, sys\nsys.path = []\nprint(importlib.util.find_spec('longport'))\n"
        self.assertEqual(harness.run_python(script, environment), "None\n")
        alone = {"PYTHONPATH": environment["PYTHONPATH"]}
        script = "from longport.openapi import Config\nprint(type(Config('a', 'b', 'c')).__name__)\n"
        self.assertEqual(harness.run_python(script, alone), "Config\n")


if __name__ == "__main__":
    unittest.main()
