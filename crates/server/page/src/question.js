// The request for candles. In a file of its own, because early.js sends the first one before the page is loaded.

// What one call of the rate is worth; see "Cost" in docs/http.md.
const PAGE = 1000;

/** `point` says which page: `before`, `after`, `next`, or nothing for the newest. */
export function candlesPath({ symbol, period, adjust, session }, point) {
  const query = new URLSearchParams({ symbol, period, adjust, session, limit: PAGE, ...point });
  return `/v1/quote/history-candlesticks?${query}`;
}

export const firstPoint = ({ before }) => (before ? { before } : {});
