"""Indicators of the chart page compared with those of talipp, an independent implementation."""

import datetime
import itertools
import json
import random
import subprocess
import unittest

from talipp.indicators import ATR, OBV, SMA, VWAP, Ichimoku, SuperTrend
from talipp.indicators.SuperTrend import Trend
from talipp.ohlcv import OHLCV

import harness

SCRIPT = harness.ROOT / "crates/server/page/test/values.mjs"
DAYS, MINUTES = 6, 60
ZONE = datetime.timezone(datetime.timedelta(hours=8))


def candles():
    """Minutes of several days that rise, fall, stay, repeat, and sometimes have no volume."""
    chance = random.Random(20261119)
    price, made = 91_850, []
    for day, minute in itertools.product(range(DAYS), range(MINUTES)):
        time = datetime.datetime(2026, 3, 2 + day, 9, 30, tzinfo=ZONE) + datetime.timedelta(minutes=minute)
        is_still = minute % 17 < 3
        before = price
        price = price if is_still else max(price + chance.randint(-600, 600), 50)
        high = max(before, price) + (0 if is_still else chance.randint(0, 400))
        low = max(min(before, price) - (0 if is_still else chance.randint(0, 400)), 1)
        volume = 0 if minute % 13 == 0 else chance.randint(1, 5_000_000)
        made.append((time, before, high, low, price, volume))
    return made


MADE = candles()


def text(ticks):
    return f"{ticks // 1000}.{ticks % 1000:03}"


def lines(**view):
    """What the page computes, by the name of the line."""
    served = [
        {"timestamp": int(time.timestamp()), "time": time.isoformat(), "volume": volume, "turnover": "0.000"}
        | dict(zip(("open", "high", "low", "close"), map(text, prices)))
        for time, *prices, volume in MADE
    ]
    asked = json.dumps({"view": {"period": "1m"} | view, "candles": served})
    ran = subprocess.run(["node", str(SCRIPT)], input=asked, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return {line["label"]: line for line in json.loads(ran.stdout)}


def theirs(rows):
    return [OHLCV(*(price / 1000 for price in prices), volume, time) for time, *prices, volume in rows]


ALL = theirs(MADE)


class Indicators(unittest.TestCase):
    def same(self, ours, other, first=0):
        """Compares two columns, including where they have no value."""
        self.assertEqual(len(ours), len(other))
        self.assertGreater(sum(value is not None for value in other[first:]), 100)
        for at, (own, value) in enumerate(zip(ours, other)):
            if at < first:
                continue
            if value is None or own is None:
                self.assertEqual(own, value, at)
            else:
                self.assertAlmostEqual(own, value, delta=max(abs(value), 1) * 1e-9, msg=str(at))

    def test_vwap_is_the_same_in_each_day(self):
        days = [MADE[at : at + MINUTES] for at in range(0, len(MADE), MINUTES)]
        self.same(lines(vwap="on")["VWAP"]["values"], [value for day in days for value in VWAP(theirs(day))])

    def test_average_true_ranges_are_the_same(self):
        found = lines(atr="1,14")
        for length in (1, 14):
            self.same(found[f"ATR {length}"]["values"], list(ATR(length, ALL)))

    def test_on_balance_volume_is_the_same(self):
        self.same(lines(obv="on")["OBV"]["values"], list(OBV(ALL)))

    def test_averages_of_volumes_are_the_same(self):
        volumes = [volume for *_, volume in MADE]
        found = lines(vma="5,20")
        for length in (5, 20):
            self.same(found[f"VMA {length}"]["values"], list(SMA(length, volumes)))

    def test_ichimoku_is_the_same(self):
        found = lines(ichimoku="9,26,52,26")
        values = list(Ichimoku(26, 9, 26, 52, 26, ALL))
        self.same(found["Tenkan"]["values"], [value.conversion_line for value in values])
        self.same(found["Kijun"]["values"], [value.base_line for value in values])
        # Theirs ends at the newest candle, ours 26 candles later.
        self.same(found["Span A"]["values"][: len(values)], [value.cloud_leading_fast_line for value in values])
        # Their slow span is one candle late, so the middle of its length is moved here.
        slow = [value.base_line for value in Ichimoku(52, 9, 26, 52, 26, ALL)]
        self.same(found["Span B"]["values"], [None] * 26 + slow)
        # The close of the candle 26 later.
        self.same(found["Chikou"]["values"][:-26], [value.lagging_line for value in values[26:]])
        self.assertEqual(found["Chikou"]["values"][-26:], [None] * 26)
        # What it draws after the newest candle, from the newest middles.
        last = values[-1]
        self.assertAlmostEqual(found["Span A"]["values"][-1], (last.base_line + last.conversion_line) / 2)

    def test_supertrend_is_the_same_with_its_trend(self):
        for length, width in ((10, 3), (7, 1.5)):
            with self.subTest(length=length, width=width):
                line = lines(supertrend=f"{length},{width}")["SuperTrend"]
                values = list(SuperTrend(length, width, ALL))
                other = [None if value is None else value.value for value in values]
                falls = [None if value is None else int(value.trend == Trend.DOWN) for value in values]
                self.assertIsNone(line["values"][length - 2])
                self.assertIsNotNone(line["values"][length - 1])
                # Theirs starts with bands of zero. Both are the same from when each band has been crossed.
                flips = [at for at in range(length, len(falls)) if falls[at] != falls[at - 1]]
                self.assertGreater(len(flips), 4)
                self.same(line["values"], other, flips[2])
                self.assertEqual(line["isDown"][flips[2] :], falls[flips[2] :])
