#!/usr/bin/env python3
"""Runs a rolling restart under load: PostgreSQL, two nodes and HAProxy with the configuration of this folder, all on loopback.

    packaging/nodes/try.py [--chandler target/release/chandler] [--work DIR] [--seconds 5] [--idle 5000]

Clients send requests over HTTP and WebSockets, through the proxy, without pause, while each node in turn is restarted: drained first, then
without notice to the proxy, then killed. A client behaves like the SDKs: it retries a failed request once, and reopens a closed connection.
A request that fails twice is a failure; the exit code is then 1.

With `--idle` that many signed-in WebSockets are opened first, to measure the memory that they take in the proxy and in the nodes.

Needs Debian's postgresql and haproxy, and an executable. Everything runs in a temporary folder, and ends with this script.
"""
import argparse
import base64
import collections
import datetime
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench"))
from cluster import Cluster, free_port  # noqa: E402

SYMBOLS = [f"T{number}.US" for number in range(1, 21)]
DAYS = 300
HTTP_CLIENTS, LINKS = 4, 4
# The pause of a client before a retry; SDKs wait a second or two.
PAUSE_S = 0.5
READY_S, STOP_S = 60, 25
# An account without limits may have a thousand connections.
OF_ACCOUNT = 900
CLOCK = "2026-11-15T02:00:00Z"


# --- processes -------------------------------------------------------------------------------------------------------


class Node:
    """A server process, always on the same ports."""

    def __init__(self, chandler, store, work, name):
        self.name, self.log = name, open(work / f"{name}.log", "a")
        self.http, self.tcp, self.internal = free_port(), free_port(), free_port()
        self.command = [
            chandler, "--store", store, "--clock", CLOCK, "serve", "--listen", f"127.0.0.1:{self.http}", "--tcp", f"127.0.0.1:{self.tcp}",
            "--internal", f"127.0.0.1:{self.internal}", "--trusted-proxy", "127.0.0.1", "--cache", str(work / f"cache-{name}"), "--node-name", name,
        ]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        if not self.process.stdout.readline().startswith("{"):
            sys.exit(f"node {self.name} does not start:\n{Path(self.log.name).read_text()}")

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(STOP_S)

    def is_ready(self):
        try:
            return get(self.internal, "/readyz").status == 200
        except OSError:
            return False


