// Capital flow and distribution as numbers and places: what is drawn, and the sums that are read.

import { minus, plus } from '../decimal.js';

export const SIZES = ['large', 'medium', 'small'];
const DAY_MIN = 1440;
const minute = (clock) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5));

/** The minutes of a whole day of regular hours, and at least as many as there are lines. `sessions` as the server tells them. */
export function minutesOf(sessions, lines) {
  const regular = sessions.filter(({ session }) => session === 0);
  const whole = regular.reduce((sum, { start, end }) => sum + minute(end) - minute(start), 0);
  return Math.max(whole, lines.length, 2);
}

/** `16:00`, when regular hours end; nothing where they are not known. */
export const endOf = (sessions) => sessions.filter(({ session }) => session === 0).at(-1)?.end;

/** Where the running total lies in a box of this size, with zero always in it; the day is as wide as it will be in the end. */
export function flowPlaces(lines, minutes, width, height) {
  const values = lines.map(({ inflow }) => Number(inflow));
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const room = (high - low) * 0.06 || 1;
  const [bottom, top] = [low - room, high + room];
  const y = (value) => height - ((value - bottom) / (top - bottom)) * height;
  const x = (at) => (at / (minutes - 1)) * width;
  return { places: values.map((value, at) => ({ x: x(at), y: y(value) })), zero: y(0), high: lineAt(lines, high), low: lineAt(lines, low) };
}

/** The highest or lowest total as it was served; zero is one too. */
const lineAt = (lines, value) => lines.find(({ inflow }) => Number(inflow) === value)?.inflow ?? '0.000';

/** What came in and went out by size, the difference of each, all of it together, and bars as shares of the longest. */
export function distributionOf({ capital_in: come, capital_out: gone }) {
  const longest = Math.max(...SIZES.flatMap((size) => [Number(come[size]), Number(gone[size])])) || 1;
  const share = (text) => Number(text) / longest;
  const rows = SIZES.map((size) => ({
    size, come: come[size], gone: gone[size], net: minus(come[size], gone[size]), comeShare: share(come[size]), goneShare: share(gone[size]),
  }));
  const sum = (of) => SIZES.map((size) => of[size]).reduce(plus);
  const [allIn, allOut] = [sum(come), sum(gone)];
  return { rows, total: { come: allIn, gone: allOut, net: minus(allIn, allOut) } };
}

/**
 * Minutes east of Greenwich on the day of a first minute. The page keeps no table of zones, but the first line is that of the opening,
 * whose time on the market's clock has been served.
 */
export function offsetFrom(sessions, stamp) {
  const opening = sessions.find(({ session }) => session === 0);
  if (!opening) return 0;
  const east = minute(opening.start) - Math.floor(stamp / 60) % DAY_MIN;
  // Clocks are at most 14 hours ahead of Greenwich and 12 behind.
  if (east > 14 * 60) return east - DAY_MIN;
  return east < -12 * 60 ? east + DAY_MIN : east;
}

/** `2026-11-13 10:31` by the market's clock. */
export const wallText = (stamp, offset) => new Date((stamp + offset * 60) * 1000).toISOString().slice(0, 16).replace('T', ' ');
