// Which candles the chart library gets. It uses time and memory for every candle, and a view may
// hold sixty thousand: it gets those around the visible ones, and others once the user comes near
// their end.

/**
 * Candles on either side of the visible range, and the distance to an end at which the window
 * moves.
 */
const MARGIN = 2500;
const NEAR = 800;
/** Up to this many candles are passed without a window. */
export const WHOLE = 6000;

/** The window (end exclusive) for a range of positions; without a range, at the newest candles. */
export function windowOf(count, range) {
  if (count <= WHOLE) return { start: 0, end: count };
  const { from, to } = range ?? { from: count - 1, to: count - 1 };
  const clamp = (at) => Math.min(Math.max(Math.round(at), 0), count);
  return { start: clamp(Math.min(from, count - MARGIN) - MARGIN), end: clamp(Math.max(to, MARGIN) + MARGIN) };
}

/** Whether a range comes near an end of a window beyond which there are more candles. */
export function isNearEnd({ start, end }, { from, to }, count) {
  return (start > 0 && from < start + NEAR) || (end < count && to > end - NEAR);
}

/** Whether a window has all candles of a range. */
export const covers = ({ start, end }, { from, to }, count) => Math.max(from, 0) >= start && Math.min(to, count) <= end;
