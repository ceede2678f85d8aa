"""A request through a proxy with the Python SDK, and the connection as an operator sees it; part of try.sh.

    ask.py URL ACCOUNT.json OPERATOR.json ADDRESS     over WebSocket; the connection must come from ADDRESS
    ask.py --tcp HOST:PORT                            the handshake of raw TCP, up to the refusal of an empty sign-in
"""

import json
import socket
import sys
import urllib.request


def over_websocket(url, account, operator, address):
    from longbridge.openapi import AdjustType, Config, Period, QuoteContext

    socket_url = url.replace("http", "ws", 1) + "/v2"
    config = Config.from_apikey(
        account["app_key"], account["app_secret"], account["access_token"],
        http_url=url, quote_ws_url=socket_url, trade_ws_url=socket_url, enable_print_quote_packages=False,
    )
    quotes = QuoteContext(config)
    candles = quotes.history_candlesticks_by_offset("CNDL.US", Period.Day, AdjustType.NoAdjust, False, 5)
    print(f"SDK: {len(candles)} candles, the last at {candles[-1].timestamp}")
    request = urllib.request.Request(url + "/v1/connections?account=all")
    request.add_header("authorization", "Bearer " + operator["access_token"])
    connections = json.load(urllib.request.urlopen(request))["data"]
    connections = connections.get("connections", connections) if isinstance(connections, dict) else connections
    seen = [(one["door"], one["address"]) for one in connections]
    print(f"connections: {seen}")
    assert seen and all(of.split(":")[0] == address for _, of in seen), seen


def over_tcp(address):
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=5) as stream:
        # Version 1, protobuf, a platform; then an empty sign-in: request, command 2, id 1, 5 s, no body.
        stream.sendall(bytes([0b0001_0001, 0b0000_1001]) + bytes([1, 2, 0, 0, 0, 1, 0x13, 0x88, 0, 0, 0]))
        answer = stream.recv(64)
    assert answer and answer[0] & 0x0F in (2, 3), answer
    print(f"raw TCP: {len(answer)} bytes of an answer")


if __name__ == "__main__":
    if sys.argv[1] == "--tcp":
        over_tcp(sys.argv[2])
    else:
        url, account, operator, address = sys.argv[1:]
        over_websocket(url, json.load(open(account)), json.load(open(operator)), address)
