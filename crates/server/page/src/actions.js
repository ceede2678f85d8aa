// Corporate actions: their text, and the candle at which they are shown.

import { dateOf, firstIndex } from './candles.js';
import { phrase } from './phrases/chart.js';
import { tradingDay } from './shading.js';

const DAY_MS = 86_400_000;
const isZero = (text) => !/[1-9]/.test(text);

/**
 * An event as short text for the chart and long text for the read-out. Amounts are unchanged from
 * the response.
 */
export function describeAction(action, currency = '') {
  const parts = [];
  const { cash, split, bonus, rights, rights_price: price } = action;
  const money = (amount) => (currency ? `${currency} ${amount}` : amount);
  const part = (letter, key, brief, full) =>
    parts.push({ letter, brief: phrase(`${key}_brief`, ...brief), full: phrase(key, ...full) });
  if (!isZero(cash)) part('D', 'dividend', [cash], [money(cash)]);
  // A factor below one is a consolidation, which is quoted inverted: 1/10 is ten shares becoming
  // one.
  const factor = factorOf(split);
  const times = factor < 1 ? rounded(1 / factor) : split.includes('/') ? rounded(factor) : split;
  if (factor !== 1) part('S', factor < 1 ? 'merge' : 'split', [times], [times]);
  if (!isZero(bonus)) part('B', 'bonus', [bonus], [bonus]);
  if (!isZero(rights)) part('R', 'rights', [rights, price], [rights, money(price)]);
  return {
    date: action.ex_date,
    letter: parts.map(({ letter }) => letter).join(''),
    brief: parts.map(({ brief }) => brief).join(', '),
    full: phrase('ex', action.ex_date, parts.map(({ full }) => full).join(phrase('comma'))),
  };
}

/** The number of a factor such as `4`, `0.1` or, where decimals cannot express it, `1/3`. */
function factorOf(text) {
  const [shares, of = '1'] = text.split('/');
  return Number(shares) / Number(of);
}

const rounded = (number) => String(Number(number.toFixed(4)));

/**
 * The first day of the period that contains a date. Clock periods and days begin on the date
 * itself.
 */
export function periodFloor(date, period) {
  const [year, month] = date.split('-');
  if (period === 'year') return `${year}-01-01`;
  if (period === 'quarter') return `${year}-${String(Math.floor((Number(month) - 1) / 3) * 3 + 1).padStart(2, '0')}-01`;
  if (period === 'month') return `${year}-${month}-01`;
  if (period !== 'week') return date;
  const day = Date.parse(`${date}T00:00:00Z`);
  const sinceMonday = (new Date(day).getUTCDay() + 6) % 7;
  return new Date(day - sinceMonday * DAY_MS).toISOString().slice(0, 10);
}

/**
 * Maps candle indexes to the events shown there: at the first ex candle. If the security was
 * suspended on the ex-date, that is the next candle. An event before the first loaded candle is not
 * shown.
 */
export function placeActions(candles, described, family, period) {
  const placed = new Map();
  if (candles.length === 0) return placed;
  const key = family === 'clock' ? tradingDay : dateOf;
  const first = key(candles[0]);
  for (const action of described) {
    const floor = periodFloor(action.date, period);
    if (floor < first) continue;
    const index = firstIndex(candles, (candle) => key(candle) >= floor);
    if (index === candles.length) continue;
    placed.set(index, [...(placed.get(index) ?? []), action]);
  }
  return placed;
}
