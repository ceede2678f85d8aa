"""A client of the public SDK in a separate process, which works through a plan and reports the
result of each item.

The SDK's calls hold the interpreter lock while they wait, so clients that run concurrently, or
while servers are killed, are processes. The plan is the first line of standard input; the client
connects, reports that it is ready, and starts at the next line. For each item of the plan it
writes a line: the item, the times of request and response by the machine's clock, and the
response or the refusal."""

import json
import subprocess
import sys
import threading

import harness


class Worker:
    """The process as used by a test."""

    def __init__(self, account, url, do, items, transport="http", repeat=False, insist=False, pause_s=0):
        """`repeat` restarts after the last item; `insist` retries an item until it gets a response.
        """
        self.lines, self.is_ready = [], False
        plan = {"account": account, "url": url, "do": do, "items": list(items), "transport": transport, "repeat": repeat,
                "insist": insist, "pause_s": pause_s}
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        harness.atexit.register(self.process.kill)
        print(json.dumps(plan), file=self.process.stdin, flush=True)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        for line in self.process.stdout:
            entry = json.loads(line)
            if "ready" in entry:
                self.is_ready = True
            else:
                self.lines.append(entry)

    def wait_until_ready(self):
        harness.wait_for(lambda: self.is_ready or self.process.poll() is not None, "a client")
        assert self.process.poll() is None, "the client has ended"

    def go(self):
        print("go", file=self.process.stdin, flush=True)

    def answered(self):
        """The lines of successful items."""
        return [line for line in list(self.lines) if "ok" in line]

    def refused(self):
        return [line for line in list(self.lines) if "ok" not in line]

    def wait_for_more(self, number, patience_s=harness.PATIENCE_S):
        """Waits until more items are done, not counting the running one."""
        enough = len(self.answered()) + 1 + number
        so_far = lambda: f"{number} more, after {len(self.answered())} and {self.refused()[-3:]}"
        harness.wait_for(lambda: len(self.answered()) >= enough or self.process.poll() is not None, so_far, patience_s)
        assert len(self.answered()) >= enough, "the client has ended"

    def wait_for_end(self, patience_s=120):
        """Waits until every item is done; all lines."""
        self.process.wait(patience_s)
        self.thread.join(harness.PATIENCE_S)
        assert self.process.returncode == 0, "the client failed"
        return self.lines

    def stop(self):
        """Stops it immediately; all lines until then."""
        self.process.kill()
        self.process.wait(harness.PATIENCE_S)
        self.thread.join(harness.PATIENCE_S)
        self.process.stdin.close()
        self.process.stdout.close()
        return self.lines


def start_together(workers):
    for worker in workers:
        worker.wait_until_ready()
    for worker in workers:
        worker.go()


def configuration(plan):
    from longbridge.openapi import Config, QuoteTransport

    account, url = plan["account"], plan["url"]
    socket_url = url.replace("http", "ws", 1) + "/v2"
    transports = {"ws": QuoteTransport.WebSocket, "http": QuoteTransport.Http}
    return Config.from_apikey(
        account["app_key"], account["app_secret"], account["access_token"], http_url=url, quote_ws_url=socket_url,
        trade_ws_url=socket_url, enable_print_quote_packages=False, quote_transport=transports[plan["transport"]])


def candles(plan):
    """Requests the last day of each symbol, or as many minutes as its suffix says: `700.HK 1000`.
    """
    from longbridge.openapi import AdjustType, Period, QuoteContext

    quotes = QuoteContext(configuration(plan))

    def ask(item):
        symbol, _, count = item.partition(" ")
        period = Period.Min_1 if count else Period.Day
        found = quotes.history_candlesticks_by_offset(symbol, period, AdjustType.NoAdjust, False, int(count or 1))
        return sorted({str(candle.close) for candle in found}) + [len(found)]

    return ask


def static(plan):
    """Requests the names of securities: over the long connection, and without a rate or a quota."""
    from longbridge.openapi import QuoteContext

    quotes = QuoteContext(configuration(plan))
    return lambda item: [one.name_en for one in quotes.static_info([item])]


def orders(plan):
    """Orders a hundred shares with each item as remark and as idempotency key: a repeated request
    is the same order."""
    from decimal import Decimal

    from longbridge.openapi import OrderSide, OrderType, TimeInForceType, TradeContext

    trade = TradeContext(configuration(plan))
    return lambda item: trade.submit_order(
        "700.HK", OrderType.LO, OrderSide.Buy, Decimal(100), TimeInForceType.Day, submitted_price=Decimal(290), remark=item,
        client_request_id=item).order_id


DO = {"candles": candles, "static": static, "orders": orders}


def run():
    from longbridge.openapi import OpenApiException

    def emit(**words):
        print(json.dumps(words), flush=True)

    plan = json.loads(sys.stdin.readline())
    do = DO[plan["do"]](plan)
    emit(ready=True)
    sys.stdin.readline()
    deadline = harness.time.monotonic() + harness.SERVER_LIFE_S
    again = True
    while again:
        again = plan["repeat"]
        for item in plan["items"]:
            entry = {}
            while "ok" not in entry and harness.time.monotonic() < deadline:
                entry = {"item": item, "sent": harness.time.monotonic()}
                try:
                    entry["ok"] = do(item)
                except OpenApiException as error:
                    entry |= {"code": error.code, "error": error.message}
                entry["got"] = harness.time.monotonic()
                emit(**entry)
                if not plan["insist"]:
                    break
                if "ok" not in entry:
                    # The server is unreachable: retrying in a tight loop would only take its
                    # processor.
                    harness.time.sleep(0.05)
            if plan["pause_s"]:
                harness.time.sleep(plan["pause_s"])


if __name__ == "__main__":
    try:
        run()
    except BrokenPipeError:
        # The interpreter would report it again at exit.
        harness.os._exit(0)
