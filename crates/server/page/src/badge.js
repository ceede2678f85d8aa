// The badge of the status line: whether prices are live, delayed, or of a clock that was set.

import { marketNow } from './clock.js';
import { phrase } from './phrases/chart.js';

/** From this age on, the last price of an open market is delayed. */
const DELAYED_S = 15 * 60;
/** Regular hours in the server's market status; it knows holidays and half days. */
const TRADING = [105, 202];

/**
 * The time of the last price as the badge counts it, in Unix seconds, for securities in `markets` (of
 * the stream): `times` has the time of each one's last price by symbol. Markets that are closed are
 * left out, and no market is late before it has opened; the latest market counts. Undefined if all are
 * closed, or nothing is known of them.
 */
export function lastPrice(times, markets, marketOf) {
  const newest = new Map();
  for (const [symbol, time] of times) {
    const { market } = marketOf(symbol) ?? {};
    const { trade_status: status, since } = markets.get(market) ?? {};
    if (time === undefined || !TRADING.includes(status)) continue;
    newest.set(market, Math.max(newest.get(market) ?? -Infinity, time, Date.parse(since) / 1000));
  }
  return newest.size > 0 ? Math.min(...newest.values()) : undefined;
}

/**
 * What the badge shows: its kind and text. `last` is the time of the last price if a market is open,
 * `offset` the market's in minutes.
 */
export function badgeOf({ state, clock, last, offset = 0 }, machine = Date.now()) {
  if (state === 'reconnecting') return { kind: 'reconnecting', text: phrase('badge_reconnecting') };
  if (state !== 'open' || !clock) return { kind: '', text: '' };
  const now = marketNow(clock, machine);
  if (clock.kind !== 'machine') {
    const wall = new Date((Math.floor(now) + offset * 60) * 1000).toISOString();
    return { kind: 'replay', text: phrase('badge_replay', `${wall.slice(0, 10)} ${wall.slice(11, 16)}`) };
  }
  const age = now - (last ?? now);
  if (age > DELAYED_S) return { kind: 'delayed', text: phrase('badge_delayed', ageText(age)) };
  return { kind: 'live', text: phrase('badge_live') };
}

/** `25 min`, `3 h`, `2 d`. */
function ageText(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return phrase('age_minutes', minutes);
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? phrase('age_hours', hours) : phrase('age_days', Math.floor(hours / 24));
}
