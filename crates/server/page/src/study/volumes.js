// Indicators that use volumes.

import { tradingDay } from '../shading.js';

export const volumesOf = (candles) => Float64Array.from(candles, ({ volume }) => volume);

/**
 * The mean of the typical price, (high + low + close) / 3, weighted with the volume, since the start
 * of the trading day; `parts` alternate from day to day, where the line ends. A first day that may be
 * incomplete has none; neither has one without volume.
 */
export function volumeWeighted(candles, { high, low, close }, isFirstDayWhole) {
  const values = new Float64Array(candles.length).fill(NaN);
  const parts = new Uint8Array(candles.length);
  let [day, isWhole, amount, volume] = [undefined, false, 0, 0];
  for (let at = 0; at < candles.length; at += 1) {
    const next = tradingDay(candles[at]);
    parts[at] = at === 0 ? 0 : next === day ? parts[at - 1] : 1 - parts[at - 1];
    if (next !== day) [day, isWhole, amount, volume] = [next, day !== undefined || isFirstDayWhole, 0, 0];
    amount += (high[at] + low[at] + close[at]) * candles[at].volume;
    volume += candles[at].volume;
    if (isWhole && volume > 0) values[at] = amount / volume / 3;
  }
  return { values, parts };
}

/**
 * The sum of the volumes, negative where the close fell, without those where it stayed. It starts
 * with the first volume; only its changes have a meaning.
 */
export function onBalance({ close }, volumes) {
  const out = new Float64Array(close.length);
  for (let at = 0; at < close.length; at += 1) {
    out[at] = at === 0 ? volumes[0] : out[at - 1] + Math.sign(close[at] - close[at - 1]) * volumes[at];
  }
  return out;
}
