"""A client in a separate process that repeats one query without pause, until its output is closed.

The SDK's calls hold the interpreter lock while they wait, so another thread could not restart a
server.
Reads credentials and query from standard input; writes a line for each call: a digest of the
response, or the error.
"""

import hashlib
import json
import sys


def digest(rows):
    return hashlib.sha256(repr(rows).encode()).hexdigest()


if __name__ == "__main__":
    import harness
    import questions
    from longbridge.openapi import Config, QuoteContext

    plan = json.load(sys.stdin)
    account, url, socket_url = plan["account"], plan["url"], plan["socket_url"]
    config = Config.from_apikey(
        account["app_key"], account["app_secret"], account["access_token"],
        http_url=url, quote_ws_url=socket_url, trade_ws_url=socket_url, enable_print_quote_packages=False,
    )
    quotes = QuoteContext(config)
    deadline = harness.time.monotonic() + harness.SERVER_LIFE_S
    while harness.time.monotonic() < deadline:
        try:
            line = digest(questions.ask(quotes, plan["question"]))
        except Exception as error:
            line = repr(error)
        try:
            print(line, flush=True)
        except BrokenPipeError:
            # The interpreter would report it again at exit.
            harness.os._exit(0)
