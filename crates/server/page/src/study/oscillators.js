// Indicators with a separate pane, over columns of integers. A missing value is NaN. Allocating
// columns of fifty thousand values is expensive, so columns that are no longer needed are
// overwritten.

import { exponentialAverage } from './averages.js';

/**
 * The fast exponential average minus the slow one, an average of that, and the difference of the
 * two.
 */
export function macd(close, fast, slow, signal) {
  const [difference, bars] = [exponentialAverage(close, fast), exponentialAverage(close, slow)];
  for (let at = 0; at < close.length; at += 1) difference[at] -= bars[at];
  const line = exponentialAverage(difference, signal);
  for (let at = 0; at < close.length; at += 1) bars[at] = difference[at] - line[at];
  return { difference, signal: line, bars };
}

/**
 * Rises as a percentage of all changes, each averaged as Wilder does, 0 to 100. Without any change
 * it is 50.
 */
export function relativeStrength(close, length) {
  const out = new Float64Array(close.length).fill(NaN);
  let [rises, falls] = [0, 0];
  for (let at = 1; at < close.length; at += 1) {
    const change = close[at] - close[at - 1];
    const [rise, fall] = change > 0 ? [change, 0] : [0, -change];
    if (at <= length) {
      rises += rise;
      falls += fall;
      if (at < length) continue;
      rises /= length;
      falls /= length;
    } else {
      rises = (rise + (length - 1) * rises) / length;
      falls = (fall + (length - 1) * falls) / length;
    }
    const all = rises + falls;
    out[at] = all === 0 ? 50 : (100 * rises) / all;
  }
  return out;
}

/**
 * The position of the close between the lowest and the highest of `length` candles, smoothed twice:
 * K and D start at 50, each new value weighs a third if the smoothing is 3; J is 3 K - 2 D. Without
 * a price range K and D stay unchanged.
 */
export function stochastic({ high, low, close }, length, smoothK, smoothD) {
  const [k, d] = [extremes(high, length, 1), extremes(low, length, -1)];
  const j = new Float64Array(close.length).fill(NaN);
  const until = Math.min(length - 1, close.length);
  k.fill(NaN, 0, until);
  d.fill(NaN, 0, until);
  let [lastK, lastD] = [50, 50];
  for (let at = length - 1; at < close.length; at += 1) {
    const [top, bottom] = [k[at], d[at]];
    if (top > bottom) {
      const raw = (100 * (close[at] - bottom)) / (top - bottom);
      lastK = (raw + (smoothK - 1) * lastK) / smoothK;
      lastD = (lastK + (smoothD - 1) * lastD) / smoothD;
    }
    k[at] = lastK;
    d[at] = lastD;
    j[at] = 3 * lastK - 2 * lastD;
  }
  return { k, d, j };
}

/**
 * The maximum of the last `length` values, or with -1 the minimum, in one pass: a monotonic queue
 * of indexes in a ring buffer, since it never has more than `length` entries.
 */
export function extremes(values, length, sign) {
  const out = new Float64Array(values.length);
  const ring = new Int32Array(length + 1);
  const size = length + 1;
  let [head, count] = [0, 0];
  for (let at = 0; at < values.length; at += 1) {
    const value = sign * values[at];
    while (count > 0 && value >= sign * values[ring[(head + count - 1) % size]]) count -= 1;
    ring[(head + count) % size] = at;
    count += 1;
    if (ring[head] <= at - length) {
      head = (head + 1) % size;
      count -= 1;
    }
    out[at] = values[ring[head]];
  }
  return out;
}
