// Times of the replay bar. Instants have the offset that the server gave for a candle near them, as
// everywhere on the page.

const two = (number) => String(number).padStart(2, '0');

/** `2026-03-18 10:01` at an offset in minutes. */
export function wallText(seconds, offset) {
  const wall = new Date((Math.floor(seconds) + offset * 60) * 1000).toISOString();
  return `${wall.slice(0, 10)} ${wall.slice(11, 16)}`;
}

/** Minutes east of Greenwich, from an RFC 3339 time. */
export const offsetIn = (time) => (Date.parse(`${time.slice(0, 19)}Z`) - Date.parse(time)) / 60_000;

/** The RFC 3339 text of a value of a date and time box, such as `2026-03-18T09:30`. */
export function instantOf(value, offset) {
  const size = Math.abs(offset);
  const text = value.length === 16 ? `${value}:00` : value;
  return `${text}${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** A name for a world that starts at a value of the box: `replay-2026-03-18`, or with a number. */
export function freeName(value, taken) {
  const name = `replay-${value.slice(0, 10)}`;
  for (let number = 1; ; number += 1) {
    const one = number === 1 ? name : `${name}-${number}`;
    if (!taken.includes(one)) return one;
  }
}

/**
 * Where a step ends: one candle of a minute period on, otherwise at the next session. Outside the
 * trading hours a step ends when they begin.
 */
export function stepOf({ period, market, isTrading }) {
  if (period?.family === 'calendar') return { to: 'session', ...(market && { markets: [market] }) };
  const minutes = Number.parseInt(period?.name ?? '1', 10);
  return minutes > 1 && isTrading ? { by: `PT${minutes}M` } : { to: 'next' };
}

/** The default start: the selected or last candle, at the beginning of its day if it is a day. */
export function startAt(candle, period, sessions = []) {
  if (!candle) return '';
  const begin = sessions.find(({ session }) => session === 0)?.start ?? '09:30';
  return `${candle.time.slice(0, 10)}T${period.family === 'clock' ? candle.time.slice(11, 16) : begin}`;
}
