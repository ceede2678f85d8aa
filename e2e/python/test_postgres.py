"""The command line with a store on PostgreSQL: every command behaves as with a folder, and every
problem with a database or its address is reported in one line that says what to do."""

import datetime
import json
import re
import socket
import unittest

import harness
import nodes
import postgres

CLOCK = nodes.CLOCK
PASSWORD = "paraffin & twine"


def one_line(test, ran, code, *words):
    """Checks a failed command: its exit code, one line of error, and nothing on standard output."""
    test.assertEqual((ran.returncode, ran.stdout), (code, ""), ran.stderr)
    lines = ran.stderr.strip().splitlines()
    test.assertEqual(len(lines), 1, ran.stderr)
    test.assertTrue(lines[0].startswith("chandler: "), ran.stderr)
    for word in words:
        test.assertIn(word, lines[0])
    test.assertNotIn("tallow9", ran.stderr)


class Addresses(unittest.TestCase):
    """Every invalid part of an address: a usage error, reported before any connection attempt."""

    TABLE = [
        ("postgres://", "has no user"),
        ("postgres://127.0.0.1/db", "has no user"),
        ("postgres://@127.0.0.1/db", "has no user"),
        ("postgres://ann@/db", "has no host"),
        ("postgres://ann@127.0.0.1:/db", "is not a port"),
        ("postgres://ann@127.0.0.1:x/db", "is not a port"),
        ("postgres://ann@127.0.0.1:0/db", "is not a port"),
        ("postgres://ann@127.0.0.1:65536/db", "is not a port"),
        ("postgres://ann@::1/db", "is not the name of a host"),
        ("postgres://ann@[::1/db", "is not the name of a host"),
        ("postgres://ann@a b/db", "is not the name of a host"),
        ("postgres://ann@127.0.0.1", "has no database"),
        ("postgres://ann@127.0.0.1/", "has no database"),
        ("postgres://ann@127.0.0.1/a/b", "is not the name of a database"),
        (f"postgres://ann@127.0.0.1/{'x' * 64}", "is not the name of a database"),
        (f"postgres://{'x' * 64}@127.0.0.1/db", "is not the name of a user"),
        ("postgres://ann:tallow9@127.0.0.1/db", "PGPASSWORD"),
        ("postgres://ann:tal@low:tallow9@127.0.0.1/db", "PGPASSWORD"),
        ("postgres://ann@127.0.0.1/db?password=tallow9", "PGPASSWORD"),
        ("postgres://ann@127.0.0.1/db?colour=red", "colour"),
        ("postgres://ann@127.0.0.1/db?schema=a&schema=b", "twice"),
        ("postgres://ann@127.0.0.1/db?schema=Upper", "schema"),
        ("postgres://ann@127.0.0.1/db?schema=pg_mine", "schema"),
        ("postgres://ann@127.0.0.1/db?schema=", "schema"),
        ("postgres://ann@127.0.0.1/db?target_session_attrs=sometimes", "target_session_attrs"),
        ("postgres://ann@127.0.0.1/db?sslmode=prefer", "sslmode"),
        ("postgres://ann@127.0.0.1/db?sslmode=maybe", "sslmode"),
        ("postgres://ann@127.0.0.1/db?pool=0", "pool"),
        ("postgres://ann@127.0.0.1/db?pool=1000", "pool"),
        ("postgres://ann@127.0.0.1/db?connect_timeout=never", "connect_timeout"),
        ("postgres://ann@127.0.0.1/db?host=here", "host"),
        ("postgres://ann@127.0.0.1/d%zz", "percent"),
        ("postgres://ann@127.0.0.1/d%ff", "UTF-8"),
        ("postgres://ann@127.0.0.1/db#part", "#"),
        ("postgres:ann@127.0.0.1/db", "postgres://"),
        ("postgressql://ann@127.0.0.1/db", "postgres://"),
        ("mysql://ann@127.0.0.1/db", "postgres://"),
        ("", "sqlite:"),
    ]

    def test_each_wrong_part_is_a_usage_error_of_one_line(self):
        for address, words in self.TABLE:
            for command in (("list",), ("account", "list"), ("serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0")):
                with self.subTest(address=address, command=command[0]):
                    one_line(self, harness.run_chandler(address, *command), 2, words)

    def test_the_same_from_the_environment(self):
        ran = harness.subprocess.run(
            [str(harness.BINARY), "list"], capture_output=True, text=True, timeout=60,
            env={**harness.os.environ, "CHANDLER_STORE": "postgres://ann:tallow9@127.0.0.1/db"})
        one_line(self, ran, 2, "PGPASSWORD")

    def test_a_password_in_the_address_is_not_repeated_by_help_or_doctor(self):
        for words in (("--help",), ("doctor",), ("list", "--help"), ("config",)):
            ran = harness.run_chandler("postgres://ann:tallow9@127.0.0.1/db", *words)
            self.assertNotIn("tallow9", ran.stdout + ran.stderr, words)


