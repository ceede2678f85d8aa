"""SDK clients and an operator that work on several nodes without pause, and the checks afterwards:
every acknowledged change exists exactly once, and no account exceeded its quota."""

import json
import threading

import harness
import nodes
import proxy
import trade_clients
from nodes import PATIENCE_S
from worker import Worker, start_together

FAILURE = 301602
# Securities to spend the quota on; the rest is for tests.
SPENT = nodes.SECURITIES[:-100]


class Load:
    """Clients and an operator that work without pause, and their results. Clients connect through a
    proxy to a running node, as through a load balancer."""

    def __init__(self, test, store, servers):
        self.test, self.store, self.servers = test, store, servers
        self.front = proxy.Proxy([server.address for server in servers])
        test.addCleanup(self.front.close)
        self.url = f"http://{self.front.address}"
        one = servers[0]
        # More than they can spend or order here.
        self.accounts = {name: one.trader(name, *options) for name, options in {
            "spender": ("--quota", str(len(SPENT))), "frugal": ("--quota", "7"), "trader": ("--cash", "HKD=900000000"), "reader": ("--quota", "5"),
        }.items()}
        self.workers = {
            # Charged for each security; retries until it gets a response.
            "spender": self.client("spender", "candles", SPENT, insist=True, repeat=True, pause_s=0.05),
            # Always requests more than its quota, over the long connection.
            "frugal": self.client("frugal", "candles", nodes.SECURITIES[:30], transport="ws", repeat=True, pause_s=0.02),
            "trader": self.client("trader", "orders", [f"order {number}" for number in range(100_000)], insist=True, pause_s=0.02),
            "reader": self.client("reader", "static", ["700.HK"], transport="ws", repeat=True, pause_s=0.02),
        }
        self.stopping = threading.Event()
        self.imported, self.created, self.troubles = [], [], []
        self.operators = [threading.Thread(target=work, daemon=True) for work in (self.import_files, self.create_accounts)]
        test.addCleanup(self.stop)
        start_together(list(self.workers.values()))
        for thread in self.operators:
            thread.start()

    def client(self, name, do, items, **options):
        return Worker(self.accounts[name], self.url, do, items, **options)

    def import_files(self):
        folder, number = harness.fresh_folder(), 0
        while not self.stopping.is_set():
            number += 1
            symbol = f"{20_000 + number}.HK"
            file = folder / f"{number}.csv"
            file.write_text(f"symbol,date,open,high,low,close,volume\n{symbol},2026-03-17,{number},{number},{number},{number},1\n")
            if self.did("import", file, "--strict", "--quiet", "--period", "1d"):
                self.imported.append((symbol, file.name, number))

    def create_accounts(self):
        number = 0
        while not self.stopping.is_set():
            number += 1
            name = f"account {number}"
            if self.did("account", "create", name, "--markets", "HK"):
                self.created.append(name)
                if self.did("account", "grant", name, "US"):
                    self.created.append((name, "US"))

    def did(self, *words):
        """Whether a command succeeded. A failed one reports why in one line, and exits with 1."""
        ran = harness.run_chandler(self.store, *words, clock=nodes.CLOCK)
        if ran.returncode != 0:
            self.troubles.append((ran.returncode, ran.stderr))
        return ran.returncode == 0

    def go_on(self, number=3):
        """Waits until every worker has made progress."""
        counts = len(self.imported), len(self.created)
        for worker in self.workers.values():
            worker.wait_for_more(number, PATIENCE_S)
        both = lambda: len(self.imported) >= counts[0] + 2 and len(self.created) >= counts[1] + 2
        harness.wait_for(both, lambda: f"imports and accounts, after {self.troubles[-3:]}", PATIENCE_S)

    def stop(self):
        self.stopping.set()
        for worker in self.workers.values():
            if worker.process.poll() is None:
                worker.stop()
        for thread in self.operators:
            thread.join(120)

    def check(self, servers):
        """Checks that no acknowledged change is missing, and none was made twice."""
        self.stop()
        test, one = self.test, servers[0]
        for code, words in self.troubles:
            test.assertEqual((code, len(words.strip().splitlines())), (1, 1), words)
        self.check_quotas()
        self.check_orders(servers)
        self.check_imports(one)
        self.check_accounts()
        # And the store is consistent.
        harness.chandler(self.store, "check", "--quiet", clock=nodes.CLOCK)
        for server in servers:
            test.assertEqual(server.readiness(), nodes.READY)

    def check_quotas(self):
        spent = nodes.audit(self.store, "quota.spent")
        for name in ("spender", "frugal"):
            answered = {line["item"] for line in self.workers[name].lines if "ok" in line}
            used, limit, charged = nodes.usage(self.store, name)
            self.test.assertLessEqual(used, limit)
            self.test.assertEqual(len(charged), len(set(charged)))
            self.test.assertEqual(answered - set(charged), set(), "an answer that was not charged, or whose charge was lost")
            rows = [row["reason"].split(" ")[0] for row in spent if row["account"] == name]
            self.test.assertEqual(sorted(rows), sorted(charged), "one row of the audit for each that is charged")
        self.test.assertEqual(nodes.usage(self.store, "frugal")[0], 7)
        # Refused only for its quota, or because something was unreachable.
        codes = {line.get("code") for line in self.workers["frugal"].lines if "ok" not in line}
        self.test.assertLessEqual(codes - {None}, {301607, FAILURE}, self.workers["frugal"].refused()[:5])

    def check_orders(self, servers):
        acknowledged = {line["item"]: line["ok"] for line in self.workers["trader"].lines if "ok" in line}
        for server in servers:
            client = trade_clients.PythonClient("longbridge", server, self.accounts["trader"])
            listed = [(order["remark"], order["order_id"]) for order in client.today_orders()]
            client.close()
            self.test.assertEqual(len(listed), len(dict(listed)), "an order that was sent again is the same order")
            self.test.assertEqual(set(acknowledged.items()) - set(listed), set(), "lost orders")
            # An unacknowledged order may exist: only the last request can be without a response.
            self.test.assertLessEqual(len(listed), len(acknowledged) + 1)

    def check_imports(self, server):
        ledger = json.loads(harness.chandler(self.store, "imports", "-n", "100000", "--format", "json", clock=nodes.CLOCK))
        done = {one["file"].rsplit("/", 1)[-1] for one in ledger if one["state"] == "done"}
        self.test.assertEqual({file for _, file, _ in self.imported} - done, set(), "lost imports")
        account = server.trader("verifier", "--quota", "100000")
        for symbol, _, close in self.imported:
            status, code, envelope = nodes.candles(server, account, symbol)
            self.test.assertEqual((status, code), (200, 0), f"{symbol}: {envelope}: {server.log_text()[-2000:]}")
            (candle,) = envelope["data"]["candlesticks"]
            self.test.assertEqual(float(candle["close"]), close)

    def check_accounts(self):
        listed = json.loads(harness.chandler(self.store, "account", "list", "--format", "json", clock=nodes.CLOCK))
        packages = {one["name"]: json.dumps(one) for one in listed}
        for created in self.created:
            name, right = created if isinstance(created, tuple) else (created, "HK")
            self.test.assertIn(name, packages)
            self.test.assertIn(right, packages[name])
