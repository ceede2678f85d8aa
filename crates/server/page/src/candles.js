// Candles in memory: the text from the response next to the numbers that the chart draws.

import { offsetOf } from './market.js';

export const SESSION = { intraday: 0, pre: 1, post: 2, overnight: 3 };

/** Converts one candle of a response. */
export function candleOf(served) {
  const offset = offsetOf(served.time);
  return {
    stamp: served.timestamp,
    // The chart library has no time zones and splits days at UTC midnight. With the market's wall
    // clock passed as if it were UTC, its days, months and labels are the market's. No market here
    // trades while its clocks change, so the order is preserved.
    wall: served.timestamp + offset * 60,
    offset,
    time: served.time,
    session: served.trade_session ?? SESSION.intraday,
    text: {
      open: served.open,
      high: served.high,
      low: served.low,
      close: served.close,
      volume: String(served.volume),
      turnover: served.turnover,
    },
    open: Number(served.open),
    high: Number(served.high),
    low: Number(served.low),
    close: Number(served.close),
    volume: Number(served.volume),
  };
}

/**
 * Merges two ascending lists. Adjacent pages share one candle (both ends of a request are
 * inclusive). The newer response wins there, because the last candle may have been forming in the
 * older one.
 */
export function mergePages(loaded, fresh) {
  if (loaded.length === 0) return fresh;
  if (fresh.length === 0) return loaded;
  if (fresh.at(-1).stamp < loaded[0].stamp) return fresh.concat(loaded);
  if (fresh[0].stamp > loaded.at(-1).stamp) return loaded.concat(fresh);
  const merged = [];
  let [left, right] = [0, 0];
  while (left < loaded.length && right < fresh.length) {
    if (loaded[left].stamp < fresh[right].stamp) {
      merged.push(loaded[left]);
      left += 1;
      continue;
    }
    if (loaded[left].stamp === fresh[right].stamp) left += 1;
    merged.push(fresh[right]);
    right += 1;
  }
  return merged.concat(loaded.slice(left), fresh.slice(right));
}

/** The index of the candle with this wall time in an ascending list, or -1. */
export function indexOfWall(candles, wall) {
  const at = firstIndex(candles, (candle) => candle.wall >= wall);
  return candles[at]?.wall === wall ? at : -1;
}

/**
 * The new index of a candle after others were added before it; undefined if there was none or it is
 * gone.
 */
export function followed(before, index, after) {
  const wall = before[index]?.wall;
  const at = wall === undefined ? -1 : indexOfWall(after, wall);
  return at < 0 ? undefined : at;
}

/**
 * By how many places the candle at an index has moved because others before it were added or
 * removed.
 */
export function shiftOf(before, after, index) {
  const at = Math.min(Math.max(index, 0), before.length - 1);
  return firstIndex(after, ({ wall }) => wall >= before[at].wall) - at;
}

/** The first index for which a monotonic condition holds; the length if it holds for none. */
export function firstIndex(list, holds) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(list[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

export const dateOf = (candle) => candle.time.slice(0, 10);
export const clockOf = (candle) => candle.time.slice(11, 16);
