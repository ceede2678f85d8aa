"""Real server processes on loopback, accounts for them, and SDK contexts pointed at them."""

import atexit
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import conformance

# Before the SDK is loaded: it prints a table at every connection, and reads proxies and time zone
# from here.
for name in [name for name in os.environ if name.startswith(("LONGBRIDGE_", "LONGPORT_", "CHANDLER_"))]:
    if not name.startswith(("CHANDLER_E2E_", "CHANDLER_TEST_")):
        del os.environ[name]
for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]
QUIET = {"LONGBRIDGE_PRINT_QUOTE_PACKAGES": "false", "LONGPORT_PRINT_QUOTE_PACKAGES": "false"}
os.environ.update(QUIET, NO_PROXY="127.0.0.1", TZ="UTC")
time.tzset()

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("CHANDLER_E2E_BINARY", ROOT / "target/debug/chandler"))
WORK = pathlib.Path(os.environ.get("CHANDLER_E2E_WORK", ROOT / "target/e2e"))
SCENARIOS = ROOT / "e2e/scenarios"
# Where stores are: in folders, or all on a PostgreSQL server that is started for them.
ENGINE = os.environ.get("CHANDLER_E2E_ENGINE", "sqlite")
# A Sunday; the last trading day is the 13th. The market's clock is fixed, the machine's is not.
NOW = "2026-11-15T02:00:00Z"
# Longer than any step takes on a busy machine, so that a fault fails a test instead of hanging it.
PATIENCE_S = 90
# A server ends after this time, even if this process is killed.
SERVER_LIFE_S = 1800 * int(os.environ.get("CHANDLER_E2E_ROUNDS", "1"))
# Listed, but without candles.
NAMES = (
    "symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,board\n"
    "9099.HK,Unlit Holdings,未燃控股,未燃控股,SEHK,HKD,100,HKEquity\n"
)


def store_argument(store):
    """A store as the argument of `--store`: the path of a folder, or the address of a database."""
    return store if isinstance(store, str) else f"sqlite:{store}"


