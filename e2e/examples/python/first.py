import datetime

from longbridge.openapi import AdjustType, Config, Period, QuoteContext, TradeSessions

quotes = QuoteContext(Config.from_apikey_env())

# The last five days.
for candle in quotes.history_candlesticks_by_offset("9001.HK", Period.Day, AdjustType.NoAdjust, False, 5):
    print(candle.timestamp, candle.open, candle.high, candle.low, candle.close, candle.volume)

# Five minutes from a point of the market's time on, and five up to it. Both include the point.
point = datetime.datetime(2026, 11, 12, 11, 0)
after = quotes.history_candlesticks_by_offset("9001.HK", Period.Min_1, AdjustType.NoAdjust, True, 5, point)
before = quotes.history_candlesticks_by_offset("9001.HK", Period.Min_1, AdjustType.NoAdjust, False, 5, point)
print(before[-1].timestamp == after[0].timestamp)

# The days of October, prices brought to today's basis.
october = quotes.history_candlesticks_by_date(
    "CNDL.US", Period.Day, AdjustType.ForwardAdjust, datetime.date(2026, 10, 1), datetime.date(2026, 10, 31))
print(len(october), "days")

# A day with its early and late hours.
day = datetime.date(2026, 11, 12)
minutes = quotes.history_candlesticks_by_date(
    "CNDL.US", Period.Min_5, AdjustType.NoAdjust, day, day, TradeSessions.All)
print(len(minutes), "candles, the first:", minutes[0].trade_session)
