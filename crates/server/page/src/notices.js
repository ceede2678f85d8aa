// Words of the chart page outside the chart: what is said in its place, notes about the view, what the security is.

import { dateOf } from './candles.js';
import { grouped } from './decimal.js';
import { byId, el } from './dom.js';
import { phrase } from './phrases/chart.js';
import { nameFor } from './rank.js';

/** A message in the place of a chart: `loading`, `refused`, `empty`, or nothing once there is a chart. */
export function notice(what, content, symbol) {
  const box = byId('notice');
  box.hidden = what === undefined;
  box.dataset.kind = what ?? '';
  box.setAttribute('aria-busy', String(what === 'loading'));
  const loading = () => el('p', {}, symbol ? phrase('loading', symbol) : phrase('loading_any'));
  box.replaceChildren(...[what === 'loading' ? loading() : content].filter(Boolean));
}

/** A note about the view, shown until another view is chosen. */
export function note(text) {
  byId('note').textContent = text;
}

/** Name, exchange, currency and lot of a security; nothing clears them. */
export function showNames(found) {
  const about = found ? [found.exchange, found.currency, found.lot ? phrase('lot', found.lot) : ''] : [];
  byId('name').textContent = found ? nameFor(found) : '';
  byId('about').textContent = about.filter(Boolean).join(' · ');
}

/** How many candles there are, and whether those are all. */
export function extent({ candles, reachesBeginning, isFull }) {
  const count = candles.length === 1 ? phrase('candle') : phrase('candles', grouped(candles.length));
  if (reachesBeginning) return phrase('begins', count, dateOf(candles[0]));
  return isFull ? phrase('full', count) : count;
}

/** How much of the month's quota is used, where an answer has told it. */
export function showQuota(quota) {
  if (quota) byId('quota').textContent = phrase('quota', quota.used, quota.limit);
}

/** What was said, for screen readers. */
export function say(text) {
  if (byId('speech').textContent !== text) byId('speech').textContent = text;
}
