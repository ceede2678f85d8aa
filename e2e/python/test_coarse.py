"""Files of 5 and 60 minutes, queried with the SDK: their period and every multiple; minutes win
where they exist."""

import atexit
import datetime
import pathlib
import shutil
import tempfile
import unittest
import zoneinfo

import harness
import questions

NEW_YORK, HONG_KONG = zoneinfo.ZoneInfo("America/New_York"), zoneinfo.ZoneInfo("Asia/Hong_Kong")
US_HOURS = [("09:30", "16:00")]
HK_HOURS = [("09:30", "12:00"), ("13:00", "16:00")]
DAYS = ("2026-11-12", "2026-11-13")


def starts(days, hours, minutes, zone):
    """The starts of the candles of some days: counted from the opening of each segment."""
    for day in days:
        for segment in hours:
            at, end = (datetime.datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=zone) for time in segment)
            while at < end:
                yield at
                at += datetime.timedelta(minutes=minutes)


def table(symbol, times, volume):
    row = lambda at, time: f"{symbol},{time.isoformat()},{10 + at}.5,{11 + at}.5,{9 + at}.5,{10 + at}.5,{volume}\n"
    rows = "".join(row(at, time) for at, time in enumerate(times))
    return f"symbol,time,open,high,low,close,volume\n{rows}"


class Coarse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        store = pathlib.Path(tempfile.mkdtemp(prefix="store-", dir=harness.WORK))
        atexit.register(shutil.rmtree, store, ignore_errors=True)
        files = {
            # Two days of five minutes, and minutes of the second day; hours only in Hong Kong.
            "fives.csv": table("FIVE.US", starts(DAYS, US_HOURS, 5, NEW_YORK), 10),
            "minutes.csv": table("FIVE.US", starts(DAYS[1:], US_HOURS, 1, NEW_YORK), 3),
            "hours.csv": table("60.HK", starts(DAYS, HK_HOURS, 60, HONG_KONG), 100),
        }
        for name, text in files.items():
            (store / name).write_text(text)
        cls.output = harness.chandler(store, "import", *(store / name for name in files))
        cls.server = harness.Server(store=store)
        cls.account = cls.server.account("ann")

    def ask(self, quotes, symbol, period, day=None):
        dates = {"start": day or DAYS[0], "end": day or DAYS[1]}
        return questions.ask(quotes, {"symbol": symbol, "period": period, "adjust": "none", "dates": dates})

    def check(self, transport):
        quotes = self.server.quotes(self.account, transport)
        for minutes in (5, 10, 15, 20, 30, 45, 60, 120, 180, 240):
            with self.subTest(minutes=minutes):
                rows = self.ask(quotes, "FIVE.US", f"{minutes}m")
                wanted = [int(at.timestamp()) for at in starts(DAYS, US_HOURS, minutes, NEW_YORK)]
                self.assertEqual([row[0] for row in rows], wanted)
                # Nothing is counted twice: the first day comes from the file, the second from the
                # minutes.
                first = [row[5] for row in rows[: len(rows) // 2]]
                second = [row[5] for row in rows[len(rows) // 2 :]]
                self.assertEqual((sum(first), sum(second)), (78 * 10, 390 * 3))
                self.assertEqual((first[0], second[0]), (minutes // 5 * 10, minutes * 3))
                words = ("FIVE.US", "--period", f"{minutes}m", "--start", DAYS[0], "--end", DAYS[1])
                self.assertEqual(rows, questions.kline(self.server.store, words))
        # Five-minute candles are not split into minutes, nor merged into days.
        self.assertEqual(self.ask(quotes, "FIVE.US", "1m", DAYS[0]), [])
        self.assertEqual(len(self.ask(quotes, "FIVE.US", "1m", DAYS[1])), 390)
        self.assertEqual(self.ask(quotes, "FIVE.US", "day", DAYS[0]), [])
        for period, count in {"60m": 6, "120m": 4, "180m": 2, "240m": 2, "30m": 0, "5m": 0, "1m": 0}.items():
            with self.subTest(period=period):
                rows = self.ask(quotes, "60.HK", period)
                self.assertEqual((len(rows), sum(row[5] for row in rows)), (2 * count, 1200 if count else 0))

    def test_coarse_files_answer_over_the_long_connection(self):
        self.check("ws")

    def test_coarse_files_answer_over_http(self):
        self.check("http")

    def test_the_import_says_which_candles_answer(self):
        self.assertIn("FIVE.US has candles of 1m and 5m over the same time", self.output)
        self.assertIn("60.HK: 60-minute candles (a guess", self.output)


if __name__ == "__main__":
    unittest.main()
