// The common crosshair of charts side by side: which candle of one chart belongs to a candle of
// another, with another period or market.

import { firstIndex } from '../candles.js';

/**
 * The index of the candle that shows the time of `candle`; undefined if there is none. Days and
 * longer periods are matched by date, because a day of New York begins during a day of Hong Kong;
 * minutes by instant. `from` and `to` are the families of the periods.
 */
export function linkedIndex(candles, candle, from, to) {
  const isByDate = from !== 'clock' || to !== 'clock';
  const timeOf = isByDate ? ({ wall }) => wall : ({ stamp }) => stamp;
  const time = timeOf(candle);
  // The first minute of a day, not the last one of the day before.
  const isIntoDay = from !== 'clock' && to === 'clock';
  const at = isIntoDay ? firstIndex(candles, (one) => timeOf(one) >= time) : firstIndex(candles, (one) => timeOf(one) > time) - 1;
  return candles[at] ? at : undefined;
}
