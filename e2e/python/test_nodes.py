"""Two servers on one PostgreSQL database, acting as one: limits of an account are counted over
both, changes on one are visible on the other."""

import datetime
import json
import threading
import unittest

import harness
import long_connection
import nodes
import person
import proxy
import test_session
import trade_clients
from long_connection import LongConnection, one_time_password
from longbridge.openapi import Market, OpenApiException
from paper_market import WEDNESDAY, ZONES, instant, utc
from worker import Worker, start_together

# Within this time an import is visible on all nodes.
SEEN_S = 2


class Nodes(unittest.TestCase):
    """Tests that share two nodes, each with separate accounts."""

    clock = nodes.CLOCK

    @classmethod
    def setUpClass(cls):
        database = nodes.shared_database()
        cls.store = database.server.url(database.copy())
        cls.one, cls.other = (nodes.Node(cls.store, name, clock=cls.clock) for name in ("one", "other"))
        cls.both = (cls.one, cls.other)
        for node in cls.both:
            cls.addClassCleanup(node.kill)

    def connect(self, node):
        """A long connection as plain bytes, which ends with the test."""
        connection = LongConnection(node)
        self.addCleanup(connection.close)
        return connection

    def chandler(self, *words, **options):
        return harness.chandler(self.store, *words, clock=self.clock, **options)