class Servers(unittest.TestCase):
    """Problems of a server or a database: environment errors, after which nothing is half created.
    """

    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Postgres({"fsync": "off"})
        cls.addClassCleanup(cls.server.remove)
        cls.numbers = iter(range(1_000))
        cls.file = nodes.minutes_file(harness.fresh_folder(), "700.HK", 5)

    def database(self, terms=""):
        name = f"d{next(self.numbers)}"
        self.server.database(name, terms)
        return name

    def made(self, database):
        """Our schemas and tables in a database."""
        return self.server.sql(
            "select nspname, relname from pg_namespace n left join pg_class c on c.relnamespace = n.oid and relkind = 'r'"
            " where nspname like 'chandler%' order by 1, 2", database)

    COMMANDS = (
        ("list",), ("account", "list"), ("account", "create", "ann"), ("check",), ("audit",),
        ("serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"),
    )

    def refused(self, store, *words, database=None, environment=None, commands=COMMANDS):
        for command in (*commands, ("import", self.file, "--period", "1m")):
            with self.subTest(command=command[0]):
                one_line(self, harness.run_chandler(store, *command, clock=CLOCK, environment=environment), 1, *words)
        if database:
            self.assertEqual(self.made(database), [])

    def test_no_server_listens(self):
        port = harness.free_port()
        self.refused(postgres.url([port], "db"), f"127.0.0.1:{port}", "cannot be reached")

    def test_no_server_listens_on_any_of_several(self):
        ports = [harness.free_port(), harness.free_port()]
        self.refused(postgres.url(ports, "db"), *(f"127.0.0.1:{port}" for port in ports))

    def test_the_server_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            store = postgres.url([silent.getsockname()[1]], "db", connect_timeout=1)
            self.refused(store, "cannot be reached", commands=(("list",),))

    def test_another_protocol_answers(self):
        server = harness.Server(harness.fresh_folder())
        self.addCleanup(server.kill)
        self.refused(postgres.url([server.address.rsplit(":", 1)[1]], "db", connect_timeout=2), commands=(("list",),))

    def test_there_is_no_such_database_or_user(self):
        self.refused(self.server.url("nowhere"), "nowhere")
        self.refused(self.server.url(self.database(), user="nobody_of_that_name"), "nobody_of_that_name")

    def test_a_password_that_is_missing_or_wrong(self):
        self.server.role("keeper", password=PASSWORD)
        name = self.database("owner keeper")
        store = self.server.url(name, user="keeper")
        self.refused(store, "password", "PGPASSWORD", database=name)
        self.refused(store, "password", database=name, environment={"PGPASSWORD": "tallow9 but wrong"})
        folder = harness.fresh_folder()
        (folder / "password").write_text(f"{PASSWORD}\n")
        (folder / "passfile").write_text(f"127.0.0.1:{self.server.port}:*:keeper:{PASSWORD}\n")
        for file in folder.iterdir():
            file.chmod(0o600)
        ran = harness.run_chandler(store, "account", "create", "ann", clock=CLOCK, environment={"PGPASSWORD": PASSWORD})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for address, environment in (
                (store, {"PGPASSWORD": PASSWORD}),
                (store, {"PGPASSFILE": str(folder / "passfile")}),
                (self.server.url(name, user="keeper", password_file=folder / "password"), {}),
                (self.server.url(name, user="keeper", passfile=folder / "passfile"), {})):
            ran = harness.run_chandler(address, "account", "list", clock=CLOCK, environment=environment)
            self.assertEqual(ran.returncode, 0, ran.stderr)
        # As in libpq. A file with one password may be world-readable: containers mount their
        # secrets this way.
        (folder / "passfile").chmod(0o644)
        ran = harness.run_chandler(
            self.server.url(name, user="keeper", passfile=folder / "passfile"), "account", "list", clock=CLOCK)
        one_line(self, ran, 1, "passfile", "chmod 600")

    def test_the_password_is_in_no_list_of_processes_and_no_log(self):
        self.server.role("quiet", password=PASSWORD)
        name = self.database("owner quiet")
        harness.os.environ["PGPASSWORD"] = PASSWORD
        self.addCleanup(harness.os.environ.pop, "PGPASSWORD")
        server = nodes.Node(self.server.url(name, user="quiet"), "quiet", log="trace")
        self.addCleanup(server.kill)
        server.account("ann")
        command = harness.pathlib.Path(f"/proc/{server.process.pid}/cmdline").read_text()
        documents = [server.plain(path)[1] for path in ("/readyz", "/metrics", "/status")]
        for text in (command, server.log_text(), *documents):
            self.assertNotIn(PASSWORD, text)

    def test_another_encoding(self):
        for encoding in ("SQL_ASCII", "LATIN1"):
            name = self.database(f"encoding '{encoding}' lc_collate 'C' lc_ctype 'C' template template0")
            self.refused(self.server.url(name), encoding, "UTF8", database=name)

    def test_a_database_of_another_product(self):
        name = self.database()
        for schema in ("chandler_candles", "chandler_accounts"):
            self.server.sql(f"create schema {schema}; create table {schema}.theirs (x bigint)", name)
        before = self.made(name)
        self.refused(self.server.url(name), "is not a store of this program")
        self.assertEqual(self.made(name), before)
        # Another schema name works.
        harness.chandler(self.server.url(name, schema="ours"), "account", "create", "ann", clock=CLOCK)

    def test_no_right_to_make_anything(self):
        self.server.role("guest")
        name = self.database()
        self.refused(self.server.url(name, user="guest"), "guest", database=name, commands=(("account", "create", "ann"),))

    def test_no_right_to_existing_tables(self):
        self.server.role("visitor")
        name = self.database()
        nodes_store = self.server.url(name)
        harness.chandler(nodes_store, "import", self.file, "--quiet", "--period", "1m", clock=CLOCK)
        harness.chandler(nodes_store, "account", "create", "ann", clock=CLOCK)
        before = self.made(name)
        self.refused(self.server.url(name, user="visitor"), "visitor")
        # Partial rights are not enough.
        self.server.sql(
            "grant usage on schema chandler_candles, chandler_accounts to visitor;"
            " grant select on all tables in schema chandler_candles, chandler_accounts to visitor", name)
        store = self.server.url(name, user="visitor")
        harness.chandler(store, "list", clock=CLOCK)
        for command in (("import", self.file, "--again", "--period", "1m"), ("account", "create", "bob")):
            ran = harness.run_chandler(store, *command, clock=CLOCK)
            one_line(self, ran, 1)
        self.assertEqual(self.made(name), before)

    def test_a_database_that_is_read_only(self):
        name = self.database()
        store = self.server.url(name)
        harness.chandler(store, "import", self.file, "--quiet", "--period", "1m", clock=CLOCK)
        harness.chandler(store, "account", "create", "ann", clock=CLOCK)
        self.server.sql(f"alter database {name} set default_transaction_read_only = on")
        for command in (
                ("import", self.file, "--again", "--period", "1m"), ("account", "create", "bob"),
                ("serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0")):
            with self.subTest(command=command[0]):
                one_line(self, harness.run_chandler(store, *command, clock=CLOCK), 1, "read")

    def test_a_standby(self):
        primary = postgres.Postgres({"fsync": "off"})
        primary.database("ours")
        harness.chandler(primary.url("ours"), "import", self.file, "--quiet", "--period", "1m", clock=CLOCK)
        standby = primary.standby(synchronous=False)
        postgres.wait_until_caught_up(primary, standby)
        self.addCleanup(primary.remove)
        self.addCleanup(standby.remove)
        for command in (("import", self.file, "--again", "--period", "1m"), ("account", "create", "bob")):
            one_line(self, harness.run_chandler(standby.url("ours"), *command, clock=CLOCK), 1, "standby")
        # With both in the address the primary is found, in either order.
        for ports in ([standby.port, primary.port], [primary.port, standby.port]):
            harness.chandler(
                postgres.url(ports, "ours", target_session_attrs="read-write"), "account", "create", f"by {ports[0]}", clock=CLOCK)
        # A read may use a standby.
        listed = harness.chandler(
            standby.url("ours", target_session_attrs="any"), "list", "--format", "json", clock=CLOCK)
        self.assertIn("700.HK", listed)

    def test_other_defaults_of_a_database_change_nothing(self):
        name = self.database()
        self.server.sql(
            f"alter database {name} set default_transaction_isolation = 'serializable';"
            f" alter database {name} set search_path = 'nowhere'; alter database {name} set timezone = 'Asia/Kathmandu';"
            f" alter database {name} set bytea_output = 'escape'; alter database {name} set datestyle = 'German';"
            f" alter database {name} set statement_timeout = '200ms'; alter database {name} set standard_conforming_strings = off;"
            f" alter database {name} set client_encoding = 'LATIN1'; alter database {name} set default_transaction_deferrable = on")
        store = self.server.url(name)
        harness.chandler(store, "import", self.file, "--quiet", "--period", "1m", clock=CLOCK)
        created = json.loads(harness.chandler(store, "account", "create", "燈芯", "--format", "json", clock=CLOCK))
        self.assertEqual(created["name"], "燈芯")
        found = json.loads(harness.chandler(store, "kline", "700.HK", "--period", "1m", "-n", "1000", "--format", "json", clock=CLOCK))
        self.assertEqual(len(found["candlesticks"]), 1000)

    def test_a_role_that_may_not_connect_so_often(self):
        self.server.role("single", "connection limit 1")
        name = self.database("owner single")
        store = self.server.url(name, user="single")
        # Its only connection is used by another process.
        taken = harness.subprocess.Popen(
            [str(postgres.programs() / "psql"), "-X", "-h", "127.0.0.1", "-p", str(self.server.port), "-U", "single", name],
            stdin=harness.subprocess.PIPE, stdout=harness.subprocess.PIPE, text=True)
        print("select 'here';", file=taken.stdin, flush=True)
        while "here" not in taken.stdout.readline():
            pass
        self.refused(store, "connection", database=name, commands=(("account", "create", "ann"),))
        taken.stdin.close()
        taken.wait(harness.PATIENCE_S)
        taken.stdout.close()

    def test_a_server_that_ends_its_connections_while_commands_run(self):
        name = self.database()
        store = self.server.url(name)
        harness.chandler(store, "account", "create", "ann", clock=CLOCK)
        for _ in range(5):
            self.server.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'chandler'")
            harness.chandler(store, "account", "list", clock=CLOCK)

    def test_tls_that_the_server_does_not_speak(self):
        name = self.database()
        self.refused(self.server.url(name, sslmode="verify-full"), database=name, commands=(("list",),))

    def test_a_command_that_is_killed_does_not_block_the_next(self):
        for number in range(5 * nodes.ROUNDS) if nodes.IS_LONG else [2]:
            name = self.database()
            command = [str(harness.BINARY), "--store", self.server.url(name), "--clock", CLOCK, "import", str(self.file), "--period", "1m"]
            process = harness.subprocess.Popen(command, stdout=harness.subprocess.DEVNULL, stderr=harness.subprocess.DEVNULL)
            # Killed at various points: connected, schema created, some tables, all of them.
            harness.wait_for(lambda: process.poll() is not None or len(self.made(name)) >= number * 3, "a beginning")
            process.kill()
            process.wait(harness.PATIENCE_S)
            tables = self.made(name)
            again = lambda: harness.run_chandler(self.server.url(name), *command[5:], clock=CLOCK)
            harness.wait_for(lambda: again().returncode == 0, lambda: f"{tables}: {again()}", nodes.PATIENCE_S)
            harness.chandler(self.server.url(name), "check", "--quiet", clock=CLOCK)


