// Prices as whole numbers of their last decimal ("ticks"). A float holds those exactly, so that sums, differences, highest and lowest
// of them are exact too; only a division rounds, once, by less than a part in 2^53.

import { decimalsOf, written } from '../decimal.js';

const known = new WeakMap();

/** Highs, lows and closes of candles, and of how many decimals a tick is. */
export function ticksOf(candles) {
  const before = known.get(candles);
  if (before) return before;
  let scale = 0;
  for (const { text } of candles) scale = Math.max(scale, decimalsOf(text.close), decimalsOf(text.high), decimalsOf(text.low));
  const size = 10 ** scale;
  const [high, low, close] = [0, 1, 2].map(() => new Float64Array(candles.length));
  for (let at = 0; at < candles.length; at += 1) {
    const candle = candles[at];
    high[at] = Math.round(candle.high * size);
    low[at] = Math.round(candle.low * size);
    close[at] = Math.round(candle.close * size);
  }
  const ticks = { scale, high, low, close };
  known.set(candles, ticks);
  return ticks;
}

/** A number of units as text with so many decimals, half away from zero. */
export function textOf(units, scale) {
  const size = Math.floor(Math.abs(units) + 0.5);
  return written(BigInt(units < 0 ? -size : size), scale);
}
