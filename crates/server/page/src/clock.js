// The market's clock between two events of the stream, and the hours of a full day.

/** The regular session in trading hours, as in `candles.js`. */
const REGULAR = 0;

/** The market's time in Unix seconds, extrapolated from the last `clock` event. */
export function marketNow({ now, speed, at }, machine = Date.now()) {
  return Date.parse(now) / 1000 + ((machine - at) / 1000) * speed;
}

/** Whether an instant is in the regular hours of a full day. Holidays are not known here. */
export function isTradingAt(sessions, at, offset) {
  const wall = new Date((at + offset * 60) * 1000);
  if ([0, 6].includes(wall.getUTCDay())) return false;
  const clock = wall.toISOString().slice(11, 16);
  return sessions.some(({ session, start, end }) => session === REGULAR && start <= clock && clock < end);
}
