import datetime
import time
import zoneinfo

from longbridge.openapi import AdjustType, Config, OpenApiException, Period, QuoteContext

PAGE = 1000
TOO_FAST = 301606
MARKET = zoneinfo.ZoneInfo("Asia/Hong_Kong")


def history(quotes, symbol, period, since):
    """Every candle from a time on, oldest first. An answer has at most a thousand."""
    point, candles = since, []
    while True:
        try:
            page = quotes.history_candlesticks_by_offset(
                symbol, period, AdjustType.NoAdjust, True, PAGE, point)
        except OpenApiException as error:
            if error.code != TOO_FAST:
                raise
            time.sleep(5)
            continue
        # The point is included, so the next page begins with the end of this one.
        if candles and page and page[0].timestamp == candles[-1].timestamp:
            page = page[1:]
        candles += page
        if len(page) < PAGE - 1:
            return candles
        # The SDK gives times of the machine's zone and takes those of the market's.
        point = candles[-1].timestamp.astimezone(MARKET).replace(tzinfo=None)


quotes = QuoteContext(Config.from_apikey_env())
minutes = history(quotes, "9001.HK", Period.Min_1, datetime.datetime(2026, 10, 2))
stamps = [candle.timestamp for candle in minutes]
print(len(minutes), "minutes,", "ascending" if stamps == sorted(set(stamps)) else "disordered")
