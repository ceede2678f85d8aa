"""Paging through history as a client would: nothing twice, nothing left out."""

import datetime
import unittest
import zoneinfo

import harness
import questions

WALKS = [
    # symbol, period, session, first and last day, zone
    ("9001.HK", "1m", "intraday", "2026-11-02", "2026-11-13", "Asia/Hong_Kong"),
    ("CNDL.US", "5m", "all", "2026-10-19", "2026-11-13", "America/New_York"),
    ("609001.SH", "day", "intraday", "2015-01-05", "2026-11-13", "Asia/Shanghai"),
    ("CNDL.US", "day", "intraday", "2012-01-03", "2026-11-13", "America/New_York"),
]


class Paging(unittest.TestCase):
    def walk(self, quotes, walk, forward):
        """All candles of a range by pages of a thousand, each starting with the last candle of the
        previous one."""
        symbol, period, session, start, end, zone = walk
        zone = zoneinfo.ZoneInfo(zone)
        local = lambda row: datetime.datetime.fromtimestamp(row[0], zone).replace(tzinfo=None)
        date = start if forward else end
        time = f"{date}T00:00" if forward or period == "day" else f"{date}T23:59"
        found, pages = [], 0
        while True:
            offset = {"forward": forward, "count": 1000, "time": time}
            question = {"symbol": symbol, "period": period, "adjust": "forward", "session": session}
            page = questions.ask(quotes, {**question, "offset": offset})
            if found:
                # The anchor is included, and is the only candle that is repeated.
                again = page.pop(0 if forward else -1)
                self.assertEqual(again, found[-1] if forward else found[0])
            if not page:
                break
            found = found + page if forward else page + found
            pages += 1
            edge = local(found[-1] if forward else found[0])
            inside = edge.date().isoformat() <= end if forward else edge.date().isoformat() >= start
            if not inside:
                break
            time = edge.isoformat(timespec="minutes")
        self.assertGreater(pages, 2)
        return [row for row in found if start <= local(row).date().isoformat() <= end]

    def check(self, transport, overnight):
        server, account = harness.shared()
        quotes = server.quotes(account, transport, enable_overnight=overnight)
        for walk in WALKS:
            symbol, period, session, start, end, _ = walk
            sessions = {"intraday": "intraday", "all": "all" if overnight else "extended"}[session]
            arguments = (symbol, "--period", period, "--adjust", "forward", "--session", sessions)
            wanted = questions.kline(server.store, (*arguments, "--start", start, "--end", end))
            self.assertGreater(len(wanted), 2000)
            for forward in (False, True):
                with self.subTest(walk=walk, forward=forward):
                    self.assertEqual(self.walk(quotes, walk, forward), wanted)

    def test_pages_are_contiguous_over_the_long_connection(self):
        self.check("ws", overnight=True)

    def test_pages_are_contiguous_over_http(self):
        self.check("http", overnight=False)


if __name__ == "__main__":
    unittest.main()
