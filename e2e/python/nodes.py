"""Several servers on one PostgreSQL database, and a market for them: that of `paper_market.py`, and
many securities of a few days, so that it takes long to spend a quota."""

import functools
import os
import pathlib
import unittest

import harness
import paper_market
import postgres

CLOCK = paper_market.utc(paper_market.instant(paper_market.WEDNESDAY, "10:00:15"))
# How often the failure tests repeat: once in the full run, many times in `make lose`.
ROUNDS = int(os.environ.get("CHANDLER_E2E_ROUNDS", "1"))
# `make lose` sets it. Without it a short form runs, with everything else.
IS_LONG = "CHANDLER_E2E_ROUNDS" in os.environ
takes_long = unittest.skipUnless(IS_LONG, "takes long: make lose")
# A few days each; none of them is in the market of `paper_market`. Enough for the clients in this
# many rounds.
SECURITIES = [f"{number}.HK" for number in range(1001, 1601 + 400 * min(ROUNDS - 1, 20))]
# A node without a heartbeat for this long no longer counts; its resources are then released.
NODE_FORGOTTEN_S = 15
# Longer than a failover, a lease or the heartbeat of a node takes on a busy machine.
PATIENCE_S = 90
# The `/readyz` response of a healthy node.
READY = (200, {"ready": True, "reasons": []})
# All nodes and commands have the same key for app secrets, as all machines of one database must.
os.environ["CHANDLER_KEY_FILE"] = str(harness.fresh_folder() / "key")


def days():
    rows = ["symbol,date,open,high,low,close,volume"]
    for symbol in SECURITIES:
        rows += [f"{symbol},{day},10,11,9,10.5,1000" for day in ("2026-03-13", "2026-03-16", "2026-03-17")]
    return "\n".join(rows) + "\n"


@functools.cache
def made():
    """A folder with files of the whole market."""
    folder = harness.fresh_folder()
    tables = {
        "securities.csv": paper_market.SECURITIES, "actions.csv": paper_market.ACTIONS, "margins.csv": paper_market.MARGINS,
        "minutes.csv": paper_market.minutes(), "days.csv": days()}
    for name, text in tables.items():
        (folder / name).write_text(text)
    return folder


def fill(store):
    """Imports the whole market into a store."""
    for name, *options in (
            ("securities.csv",), ("actions.csv",), ("margins.csv",), ("minutes.csv", "--period", "1m"), ("days.csv", "--period", "1d")):
        harness.chandler(store, "import", made() / name, "--strict", "--quiet", *options, clock=CLOCK)
    harness.chandler(store, "account", "rates", "USD", "7.8", "--day", "2024-01-02", clock=CLOCK)


class Database:
    """A database with the market, which can be copied quickly."""

    def __init__(self, server):
        self.server = server
        fill(self.server.database("market"))

    def copy(self):
        """The name of a fresh copy."""
        return copy(self.server, "market")


numbers = iter(range(1, 1 << 30))


def copy(server, template):
    """The name of a new database, copied from another."""
    name = f"copy_{next(numbers)}"

    # A client that has just used the original may still be connected.
    def is_made():
        try:
            server.sql(f"create database {name} template {template}")
            return True
        except postgres.Refused as refused:
            assert "being accessed" in str(refused), refused
            return False

    harness.wait_for(is_made, "the end of connections to a template")
    return name


@functools.cache
def shared_server():
    """A server that no test stops."""
    return postgres.Postgres({"fsync": "off"})


@functools.cache
def shared_database():
    """The market on that server."""
    return Database(shared_server())


@functools.cache
def template_of(made):
    """The name of a database with the candles of a folder."""
    name = f"template_{next(numbers)}"
    server = shared_server()
    harness.chandler(made, "move", "--from", f"sqlite:{made}", "--to", server.database(name), "--quiet")
    return name


def copy_of(made):
    """The address of a new database, with the candles of a folder and without accounts."""
    return shared_server().url(copy(shared_server(), template_of(made)))


def rows(store, statement):
    """The rows of an SQL statement on the accounts database."""
    server = shared_server()
    return server.sql(f"set search_path to chandler_accounts; {statement}", store.rsplit("/", 1)[1])


def dump(store):
    return postgres.run("pg_dump", "--schema=chandler_accounts", "-d", store.replace("postgres://", "postgresql://"))


class Node(harness.Server):
    """One of several servers, with a separate folder for its copy of candles."""

    def __init__(self, url, name, options=(), clock=CLOCK, **others):
        super().__init__(url, clock=clock, options=("--node-name", name, *options), **others)
        self.name = name

    def trader(self, name="trader", *options):
        return self.account(name, "--rate", "unlimited", *options)

    def forget_copy(self):
        """Removes the copy of a stopped node."""
        harness.shutil.rmtree(self.folder / "cache")


DAY, MINUTE = 1000, 1


def candles(node, account, symbol, period=DAY, address=None):
    """A plain request for the last candle of a security: the status, the code, and the envelope."""
    body = {"symbol": symbol, "period": period, "query_type": 1, "offset_request": {"count": 1}}
    status, envelope = node.request("POST", "/quote/history-candlesticks", account, body, address=address)
    return status, envelope["code"], envelope


def usage(store, name, clock=CLOCK):
    """The used quota of an account: used, limit, and the securities."""
    shown = harness.json.loads(harness.chandler(store, "account", "show", name, "--format", "json", clock=clock))["usage"]
    return shown["used"], shown["limit"], [one["symbol"] for one in shown["securities"]]


def audit(store, event, clock=CLOCK):
    return harness.json.loads(harness.chandler(
        store, "audit", "--event", event, "--limit", "10000", "--format", "json", clock=clock))


def minutes_file(folder, symbol, close, count=1000):
    """A file of this many minutes of one security, all with the same close."""
    rows = ["symbol,time,open,high,low,close,volume"]
    days = ("2026-03-11", "2026-03-12", "2026-03-13", "2026-03-16", "2026-03-17")
    morning = [f"{10 + minute // 60:02}:{minute % 60:02}" for minute in range(120)]
    afternoon = [f"{13 + minute // 60:02}:{minute % 60:02}" for minute in range(180)]
    stamps = [f"{day} {time}" for day in days for time in morning + afternoon][-count:]
    assert len(stamps) == count, len(stamps)
    rows += [f"{symbol},{stamp},{close},{close},{close},{close},100" for stamp in stamps]
    path = pathlib.Path(folder) / f"{symbol}-{close}.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
