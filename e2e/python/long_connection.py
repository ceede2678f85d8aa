"""A long connection as plain bytes (docs/protocol.md): for cases that an SDK handles automatically
and that cannot be configured, such as signing in twice with one password. Over TCP, whose
packets need no frames."""

import socket
import struct

import harness

CLOSE, HEARTBEAT, AUTH, RECONNECT = range(4)
SUBSCRIBE = 6
REQUEST, RESPONSE, PUSH = 1, 2, 3
# Commands of pushes, and the types to subscribe to.
QUOTE_PUSH, TRADES_PUSH = 101, 104
QUOTE, TRADES = 1, 4


class Refused(Exception):
    """A response whose status is not 0: its status, code and message."""

    def __init__(self, status, code, words):
        super().__init__(f"{status}/{code} {words}")
        self.status, self.code, self.words = status, code, words


class Ended(Exception):
    """The server has closed the connection: with a code, or without a message."""

    def __init__(self, code=None, words=""):
        super().__init__(f"closed with {code}: {words}")
        self.code, self.words = code, words


def one_time_password(server, account):
    status, envelope = server.request("GET", "/v1/socket/token", account)
    assert status == 200, envelope
    return envelope["data"]["otp"]


class LongConnection:
    def __init__(self, server):
        host, port = server.tcp.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S)
        self.socket.sendall(bytes([0x11, 0x09]))
        self.next_id = 1
        # Pushes that were received and not yet returned: command and body.
        self.pushes = []

    def sign_in(self, otp):
        """Signs in; returns the id of the session, which another connection may resume."""
        return self.ask(AUTH, text_field(1, otp))[1].decode()

    def go_on(self, session):
        """Resumes the session of another connection, whose connection slot it takes."""
        return self.ask(RECONNECT, text_field(1, session))[1].decode()

    def ask(self, command, body=b""):
        """Sends a request; returns the fields of the response."""
        number, self.next_id = self.next_id, self.next_id + 1
        header = struct.pack(">BBIH", 1, command, number, 0) + len(body).to_bytes(3, "big")
        try:
            self.socket.sendall(header + body)
            while True:
                kind, of, answered, status, found = self.packet()
                if kind == RESPONSE and answered == number:
                    break
        except ConnectionError as error:
            raise Ended() from error
        if status:
            raise Refused(status, found.get(1), found.get(2, b"").decode())
        return found

    def subscribe(self, *symbols, types=(QUOTE, TRADES), first_push=True):
        """Subscribes to securities."""
        body = b"".join(text_field(1, symbol) for symbol in symbols)
        body += b"".join(number_field(2, one) for one in types) + number_field(3, int(first_push))
        self.ask(SUBSCRIBE, body)

    def next_push(self):
        """Waits for the next push; returns its command and body."""
        while not self.pushes:
            self.packet()
        return self.pushes.pop(0)

    def wait_for_end(self):
        """Reads until the server closes the connection; returns the reason."""
        try:
            while True:
                self.packet()
        except ConnectionError:
            return Ended()
        except Ended as ended:
            return ended

    def packet(self):
        kind, command = self.exactly(2)
        kind &= 0x0F
        answered, status = struct.unpack(">IB", self.exactly(5)) if kind == RESPONSE else (None, None)
        if kind == REQUEST:
            # The server's heartbeat has an id and a timeout.
            self.exactly(6)
        body = self.exactly(int.from_bytes(self.exactly(3), "big"))
        found = fields(body)
        if kind == PUSH and command == CLOSE:
            raise Ended(found.get(1, 0), found.get(2, b"").decode())
        if kind == PUSH:
            self.pushes.append((command, body))
        return kind, command, answered, status, found

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise Ended()
            data += more
        return data

    def close(self):
        self.socket.close()


def varint(number):
    data = b""
    while number > 0x7F:
        data, number = data + bytes([number & 0x7F | 0x80]), number >> 7
    return data + bytes([number])


def text_field(number, text):
    return varint(number << 3 | 2) + varint(len(text.encode())) + text.encode()


def number_field(number, value):
    return varint(number << 3) + varint(value)


def fields(body):
    """Fields of a message by number, the last of each: numbers, or bytes."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = body[at], at + 1
            value, shift = value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value

    while at < len(body):
        key = number()
        if key & 7 == 0:
            found[key >> 3] = number()
        else:
            assert key & 7 == 2, body
            length = number()
            found[key >> 3], at = body[at:at + length], at + length
    return found