class Counted(Nodes):
    """The limits of an account, over both nodes."""

    def test_both_nodes_know_each_other(self):
        for node in self.both:
            harness.wait_for(lambda: node.metrics().get("chandler_nodes") == 2, "both nodes")
            self.assertEqual(node.metrics()["chandler_database_up"], 1)
            self.assertEqual(node.readiness(), nodes.READY)

    def test_the_rate_admits_sixty_of_a_hundred_concurrent_requests(self):
        account = self.one.account("hasty", "--quota", "10")
        workers = [Worker(account, node.url, "candles", [nodes.SECURITIES[0]] * 25) for node in self.both * 2]
        start_together(workers)
        lines = [line for worker in workers for line in worker.wait_for_end()]
        took_s = max(line["got"] for line in lines) - min(line["sent"] for line in lines)
        self.assertLess(took_s, 30, "the machine is too slow for this test")
        self.assertEqual(len([line for line in lines if "ok" in line]), 60)
        self.assertEqual({line["code"] for line in lines if "ok" not in line}, {301606})

    def test_no_window_has_more_than_its_limit_and_none_is_wasted(self):
        # Ten in any two seconds, for several such windows.
        limit, window_s, windows = 10, 2.0, 4 * nodes.ROUNDS
        account = self.one.account("steady", "--rate", f"{limit}/{window_s:.0f}", "--quota", "10")
        workers = [
            Worker(account, node.url, "candles", [nodes.SECURITIES[0]], repeat=True, pause_s=0.01) for node in self.both * 2]
        start_together(workers)
        harness.wait_for(
            lambda: sum(len(worker.answered()) for worker in workers) >= limit * windows, "windows", nodes.PATIENCE_S * nodes.ROUNDS)
        admitted = sorted(
            (line for worker in workers for line in worker.stop() if "ok" in line), key=lambda line: line["sent"])
        # Each was admitted between the two times that its client recorded.
        for first in range(len(admitted) - limit):
            one_too_many = admitted[first:first + limit + 1]
            took_s = max(line["got"] for line in one_too_many) - min(line["sent"] for line in one_too_many)
            self.assertGreaterEqual(took_s, window_s, one_too_many)
        took_s = max(line["got"] for line in admitted) - admitted[0]["sent"]
        # Clients send requests all the time, so nearly all of the limit is used.
        self.assertGreaterEqual(len(admitted), limit * (took_s // window_s) * 0.8, took_s)

    def test_a_quota_is_exact_for_concurrent_requests(self):
        for round in range(nodes.ROUNDS):
            name = f"thrifty {round}"
            account = self.one.account(name, "--quota", "10", "--rate", "unlimited")
            several = nodes.SECURITIES[:40]
            plans = [(node, several[turn:] + several[:turn]) for turn in (0, 7) for node in self.both]
            workers = [Worker(account, node.url, "candles", items) for node, items in plans]
            start_together(workers)
            lines = [line for worker in workers for line in worker.wait_for_end()]
            answered = {line["item"] for line in lines if "ok" in line}
            used, limit, charged = nodes.usage(self.store, name)
            self.assertEqual((used, limit, len(answered)), (10, 10, 10))
            self.assertEqual(answered, set(charged))
            self.assertEqual({line["code"] for line in lines if "ok" not in line}, {301607})
            # A charged security is free on either node, in any order.
            for node in self.both:
                for symbol in charged:
                    self.assertEqual(nodes.candles(node, account, symbol)[:2], (200, 0))
                self.assertEqual(nodes.candles(node, account, nodes.SECURITIES[50])[1], 301607)
            spent = [row for row in nodes.audit(self.store, "quota.spent") if row["account"] == name]
            self.assertEqual(len(spent), 10)

    def test_slots_are_counted_over_both(self):
        account = self.one.account("seated", "--connections", "2", "--rate", "unlimited")
        first, second = self.one.quotes(account), self.other.quotes(account)
        for quotes in (first, second):
            self.assertEqual(len(quotes.static_info(["700.HK"])), 1)
        self.assertEqual([node.online(account) for node in self.both], [2, 2])
        # There is no third connection, on either node.
        for node in self.both:
            with self.assertRaises((long_connection.Refused, long_connection.Ended)):
                self.connect(node).sign_in(one_time_password(node, account))
        del first
        harness.wait_for(lambda: self.other.online(account) == 1, "the slot")
        connection = self.connect(self.other)
        connection.sign_in(one_time_password(self.one, account))
        self.assertEqual([node.online(account) for node in self.both], [2, 2])
        connection.close()
        harness.wait_for(lambda: self.one.online(account) == 1, "the slot")

    def test_connections_of_both_are_listed_and_closed_at_either(self):
        account = self.one.account("listed", "--rate", "unlimited")
        self.connect(self.other).sign_in(one_time_password(self.other, account))
        status, envelope = self.one.request("GET", "/v1/connections", account)
        self.assertEqual(status, 200, envelope)
        ((number, transport),) = [(one["id"], one["door"]) for one in envelope["data"]["connections"]]
        self.assertEqual((self.one.online(account), transport), (1, "tcp"))
        self.assertEqual(self.one.request("DELETE", f"/v1/connections/{number}", account)[0], 200)
        harness.wait_for_prompt(lambda: self.other.online(account) == 0, "the end of the connection", SEEN_S)


class Authenticated(Nodes):
    """Authentication, over both nodes."""

    def test_a_one_time_password_is_valid_once_on_either_node(self):
        account = self.one.account("once")
        for here, there in (self.both, self.both[::-1]):
            otp = one_time_password(here, account)
            self.assertTrue(self.connect(there).sign_in(otp))
            for node in self.both:
                with self.assertRaises(long_connection.Refused) as refused:
                    self.connect(node).sign_in(otp)
                self.assertEqual((refused.exception.status, refused.exception.code), (5, 401004))

    def test_of_concurrent_uses_of_a_one_time_password_one_succeeds(self):
        account = self.one.account("raced", "--connections", "50")
        for _ in range(5 * nodes.ROUNDS):
            otp, start = one_time_password(self.one, account), threading.Barrier(8)
            outcomes = []

            def sign_in(node):
                connection = self.connect(node)
                start.wait(harness.PATIENCE_S)
                try:
                    connection.sign_in(otp)
                    outcomes.append(None)
                except long_connection.Refused as refused:
                    outcomes.append(refused.code)

            threads = [threading.Thread(target=sign_in, args=(node,)) for node in self.both * 4]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(harness.PATIENCE_S)
            self.assertEqual(sorted(outcomes, key=str), [401004] * 7 + [None])

    def test_a_session_resumes_on_the_other_node_and_keeps_its_slot(self):
        account = self.one.account("wanderer", "--connections", "1")
        first = self.connect(self.one)
        session = first.sign_in(one_time_password(self.one, account))
        second = self.connect(self.other)
        # The account has only one connection slot; the resumed session takes it over.
        session = second.go_on(session)
        ended = first.wait_for_end()
        self.assertIn(ended.code, (6, None), ended)
        third = self.connect(self.one)
        third.go_on(session)
        self.assertIn(second.wait_for_end().code, (6, None))
        self.assertEqual([node.online(account) for node in self.both], [1, 1])

    def test_wrong_passwords_count_over_both(self):
        self.one.account("guessed")
        self.chandler("account", "password", "guessed", input=f"{person.PASSWORD}\n")

        def attempt(node, password):
            visitor = person.Person("guessed", password)
            visitor.open(f"{node.url}/signin")
            return visitor.press("sign in", account="guessed", password=password)

        # Five attempts are free; the sixth and the seventh are delayed by one and two seconds. The
        # next delay is four.
        for number in range(7):
            harness.wait_for(lambda: attempt(self.one, "not the one") != 429, f"try {number}")
        self.assertEqual(attempt(self.other, person.PASSWORD), 429)

    @nodes.takes_long
    def test_revoking_at_one_ends_connections_and_tokens_at_the_other(self):
        operator = self.one.account("operator", "--role", "operator", "--rate", "unlimited")
        account = self.one.account("gone", "--rate", "unlimited")
        connection = self.connect(self.other)
        connection.sign_in(one_time_password(self.other, account))
        self.assertEqual(nodes.candles(self.other, account, "700.HK")[0], 200)
        status, envelope = self.one.request("POST", "/v1/admin/accounts/gone/revoke", operator, {"reason": "a test"})
        self.assertEqual((status, envelope["code"]), (200, 0), envelope)
        ended = connection.wait_for_end()
        self.assertIn(ended.code, (4, 5, None), ended)
        harness.wait_for_prompt(lambda: nodes.candles(self.other, account, "700.HK")[0] == 401, "the end of the token", SEEN_S)
        with self.assertRaises(OpenApiException):
            self.other.quotes(account).static_info(["700.HK"])

    def test_other_terms_apply_on_both_immediately(self):
        account = self.one.account("restricted", "--rate", "unlimited", "--markets", "US")
        symbol = nodes.SECURITIES[0]
        for node in self.both:
            self.assertEqual(nodes.candles(node, account, symbol)[1], 301604)
        self.chandler("account", "grant", "restricted", "HK")
        for node in self.both:
            harness.wait_for_prompt(lambda: nodes.candles(node, account, symbol)[1] == 0, "the right", SEEN_S)


class Seen(Nodes):
    """An import by one process is soon visible on the other node, and never partially."""

    def test_an_import_is_seen_on_both_within_two_seconds_and_never_half(self):
        symbol, folder = "9000.HK", harness.fresh_folder()
        account = self.one.account("reader", "--rate", "unlimited", "--quota", "10")
        self.chandler("import", nodes.minutes_file(folder, symbol, 1), "--strict", "--quiet", "--period", "1m")
        workers = [Worker(account, node.url, "candles", [f"{symbol} 1000"], repeat=True) for node in self.both]
        start_together(workers)
        for worker in workers:
            worker.wait_for_more(2)
        for close in range(2, 5 + nodes.ROUNDS):
            self.chandler("import", nodes.minutes_file(folder, symbol, close), "--replace", "--quiet", "--period", "1m")
            committed = harness.time.monotonic()
            is_new = lambda worker: any(line["sent"] > committed and float(line["ok"][0]) == close for line in worker.answered()[-50:])
            for worker in workers:
                harness.wait_for_prompt(lambda: is_new(worker), lambda: f"{close}: {worker.lines[-1]}", SEEN_S)
        for worker in workers:
            lines = worker.stop()
            self.assertEqual([line for line in lines if "ok" not in line], [])
            closes = [line["ok"] for line in lines]
            # All of a thousand candles are of one import, and replaced ones never reappear.
            self.assertTrue(all(len(one) == 2 and one[1] == 1000 for one in closes), [one for one in closes if len(one) != 2][:3])
            self.assertEqual([float(one[0]) for one in closes], sorted(float(one[0]) for one in closes))

    def test_an_upload_at_one_is_served_by_the_other(self):
        operator = self.one.account("uploader", "--role", "operator", "--rate", "unlimited", "--quota", "10")
        file = nodes.minutes_file(harness.fresh_folder(), "9010.HK", 7)
        connection = harness.http.client.HTTPConnection(self.one.address, timeout=harness.PATIENCE_S)
        headers = {"authorization": f"Bearer {operator['access_token']}"}
        connection.request("POST", f"/v1/uploads?name={file.name}", body=file.read_bytes(), headers=headers)
        upload = json.loads(connection.getresponse().read())["data"]["upload"]
        connection.close()
        status, envelope = self.one.request("POST", f"/v1/uploads/{upload}/import", operator, {"period": "1m"})
        self.assertIn(status, (200, 202), envelope)
        harness.wait_for(lambda: nodes.candles(self.other, operator, "9010.HK", nodes.MINUTE)[1] == 0, "the candles")

    def test_undone_and_removed_candles_are_gone_on_both(self):
        symbol, folder = "9020.HK", harness.fresh_folder()
        account = self.one.account("looker", "--rate", "unlimited", "--quota", "10")
        self.chandler("import", nodes.minutes_file(folder, symbol, 3), "--strict", "--quiet", "--period", "1m")
        for node in self.both:
            harness.wait_for_prompt(lambda: nodes.candles(node, account, symbol, nodes.MINUTE)[1] == 0, "the candles", SEEN_S)
        self.chandler("remove", symbol, "--yes")
        for node in self.both:
            harness.wait_for_prompt(lambda: nodes.candles(node, account, symbol, nodes.MINUTE)[1] in (301600, 301603), "their end", SEEN_S)

    def test_one_import_runs_at_a_time_over_all_processes(self):
        folder = harness.fresh_folder()
        files = [nodes.minutes_file(folder, f"90{number}.HK", 5) for number in range(30, 36)]
        outcomes = []
        importing = lambda file: outcomes.append(harness.run_chandler(
            self.store, "import", file, "--strict", "--quiet", "--period", "1m", clock=nodes.CLOCK))
        threads = [threading.Thread(target=importing, args=(file,)) for file in files]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        self.assertTrue(any(ran.returncode == 0 for ran in outcomes), outcomes)
        for ran in outcomes:
            if ran.returncode != 0:
                self.assertEqual(ran.returncode, 1)
                self.assertIn("another import is writing", ran.stderr)
                self.assertEqual(len(ran.stderr.strip().splitlines()), 1, ran.stderr)
        # No trace is left: each file can be imported now.
        for file in files:
            self.chandler("import", file, "--quiet", "--period", "1m")


class Pushed(Nodes):
    """Rows that arrive at one node are pushed by both, with the same content and numbers."""

    # Ingest requires the machine's clock.
    clock = "now"
    # Stored without minutes.
    SYMBOLS = nodes.SECURITIES[:2]
    # Number of batches, each with a minute.
    BATCHES = 7

    def setUp(self):
        self.operator = self.one.account("feeder", "--role", "operator", "--rate", "unlimited")
        self.account = self.one.account("listener", "--rate", "unlimited")
        self.open = self.last_open()
        # The last number of each command and security.
        self.last = {}

    def last_open(self):
        """The time at which the last session in Hong Kong began, in Unix seconds."""
        now = harness.time.time()
        today = datetime.datetime.fromtimestamp(now, ZONES["HK"]).date()
        days = self.one.quotes(self.account).trading_days(Market.HK, today - datetime.timedelta(20), today).trading_days
        begun = max(begin for day in days if (begin := instant(day, "09:30:00")) <= now)
        if now < begun + 60 * (self.BATCHES + 1):
            self.skipTest("the session has just begun")
        return begun

    def listen(self, node, *symbols):
        """A signed-in connection with subscriptions, and its session."""
        connection = self.connect(node)
        session = connection.sign_in(one_time_password(node, self.account))
        connection.subscribe(*symbols)
        # The first push of each: the state of its last day.
        for symbol in symbols:
            command, push = self.receive(connection)
            self.assertEqual((command, push[1].decode()), (long_connection.QUOTE_PUSH, symbol))
        return connection, session

    def receive(self, connection):
        command, body = connection.next_push()
        return command, long_connection.fields(body)

    def ingest(self, node, seq):
        """A batch with the next minute of each security; returns the answer."""
        row = lambda symbol: {
            "symbol": symbol, "time": self.open + 60 * (seq - 1), "open": "10.5", "high": "10.6", "low": "10.4", "close": "10.5",
            "volume": 1000 + seq, "turnover": str(10500 + 10 * seq), "final": True}
        batch = {"source": "feed", "seq": seq, "rows": [row(symbol) for symbol in self.SYMBOLS]}
        status, envelope = node.request("POST", "/v1/ingest/candles", self.operator, batch)
        self.assertEqual(status, 200, envelope)
        return envelope["data"]

    def pushes_of(self, connection, seq, symbols):
        """The pushes of a batch on one connection: for each security its trades, then its quote."""
        received = [connection.next_push() for _ in range(2 * len(symbols))]
        decoded = [(command, long_connection.fields(body)) for command, body in received]
        expected = [(command, symbol) for symbol in symbols for command in (long_connection.TRADES_PUSH, long_connection.QUOTE_PUSH)]
        self.assertEqual([(command, push[1].decode()) for command, push in decoded], expected, seq)
        growth = [push.get(12) for command, push in decoded if command == long_connection.QUOTE_PUSH]
        self.assertEqual(growth, [1000 + seq] * len(symbols))
        return received

    def check_numbers(self, received):
        """Their numbers are larger than those before."""
        for command, body in received:
            push = long_connection.fields(body)
            of = command, push[1]
            self.assertGreater(push[2], self.last.get(of, 0))
            self.last[of] = push[2]

    def test_both_nodes_push_the_same_numbers_and_one_goes_on_alone(self):
        first, second = self.SYMBOLS
        here, session = self.listen(self.one, first, second)
        # This node has a subscriber of one of the securities: the other rows count all the same.
        there, _ = self.listen(self.other, second)
        for seq in range(1, 4):
            self.assertEqual(self.ingest(self.one, seq)["accepted"], 2)
            both, one = self.pushes_of(here, seq, [first, second]), self.pushes_of(there, seq, [second])
            self.assertEqual(both[2:], one)
            self.check_numbers(both)

        # Killed as soon as it has answered: the other node pushes the batch, whether or not the
        # first had merged it.
        answered = self.ingest(self.one, 4)
        self.one.kill()
        self.check_numbers(self.pushes_of(there, 4, [second]))
        self.assertEqual(self.ingest(self.other, 4), {**answered, "repeated": True})

        # The client goes on at the other node. Its first pushes are the last ones, without growth.
        here = self.connect(self.other)
        here.go_on(session)
        here.subscribe(first, second)
        for symbol in (first, second):
            command, push = self.receive(here)
            self.assertEqual((command, push[1].decode(), push.get(12, 0)), (long_connection.QUOTE_PUSH, symbol, 0))
            if symbol == second:
                self.assertEqual(push[2], self.last[command, push[1]])
        for seq in (5, 6):
            self.assertEqual(self.ingest(self.other, seq)["accepted"], 2)
            both = self.pushes_of(here, seq, [first, second])
            self.assertEqual(both[2:], self.pushes_of(there, seq, [second]))
            self.check_numbers(both)

        # The restarted node takes part again.
        self.one.start()
        back, _ = self.listen(self.one, first, second)
        self.assertEqual(self.ingest(self.one, self.BATCHES)["accepted"], 2)
        both = self.pushes_of(here, self.BATCHES, [first, second])
        self.assertEqual(both, self.pushes_of(back, self.BATCHES, [first, second]))
        self.assertEqual(both[2:], self.pushes_of(there, self.BATCHES, [second]))
        self.check_numbers(both)


class Traded(Nodes):
    """Paper accounts share one journal."""

    def test_an_order_at_one_is_pushed_to_a_connection_at_the_other(self):
        account = self.one.trader("pushed", "--cash", "HKD=500000")
        listener = trade_clients.PythonClient("longbridge", self.other, account)
        sender = trade_clients.PythonClient("longbridge", self.one, account)
        for turn, client in enumerate((sender, listener, sender)):
            order = client.submit(symbol="700.HK", side="Buy", order_type="LO", quantity="100", price="290", remark=f"turn {turn}")
            for hears in (listener, sender):
                pushes = [push for push in hears.pushes(count=2 * (turn + 1)) if push["order_id"] == order["order_id"]]
                self.assertEqual([push["status"] for push in pushes], ["WaitToNew", "New"])
                self.assertEqual(pushes[0]["remark"], f"turn {turn}")
        self.assertEqual(
            [order["order_id"] for order in sender.today_orders()], [order["order_id"] for order in listener.today_orders()])
        listener.close()
        sender.close()

    def test_orders_sent_to_both_concurrently_are_made_once(self):
        account = self.one.trader("busy", "--cash", "HKD=90000000")
        number = 20 * min(nodes.ROUNDS, 5)
        workers = [
            Worker(account, node.url, "orders", [f"{node.name} {turn} {item}" for item in range(number)])
            for turn in range(2) for node in self.both]
        start_together(workers)
        lines = [line for worker in workers for line in worker.wait_for_end()]
        self.assertEqual([line for line in lines if "ok" not in line], [])
        # The number of an order is its position in the account's journal: none is missing, none is
        # duplicated.
        ids = sorted(int(line["ok"]) % 1_000_000_000 for line in lines)
        self.assertEqual(ids, list(range(1, 4 * number + 1)))
        listed = trade_clients.PythonClient("longbridge", self.other, account)
        self.assertEqual(
            {order["remark"]: order["order_id"] for order in listed.today_orders()}, {line["item"]: line["ok"] for line in lines})
        listed.close()

    def test_watchlists_and_topics_are_the_same_on_both(self):
        account = self.one.account("social", "--rate", "unlimited")
        status, created = self.one.request("POST", "/v1/watchlist/groups", account, {"name": "mine", "securities": ["700.HK"]})
        self.assertEqual(status, 200, created)
        status, listed = self.other.request("GET", "/v1/watchlist/groups", account)
        self.assertEqual(status, 200, listed)
        self.assertIn("mine", [group["name"] for group in listed["data"]["groups"]])


class Pair(harness.Server):
    """Two nodes behind a proxy that alternates connections between them, with the interface of
    `paper_market.Market`."""

    def __init__(self, day, time):
        database = nodes.shared_database()
        self.store = database.server.url(database.copy())
        self.clock = utc(instant(day, time))
        self.nodes = [nodes.Node(self.store, name, clock=self.clock) for name in ("one", "other")]
        self.proxy = proxy.Proxy([node.address for node in self.nodes], turns=True)
        self.address = self.proxy.address
        self.url, self.socket_url = f"http://{self.address}", f"ws://{self.address}/v2"
        self.operator = self.account("operator", "--role", "operator", "--rate", "unlimited")

    def trader(self, name="trader", *options):
        return self.account(name, "--rate", "unlimited", *options)

    def manage(self, path, **body):
        status, envelope = self.request("POST", f"/v1/admin/{path}", self.operator, body)
        assert (status, envelope["code"]) == (200, 0), envelope
        return envelope["data"]

    def move(self, day, time, market="HK"):
        """With a fixed market clock each server has a separate clock."""
        self.clock = utc(instant(day, time, market))
        for node in self.nodes:
            status, envelope = self.request("POST", "/v1/admin/clock", self.operator, {"now": self.clock}, address=node.address)
            assert (status, envelope["code"]) == (200, 0), envelope

    def kill(self):
        self.proxy.close()
        for node in self.nodes:
            node.kill()


class Session(test_session.Session):
    """A trader's whole session (`test_session.py`) on two alternating nodes: the same journal, to
    the cent, as on one."""

    def open_server(self):
        return Pair(WEDNESDAY, "09:55:00")

    # Other languages would test the same server code.
    test_by_longport_in_node = test_by_longbridge_in_rust = None


if __name__ == "__main__":
    unittest.main()
