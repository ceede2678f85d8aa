import queue

from longbridge.openapi import Config, QuoteContext, SubType

quotes = QuoteContext(Config.from_apikey_env())
pushes = queue.Queue()
quotes.set_on_quote(lambda symbol, quote: pushes.put((symbol, quote)))
quotes.subscribe(["9001.HK", "9002.HK"], [SubType.Quote])

# The first two are the present state.
for _ in range(10):
    symbol, quote = pushes.get(timeout=60)
    print(quote.timestamp, symbol, quote.last_done, quote.volume)
