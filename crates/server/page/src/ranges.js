// The range buttons below the chart: how far back each reaches, and in which period.

import { dateOf, firstIndex } from './candles.js';
import { RANGE_PERIODS } from './link.js';
import { isStored } from './periods.js';
import { tradingDay } from './shading.js';

const DAYS_ALL = 3;
const WEEKS_ALL = 15;

/** The distance back from the date of the newest candle. */
export const RANGES = {
  '1d': { sessions: 1 },
  '5d': { sessions: 5 },
  '1m': { months: 1 },
  '6m': { months: 6 },
  ytd: { isYear: true },
  '1y': { months: 12 },
  '5y': { months: 60 },
  all: { isAll: true },
};

/**
 * The period of a range by the facts of a security; undefined if none of its periods has candles.
 */
export function periodOfRange(name, facts) {
  if (RANGES[name].isAll) {
    const days = facts?.stored.find(({ period }) => period === 'day');
    const years = days ? Number(days.last.slice(0, 4)) - Number(days.first.slice(0, 4)) : Infinity;
    if (years <= DAYS_ALL) return 'day';
    if (years <= WEEKS_ALL) return 'week';
  }
  return RANGE_PERIODS[name].find((period) => isStored(period, facts?.periods));
}

/**
 * The first candle of a range that ends with the newest; 0 also if the range starts before the
 * first loaded candle.
 */
export function startOfRange(name, candles) {
  const { sessions, isAll } = RANGES[name];
  if (isAll || candles.length === 0) return 0;
  if (sessions) return startOfSessions(candles, sessions);
  const first = firstDate(name, dateOf(candles.at(-1)));
  return firstIndex(candles, (candle) => dateOf(candle) >= first);
}

/** The first candle of the last `sessions` trading days. */
function startOfSessions(candles, sessions) {
  let left = sessions;
  for (let at = candles.length - 1; at > 0; at -= 1) {
    if (tradingDay(candles[at]) === tradingDay(candles[at - 1])) continue;
    left -= 1;
    if (left === 0) return at;
  }
  return 0;
}

/**
 * The day after the same day of an earlier month, or New Year's Day; a month without that day uses
 * its last.
 */
export function firstDate(name, last) {
  const { months, isYear } = RANGES[name];
  const [year, month, day] = last.split('-').map(Number);
  if (isYear) return `${year}-01-01`;
  const days = new Date(Date.UTC(year, month - months, 0)).getUTCDate();
  return new Date(Date.UTC(year, month - 1 - months, Math.min(day, days) + 1)).toISOString().slice(0, 10);
}
