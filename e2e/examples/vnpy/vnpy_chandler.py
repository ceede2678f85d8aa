"""A datafeed for vn.py that reads candles of a Chandler server over HTTP."""

import datetime
import json
import time
import urllib.error
import urllib.parse
import urllib.request

from vnpy.trader.constant import Exchange, Interval
from vnpy.trader.datafeed import BaseDatafeed
from vnpy.trader.object import BarData, HistoryRequest
from vnpy.trader.setting import SETTINGS

REGIONS = {
    Exchange.SEHK: "HK", Exchange.SSE: "SH", Exchange.SZSE: "SZ",
    Exchange.SMART: "US", Exchange.NASDAQ: "US", Exchange.NYSE: "US", Exchange.AMEX: "US",
}
PERIODS = {Interval.MINUTE: "1m", Interval.HOUR: "60m", Interval.DAILY: "day", Interval.WEEKLY: "week"}
TOO_FAST = 429


class Datafeed(BaseDatafeed):
    def __init__(self):
        self.url = SETTINGS["datafeed.username"]        # http://127.0.0.1:8080
        self.token = SETTINGS["datafeed.password"]      # the access token of the account

    def init(self, output=print):
        return True

    def query_bar_history(self, req: HistoryRequest, output=print):
        if req.exchange not in REGIONS or req.interval not in PERIODS:
            output(f"not served: {req.vt_symbol} {req.interval}")
            return []
        query = {
            "symbol": f"{req.symbol}.{REGIONS[req.exchange]}", "period": PERIODS[req.interval],
            "start": req.start.strftime("%Y-%m-%d"), "limit": 10000,
        }
        if req.end:
            query["end"] = req.end.strftime("%Y-%m-%d")
        bars = []
        while True:
            try:
                page = self.fetch(query)
            except urllib.error.HTTPError as error:
                if error.code == TOO_FAST:
                    time.sleep(int(error.headers["Retry-After"]))
                    continue
                output(json.load(error)["message"])
                return []
            found = [self.bar(req, candle) for candle in page["candlesticks"]]
            # With an end, pages go back in time; without one, forward.
            bars = found + bars if req.end else bars + found
            if not page["next"]:
                return bars
            query["next"] = page["next"]

    def fetch(self, query):
        address = f"{self.url}/v1/quote/history-candlesticks?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]

    @staticmethod
    def bar(req, candle):
        return BarData(
            gateway_name="CHANDLER", symbol=req.symbol, exchange=req.exchange, interval=req.interval,
            datetime=datetime.datetime.fromisoformat(candle["time"]), volume=candle["volume"],
            turnover=float(candle["turnover"]), open_price=float(candle["open"]), high_price=float(candle["high"]),
            low_price=float(candle["low"]), close_price=float(candle["close"]),
        )
