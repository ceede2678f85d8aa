#!/usr/bin/env python3
"""Service of an honest account during a flood by another, and the cost of the flood for the server.

    bench/limits.py CHANDLER STORE [SECONDS]

Copies the store's folder, starts a server on loopback for each kind of flood, sends 50 requests a second of an honest account
for cached candles over a WebSocket, and prints a table: the share of its requests that were answered, memory and threads of
the server. The floods are separate processes, bounded in time, and end with it."""

import asyncio
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from multiprocessing import Event, Process

CACHE_MB = 64
PACE_S = 0.02


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def text(field, value):
    value = value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def number(field, value):
    return varint(field << 3) + varint(value)


def frame(command, body, request_id=1):
    packet = struct.pack(">BBIH", 1, command, request_id, 30_000) + len(body).to_bytes(3, "big") + body
    head = bytes([0x82, 0x80 | len(packet)]) if len(packet) < 126 else struct.pack(">BBH", 0x82, 0xFE, len(packet))
    return head + b"\0\0\0\0" + packet


def history(symbol):
    offset = number(4, 1000)
    return text(1, symbol) + number(2, 1000) + number(4, 1) + varint(5 << 3 | 2) + varint(len(offset)) + offset


def latest(symbol, period):
    return text(1, symbol) + number(2, period) + number(3, 1000) + number(4, 1)


class Link:
    """A signed-in WebSocket, blocking."""

    def __init__(self, http, token):
        request = urllib.request.Request(f"http://{http}/v1/socket/token", headers={"authorization": f"Bearer {token}"})
        otp = json.load(urllib.request.urlopen(request, timeout=20))["data"]["otp"]
        host, port = http.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /v2 HTTP/1.1\r\nhost: {http}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
            f"sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n".encode()
        )
        self.file = self.socket.makefile("rb", 1 << 16)
        while self.file.readline() not in (b"\r\n", b""):
            pass
        assert self.ask(frame(2, text(1, otp)))[6] == 0, "sign-in"

    def read(self):
        while True:
            first, length = self.file.read(2)
            if length == 126:
                (length,) = struct.unpack(">H", self.file.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.file.read(8))
            body = self.file.read(length)
            if first == 0x82:
                return body

    def ask(self, sent):
        self.socket.sendall(sent)
        return self.read()


async def pour(links, frames, stop):
    """Sends on all links without waiting for answers, and drops what comes."""
    loop = asyncio.get_running_loop()

    async def send(link):
        link.socket.setblocking(False)
        data = b"".join(frames)
        while not stop.is_set():
            await loop.sock_sendall(link.socket, data)

    async def drain(link):
        while not stop.is_set() and await loop.sock_recv(link.socket, 1 << 20):
            pass

    await asyncio.wait_for(asyncio.gather(*[go(link) for link in links for go in (send, drain)]), None)


def flood_links(http, token, frames, stop, ready):
    links = [Link(http, token) for _ in range(10)]
    ready.set()
    try:
        asyncio.run(pour(links, frames, stop))
    except OSError:
        pass


async def ask_http(http, request, stop):
    host, port = http.rsplit(":", 1)
    while not stop.is_set():
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            while not stop.is_set():
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError, IndexError):
            await asyncio.sleep(0.1)


def flood_http(http, token, bodies, stop, ready):
    requests = [
        f"POST /quote/candlesticks HTTP/1.1\r\nhost: {http}\r\nauthorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
        for body in bodies
    ]

    async def all_of_them():
        ready.set()
        await asyncio.gather(*[ask_http(http, requests[n % len(requests)], stop) for n in range(600)])

    asyncio.run(all_of_them())


async def unfinished_body(http, stop):
    host, port = http.rsplit(":", 1)
    while not stop.is_set():
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"POST /oauth2/token HTTP/1.1\r\nhost: bench\r\ncontent-length: 200000\r\n\r\n" + b"a" * 199_999)
            await reader.read(1)
            writer.close()
        except OSError:
            pass
        await asyncio.sleep(0.5)


def flood_bodies(http, token, bodies, stop, ready):
    async def all_of_them():
        ready.set()
        await asyncio.gather(*[unfinished_body(http, stop) for _ in range(1_500)])

    asyncio.run(all_of_them())


