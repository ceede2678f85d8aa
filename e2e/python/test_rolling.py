"""Rolling upgrades: nodes with an older schema version run next to nodes with a newer one, and
clients notice nothing. Each migration names the oldest schema version that a program must know
to run with it."""

import json
import unittest

import harness
import nodes
from load import Load

SCHEMAS = ("chandler_candles", "chandler_accounts")


class Rolling(unittest.TestCase):
    def setUp(self):
        shared = nodes.shared_database()
        self.server, self.database = shared.server, shared.copy()
        self.store = self.server.url(self.database)

    def node(self, name):
        node = nodes.Node(self.store, name)
        self.addCleanup(node.kill)
        return node

    def sql(self, statements):
        return self.server.sql(statements, self.database)

    def known(self, schema):
        """The newest migration that this program knows: it applied it."""
        return int(self.sql(f"select max(version) from {schema}.migration")[0][0])

    def add_step(self, schema, oldest, statements=""):
        """Simulates a program of the next release: it extends the schema, and sets the oldest
        compatible version."""
        step = self.known(schema) + 1
        self.sql(
            f"begin; {statements}; insert into {schema}.migration (version, name, digest, applied_at, oldest)"
            f" values ({step}, 'of_the_next_release', '\\x00', 0, {oldest}); commit")
        return step

    def test_a_migration_that_only_adds_blocks_no_older_program(self):
        running = self.node("running")
        account = running.trader("client", "--quota", "100", "--cash", "HKD=900000")
        load = Load(self, self.store, [running])
        load.go_on()
        for schema in SCHEMAS:
            self.add_step(schema, self.known(schema), {
                # Expand: additions for the newer program, and no change to anything that the older
                # one uses.
                "chandler_candles": "alter table chandler_candles.security add column of_the_next_release text;"
                                    " create table chandler_candles.of_the_next_release (x bigint)",
                "chandler_accounts": "alter table chandler_accounts.account add column of_the_next_release bigint not null default 0;"
                                     " create index of_the_next_release on chandler_accounts.account (of_the_next_release)",
            }[schema])
        # The running node continues under load; one started now works too, and so do commands.
        load.go_on()
        started = self.node("started")
        load.front.to([started.address])
        load.front.reset()
        load.go_on()
        load.check([running, started])
        for node in (running, started):
            self.assertEqual(nodes.candles(node, account, nodes.SECURITIES[-1])[:2], (200, 0))

    def test_a_migration_that_removes_blocks_older_programs(self):
        running = self.node("running")
        schema = "chandler_accounts"
        step = self.add_step(schema, self.known(schema) + 1)
        for words in (("account", "list"), ("account", "create", "late"), ("serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0")):
            ran = harness.run_chandler(self.store, *words, clock=nodes.CLOCK)
            self.assertEqual(ran.returncode, 1, ran)
            (line,) = ran.stderr.strip().splitlines()
            self.assertIn(str(step), line)
            self.assertIn("newer", line)
        # A running node notices, and its readiness takes it out of the load balancer.
        harness.wait_for(lambda: running.readiness()[0] == 503, "a node that knows it", nodes.PATIENCE_S)

    def test_commands_report_which_database_is_newer(self):
        step = self.add_step("chandler_candles", self.known("chandler_candles") + 1)
        for words in (("list",), ("import", nodes.made() / "days.csv", "--period", "1d")):
            ran = harness.run_chandler(self.store, *words, clock=nodes.CLOCK)
            self.assertEqual(ran.returncode, 1, ran)
            (line,) = ran.stderr.strip().splitlines()
            self.assertIn(str(step), line)

    def test_every_node_in_turn_is_replaced_under_load(self):
        servers = [self.node("one"), self.node("other")]
        load = Load(self, self.store, servers)
        load.go_on()
        for _ in range(nodes.ROUNDS):
            for server in servers:
                self.assertEqual(server.stop(), 0)
                load.go_on()
                # A new machine has an empty disk.
                server.forget_copy()
                server.start()
                load.go_on()
        load.check(servers)

    def test_many_processes_that_open_a_new_database_create_it_once(self):
        for _ in range(nodes.ROUNDS):
            name = f"made_at_once_{_}"
            store = self.server.database(name)
            command = [str(harness.BINARY), "--store", store, "--clock", nodes.CLOCK, "account", "create"]
            running = [
                harness.subprocess.Popen([*command, f"account {number}"], stdout=harness.subprocess.PIPE, stderr=harness.subprocess.PIPE, text=True)
                for number in range(6)]
            outcomes = [(*process.communicate(timeout=nodes.PATIENCE_S), process.returncode) for process in running]
            self.assertEqual([code for _, _, code in outcomes], [0] * 6, outcomes)
            listed = json.loads(harness.chandler(store, "account", "list", "--format", "json", clock=nodes.CLOCK))
            self.assertEqual(len(listed), 6)
            self.server.sql(f"drop database {name} with (force)")


if __name__ == "__main__":
    unittest.main()
