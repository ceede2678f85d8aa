// Candles as a file that `chandler import` can read: numbers unchanged from the response, times
// with the market's offset.

const COLUMNS = ['open', 'high', 'low', 'close', 'volume', 'turnover'];

export function csvOf(symbol, candles) {
  const lines = candles.map(({ time, text }) => [symbol, time, ...COLUMNS.map((name) => text[name])].join(','));
  return `${['symbol', 'time', ...COLUMNS].join(',')}\n${lines.map((line) => `${line}\n`).join('')}`;
}

/** A file name that describes its content. */
export function fileName({ symbol, period, adjust }, candles, ending) {
  const date = (candle) => candle.time.slice(0, 10);
  const basis = adjust === 'forward' ? '-adjusted' : '';
  return `${symbol}-${period}${basis}-${date(candles[0])}-${date(candles.at(-1))}.${ending}`;
}
