// The figures of a security in a list, as loaded and as pushes continue them. No browser API is
// used here.

import { SESSION } from '../candles.js';
import { compared, minus, percentChange, signed } from '../decimal.js';

/**
 * A market's pause between two days is longer, a break within a day is shorter. A quote has no
 * previous close: on another day the figures are requested again.
 */
const PAUSE_S = 4 * 3600;

export class Ticker {
  /** A row of `/v1/inventory`. */
  constructor(row) {
    this.load(row);
  }

  load({ symbol, last, prev_close: before, volume, closes }) {
    const isOfToday = last !== null && closes.length > 0 && compared(closes.at(-1), last) === 0;
    Object.assign(this, { symbol, last, before, volume, at: undefined });
    // Without a candle of the newest day, the line ends with the last price.
    this.closes = (isOfToday || last === null ? closes : [...closes, last]).map(Number);
  }

  /** Takes a pushed quote: `changed`, `stale` if the row has to be requested again, or undefined. */
  take({ last_done: last, volume, timestamp, trade_session: session }) {
    // Outside regular hours the last regular price stays, as in a quote that is requested.
    if (session !== SESSION.intraday) return undefined;
    const isAnotherDay = this.at !== undefined && (timestamp - this.at >= PAUSE_S || timestamp < this.at);
    this.at = timestamp;
    if (isAnotherDay) return 'stale';
    if (last === this.last && volume === this.volume) return undefined;
    this.last = last;
    this.volume = volume;
    if (this.closes.length > 0) this.closes[this.closes.length - 1] = Number(last);
    return 'changed';
  }

  /** The change of the day as texts, and `rise`, `fall` or `level`; undefined if it is not known. */
  get change() {
    const { last, before } = this;
    if (!last || !before) return undefined;
    const percent = percentChange(last, before);
    const direction = ['fall', 'level', 'rise'][Math.sign(compared(last, before)) + 1];
    return { change: signed(minus(last, before)), percent: percent === undefined ? '–' : `${signed(percent)} %`, direction };
  }
}

/** The points of a sparkline within a box, as SVG wants them; empty for fewer than two closes. */
export function sparkline(closes, width, height) {
  if (closes.length < 2) return '';
  const [low, high] = [Math.min(...closes), Math.max(...closes)];
  const [step, scale] = [width / (closes.length - 1), high > low ? height / (high - low) : 0];
  const y = (close) => (scale ? (high - close) * scale : height / 2);
  return closes.map((close, at) => `${(at * step).toFixed(1)},${y(close).toFixed(1)}`).join(' ');
}

/** The order of two values of one column: without a value last, in both directions. */
function inOrder(one, other, sign) {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  return (one < other ? -1 : Number(one > other)) * sign;
}

const KEYS = {
  symbol: ({ symbol }) => symbol,
  last: (_, ticker) => (ticker?.last ? Number(ticker.last) : undefined),
  change: (_, ticker) => (ticker?.change ? Number(minus(ticker.last, ticker.before)) : undefined),
  percent: (_, ticker) => (ticker?.change ? Number(ticker.last) / Number(ticker.before) : undefined),
  volume: (_, ticker) => ticker?.volume ?? undefined,
};

export const isDescendingFirst = (order) => !['', 'symbol', 'name'].includes(order);

/** Securities by a column of their tickers; `''` keeps their order. */
export function sorted(securities, tickers, order, direction) {
  const key = KEYS[order];
  if (!key) return securities;
  const sign = (direction || (isDescendingFirst(order) ? 'desc' : 'asc')) === 'asc' ? 1 : -1;
  const keyed = securities.map((one) => [one, key(one, tickers.get(one.symbol))]);
  return keyed.sort(([, one], [, other]) => inOrder(one, other, sign)).map(([one]) => one);
}
