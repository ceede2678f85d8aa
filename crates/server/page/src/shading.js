// The background of the chart: runs of candles outside regular hours, and the starts of days.

import { SESSION, clockOf, dateOf } from './candles.js';

const EVENING = '20:00';
const DAY_MS = 86_400_000;

/** Runs of one session kind outside regular hours, as indexes with both ends included. */
export function extendedRuns(candles) {
  const runs = [];
  candles.forEach((candle, index) => {
    if (candle.session === SESSION.intraday) return;
    const last = runs.at(-1);
    if (last && last.to === index - 1 && last.session === candle.session) last.to = index;
    else runs.push({ from: index, to: index, session: candle.session });
  });
  return runs;
}

/**
 * The day that a candle is booked to. An overnight session has the date on which it ends, so a
 * trade after eight in the evening belongs to the next calendar date (candles, A6).
 */
export function tradingDay(candle) {
  const date = dateOf(candle);
  if (candle.session !== SESSION.overnight || clockOf(candle) < EVENING) return date;
  return new Date(Date.parse(`${date}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
}

/**
 * Indexes of the first candle of each trading day, except the very first candle: its predecessor is
 * unknown.
 */
export function dayBreaks(candles) {
  const breaks = [];
  let day;
  candles.forEach((candle, index) => {
    const next = tradingDay(candle);
    if (index > 0 && next !== day) breaks.push(index);
    day = next;
  });
  return breaks;
}

/**
 * Indexes of the candles with which trading resumes after a break within a day, as after lunch in
 * Hong Kong. `sessions` are the hours of a full day from the server; a thinly traded security has
 * gaps everywhere, so the candles alone are not enough.
 */
export function pauses(candles, sessions) {
  const starts = sessions.filter(({ session }) => session === SESSION.intraday).map(({ start }) => start);
  if (starts.length < 2) return [];
  const partOf = (candle) => starts.filter((start) => start <= clockOf(candle)).length;
  const isPause = (candle, before) =>
    before !== undefined && tradingDay(candle) === tradingDay(before) && partOf(candle) > Math.max(partOf(before), 1);
  return candles.flatMap((candle, index) => (isPause(candle, candles[index - 1]) ? [index] : []));
}