class Proxy:
    """HAProxy with the configuration of this folder, but other addresses, and no certificate, which the clients would not trust."""

    def __init__(self, work, nodes):
        self.port, self.tcp, self.admin = free_port(), free_port(), str(work / "admin.sock")
        text = (HERE / "haproxy.cfg").read_text()
        # Two descriptors for each client, up to the limit of the process.
        most = (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 500) // 2
        text = text.replace("/run/haproxy/admin.sock", self.admin).replace("maxconn 60000", f"maxconn {min(60_000, most)}")
        text = re.sub(r"bind :443 .*", f"bind 127.0.0.1:{self.port}", text).replace("bind :2021", f"bind 127.0.0.1:{self.tcp}")
        for node, address in zip(nodes, ("10.0.0.11", "10.0.0.12")):
            for port, at in ((8080, node.http), (2020, node.tcp)):
                text = text.replace(f"{address}:{port}", f"127.0.0.1:{at} check port {node.internal}")
        (work / "haproxy.cfg").write_text(text.replace("check port 9090 ", "check "))
        program = shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin") or sys.exit("no haproxy found: install Debian's")
        self.process = subprocess.Popen([program, "-db", "-f", work / "haproxy.cfg"], stdout=open(work / "haproxy.log", "w"), stderr=subprocess.STDOUT)

    def command(self, words):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(self.admin)
            stream.sendall((words + "\n").encode())
            answer = stream.makefile().read().strip()
        if answer:
            sys.exit(f"haproxy: {words}: {answer}")

    def states(self):
        """Servers of the backend by name, as the proxy sees them."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(self.admin)
            stream.sendall(b"show stat\n")
            rows = [line.split(",") for line in stream.makefile().read().splitlines() if line]
        return {row[1]: row[17] for row in rows if row[0] == "nodes"}


def until(what, is_so, seconds=READY_S):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {seconds} s")
        time.sleep(0.05)


def get(port, path, token=None, timeout=15):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    connection.request("GET", path, headers={"authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


# --- clients ---------------------------------------------------------------------------------------------------------


class Failed(Exception):
    """A request without a valid response; it may be retried."""


class HttpClient:
    """A client with a keep-alive connection."""

    name = "HTTP"

    def __init__(self, port, token):
        self.port, self.token, self.connection = port, token, None

    def ask(self, symbol):
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=15)
            self.connection.request("GET", f"/v1/quote/history-candlesticks?symbol={symbol}&count=100", headers={"authorization": f"Bearer {self.token}"})
            answer = self.connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Failed(f"{type(error).__name__}: {error}") from error
        if answer.status != 200 or b'"candlesticks"' not in body:
            raise Failed(f"{answer.status}: {body[:120]!r}")

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Link:
    """A WebSocket that signs in with a one-time password from any node, and requests candles."""

    name = "WebSocket"

    def __init__(self, port, token):
        self.port, self.token, self.socket, self.number = port, token, None, 0

    def open(self):
        answer = get(self.port, "/v1/socket/token", self.token)
        if answer.status != 200:
            raise Failed(f"one-time password: {answer.status}: {answer.body[:120]!r}")
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=15)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /v2?version=1&codec=1&platform=9 HTTP/1.1\r\nhost: try\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
                            f"sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n".encode())
        self.file = self.socket.makefile("rb")
        head = self.file.readline()
        if b" 101 " not in head:
            raise Failed(f"upgrade: {head!r}")
        while self.file.readline() not in (b"\r\n", b""):
            pass
        self.answer(2, field(1, json.loads(answer.body)["data"]["otp"].encode()))

    def ask(self, symbol):
        question = field(1, symbol.encode()) + number(2, 1000) + number(4, 1) + field(5, number(4, 100))
        try:
            if self.socket is None:
                self.open()
            self.answer(27, question)
        except (OSError, http.client.HTTPException, struct.error, ValueError) as error:
            self.close()
            raise Failed(f"{type(error).__name__}: {error}") from error
        except Failed:
            self.close()
            raise

    def answer(self, command, body):
        self.number += 1
        packet = bytes([1, command]) + struct.pack(">IH", self.number, 10_000) + len(body).to_bytes(3, "big") + body
        head = bytes([0x82, 0x80 | len(packet)]) if len(packet) < 126 else bytes([0x82, 0xFE]) + struct.pack(">H", len(packet))
        self.socket.sendall(head + b"\0\0\0\0" + packet)
        while True:
            first, payload = self.frame()
            if first == 0x89:
                self.socket.sendall(bytes([0x8A, 0x80 | len(payload)]) + b"\0\0\0\0" + payload)
            elif first == 0x88:
                raise Failed("the node has closed the connection")
            elif payload[0] & 0x0F == 2 and payload[2:6] == struct.pack(">I", self.number):
                if payload[6] != 0:
                    raise Failed(f"command {command}: refused: {payload[10:130]!r}")
                return payload

    def frame(self):
        first, length = self.exactly(2)
        if length == 126:
            (length,) = struct.unpack(">H", self.exactly(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.exactly(8))
        return first, self.exactly(length)

    def exactly(self, count):
        data = self.file.read(count)
        if len(data) < count:
            raise Failed("the connection has ended")
        return data

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None


def varint(value):
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(data + bytes([value]))


def number(key, value):
    return varint(key << 3) + varint(value)


def field(key, data):
    return varint(key << 3 | 2) + varint(len(data)) + data


class Load:
    """Clients that send requests until they are stopped, and counts of the results."""

    def __init__(self, port, token):
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.begin()
        clients = [HttpClient(port, token) for _ in range(HTTP_CLIENTS)] + [Link(port, token) for _ in range(LINKS)]
        self.threads = [threading.Thread(target=self.run, args=(client, place), daemon=True) for place, client in enumerate(clients)]
        for thread in self.threads:
            thread.start()

    def begin(self):
        with self.lock:
            self.requests, self.retried, self.failed = collections.Counter(), collections.Counter(), collections.Counter()
            self.slowest, self.reasons = collections.Counter(), []

    def run(self, client, turn):
        while not self.stop.is_set():
            symbol = SYMBOLS[turn % len(SYMBOLS)]
            turn += 1
            began = time.monotonic()
            first = self.attempt(client, symbol)
            second = None
            if first:
                time.sleep(PAUSE_S)
                second = self.attempt(client, symbol)
            with self.lock:
                self.requests[client.name] += 1
                self.slowest[client.name] = max(self.slowest[client.name], time.monotonic() - began)
                self.retried[client.name] += bool(first)
                self.failed[client.name] += bool(second)
                if second:
                    self.reasons.append(f"{client.name}: {first}; then {second}")
        client.close()

    def attempt(self, client, symbol):
        try:
            client.ask(symbol)
            return None
        except Failed as error:
            return str(error)

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(30)

    def table(self, phase):
        """Prints the lines of a phase; returns the number of failed requests."""
        with self.lock:
            for name in (HttpClient.name, Link.name):
                print(f"| {phase} | {name} | {self.requests[name]:,} | {self.retried[name]} | {self.failed[name]} | {self.slowest[name] * 1000:.0f} |", flush=True)
            for reason in self.reasons[:5]:
                print(f"  {reason}", file=sys.stderr)
            return sum(self.failed.values())


# --- the trial -------------------------------------------------------------------------------------------------------


def fill(chandler, store, work):
    """Imports days of twenty securities, and creates an account without limits; returns its token."""
    day, rows = datetime.date(2026, 11, 13), []
    while len(rows) < DAYS * len(SYMBOLS):
        if day.weekday() < 5:
            rows += [f"{symbol},{day},10,11,9,10.5,1000" for symbol in SYMBOLS]
        day -= datetime.timedelta(days=1)
    (work / "days.csv").write_text("symbol,time,open,high,low,close,volume\n" + "\n".join(rows) + "\n")
    run(chandler, store, "import", str(work / "days.csv"))
    return account(chandler, store, "try")


def account(chandler, store, name):
    return json.loads(run(chandler, store, "account", "create", name, "--unlimited", "--format", "json"))["access_token"]


def run(chandler, store, *words):
    done = subprocess.run([chandler, "--store", store, "--clock", CLOCK, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"chandler {' '.join(words)}: {done.stderr}")
    return done.stdout


def restart(proxy, node, how, is_drained):
    """As in docs/scaling.md: drain, stop, start, undrain."""
    if is_drained:
        for backend in ("nodes", "nodes_tcp"):
            proxy.command(f"set server {backend}/{node.name} state drain")
    node.end(how)
    node.start()
    until(f"node {node.name} ready", node.is_ready)
    if is_drained:
        for backend in ("nodes", "nodes_tcp"):
            proxy.command(f"set server {backend}/{node.name} state ready")
    until(f"node {node.name} up at the proxy", lambda: proxy.states().get(node.name) == "UP")


def memory(process):
    """Resident, in bytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def idle(count, proxy, nodes, tokens):
    """Measures the memory of idle connections. Both nodes have some: the sum is divided by all."""
    processes = {"proxy": [proxy.process], "nodes": [node.process for node in nodes]}

    def held():
        return {name: sum(map(memory, of)) for name, of in processes.items()}

    Link(proxy.port, tokens[0]).open()
    before = held()
    links = [Link(proxy.port, tokens[number // OF_ACCOUNT]) for number in range(count)]
    for link in links:
        link.open()
    each = {name: (value - before[name]) / count for name, value in held().items()}
    print("| idle signed-in WebSockets | bytes of the proxy's memory each | of a node's |\n|---|---|---|")
    print(f"| {count:,} | {each['proxy']:,.0f} | {each['nodes']:,.0f} |\n", flush=True)
    for link in links:
        link.close()


PHASES = (("drained, then SIGTERM", signal.SIGTERM, True), ("SIGTERM alone", signal.SIGTERM, False), ("kill -9", signal.SIGKILL, False))


def trial(options, work, cluster):
    chandler = os.path.abspath(options.chandler)
    os.environ["CHANDLER_KEY_FILE"] = str(work / "key")
    store = options.store or cluster.create("nodes")
    token = fill(chandler, store, work)
    nodes = [Node(chandler, store, work, name) for name in ("one", "two")]
    proxy, load, failed = None, None, 0
    try:
        for node in nodes:
            node.start()
        proxy = Proxy(work, nodes)
        until("the proxy", lambda: os.path.exists(proxy.admin) and list(proxy.states().values()).count("UP") == 3)
        if options.idle:
            accounts = range(options.idle // OF_ACCOUNT + 1)
            idle(options.idle, proxy, nodes, [account(chandler, store, f"idle-{number}") for number in accounts])
        load = Load(proxy.port, token)
        print("| each node restarted in turn | clients | requests | retried | failed | slowest ms |\n|---|---|---|---|---|---|")
        time.sleep(options.seconds)
        failed += load.table("nothing happens")
        for phase, how, is_drained in PHASES:
            load.begin()
            for node in nodes:
                restart(proxy, node, how, is_drained)
                time.sleep(options.seconds)
            failed += load.table(phase)
    finally:
        if load:
            load.end()
        for process in [node.process for node in nodes] + [proxy and proxy.process]:
            if process and process.poll() is None:
                process.kill()
                process.wait()
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chandler", default=str(ROOT / "target/release/chandler"))
    parser.add_argument("--work")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the load continues after each restart")
    parser.add_argument("--idle", type=int, default=0, help="first measure the memory of this many idle connections")
    parser.add_argument("--store", help="a store to use instead of a new PostgreSQL cluster")
    options = parser.parse_args()
    # The clients are in this process too.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    work = Path(options.work or tempfile.mkdtemp(prefix="chandler-nodes-"))
    work.mkdir(parents=True, exist_ok=True)
    # PostgreSQL runs as another user than root.
    work.chmod(0o755)
    try:
        with Cluster(work / "pg") as cluster:
            failed = trial(options, work, cluster)
    finally:
        if not options.work:
            shutil.rmtree(work, ignore_errors=True)
    print(f"\n{failed} requests failed." if failed else "\nNo request failed.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
