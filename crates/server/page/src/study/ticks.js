// Prices as integers in units of their last decimal ("ticks"). A float holds those exactly, so that
// sums, differences, maximum and minimum are exact too; only a division rounds, once, by less than
// a part in 2^53.

import { decimalsOf, written } from '../decimal.js';

/** Cache of the last candles: a page of older ones leaves most of them unchanged. */
let last = { candles: [], scale: 0, columns: [] };

/** Highs, lows and closes of candles in ticks, and the number of decimals of a tick. */
export function ticksOf(candles) {
  const { shared, until } = overlap(last.candles, candles);
  const known = shared > 0 ? last.scale : 0;
  let scale = known;
  for (let at = 0; at < candles.length; at += 1) {
    if (at === until) at += shared;
    const text = candles[at]?.text;
    if (text) scale = Math.max(scale, decimalsOf(text.close), decimalsOf(text.high), decimalsOf(text.low));
  }
  const isReused = shared > 0 && scale === known;
  const columns = ['high', 'low', 'close'].map((name, number) => {
    const column = new Float64Array(candles.length);
    if (isReused) column.set(last.columns[number].subarray(last.candles.length - shared), until);
    const size = 10 ** scale;
    const end = isReused ? until : candles.length;
    for (let at = 0; at < end; at += 1) column[at] = Math.round(candles[at][name] * size);
    return column;
  });
  last = { candles, scale, columns };
  const [high, low, close] = columns;
  return { scale, high, low, close };
}

/**
 * How many candles at the end of two lists are the same, and where they start in the second. The
 * candle that two pages share is not the same object.
 */
function overlap(before, candles) {
  const shared = before.length - 1;
  const until = candles.length - shared;
  const isSame = shared > 0 && until >= 0 && before[1] === candles[until] && before.at(-1) === candles.at(-1);
  return isSame ? { shared, until } : { shared: 0, until: candles.length };
}

/** A number of units as text with so many decimals, half away from zero. */
export function textOf(units, scale) {
  const size = Math.floor(Math.abs(units) + 0.5);
  return written(BigInt(units < 0 ? -size : size), scale);
}
