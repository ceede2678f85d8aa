// The request for candles. In a file of its own, because early.js sends the first one before the page is loaded.

import { CANDLES_A_CALL } from './served-limits.js';

/** `point` says which page: `before`, `after`, `next`, or nothing for the newest. */
export function candlesPath({ symbol, period, adjust, session }, point) {
  const query = new URLSearchParams({ symbol, period, adjust, session, limit: CANDLES_A_CALL, ...point });
  return `/v1/quote/history-candlesticks?${query}`;
}

/** Where the first page of a view ends. */
export const firstPoint = ({ before }) => (before ? { before } : {});

/** Nothing is charged for a security that the reader has not chosen: in place of candles the server answers with their cost. */
export const keepingQuota = (isAsked) => (isAsked ? {} : { charge: 'no' });