class SameAsFolders(unittest.TestCase):
    """The same commands with a folder and with a database: the output is the same, except for the
    name of the store."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        shared = nodes.shared_database()
        cls.stores = {"folder": harness.fresh_folder(), "database": shared.server.database("same_as_folders")}
        cls.out = harness.fresh_folder()
        cls.crooked = cls.out / "crooked.csv"
        cls.crooked.write_text("symbol,time,open,high,low,close,volume\n700.HK,2026-03-18 10:20,5,4,6,5,1\n700.HK,2026-03-18 10:21,5,6,4,5,1\n")

    def normalized(self, store, words, clock, input):
        ran = harness.run_chandler(store, *words, clock=clock, input=input)
        output = ran.stdout + ran.stderr
        for name in (harness.store_argument(store), str(store)):
            output = output.replace(name, "STORE")
        # Only a folder has pages to verify.
        output = re.sub(r'  "page_checksums": \w+,\n|^pages: .*\n', "", output, flags=re.M)
        # Versions of a series only increase; on a database also when factors are computed, because
        # copies have to notice.
        output = re.sub(r'"version": \d+', '"version": N', output)
        # Random values, and current times.
        output = re.sub(r"\b(ap|us)_[A-Za-z0-9_\-.]{20,}|\b[0-9a-f]{32,}\b", "SECRET", output)
        output = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?", self.moment, output)
        # Nodes invalidate their copies for more than a folder counts as a change.
        return ran.returncode, re.sub(r'"version": \d+', '"version": N', output)

    def moment(self, match):
        """Masks the machine's clock; market times stay."""
        ago = abs((datetime.date.fromisoformat(match[0][:10]) - datetime.date.today()).days)
        return "NOW" if ago < 2 or ago > 3_000 else match[0]

    def same(self, *words, clock=CLOCK, code=0, input=None):
        folder, database = (self.normalized(store, words, clock, input) for store in self.stores.values())
        self.assertEqual(folder, database, words)
        self.assertEqual(folder[0], code, folder[1])
        return folder[1]

    def test_one_command_after_the_other(self):
        made = nodes.made()
        self.same("list", code=1)
        for name, *options in (("securities.csv",), ("actions.csv",), ("margins.csv",), ("minutes.csv", "--period", "1m"),
                               ("days.csv", "--period", "1d")):
            self.same("import", made / name, "--quiet", *options)
            self.same("import", made / name, "--quiet", *options)
        self.same("import", self.crooked, "--quiet", "--period", "1m")
        for words in (
                ("list",), ("list", "--worst", "-n", "3"), ("ls", "lamp"), ("kline", "700.HK", "--period", "1m", "-n", "50"),
                ("kline", "700.HK", "--adjust", "forward"), ("kline", "1001.HK", "--period", "week"), ("kline", "9999.HK"),
                ("coverage",), ("coverage", "700.HK"), ("inspect", "700.HK"), ("imports",), ("quarantine",),
                ("export", "700.HK", "--period", "1m"), ("check",)):
            code = 1 if words[-1] == "9999.HK" else 0
            self.same(*words, code=code)
            if words[0] != "export":
                self.same(*words, "--format", "json", code=code)
        self.same("imports", "--undo", "6", "--yes")
        self.same("remove", "1002.HK", "--yes")
        self.same("list", "-n", "1000")
        self.check_accounts()
        self.check_trading()
        self.same("check", "--format", "json")

    def check_accounts(self):
        self.same("account", "create", "ann", "--cash", "HKD=500000", "--quota", "3", "--format", "json")
        self.same("account", "create", "ann", code=1)
        self.same("account", "create", "bob", "--role", "operator")
        self.same("account", "password", "ann", input="paraffin and twine\n")
        for words in (
                ("account", "rates", "USD", "7.8", "--day", "2024-01-02"), ("account", "grant", "bob", "US"),
                ("account", "set", "bob", "--connections", "3"), ("account", "revoke", "bob"), ("account", "list"),
                ("account", "show", "ann"), ("account", "show", "carl"), ("quota", "ann"), ("audit",),
                ("watchlist", "list", "--account", "ann"), ("topic", "list")):
            self.same(*words, code=1 if "carl" in words else 0)
        for words in (("account", "list"), ("account", "show", "ann"), ("audit",)):
            self.same(*words, "--format", "json")

    def check_trading(self):
        whose = ("--account", "ann")
        self.same("order", "buy", "700.HK", "100", "--limit", "306", "--dry-run", *whose)
        self.same("order", "buy", "700.HK", "100", "--limit", "306", *whose)
        later = nodes.paper_market.utc(nodes.paper_market.instant(nodes.paper_market.WEDNESDAY, "10:05:00"))
        for words in (
                ("order", "list"), ("positions",), ("assets",), ("executions",), ("cashflow",), ("statement", "list")):
            self.same(*words, *whose, clock=later)
            self.same(*words, *whose, "--format", "json", clock=later)

    def test_what_is_for_folders_only_names_the_alternative(self):
        store = nodes.shared_database().server.database("without_backup")
        harness.chandler(store, "account", "create", "ann", clock=CLOCK)
        folder = harness.fresh_folder()
        ran = harness.run_chandler(store, "backup", folder / "backup", clock=CLOCK)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("pg_", ran.stderr)
        self.assertEqual(list(folder.iterdir()), [])
        ran = harness.run_chandler(store, "restore", folder / "backup", clock=CLOCK)
        self.assertNotEqual(ran.returncode, 0)

    def test_doctor_and_config_support_both(self):
        store = nodes.shared_database().server.database("looked_at")
        harness.chandler(store, "account", "create", "ann", clock=CLOCK)
        ran = harness.run_chandler(store, "doctor", "--format", "json", clock=CLOCK)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        self.assertIn("postgres://", ran.stdout)
        json.loads(ran.stdout)


