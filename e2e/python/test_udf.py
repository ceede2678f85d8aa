"""TradingView's protocol: a datafeed written from its documentation, scrolling back through the
whole history."""

import datetime
import json
import unittest
import urllib.parse
import urllib.request

import conformance
import harness
import questions

DAY = 86_400
NOW = int(datetime.datetime.fromisoformat(harness.NOW).timestamp())


class Datafeed:
    """The datafeed of a chart. It knows only an address."""

    def __init__(self, url):
        self.url = url
        self.config = self.send("config")
        assert self.config["supports_search"] and not self.config["supports_group_request"]

    def send(self, path, **parameters):
        address = f"{self.url}/{path}?{urllib.parse.urlencode(parameters)}"
        request = urllib.request.Request(address, headers={"Origin": "https://charts.example"})
        with urllib.request.urlopen(request, timeout=harness.PATIENCE_S) as answer:
            assert answer.headers["access-control-allow-origin"] == "*"
            body = json.load(answer)
            if answer.headers.get_content_type() == conformance.JSON:
                parts = urllib.parse.urlsplit(address)
                conformance.check(parts.netloc, "GET", parts.path, answer.status, body)
            return body

    def history(self, info, resolution, **span):
        assert resolution in info["supported_resolutions"]
        answer = self.send("history", symbol=info["ticker"], resolution=resolution, firstDataRequest="false", **span)
        assert answer["s"] in ("ok", "no_data"), answer
        return answer

    def rows(self, answer):
        columns = [answer[name] for name in "tohlcv"]
        assert len({len(column) for column in columns}) == 1
        return list(zip(*columns))

    def back_by_count(self, info, resolution, count):
        """The whole history, requested as charts do that give a number of candles."""
        found, to = [], NOW
        while True:
            answer = self.history(info, resolution, **{"from": to - DAY}, to=to, countback=count)
            if answer["s"] == "no_data":
                assert "nextTime" not in answer
                return found
            rows = self.rows(answer)
            assert len(rows) <= count
            found, to = rows + found, rows[0][0]

    def back_by_span(self, info, resolution, span, until):
        """The same for charts that request by time span: the response to an empty span names the
        next older candle."""
        found, to, jumps = [], NOW, 0
        while to > until:
            answer = self.history(info, resolution, **{"from": to - span}, to=to)
            if answer["s"] == "no_data" and "nextTime" not in answer:
                break
            if answer["s"] == "no_data":
                assert answer["nextTime"] < to - span
                to, jumps = answer["nextTime"] + 1, jumps + 1
                continue
            found, to = self.rows(answer) + found, to - span
        return found, jumps


class Udf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()
        cls.feed = Datafeed(f"{cls.server.url}/udf/key/{cls.account['access_token']}")

    def info(self, ticker):
        return self.feed.send("symbols", symbol=ticker)

    def wanted(self, *arguments, zone=None):
        """The command line's output; days stamped as charts expect."""
        rows = []
        for stamp, *prices, volume, _, _ in questions.kline(self.server.store, arguments):
            at = datetime.datetime.fromtimestamp(stamp, datetime.timezone.utc)
            if zone:
                date = at.astimezone(zone).date()
                stamp = int(datetime.datetime.combine(date, datetime.time(), datetime.timezone.utc).timestamp())
            rows.append((stamp, *map(float, prices), volume))
        return rows

    def test_every_day_is_returned_once(self):
        import zoneinfo

        for ticker, adjust in (("CNDL.US", "none"), ("CNDL.US@forward", "forward")):
            info = self.info(ticker)
            wanted = self.wanted("CNDL.US", "--start", "2010-01-01", "--adjust", adjust,
                                 zone=zoneinfo.ZoneInfo(info["timezone"]))
            self.assertGreater(len(wanted), 3000)
            self.assertEqual(self.feed.back_by_count(info, "1D", 700), wanted)

    def test_spans_without_trading_are_skipped(self):
        until = NOW - 20 * DAY
        for ticker, session in (("9001.HK", "intraday"), ("CNDL.US@extended", "extended"), ("CNDL.US@all", "all")):
            found, jumps = self.feed.back_by_span(self.info(ticker), "5", DAY // 2, until)
            symbol = ticker.split("@")[0]
            wanted = self.wanted(symbol, "--period", "5m", "--start", "2026-10-20", "--session", session)
            found = [row for row in found if row[0] >= until]
            self.assertEqual(found, [row for row in wanted if row[0] >= until])
            self.assertGreater(jumps, 1, ticker)

    def test_every_resolution_is_answered(self):
        info = self.info("9001.HK")
        self.assertEqual(len(info["supported_resolutions"]), 18)
        for resolution in info["supported_resolutions"]:
            answer = self.feed.history(info, resolution, **{"from": 0}, to=NOW, countback=3)
            self.assertEqual(len(answer["t"]), 3, resolution)

    def test_what_is_found_can_be_resolved(self):
        for query in ("9001", "LAMPLIGHT", "灯港", "燈港"):
            found = self.feed.send("search", query=query, limit=30, type="", exchange="")
            self.assertEqual(found[0]["ticker"], "9001.HK", query)
            for row in found:
                self.assertEqual(self.info(row["ticker"])["ticker"], row["ticker"])

    def test_candles_are_within_the_announced_hours(self):
        import zoneinfo

        for ticker in ("9001.HK", "609001.SH", "CNDL.US", "CNDL.US@extended"):
            info = self.info(ticker)
            answer = self.feed.history(info, "1", **{"from": 0}, to=NOW, countback=3000)
            zone = zoneinfo.ZoneInfo(info["timezone"])
            clocks = {datetime.datetime.fromtimestamp(at, zone).strftime("%H%M") for at in answer["t"]}
            spans = [span.split("-") for span in info["session"].split(",")]
            outside = [clock for clock in clocks if not any(start <= clock < end for start, end in spans)]
            self.assertEqual(outside, [], ticker)

    def test_splits_and_dividends_are_marked(self):
        marks = self.feed.send("marks", symbol="CNDL.US", resolution="1D", to=NOW, **{"from": 0})
        self.assertGreater(len(marks), 1)
        days = {row[0] for row in self.feed.back_by_count(self.info("CNDL.US"), "1D", 10_000)}
        self.assertTrue(all(mark["time"] in days for mark in marks), marks)

    def test_the_time_is_the_markets(self):
        self.assertEqual(self.feed.send("time"), NOW)


if __name__ == "__main__":
    unittest.main()
