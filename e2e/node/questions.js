// The shared scenarios with the Node SDK. Reads queries from standard input, writes a line of JSON
// for each response: rows, or the code and text of a refusal. The reader of this output compares
// them with the expected values.
"use strict";

const readline = require("node:readline");
const { AdjustType, Config, NaiveDate, NaiveDatetime, Period, QuoteContext, Time, TradeSessions } = require("longport");

const PERIODS = {
  "1m": Period.Min_1, "2m": Period.Min_2, "3m": Period.Min_3, "5m": Period.Min_5, "10m": Period.Min_10,
  "15m": Period.Min_15, "20m": Period.Min_20, "30m": Period.Min_30, "45m": Period.Min_45, "60m": Period.Min_60,
  "120m": Period.Min_120, "180m": Period.Min_180, "240m": Period.Min_240, day: Period.Day, week: Period.Week,
  month: Period.Month, quarter: Period.Quarter, year: Period.Year,
};
const ADJUSTS = { none: AdjustType.NoAdjust, forward: AdjustType.ForwardAdjust };
const SESSIONS = { intraday: TradeSessions.Intraday, all: TradeSessions.All };

// The SDK reads dates after the call has returned, and holds no reference to them: one that is
// garbage-collected meanwhile is sent as whatever its memory contains. So references are held here.
const retained = [];

function retain(value) {
  retained.push(value);
  return value;
}

function date(text) {
  return text ? retain(new NaiveDate(...text.split("-").map(Number))) : null;
}

function datetime(text) {
  if (!text) return null;
  const [day, time] = text.split("T");
  return retain(new NaiveDatetime(date(day), retain(new Time(...time.split(":").map(Number), 0))));
}

async function ask(quotes, question) {
  const { symbol, offset, dates } = question;
  const [period, adjust] = [PERIODS[question.period], ADJUSTS[question.adjust]];
  const sessions = SESSIONS[question.session ?? "intraday"];
  const candles = offset
    ? await quotes.historyCandlesticksByOffset(
        symbol, period, adjust, offset.forward, datetime(offset.time), offset.count, sessions)
    : await quotes.historyCandlesticksByDate(symbol, period, adjust, date(dates.start), date(dates.end), sessions);
  return candles.map((candle) => [
    candle.timestamp.getTime() / 1000, candle.open.toString(), candle.high.toString(), candle.low.toString(),
    candle.close.toString(), candle.volume, candle.turnover.toString(), candle.tradeSession,
  ]);
}

async function main() {
  const quotes = await QuoteContext.new(Config.fromEnv());
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer;
    try {
      answer = { rows: await ask(quotes, JSON.parse(line)) };
    } catch (error) {
      answer = { error: error.message, code: error.code };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}

// An open connection would prevent the process from ending. An exit discards what a full pipe has not
// accepted yet, so it follows the last write.
main().then(() => process.stdout.write("", () => process.exit(0)), (error) => {
  console.error(error);
  process.exit(1);
});
