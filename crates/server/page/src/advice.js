// Advice as an element: title, text, and the available actions.

import { me } from './api.js';
import { addressOf } from './base.js';
import { commandFor, liftingFor } from './command.js';
import { el } from './dom.js';
import { fetchFrom, fetchedText, offerOf } from './mirrors.js';
import { phrase } from './phrases/shared.js';

/**
 * The signed-in account and the upload form, where the advice needs them. Loaded before the advice
 * is shown, so that the layout does not shift afterwards. `fetchScript` is for tests.
 */
export async function partsFor({ command, isLimit, isMissing, symbol, takesFiles }, fetchScript = () => import(addressOf('/uploads.js'))) {
  const who = command || isLimit ? await me().catch(() => undefined) : undefined;
  const offer = isMissing && who?.role === 'operator' ? await offerOf(symbol) : undefined;
  return { who, offer, files: takesFiles ? await filesFor(who, fetchScript) : undefined };
}

/** Undefined if the script or the list of uploads cannot be loaded: the import page still works. */
async function filesFor(who, fetchScript) {
  try {
    const { refuseDrops, uploadsSheet } = await fetchScript();
    return who?.role === 'operator' ? await uploadsSheet(who) : refuseDrops();
  } catch {
    return undefined;
  }
}

/**
 * `onRetry` is called by the button or when the wait is over; `parts` come from `partsFor`. Returns
 * the element and a function that stops the countdown.
 */
export function adviceElement(advice, onRetry, { who, offer, files } = {}) {
  const box = el('div', { class: 'advice' }, el('h2', {}, advice.title), el('p', {}, advice.text));
  if (advice.command) box.append(el('pre', {}, el('code', {}, commandFor(advice.command, who))));
  const choices = el('p', { class: 'choices' });
  advice.links.forEach(({ href, label }, at) => choices.append(el('a', { class: at === 0 ? 'button main' : 'button', href }, label)));
  if (advice.takesFiles && !files && who?.role === 'operator')
    choices.append(el('a', { class: 'button main', href: addressOf('/imports') }, phrase('import_here')));
  if (advice.retry) choices.append(el('button', { type: 'button', class: 'main', onclick: onRetry }, advice.label ?? phrase('try_again')));
  if (offer) box.append(...fetching(offer, onRetry));
  let stop = () => {};
  if (advice.wait) {
    const left = el('strong', { class: 'countdown' }, phrase('waiting', advice.wait));
    const tick = (seconds) => {
      left.textContent = phrase('waiting', seconds);
    };
    choices.append(left);
    stop = countDown(advice.wait, tick, onRetry);
  }
  if (choices.childNodes.length > 0) box.append(choices);
  if (files) box.append(files);
  if (advice.isLimit) box.append(...lifting(who));
  return { box, stop };
}

/**
 * How an operator lifts the limits of their own account: the command, and the page that does the
 * same.
 */
export const lifting = (who) =>
  who?.role === 'operator'
    ? [
        el('p', {}, phrase('lift')),
        el('pre', {}, el('code', {}, liftingFor(who))),
        el('p', { class: 'choices' }, el('a', { class: 'button', href: addressOf(`/admin?account=${encodeURIComponent(who.account)}`) }, phrase('lift_here'))),
      ]
    : [];

/** What a security would cost, and a button that fetches it from the source of a mirror. */
function fetching(offer, onDone) {
  const said = el('p', { role: 'status' }, offer.text);
  const button = el('button', { type: 'button', class: 'main', onclick: () => fetchNow() }, phrase('fetch', offer.mirror));
  const fetchNow = async () => {
    button.disabled = true;
    try {
      const state = await fetchFrom(offer);
      said.textContent = fetchedText(state, offer.symbol);
      if (state !== 'unknown') onDone();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  };
  return [said, el('p', { class: 'choices' }, button)];
}

export function countDown(seconds, onTick, onEnd) {
  let left = seconds;
  const timer = setInterval(() => {
    left -= 1;
    onTick(Math.max(left, 0));
    if (left > 0) return;
    clearInterval(timer);
    onEnd();
  }, 1000);
  return () => clearInterval(timer);
}
