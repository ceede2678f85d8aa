"""The shared scenarios as SDK calls, and the output of `chandler kline` for the same queries."""

import datetime
import functools
import json

from longbridge.openapi import AdjustType, Period, TradeSession, TradeSessions

import harness

PERIODS = {
    "1m": Period.Min_1, "2m": Period.Min_2, "3m": Period.Min_3, "5m": Period.Min_5, "10m": Period.Min_10,
    "15m": Period.Min_15, "20m": Period.Min_20, "30m": Period.Min_30, "45m": Period.Min_45, "60m": Period.Min_60,
    "120m": Period.Min_120, "180m": Period.Min_180, "240m": Period.Min_240, "day": Period.Day, "week": Period.Week,
    "month": Period.Month, "quarter": Period.Quarter, "year": Period.Year,
}
ADJUSTS = {"none": AdjustType.NoAdjust, "forward": AdjustType.ForwardAdjust}
SESSIONS = {"intraday": TradeSessions.Intraday, "all": TradeSessions.All}
# By their codes; the SDK's values are not hashable.
SESSION_VALUES = [TradeSession.Intraday, TradeSession.Pre, TradeSession.Post, TradeSession.Overnight]
PAGE = 1000


def load(name):
    """The queries of a file, each for every period and adjustment that it lists."""
    questions = []
    for one in json.loads((harness.SCENARIOS / name).read_text()):
        periods = list(PERIODS) if one["period"] == "*" else [one["period"]]
        adjusts = list(ADJUSTS) if one.get("adjust") == "*" else [one.get("adjust", "none")]
        questions += [{**one, "period": period, "adjust": adjust} for period in periods for adjust in adjusts]
    return questions


def ask(quotes, question):
    """The SDK's response, as comparable rows."""
    period, adjust = PERIODS[question["period"]], ADJUSTS[question["adjust"]]
    sessions = SESSIONS[question.get("session", "intraday")]
    if "offset" in question:
        offset = question["offset"]
        time = datetime.datetime.fromisoformat(offset["time"]) if offset.get("time") else None
        answer = quotes.history_candlesticks_by_offset(
            question["symbol"], period, adjust, offset["forward"], offset["count"], time, sessions)
    else:
        date = lambda text: datetime.date.fromisoformat(text) if text else None
        dates = question["dates"]
        answer = quotes.history_candlesticks_by_date(
            question["symbol"], period, adjust, date(dates.get("start")), date(dates.get("end")), sessions)
    return rows(answer)


def rows(candles):
    return [
        (int(utc(candle.timestamp).timestamp()), str(candle.open), str(candle.high), str(candle.low), str(candle.close),
         candle.volume, str(candle.turnover), SESSION_VALUES.index(candle.trade_session))
        for candle in candles
    ]


def utc(time):
    """The SDK returns naive times in the machine's zone; here that zone is UTC."""
    return time.replace(tzinfo=datetime.timezone.utc) if time.tzinfo is None else time


def expected(store, question, overnight):
    """The command line's response to the same query, in the same rows."""
    arguments = [question["symbol"], "--period", question["period"], "--adjust", question["adjust"]]
    everything = "all" if overnight else "extended"
    arguments += ["--session", everything if question.get("session") == "all" else "intraday"]
    first = False
    if "offset" in question:
        offset = question["offset"]
        arguments += ["-n", str(offset["count"])]
        if offset.get("time"):
            arguments += ["--after" if offset["forward"] else "--before", offset["time"].replace("T", " ")]
        else:
            assert not offset["forward"], "the command line cannot ask this"
    else:
        start, end = question["dates"].get("start"), question["dates"].get("end")
        arguments += ["--start", start] if start else []
        arguments += ["--end", end] if end else []
        arguments += ["-n", str(PAGE)] if not (start or end) else []
        # A range of more than a page returns the page nearest its end; without an end, the one
        # nearest its start.
        first = bool(start) and not end
    found = kline(store, tuple(arguments))
    return found[:PAGE] if first else found[-PAGE:]


@functools.cache
def kline(store, arguments):
    answer = json.loads(harness.chandler(store, "kline", *arguments, "--format", "json"))
    return [
        (candle["timestamp"], candle["open"], candle["high"], candle["low"], candle["close"], candle["volume"],
         candle["turnover"], candle["trade_session"])
        for candle in answer["candlesticks"]
    ]
