// Which candles the chart library is given. It takes time and memory for every candle that it knows, and a view may hold sixty thousand
// of them: it gets those round the ones that are visible, and others once the reader comes near their end.

/** Candles on either side of what is visible, and how near their end may come before others are given. */
const MARGIN = 2500;
const NEAR = 800;
/** As many are given whole. */
export const WHOLE = 6000;

/** From which to which candle, the last not included, for a range of positions; a view without one is at the newest. */
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