def run_chandler(store, *arguments, input=None, clock=NOW, environment=None):
    """Runs a command that may fail: its exit code and output."""
    command = [str(BINARY), "--store", store_argument(store), "--clock", clock, *map(str, arguments)]
    environment = {**os.environ, **(environment or {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, input=input, env=environment)


def chandler(store, *arguments, **options):
    """Standard output of a command that must succeed."""
    ran = run_chandler(store, *arguments, **options)
    if ran.returncode != 0:
        raise AssertionError(f"{ran.args}: {ran.returncode}: {ran.stderr}")
    return ran.stdout


def market():
    """The folder of a store with the demo market, made once per build and never served itself."""
    with BINARY.open("rb") as file:
        mark = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    made = WORK / f"market-{mark}"
    if not made.is_dir():
        for old in WORK.glob("market-*"):
            shutil.rmtree(old)
        making = pathlib.Path(tempfile.mkdtemp(prefix="making-", dir=WORK))
        chandler(making, "demo", "--quiet")
        names = making / "names.csv"
        names.write_text(NAMES)
        chandler(making, "import", names)
        shutil.rmtree(making / "demo")
        try:
            making.rename(made)
        except OSError:
            # Another process has made it meanwhile.
            assert made.is_dir(), made
            shutil.rmtree(making)
    return made


def fresh_folder():
    """A new folder, which is removed with this process."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="store-", dir=WORK))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def fresh_store(made=None):
    """A new store with the candles of a folder that is never served itself (default: the demo
    market), and no accounts."""
    made = made or market()
    if ENGINE == "postgres":
        import nodes

        return nodes.copy_of(made)
    store = fresh_folder()
    shutil.copy(made / "candles.db", store)
    return store


def rows(store, statement):
    """Runs an SQL statement on the accounts database directly: rows of texts."""
    if isinstance(store, str):
        import nodes

        return nodes.rows(store, statement)
    database = sqlite3.connect(f"file:{store}/accounts.db?mode=ro", uri=True)
    with contextlib.closing(database):
        return [[str(value) for value in row] for row in database.execute(statement)]


def everything_in(store):
    """Everything stored about accounts, as one text."""
    if isinstance(store, str):
        import nodes

        return nodes.dump(store)
    # Including the write-ahead log.
    return "".join(file.read_bytes().decode("latin-1") for file in store.glob("accounts.db*"))


def wait_for(condition, what, patience_s=PATIENCE_S):
    """Waits for the first true value of a condition."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {patience_s} s in vain for {what() if callable(what) else what}")


OVER = object()


def wait_for_prompt(condition, what, limit_s):
    """The same for a guarantee in seconds. Counts only time in which no process of this machine
    waits for a processor: on a busy machine, wall-clock time says nothing about the server."""
    start, pressed = time.monotonic(), waited_for_processors_s()
    is_over = lambda: time.monotonic() - start - (waited_for_processors_s() - pressed) >= limit_s
    value = wait_for(lambda: condition() or (is_over() and OVER), what)
    assert value is not OVER, f"waited {limit_s} s in vain for {what() if callable(what) else what}"
    return value


def waited_for_processors_s():
    """How long processes have waited for processors on this machine; always 0 if the kernel does
    not measure it."""
    try:
        some = pathlib.Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return 0
    return int(some.rsplit("=", 1)[1]) / 1e6


def free_port():
    """A port outside the ephemeral range, so that no other client or server gets it by chance and a
    stopped server finds it free when it restarts."""
    try:
        lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        lowest = 0
    below = range(10_000, lowest)
    # 0 is any free port: if none of the lower ones is free, an ephemeral port is better than none.
    for port in [*random.sample(below, min(100, len(below))), 0]:
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return one.getsockname()[1]
    raise AssertionError("no port is free")


class Server:
    """A server process. It ends with the test, or by itself."""

    def __init__(self, store=None, clock=NOW, log="warn", options=()):
        self.store = store or fresh_store()
        # The folder of its log: the store, if that is a folder.
        self.folder = self.store
        if isinstance(self.store, str):
            self.folder = fresh_folder()
            options = ("--cache", str(self.folder / "cache"), *options)
        # It restarts at the same address.
        self.listen = f"127.0.0.1:{free_port()}"
        self.clock, self.log_filter, self.options = clock, log, options
        self.start()
        atexit.register(self.kill)

    def start(self):
        command = ["timeout", str(SERVER_LIFE_S), str(BINARY), "--store", store_argument(self.store)]
        command += ["--clock", self.clock]
        command += ["serve", "--listen", self.listen, "--tcp", "127.0.0.1:0", "--log", self.log_filter, *self.options]
        self.log = open(self.folder / "server.log", "a")
        # SIGXFSZ stays ignored, so that a write beyond the limit of `limit_files` fails.
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, restore_signals=False)
        line = []
        reader = threading.Thread(target=lambda: line.append(self.process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(PATIENCE_S)
        if not line or not line[0]:
            raise AssertionError(f"no server: {self.log_text()}")
        ready = self.ready = json.loads(line[0])
        assert ready["event"] == "listening", ready
        self.address, self.tcp = ready["http"], ready["tcp"]
        self.url, self.socket_url = f"http://{self.address}", f"ws://{self.address}/v2"

    def log_text(self):
        """Its log."""
        return (self.folder / "server.log").read_text()

    def stop(self):
        """Sends SIGTERM and waits for the end; returns its exit code."""
        self.process.terminate()
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.log.close()
        return code

    def kill(self):
        """Kills it immediately, as a crash would. `timeout` cannot forward SIGKILL, so its child is
        killed."""
        if self.process.poll() is None:
            for child in self.children():
                os.kill(child, signal.SIGKILL)
            self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.log.close()

    def children(self):
        """The server's own process, which `timeout` has started."""
        pid = self.process.pid
        return map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())

    def limit_files(self, size=resource.RLIM_INFINITY):
        """Lets no file of the server grow beyond a size: its writes fail as on a full disk."""
        for child in self.children():
            resource.prlimit(child, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def plain(self, path):
        """One plain HTTP request without credentials: status and text."""
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metrics(self):
        """Every metric sample by its name, including labels."""
        status, text = self.plain("/metrics")
        assert status == 200, text
        samples = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, value in samples}

    def readiness(self):
        """The status and body of `/readyz`."""
        status, text = self.plain("/readyz")
        return status, json.loads(text)

    def account(self, name, *options):
        """Credentials of a new account, made while the server runs."""
        words = ("account", "create", name, "--url", self.url, "--format", "json", *options)
        created = chandler(self.store, *words, clock=self.clock)
        return json.loads(created)

    def hear(self):
        """Waits until it has seen all changes of accounts by other processes so far. With a folder
        it checks at every request; with a database it is notified within two seconds."""
        if isinstance(self.store, str):
            mark = self.account(f"mark {time.monotonic_ns()}")
            chandler(self.store, "account", "revoke", mark["name"], clock=self.clock)
            wait_for_prompt(lambda: self.request("GET", "/v1/socket/token", mark)[0] == 401, "a change that another process has made", 2)

    def report_rates(self):
        """Sets the exchange rate of the dollar, so that accounts with dollars have a total."""
        chandler(self.store, "account", "rates", "USD", "7.8", "--day", "2024-01-02", clock=self.clock)

    def generous(self, name="generous"):
        """An account with practically no limits."""
        return self.account(name, "--overnight", "--rate", "unlimited", "--quota", "1000", "--connections", "100")

    def request(self, method, path, account, body=None, address=None, patience_s=PATIENCE_S):
        """One plain HTTP request with the token as bearer: status and envelope, which must match
        the description."""
        connection = http.client.HTTPConnection(address or self.address, timeout=patience_s)
        headers = {"authorization": f"Bearer {account['access_token']}", "content-type": "application/json"}
        connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        envelope = json.loads(text)
        # The format of an older API date is not the described one.
        if answer.getheader("x-api-date") is None:
            conformance.check(address or self.address, method, path, answer.status, envelope)
        return answer.status, envelope

    def online(self, account):
        """How many long connections of an account the server counts."""
        status, envelope = self.request("GET", "/v1/socket/token", account)
        assert status == 200, envelope
        return envelope["data"]["online"]

    def config(self, account, transport="ws", address=None, **options):
        """A configuration of the SDK for this server, or for another of its listeners."""
        from longbridge.openapi import Config, QuoteTransport

        transports = {"ws": QuoteTransport.WebSocket, "http": QuoteTransport.Http}
        address = address or self.address
        url, socket_url = f"http://{address}", f"ws://{address}/v2"
        return Config.from_apikey(
            account["app_key"], account["app_secret"], account["access_token"],
            http_url=url, quote_ws_url=socket_url, trade_ws_url=socket_url,
            enable_print_quote_packages=False, quote_transport=transports[transport], **options,
        )

    def quotes(self, account, transport="ws", **options):
        from longbridge.openapi import QuoteContext

        return QuoteContext(self.config(account, transport, **options))


# Requests of a client to other hosts fail.
NOWHERE = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}


def foreign_environment(account):
    """The environment of a client in another process or language: its credentials, and the path of
    its packages."""
    packages = {"NODE_PATH": str(WORK / "sdk-node/node_modules")}
    return {"PATH": os.environ["PATH"], "TZ": "UTC", **NOWHERE, **QUIET, **packages, **account["environment"]}


def run_python(script, environment, *words, codes=(0,)):
    """Standard output of a separate process: the SDK reads its environment once."""
    environment = {"PATH": os.environ["PATH"], "TZ": "UTC", **NOWHERE, **QUIET, **environment}
    command = [sys.executable, "-c", script, *words]
    ran = subprocess.run(command, env=environment, cwd=WORK, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ran.returncode in codes, f"{ran.returncode}: {ran.stderr}"
    return ran.stdout


_shared = None


def shared():
    """One server for all tests that do not stop it, with an account with practically no limits."""
    global _shared
    if _shared is None:
        server = Server()
        server.report_rates()
        _shared = (server, server.generous())
    return _shared
