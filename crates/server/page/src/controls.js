// State of the controls of the chart page: the chosen view, and which choices have data.

import { addressOf } from './base.js';
import { byId } from './dom.js';
import { marketOf } from './market.js';
import { isStored, periodNamed } from './periods.js';
import { phrase } from './phrases/chart.js';
import { periodOfRange } from './ranges.js';
import { inWorld } from './world.js';

/** `facts` are those of the security, once loaded. */
export function showControls(view, facts) {
  const market = view.symbol && marketOf(view.symbol);
  const period = periodNamed(view.period);
  document.title = view.symbol ? `${view.symbol} ${period.label} · Chandler` : 'Chandler';
  byId('code').textContent = view.symbol ?? '';
  byId('trade').href = addressOf(inWorld(view.symbol ? `/portfolio?symbol=${encodeURIComponent(view.symbol)}` : '/portfolio'));
  // A comparison is always in percent; prices would have no common scale.
  const shown = { ...view, scale: view.compare ? 'percent' : view.scale };
  for (const name of ['period', 'adjust', 'session', 'scale']) {
    const chosen = document.querySelector(`input[name=${name}][value="${shown[name]}"]`);
    chosen.checked = true;
    if (name === 'period') bringIntoView(chosen.parentElement);
  }
  const hasSessions = Boolean(market?.extended) && period.family === 'clock';
  byId('sessions').disabled = !hasSessions;
  byId('sessions').title = hasSessions ? '' : phrase('no_sessions');
  byId('scales').disabled = Boolean(view.compare);
  showRange(view.range);
  showStored(facts);
}

/** Highlights the button of the visible range, if it is one. */
export function showRange(range) {
  for (const button of byId('ranges').children) button.setAttribute('aria-pressed', String(button.dataset.range === range));
}

/** Greys out periods and ranges without candles. */
export function showStored(facts) {
  for (const input of document.querySelectorAll('input[name=period]')) {
    const has = isStored(input.value, facts?.periods);
    const label = input.parentElement;
    label.dataset.words ??= label.title;
    if (input.disabled === !has) continue;
    input.disabled = !has;
    label.title = has ? label.dataset.words : phrase('no_period', label.dataset.words);
  }
  for (const button of byId('ranges').children) button.disabled = periodOfRange(button.dataset.range, facts) === undefined;
}

/** Scrolls only the strip; scrollIntoView would also scroll the page. */
function bringIntoView(label) {
  const strip = label.closest('.periods');
  strip.scrollLeft = label.offsetLeft - strip.offsetLeft - strip.clientWidth / 2;
}
