// Volatility and trends over columns of integers: the average true range, SuperTrend, Ichimoku.

import { settledAfter, wilderAverage } from './averages.js';
import { extremes } from './oscillators.js';

/** The extent of a candle, including the gap from the close before it; Wilder's average of that. */
export function averageTrueRange({ high, low, close }, length) {
  const ranges = new Float64Array(close.length);
  for (let at = 0; at < close.length; at += 1) {
    const before = at > 0 ? close[at - 1] : low[at];
    ranges[at] = Math.max(high[at], before) - Math.min(low[at], before);
  }
  return wilderAverage(ranges, length);
}

/** After how many candles the average true range no longer depends on those before. */
export const rangeSettledAfter = (length) => settledAfter(1, length) + length;

/**
 * A line below the candles of a rising trend and above those of a falling one, at `width` average
 * true ranges from the middle of a candle; it moves only toward the candles. `isDown` is 1 where
 * the trend falls.
 *
 * The line depends on the whole history. If that is not loaded, the bands and the trend are tracked
 * as the range of their possible values, and the line begins where only one is left.
 */
export function superTrend(ticks, length, width, reachesBeginning) {
  const { high, low, close } = ticks;
  const range = averageTrueRange(ticks, length);
  const values = new Float64Array(close.length).fill(NaN);
  const isDown = new Uint8Array(close.length);
  const first = reachesBeginning ? length - 1 : rangeSettledAfter(length);
  // The lower band is the upper one of the negated prices.
  const bands = [new Band(1), new Band(-1)];
  let falls;
  for (let at = first; at < close.length; at += 1) {
    const middle = (high[at] + low[at]) / 2;
    const isStart = at === first && reachesBeginning;
    for (const band of bands) band.move(middle + band.sign * width * range[at], isStart ? undefined : close[at - 1]);
    falls = isStart || trendAfter(falls, close[at], bands);
    const value = bands[falls ? 0 : 1].known;
    if (falls === undefined || value === undefined) continue;
    values[at] = value;
    isDown[at] = Number(falls);
  }
  return { values, isDown };
}

/** Whether the trend falls after a close; undefined if that depends on the unknown history. */
function trendAfter(falls, close, [upper, lower]) {
  const [above, below] = [upper.isCrossed(close), lower.isCrossed(close)];
  if (falls === true) return above === undefined ? undefined : !above;
  if (falls === false) return below;
  // A close beyond a band decides an unknown trend.
  return below === true ? true : above === true ? false : undefined;
}

/** A band that moves only toward the candles, until a close beyond it; `sign` is 1 for the upper. */
class Band {
  constructor(sign) {
    Object.assign(this, { sign, least: -Infinity, most: Infinity });
  }

  /** The only possible value; undefined if there are several. */
  get known() {
    return this.least === this.most ? this.sign * this.least : undefined;
  }

  /** Whether a close is beyond the band; undefined if only for some of the possible values. */
  isCrossed(close) {
    const own = this.sign * close;
    return own > this.most ? true : own > this.least ? undefined : false;
  }

  /** `basic` is the band of this candle alone, `before` the previous close; undefined at the start. */
  move(basic, before) {
    const [next, close] = [this.sign * basic, this.sign * before];
    const [least, most] = [Math.max(this.least, close), Math.min(this.most, next)];
    const isReset = before === undefined || least > most;
    const hasReset = this.least < close || this.most > next;
    this.most = isReset || hasReset ? next : this.most;
    this.least = isReset ? next : least;
  }
}

/**
 * The middles between the highest and the lowest of two lengths; their mean, and the middle of a
 * third length, moved forward by `shift` candles, beyond the newest one; the close moved back.
 */
export function ichimoku({ high, low, close }, conversionLength, baseLength, spanLength, shift) {
  const middle = (length) => {
    const [top, bottom] = [extremes(high, length, 1), extremes(low, length, -1)];
    for (let at = 0; at < top.length; at += 1) top[at] = at < length - 1 ? NaN : (top[at] + bottom[at]) / 2;
    return top;
  };
  const moved = (column) => {
    const out = new Float64Array(column.length + shift).fill(NaN);
    out.set(column, shift);
    return out;
  };
  const [conversion, base] = [middle(conversionLength), middle(baseLength)];
  const lagging = new Float64Array(close.length).fill(NaN);
  lagging.set(close.subarray(shift));
  return { conversion, base, fast: moved(conversion.map((value, at) => (value + base[at]) / 2)), slow: moved(middle(spanLength)), lagging };
}
