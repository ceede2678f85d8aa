// Capital flow and distribution: numbers, sums, and positions of the drawing.

import { minus, plus } from '../decimal.js';

export const SIZES = ['large', 'medium', 'small'];
const DAY_MIN = 1440;
const minute = (clock) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5));

/**
 * The minutes of a whole day of regular hours, and at least the number of lines. `sessions` come
 * from the server.
 */
export function minutesOf(sessions, lines) {
  const regular = sessions.filter(({ session }) => session === 0);
  const whole = regular.reduce((sum, { start, end }) => sum + minute(end) - minute(start), 0);
  return Math.max(whole, lines.length, 2);
}

/** `16:00`, the end of regular hours; undefined if they are unknown. */
export const endOf = (sessions) => sessions.filter(({ session }) => session === 0).at(-1)?.end;

/**
 * Positions of the running total in a box of this size, which always includes zero; the width is
 * that of the whole day.
 */
export function flowPlaces(lines, minutes, width, height) {
  const values = lines.map(({ inflow }) => Number(inflow));
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const room = (high - low) * 0.06 || 1;
  const [bottom, top] = [low - room, high + room];
  const y = (value) => height - ((value - bottom) / (top - bottom)) * height;
  const x = (at) => (at / (minutes - 1)) * width;
  return { places: values.map((value, at) => ({ x: x(at), y: y(value) })), zero: y(0), high: lineAt(lines, high), low: lineAt(lines, low) };
}

/** The highest or lowest total, unchanged from the response; zero is included. */
const lineAt = (lines, value) => lines.find(({ inflow }) => Number(inflow) === value)?.inflow ?? '0.000';

/**
 * Inflow and outflow by size, the difference of each, the total, and bars as fractions of the
 * longest.
 */
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
 * Minutes east of Greenwich on the day of a first minute. The page has no zone table, but the first
 * line is that of the opening, whose market time comes from the server.
 */
export function offsetFrom(sessions, stamp) {
  const opening = sessions.find(({ session }) => session === 0);
  if (!opening) return 0;
  const east = minute(opening.start) - Math.floor(stamp / 60) % DAY_MIN;
  // Clocks are at most 14 hours ahead of Greenwich and 12 behind.
  if (east > 14 * 60) return east - DAY_MIN;
  return east < -12 * 60 ? east + DAY_MIN : east;
}

/** `2026-11-13 10:31` in market time. */
export const wallText = (stamp, offset) => new Date((stamp + offset * 60) * 1000).toISOString().slice(0, 16).replace('T', ' ');
