"""Answers like Tushare, from a recording."""

import json
import pathlib

import pandas

RECORDED = json.loads((pathlib.Path(__file__).parent.parent / "tushare.json").read_text())
# Days in an answer; the service has 6,000.
DAYS = 3


class Pro:
    def daily(self, ts_code, end_date, limit):
        assert limit == 6000
        days = [day for day in RECORDED["daily"] if day["ts_code"] == ts_code and day["trade_date"] <= (end_date or "9")]
        return pandas.DataFrame(sorted(days, key=lambda day: day["trade_date"], reverse=True)[:DAYS])

    def dividend(self, ts_code):
        return pandas.DataFrame([row for row in RECORDED["dividend"] if row["ts_code"] == ts_code])


def pro_api(token):
    assert token == "recorded"
    return Pro()
