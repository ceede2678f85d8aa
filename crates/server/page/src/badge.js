// The badge of the status line: whether prices are live, delayed, or of a clock that was set.

import { marketNow } from './clock.js';
import { phrase } from './phrases/chart.js';

/** From this age on, the last price of an open market is delayed. */
const DELAYED_S = 15 * 60;

/**
 * What the badge shows: its kind and text. `last` is the time of the last price in Unix seconds,
 * `offset` the market's in minutes, `isTrading` whether the market is open.
 */
export function badgeOf({ state, clock, last, offset = 0, isTrading = false }, machine = Date.now()) {
  if (state === 'reconnecting') return { kind: 'reconnecting', text: phrase('badge_reconnecting') };
  if (state !== 'open' || !clock) return { kind: '', text: '' };
  const now = marketNow(clock, machine);
  if (clock.kind !== 'machine') {
    const wall = new Date((Math.floor(now) + offset * 60) * 1000).toISOString();
    return { kind: 'replay', text: phrase('badge_replay', `${wall.slice(0, 10)} ${wall.slice(11, 16)}`) };
  }
  const age = now - (last ?? now);
  if (isTrading && age > DELAYED_S) return { kind: 'delayed', text: phrase('badge_delayed', ageText(age)) };
  return { kind: 'live', text: phrase('badge_live') };
}

/** `25 min`, `3 h`, `2 d`. */
function ageText(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return phrase('age_minutes', minutes);
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? phrase('age_hours', hours) : phrase('age_days', Math.floor(hours / 24));
}
