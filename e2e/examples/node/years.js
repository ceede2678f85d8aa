const { AdjustType, Config, NaiveDate, NaiveDatetime, Period, QuoteContext, Time, TradeSessions } = require("longport");

const PAGE = 1000;

// A time of the market, as the SDK takes it, of an instant, as it gives it.
function marketTime(instant, zone) {
  const text = instant.toLocaleString("sv-SE", { timeZone: zone });
  const [year, month, day, hour, minute] = text.split(/[- :]/).map(Number);
  return new NaiveDatetime(new NaiveDate(year, month, day), new Time(hour, minute, 0));
}

// Every candle from a time on, oldest first. An answer has at most a thousand.
async function history(quotes, symbol, period, since, zone) {
  const candles = [];
  let point = since;
  for (;;) {
    let page;
    try {
      page = await quotes.historyCandlesticksByOffset(
        symbol, period, AdjustType.NoAdjust, true, point, PAGE, TradeSessions.Intraday);
    } catch (error) {
      if (!error.message.includes("301606")) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5000));
      continue;
    }
    // The point is included, so the next page begins with the end of this one.
    const last = candles.at(-1);
    if (last && page[0]?.timestamp.getTime() === last.timestamp.getTime()) page.shift();
    candles.push(...page);
    if (page.length < PAGE - 1) return candles;
    point = marketTime(candles.at(-1).timestamp, zone);
  }
}

async function main() {
  const quotes = await QuoteContext.new(Config.fromEnv());
  const since = new NaiveDatetime(new NaiveDate(2026, 10, 2), new Time(0, 0, 0));
  const minutes = await history(quotes, "9001.HK", Period.Min_1, since, "Asia/Hong_Kong");
  const ascending = minutes.every((one, row) => row === 0 || minutes[row - 1].timestamp < one.timestamp);
  console.log(minutes.length, "minutes,", ascending ? "ascending" : "disordered");
}

main().then(() => process.exit(0));
