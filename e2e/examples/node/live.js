const { Config, Period, QuoteContext, SubType, TradeSessions } = require("longport");

async function main() {
  const quotes = await QuoteContext.new(Config.fromEnv());
  const received = { quotes: 0, candles: 0 };
  const done = new Promise((resolve) => {
    const count = (kind) => {
      received[kind] += 1;
      if (received.quotes >= 10 && received.candles >= 3) resolve();
    };
    quotes.setOnQuote((error, { symbol, data }) => {
      if (error) throw error;
      console.log(data.timestamp.toISOString(), symbol, data.lastDone.toString(), data.volume);
      count("quotes");
    });
    // Called with every change. A candle is confirmed when the next one has opened.
    quotes.setOnCandlestick((error, { symbol, data: { candlestick, isConfirmed } }) => {
      if (error) throw error;
      if (!isConfirmed) return;
      console.log("minute", candlestick.timestamp.toISOString(), symbol, candlestick.close.toString(), candlestick.volume);
      count("candles");
    });
  });

  await quotes.subscribe(["9001.HK", "9002.HK"], [SubType.Quote], true);
  const soFar = await quotes.subscribeCandlesticks("9001.HK", Period.Min_1, TradeSessions.Intraday);
  console.log(soFar.length, "minutes so far");
  await done;
}

// The connection stays open and would keep the process alive.
main().then(() => process.exit(0), (error) => {
  console.error(error.message);
  process.exit(1);
});
