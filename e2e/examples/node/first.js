const { AdjustType, Config, NaiveDate, Period, QuoteContext, TradeSessions } = require("longport");

async function main() {
  const quotes = await QuoteContext.new(Config.fromEnv());

  // The last five days.
  const days = await quotes.historyCandlesticksByOffset(
    "9001.HK", Period.Day, AdjustType.NoAdjust, false, null, 5, TradeSessions.Intraday);
  for (const day of days) {
    console.log(day.timestamp.toISOString(), day.open.toString(), day.close.toString(), day.volume);
  }

  // The days of October, prices brought to today's basis.
  const october = await quotes.historyCandlesticksByDate(
    "CNDL.US", Period.Day, AdjustType.ForwardAdjust,
    new NaiveDate(2026, 10, 1), new NaiveDate(2026, 10, 31), TradeSessions.Intraday);
  console.log(october.length, "days");

  // A day with its early and late hours.
  const day = new NaiveDate(2026, 11, 12);
  const minutes = await quotes.historyCandlesticksByDate(
    "CNDL.US", Period.Min_5, AdjustType.NoAdjust, day, day, TradeSessions.All);
  console.log(minutes.length, "candles");

  // What cannot be answered.
  try {
    await quotes.historyCandlesticksByOffset(
      "1.HK", Period.Day, AdjustType.NoAdjust, false, null, 5, TradeSessions.Intraday);
  } catch (error) {
    console.log(error.message);
  }
}

// The connection stays open and would keep the process alive.
main().then(() => process.exit(0));
