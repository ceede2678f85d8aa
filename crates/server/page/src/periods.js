// The periods of the service, in the order of the menu. Clock periods tile a session, calendar
// periods tile trading days; they differ in how a candle is dated and in what a session switch
// means.

import { MINUTES, SPANS } from './served-periods.js';

const clock = (minutes) => ({
  name: `${minutes}m`,
  label: minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`,
  family: 'clock',
});
const calendar = (name) => ({ name, label: name[0].toUpperCase(), family: 'calendar' });

export const PERIODS = [...MINUTES.map(clock), ...SPANS.map(calendar)];
export const DEFAULT_PERIOD = 'day';

export const periodNamed = (name) => PERIODS.find((period) => period.name === name);

/**
 * Whether a period is among those with candles, as listed by the server. Before the list is known
 * every period counts.
 */
export const isStored = (name, periods) => !periods || periods.includes(name);

/** The period to offer where another has no candles: days, or the finest available. */
export function bestStored(periods) {
  const names = PERIODS.map(({ name }) => name).filter((name) => isStored(name, periods));
  return names.includes(DEFAULT_PERIOD) ? DEFAULT_PERIOD : names[0];
}

/** The previous or next period in the list, wrapping around; those without candles are skipped. */
export function stepPeriod(name, step, periods) {
  const { length } = PERIODS;
  const at = PERIODS.findIndex((period) => period.name === name);
  for (let away = 1; away < length; away += 1) {
    const next = PERIODS[(((at + step * away) % length) + length) % length].name;
    if (isStored(next, periods)) return next;
  }
  return name;
}

/** The last date of the candle that a point names; for an intraday candle the point itself. */
export function lastDate(point, period) {
  const [year, month, day] = point.slice(0, 10).split('-').map(Number);
  const ends = {
    week: () => [year, month - 1, day + ((7 - new Date(Date.UTC(year, month - 1, day)).getUTCDay()) % 7)],
    month: () => [year, month, 0],
    quarter: () => [year, Math.ceil(month / 3) * 3, 0],
    year: () => [year, 12, 0],
  };
  return ends[period] ? new Date(Date.UTC(...ends[period]())).toISOString().slice(0, 10) : point;
}
