// Indicators with a pane of their own, over columns of whole numbers. A place without a value is NaN.

import { exponentialAverage, wilderAverage } from './averages.js';

/** The quick exponential average less the slow one, an average of that, and what is between the two. */
export function macd(close, fast, slow, signal) {
  const [quick, slowly] = [exponentialAverage(close, fast), exponentialAverage(close, slow)];
  const difference = less(quick, slowly);
  const line = exponentialAverage(difference, signal);
  return { difference, signal: line, bars: less(difference, line) };
}

function less(a, b) {
  const out = new Float64Array(a.length);
  for (let at = 0; at < a.length; at += 1) out[at] = a[at] - b[at];
  return out;
}

/** Rises as a share of all changes, each averaged as Wilder does, 0 to 100. Without any change it is in the middle. */
export function relativeStrength(close, length) {
  const [rises, falls] = [1, -1].map((sign) => wilderAverage(changes(close, sign), length));
  const out = new Float64Array(close.length);
  for (let at = 0; at < out.length; at += 1) {
    const all = rises[at] + falls[at];
    out[at] = all === 0 ? 50 : (100 * rises[at]) / all;
  }
  return out;
}

/** From one value to the next, those in one direction. */
function changes(values, sign) {
  const out = new Float64Array(values.length).fill(NaN);
  for (let at = 1; at < values.length; at += 1) out[at] = Math.max(sign * (values[at] - values[at - 1]), 0);
  return out;
}

/**
 * Where the close lies between the lowest and the highest of `length` candles, smoothed twice: K and D begin at 50, each new value counts
 * for a third where the smoothing is 3; J is 3 K - 2 D. Candles without a range say nothing, and K and D stay.
 */
export function stochastic({ high, low, close }, length, smoothK, smoothD) {
  const [top, bottom] = [extremes(high, length, (a, b) => a >= b), extremes(low, length, (a, b) => a <= b)];
  const [k, d, j] = [0, 1, 2].map(() => new Float64Array(close.length).fill(NaN));
  let [lastK, lastD] = [50, 50];
  for (let at = length - 1; at < close.length; at += 1) {
    const range = top[at] - bottom[at];
    if (range > 0) {
      const raw = (100 * (close[at] - bottom[at])) / range;
      lastK = (raw + (smoothK - 1) * lastK) / smoothK;
      lastD = (lastK + (smoothD - 1) * lastD) / smoothD;
    }
    k[at] = lastK;
    d[at] = lastD;
    j[at] = 3 * lastK - 2 * lastD;
  }
  return { k, d, j };
}

/** The extreme of the last `length` values, in one pass: a queue of places whose values only get less extreme. */
function extremes(values, length, isExtreme) {
  const out = new Float64Array(values.length).fill(NaN);
  const queue = new Int32Array(values.length);
  let [head, tail] = [0, 0];
  for (let at = 0; at < values.length; at += 1) {
    while (tail > head && isExtreme(values[at], values[queue[tail - 1]])) tail -= 1;
    queue[tail] = at;
    tail += 1;
    if (queue[head] <= at - length) head += 1;
    if (at >= length - 1) out[at] = values[queue[head]];
  }
  return out;
}