class Moving(unittest.TestCase):
    """From a folder to PostgreSQL and back."""

    def setUp(self):
        self.server = nodes.shared_database().server
        self.folder = harness.fresh_folder()
        for name, *options in (("securities.csv",), ("minutes.csv", "--period", "1m"), ("days.csv", "--period", "1d")):
            harness.chandler(self.folder, "import", nodes.made() / name, "--quiet", *options, clock=CLOCK)
        self.account = json.loads(harness.chandler(
            self.folder, "account", "create", "ann", "--cash", "HKD=500000", "--format", "json", clock=CLOCK))
        harness.chandler(self.folder, "order", "buy", "700.HK", "100", "--limit", "290", "--account", "ann", clock=CLOCK)
        # Each move takes the key with it.
        self.key = harness.fresh_folder() / "key"

    def run_chandler(self, store, *words):
        return harness.run_chandler(store, *words, clock=CLOCK, environment={"CHANDLER_KEY_FILE": str(self.key)})

    def move(self, origin, target):
        return self.run_chandler(origin, "move", "--from", harness.store_argument(origin), "--to", harness.store_argument(target))

    def content(self, store):
        outputs = []
        for words in (("list", "-n", "10000"), ("imports",), ("account", "list"), ("audit",), ("order", "list", "--account", "ann"),
                      ("kline", "700.HK", "--period", "1m", "-n", "1000")):
            ran = self.run_chandler(store, *words, "--format", "json")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            outputs.append(ran.stdout)
        return outputs

    def test_there_and_back_again_is_the_same(self):
        before = self.content(self.folder)
        database, back = self.server.database("moved"), harness.fresh_folder()
        ran = self.move(self.folder, database)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.content(database), before)
        self.assertEqual(self.content(self.folder), before, "the source is unchanged")
        ran = self.move(database, back)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.content(back), before)
        # Credentials made with the key of the folder are still valid.
        harness.os.environ["CHANDLER_KEY_FILE"], former = str(self.key), harness.os.environ["CHANDLER_KEY_FILE"]
        self.addCleanup(harness.os.environ.__setitem__, "CHANDLER_KEY_FILE", former)
        node = nodes.Node(database, "moved")
        self.addCleanup(node.kill)
        self.assertEqual(nodes.candles(node, self.account, "700.HK")[:2], (200, 0))

    def test_what_exists_is_not_mixed_with_moved_data(self):
        taken = self.server.database("taken")
        self.assertEqual(self.run_chandler(taken, "account", "create", "bob").returncode, 0)
        before = self.content_of_accounts(taken)
        one_line(self, self.move(self.folder, taken), 1)
        self.assertEqual(self.content_of_accounts(taken), before)
        one_line(self, self.move(self.folder, self.folder), 2)

    def content_of_accounts(self, store):
        return self.run_chandler(store, "account", "list", "--format", "json").stdout

    def test_a_move_that_is_killed_is_resumed(self):
        before = self.content(self.folder)
        database = self.server.database("moved_in_parts")
        command = [str(harness.BINARY), "move", "--from", harness.store_argument(self.folder), "--to", database, "--key-file", str(self.key)]
        for wanted in (1, 400, 900):
            process = harness.subprocess.Popen(command, stdout=harness.subprocess.DEVNULL, stderr=harness.subprocess.DEVNULL)
            def has_come():
                try:
                    return int(self.server.value("select count(*) from chandler_candles.block_body", "moved_in_parts")) >= wanted
                except postgres.Refused:
                    return False

            harness.wait_for(lambda: process.poll() is not None or has_come(), "a beginning")
            process.kill()
            process.wait(harness.PATIENCE_S)
        done = harness.wait_for(
            lambda: (ran := self.move(self.folder, database)).returncode == 0 and ran, lambda: self.move(self.folder, database), nodes.PATIENCE_S)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.content(database), before)


if __name__ == "__main__":
    unittest.main()
