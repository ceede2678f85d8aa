// Times as text. A candle is dated according to its period, in market time.

import { clockOf, dateOf } from './candles.js';
import { zoneName } from './market.js';
import { phrase } from './phrases/chart.js';
import { phrase as shared } from './phrases/shared.js';

const WEEKDAYS = shared('weekdays').split(' ');
const MONTHS = shared('months').split(' ');

/** `Fri 2026-11-13 15:55 EST`, `week of 2026-11-09`, `2026 Q4`. */
export function dated(candle, period, market) {
  const date = dateOf(candle);
  const weekday = WEEKDAYS[new Date(candle.wall * 1000).getUTCDay()];
  if (period.family === 'clock') return `${weekday} ${date} ${clockOf(candle)} ${zoneName(market, candle.offset)}`;
  if (period.name === 'day') return `${weekday} ${date}`;
  if (period.name === 'week') return phrase('week_of', date);
  if (period.name === 'month') return date.slice(0, 7);
  if (period.name === 'quarter') return `${date.slice(0, 4)} Q${Math.ceil(Number(date.slice(5, 7)) / 3)}`;
  return date.slice(0, 4);
}

/** The point to put in an address so that a view ends with this candle. */
export function pointOf(candle, period) {
  return period.family === 'clock' ? `${dateOf(candle)}T${clockOf(candle)}` : dateOf(candle);
}

// The library's constants for the weight of a mark on the time axis.
const YEAR = 0;
const MONTH = 1;
const DAY = 2;

/** A daily mark has no hour, even if it is the only one. */
export function tickText(wall, weight, family) {
  const at = new Date(wall * 1000);
  if (weight === YEAR) return String(at.getUTCFullYear());
  if (weight === MONTH) return MONTHS[at.getUTCMonth()];
  if (weight === DAY || family === 'calendar') return shared('day_of_month', at.getUTCDate(), MONTHS[at.getUTCMonth()]);
  return at.toISOString().slice(11, 16);
}
