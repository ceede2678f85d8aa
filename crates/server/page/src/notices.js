// Texts of the chart page outside the chart: messages in its place, notes about the view, the name
// of the security.

import { dateOf } from './candles.js';
import { grouped } from './decimal.js';
import { byId, el } from './dom.js';
import { phrase } from './phrases/chart.js';
import { nameFor } from './rank.js';

/**
 * Shows a message in place of a chart: `loading`, `refused`, `empty`, or undefined once there is a
 * chart.
 */
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

/** Name, exchange, currency and lot of a security; undefined clears them. */
export function showNames(found) {
  const about = found ? [found.exchange, found.currency, found.lot ? phrase('lot', found.lot) : ''] : [];
  byId('name').textContent = found ? nameFor(found) : '';
  byId('about').textContent = about.filter(Boolean).join(' · ');
}

/** The number of candles, and whether those are all. */
export function extent({ candles, reachesBeginning, isFull }) {
  const count = candles.length === 1 ? phrase('candle') : phrase('candles', grouped(candles.length));
  if (reachesBeginning) return phrase('begins', count, dateOf(candles[0]));
  return isFull ? phrase('full', count) : count;
}

/** The used part of the month's quota, if a response contained it. */
export function showQuota(quota) {
  if (!quota) return;
  const link = byId('quota');
  link.textContent = phrase('quota', quota.used, quota.limit);
  // Until it has a text, it is no link to reach.
  link.removeAttribute('aria-hidden');
  link.removeAttribute('tabindex');
}

/** Announces a text to screen readers. */
export function say(text) {
  if (byId('speech').textContent !== text) byId('speech').textContent = text;
}
