from longbridge.openapi import AdjustType, Config, OpenApiException, Period, QuoteContext

quotes = QuoteContext(Config.from_apikey_env())


def ask(symbol, count):
    try:
        candles = quotes.history_candlesticks_by_offset(symbol, Period.Day, AdjustType.NoAdjust, False, count)
        print(symbol, len(candles), "candles")
    except OpenApiException as error:
        print(symbol, error.code, error.message)


ask("9001.HK", 10)
ask("1.HK", 10)
ask("9001.HK", 1001)
ask("CNDL270115C100000.US", 10)
