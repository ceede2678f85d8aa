// The mirrors of the store: what a security would cost, and fetching it. For operators.

import { ask } from './api.js';
import { grouped } from './decimal.js';
import { phrase } from './phrases/shared.js';

/** The mirrors with what a security would cost; without a symbol, only the mirrors. */
export async function mirrorsWith(symbol) {
  const query = symbol ? `?${new URLSearchParams({ symbol })}` : '';
  const { data } = await ask(`/v1/admin/mirrors${query}`);
  return data.mirrors;
}

/** The mirror from which this server can fetch a security; undefined if there is none. */
export async function offerOf(symbol) {
  const mirrors = await mirrorsWith(symbol).catch(() => []);
  const mirror = mirrors.find(({ can_fetch: can }) => can);
  return mirror && { mirror: mirror.name, symbol, text: costText(mirror) };
}

/** `12 requests; counts toward the quota, of which 97 are left`. */
export function costText({ cost, quota_left: left }) {
  const requests = phrase('fetch_requests', grouped(cost.requests), grouped(cost.candles));
  if (!cost.is_new) return `${requests} ${phrase('fetch_free')}`;
  return `${requests} ${left === null ? phrase('fetch_new') : phrase('fetch_new_of', grouped(left))}`;
}

/** Fetches a security. Returns `stored`, `fetching` or `unknown`. */
export async function fetchFrom({ mirror, symbol }) {
  const { data } = await ask(`/v1/admin/mirrors/${encodeURIComponent(mirror)}/fetch`, { method: 'POST', body: { symbol } });
  return data.state;
}

const STATES = { stored: 'fetch_stored', fetching: 'fetch_fetching', unknown: 'fetch_unknown' };

export const fetchedText = (state, symbol) => phrase(STATES[state], symbol);
