import queue

from longbridge.openapi import Config, Period, QuoteContext

quotes = QuoteContext(Config.from_apikey_env())
complete = queue.Queue()


def on_candlestick(symbol, push):
    """Called with every change. A candle is confirmed when the next one has opened."""
    if push.is_confirmed:
        complete.put(push.candlestick)


quotes.set_on_candlestick(on_candlestick)
so_far = quotes.subscribe_candlesticks("9001.HK", Period.Min_1)
print(len(so_far), "minutes so far")
for _ in range(3):
    candle = complete.get(timeout=60)
    print(candle.timestamp, candle.open, candle.high, candle.low, candle.close, candle.volume)

# All of them, with the running minute.
candles = quotes.realtime_candlesticks("9001.HK", Period.Min_1)
print("now", candles[-1].close)