def status(pid):
    lines = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status") if ":" in line)
    return int(lines["VmRSS"].split()[0]) / 1024, int(lines["Threads"])


def measure(chandler, store, seconds, name, rate, flood, work):
    def run(*arguments):
        return subprocess.run([chandler, "--store", f"sqlite:{store}", *arguments], check=True, capture_output=True).stdout

    def account(who, how):
        made = run("account", "create", f"{who}-{os.getpid()}-{time.monotonic_ns()}", "--rate", how, "--quota", "100000", "--format", "json")
        return json.loads(made)["access_token"]

    honest, flooder = account("honest", "unlimited"), account("flooder", rate)
    arguments = ["serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--cache-mb", str(CACHE_MB)]
    server = subprocess.Popen(
        [chandler, "--store", f"sqlite:{store}", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    stop, ready, process = Event(), Event(), None
    try:
        http = json.loads(server.stdout.readline())["http"]
        link = Link(http, honest)
        question = frame(27, history(SYMBOLS[0]))
        assert link.ask(question)[6] == 0
        if flood:
            process = Process(target=flood, args=(http, flooder, work, stop, ready), daemon=True)
            process.start()
            ready.wait(30)
        due = answered = 0
        memory, threads, times = 0.0, 0, []
        began = following = time.monotonic()
        while time.monotonic() < began + seconds:
            time.sleep(max(0.0, following - time.monotonic()))
            since = time.monotonic()
            assert link.ask(question)[6] == 0
            times.append(time.monotonic() - since)
            answered += 1
            # Requests that fell due during the last one are not sent.
            while following <= time.monotonic():
                following += PACE_S
                due += 1
            now = status(server.pid)
            memory, threads = max(memory, now[0]), max(threads, now[1])
        stop.set()
        if process:
            process.join(5)
            process.kill()
        time.sleep(5)
        slow = sorted(times)[len(times) * 99 // 100] * 1000
        share = 100 * answered / max(due, 1)
        print(f"| {name} | {share:.0f} % | {slow:.1f} | {memory:.0f} | {status(server.pid)[0]:.0f} | {threads} |", flush=True)
    finally:
        if process and process.is_alive():
            process.kill()
        server.kill()
        server.wait()


def main():
    global SYMBOLS
    chandler, original = sys.argv[1], sys.argv[2]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10.0
    store = tempfile.mkdtemp(prefix="bench-limits-")
    try:
        for file in os.listdir(original):
            if file.startswith(("candles.db", "accounts.db", "secret.key")):
                shutil.copy(os.path.join(original, file), store)
        coverage = subprocess.run(
            [chandler, "--store", f"sqlite:{store}", "coverage", "--format", "json"], check=True, capture_output=True
        )
        found = []
        for word in coverage.stdout.decode().split('"'):
            if word.count(".") == 1 and word.split(".")[1] in ("HK", "US", "SH", "SZ") and word not in found:
                found.append(word)
        SYMBOLS = found[:40]
        recent = [(symbol, period) for symbol in SYMBOLS for period in (1, 5, 30, 1000)]
        frames = [frame(19, latest(*question)) for question in recent]
        bodies = [json.dumps({"symbol": s, "period": p, "count": 1000, "adjust_type": 1}) for s, p in recent]
        print("| beside | honest account is answered | p99 ms | memory, most MB | 5 s later | threads, most |")
        print("|---|---|---|---|---|---|", flush=True)
        for name, rate, flood, work in [
            ("no flood", "60/30", None, None),
            ("10 WebSockets, command 19", "60/30", flood_links, frames),
            ("600 HTTP connections, command 19", "60/30", flood_http, bodies),
            ("10 WebSockets, refused command 27", "1/3600", flood_links, [frame(27, history(SYMBOLS[0]))] * 100),
            ("1,500 anonymous unfinished bodies", "60/30", flood_bodies, None),
        ]:
            measure(chandler, store, seconds, name, rate, flood, work)
    finally:
        shutil.rmtree(store)


if __name__ == "__main__":
    main()
