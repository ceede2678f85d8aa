// The time axis after the newest candle, where Ichimoku draws its spans: the trading days come from
// the server's calendar, the times of day from the candles of the last days.

import { tradingDay } from '../shading.js';

const DAY_S = 86_400;
/** The longest range of one request. */
const DAYS_A_CALL = 31;
/** Of the regular hours; the mainland has no half days. */
const HALF_DAY_END_S = { HK: 12 * 3600, US: 13 * 3600 };
/** So many candles have the times of day of at least one whole day, and of several in most periods. */
const CANDLES_READ = 2000;

const startOf = (date) => Date.parse(`${date}T00:00:00Z`) / 1000;
export const dateAt = (wall) => new Date(wall * 1000).toISOString().slice(0, 10);
const isWeekday = (wall) => ![0, 6].includes(new Date(wall * 1000).getUTCDay());

/** Steps of the periods whose candles are dated by their first day. */
const STEPS = {
  week: (date) => date.setUTCDate(date.getUTCDate() + 7),
  month: (date) => date.setUTCMonth(date.getUTCMonth() + 1, 1),
  quarter: (date) => date.setUTCMonth(date.getUTCMonth() + 3, 1),
  year: (date) => date.setUTCFullYear(date.getUTCFullYear() + 1, 0, 1),
};

/**
 * The wall times of the next candles. `days` are the dates of the calendar, and which of them are
 * half days; after its end every weekday counts.
 */
export function futureWalls(candles, { period, market, days }, count) {
  const last = candles.at(-1);
  if (!last || count === 0) return [];
  if (STEPS[period.name]) {
    const date = new Date(last.wall * 1000);
    return Array.from({ length: count }, () => STEPS[period.name](date) / 1000);
  }
  const today = startOf(tradingDay(last));
  if (period.family !== 'clock') return nextDays(today, days, count);
  const near = candles.slice(-CANDLES_READ);
  const times = [...new Set(near.map((candle) => candle.wall - startOf(tradingDay(candle))))].sort((a, b) => a - b);
  const isHalf = (day) => market in HALF_DAY_END_S && days.half.has(dateAt(day));
  const walls = [];
  for (const day of [today, ...nextDays(today, days, count)]) {
    for (const time of times) {
      const isOpen = !isHalf(day) || time < HALF_DAY_END_S[market];
      if (day + time > last.wall && isOpen) walls.push(day + time);
      if (walls.length === count) return walls;
    }
  }
  return walls;
}

function nextDays(today, { open, until }, count) {
  const found = [];
  for (let day = today + DAY_S; found.length < count; day += DAY_S) {
    const date = dateAt(day);
    if (date <= until ? open.has(date) : isWeekday(day)) found.push(day);
  }
  return found;
}

const NONE = Object.freeze({ open: new Set(), half: new Set(), until: '' });

/** The trading days of a market, requested once for each newest day. */
export class Calendar {
  constructor(ask, onLoaded) {
    Object.assign(this, { ask, onLoaded, key: '', days: NONE });
  }

  /** The days after a date; none is known before the response, nor if they are not requested. */
  after(market, date, count, isRequested) {
    const key = `${market} ${date} ${count} ${isRequested}`;
    if (key === this.key) return this.days;
    Object.assign(this, { key, days: NONE });
    if (isRequested) this.load(key, market, startOf(date), count);
    return this.days;
  }

  async load(key, market, from, count) {
    const compact = (wall) => dateAt(wall).replaceAll('-', '');
    const plain = (day) => `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`;
    // Seven days have at least three trading days, also at a new year.
    const calls = Math.ceil(((count / 3) * 7) / DAYS_A_CALL);
    const spans = Array.from({ length: calls }, (_, at) => [from + at * DAYS_A_CALL * DAY_S, from + ((at + 1) * DAYS_A_CALL - 1) * DAY_S]);
    try {
      const parts = await Promise.all(
        spans.map(([beg, end]) => this.ask(`/v1/quote/trading-days?market=${market}&beg_day=${compact(beg)}&end_day=${compact(end)}`)),
      );
      if (key !== this.key) return;
      const half = parts.flatMap(({ data }) => data.half_trade_day).map(plain);
      const open = [...parts.flatMap(({ data }) => data.trade_day).map(plain), ...half];
      this.days = { open: new Set(open), half: new Set(half), until: dateAt(spans.at(-1)[1]) };
      this.onLoaded();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      // The weekdays remain.
    }
  }
}
