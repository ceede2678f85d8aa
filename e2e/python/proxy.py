"""A TCP proxy with fault injection, in a separate process: the SDK's calls hold the interpreter
lock while they wait, so another thread would forward nothing.

    proxy = Proxy(["127.0.0.1:5432"])     # connects to the first of its targets that accepts
    proxy.address                          # where it listens
    proxy.to(["127.0.0.1:5433"])           # new connections go there; open ones stay
    proxy.set("drop")                      # what happens to bytes and connections, see MODES

It ends with the process that started it."""

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
import threading

PATIENCE_S = 30
MODES = {
    "pass": "bytes go through",
    "hold": "bytes wait, in both directions, and continue with the next `pass`: a stalled network",
    "drop": "bytes are lost in both directions without an error: an unplugged cable",
    "mute": "requests go through, responses are lost",
    "refuse": "open connections are reset, and new ones immediately: a machine without the program",
}


class Proxy:
    """The proxy as used by a test."""

    def __init__(self, targets, turns=False, listen="127.0.0.1:0"):
        command = [sys.executable, __file__, listen, "turns" if turns else "first", *targets]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        self.address = self.answer()["listening"]
        self.port = int(self.address.rsplit(":", 1)[1])

    def answer(self):
        line = self.process.stdout.readline()
        assert line, "the proxy has ended"
        return json.loads(line)

    def send(self, **words):
        """Sends a command; it has taken effect when this returns."""
        with self.lock:
            print(json.dumps(words), file=self.process.stdin, flush=True)
            return self.answer()

    def to(self, targets):
        self.send(targets=targets)

    def set(self, mode):
        assert mode in MODES, mode
        self.send(mode=mode)

    def reset(self):
        """Resets open connections; new ones are accepted."""
        self.send(reset=True)

    def open_connections(self):
        return self.send()["open"]

    def connections(self):
        """How many connections it has made to its targets so far."""
        return self.send()["made"]

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(PATIENCE_S)
        self.process.stdout.close()


class Link:
    """One client connection, and its connection to the target."""

    def __init__(self, relay, client):
        self.relay, self.client, self.target = relay, client, None
        # Bytes were lost: it can only be reset.
        self.is_broken = False

    async def run(self):
        try:
            self.target = await self.relay.connect()
            self.relay.made += 1
            (here, out), (there, back) = self.client, self.target
            await asyncio.gather(self.forward(here, back, "mute"), self.forward(there, out, None))
        except OSError:
            # One side was reset, or the target is unreachable: reset the other.
            self.is_broken = True
        finally:
            self.relay.links.discard(self)
            self.reset() if self.is_broken else self.end()

    async def forward(self, reader, writer, passing):
        """Copies one direction, while the mode is `pass` or `passing`."""
        while data := await reader.read(65_536):
            while self.relay.mode == "hold":
                await self.relay.changed()
            if self.relay.mode in ("pass", passing):
                if not self.is_broken:
                    writer.write(data)
                    await writer.drain()
            else:
                self.is_broken = True
        while self.relay.mode in ("hold", "drop"):
            # The end of a connection is not forwarded either.
            await self.relay.changed()
        if self.is_broken:
            raise OSError("something was lost")
        if writer.can_write_eof():
            writer.write_eof()

    def reset(self):
        for pair in filter(None, (self.client, self.target)):
            raw = pair[1].get_extra_info("socket")
            try:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass
            pair[1].transport.abort()

    def end(self):
        for pair in filter(None, (self.client, self.target)):
            pair[1].close()


class Relay:
    def __init__(self, targets, turns):
        self.targets, self.turns, self.turn = targets, turns, 0
        self.mode, self.links, self.made = "pass", set(), 0
        self.change = asyncio.Event()

    async def changed(self):
        await self.change.wait()

    async def accept(self, reader, writer):
        link = Link(self, (reader, writer))
        if self.mode == "refuse":
            return link.reset()
        self.links.add(link)
        while self.mode in ("hold", "drop"):
            # The kernel has accepted the connection, but it gets no answer.
            await self.changed()
            if link not in self.links:
                return None
        await link.run()

    async def connect(self):
        """A connection to the first target that accepts; with `turns`, starting after the last one
        used."""
        order = self.targets
        if self.turns and order:
            self.turn = (self.turn + 1) % len(order)
            order = order[self.turn:] + order[:self.turn]
        for target in order:
            host, port = target.rsplit(":", 1)
            try:
                return await asyncio.wait_for(asyncio.open_connection(host, int(port)), 2)
            except (OSError, asyncio.TimeoutError):
                continue
        # As a client sees a machine without the program.
        raise ConnectionRefusedError

    def reset(self, links):
        for link in list(links):
            self.links.discard(link)
            link.is_broken = True
            link.reset()

    def do(self, words):
        self.targets = words.get("targets", self.targets)
        if mode := words.get("mode"):
            self.mode = mode
            if mode == "refuse":
                self.reset(self.links)
            elif mode == "pass":
                # A connection that has lost bytes cannot continue.
                self.reset(link for link in self.links if link.is_broken)
            self.change.set()
            self.change = asyncio.Event()
        if words.get("reset"):
            self.reset(self.links)
        return {"open": len(self.links), "made": self.made}


async def main(listen, turns, targets):
    relay = Relay(targets, turns == "turns")
    host, port = listen.rsplit(":", 1)
    server = await asyncio.start_server(relay.accept, host, int(port))
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    host, port = server.sockets[0].getsockname()
    print(json.dumps({"listening": f"{host}:{port}"}), flush=True)
    while line := await commands.readline():
        print(json.dumps(relay.do(json.loads(line))), flush=True)
    # Open connections end with the process; closed one by one, each would log an error.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
