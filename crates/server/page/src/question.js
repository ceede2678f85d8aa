// The request for candles. A separate file, because early.js sends the first one before the page is
// loaded.

import { CANDLES_A_CALL } from './served-limits.js';

/** `point` selects the page: `before`, `after`, `next`, or undefined for the newest. */
export function candlesPath({ symbol, period, adjust, session }, point) {
  const query = new URLSearchParams({ symbol, period, adjust, session, limit: CANDLES_A_CALL, ...point });
  return `/v1/quote/history-candlesticks?${query}`;
}

/** Where the first page of a view ends. */
export const firstPoint = ({ before }) => (before ? { before } : {});

/**
 * Prevents a charge for a security that the user has not chosen: instead of candles the server
 * answers with their cost.
 */
export const keepingQuota = (isRequested) => (isRequested ? {} : { charge: 'no' });
