import os

from longbridge.openapi import AdjustType, Config, OAuthBuilder, Period, QuoteContext


def no_browser(address):
    raise SystemExit(f"there is no token file: run `chandler login` first (the SDK wants {address})")


# `chandler login` has left a token file for this client id, and prints it.
oauth = OAuthBuilder(os.environ["CLIENT_ID"]).build(no_browser)
quotes = QuoteContext(Config.from_oauth(oauth))
print(len(quotes.history_candlesticks_by_offset("9001.HK", Period.Day, AdjustType.NoAdjust, False, 5)), "candles")
