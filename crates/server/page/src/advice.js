// Advice as an element: title, text, and what can be done.

import { me } from './api.js';
import { addressOf } from './base.js';
import { commandFor, liftingFor } from './command.js';
import { el } from './dom.js';
import { phrase } from './phrases/shared.js';

/**
 * Who is signed in, and what takes files, where the advice has them: asked for before it is shown, so that nothing moves afterwards.
 * `fetchScript` is for tests.
 */
export async function partsFor({ command, isLimit, takesFiles }, fetchScript = () => import(addressOf('/uploads.js'))) {
  const who = command || isLimit ? await me().catch(() => undefined) : undefined;
  return { who, files: takesFiles ? await filesFor(who, fetchScript) : undefined };
}

/** Nothing if the script or the list of files cannot be had: there is still the page of imports. */
async function filesFor(who, fetchScript) {
  try {
    const { refuseDrops, uploadsSheet } = await fetchScript();
    return who?.role === 'operator' ? await uploadsSheet(who) : refuseDrops();
  } catch {
    return undefined;
  }
}

/**
 * `onRetry` is called by the button or when the wait is over; `parts` are those of `partsFor`. Returns the element and a way to stop counting.
 */
export function adviceElement(advice, onRetry, { who, files } = {}) {
  const box = el('div', { class: 'advice' }, el('h2', {}, advice.title), el('p', {}, advice.text));
  if (advice.command) box.append(el('pre', {}, el('code', {}, commandFor(advice.command, who))));
  const choices = el('p', { class: 'choices' });
  advice.links.forEach(({ href, label }, at) => choices.append(el('a', { class: at === 0 ? 'button main' : 'button', href }, label)));
  if (advice.takesFiles && !files && who?.role === 'operator')
    choices.append(el('a', { class: 'button main', href: addressOf('/imports') }, phrase('import_here')));
  if (advice.retry) choices.append(el('button', { type: 'button', class: 'main', onclick: onRetry }, advice.label ?? phrase('try_again')));
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

/** How the limits of the account that is signed in are lifted, where it is an operator's: the command, and the page that does the same. */
export const lifting = (who) =>
  who?.role === 'operator'
    ? [
        el('p', {}, phrase('lift')),
        el('pre', {}, el('code', {}, liftingFor(who))),
        el('p', { class: 'choices' }, el('a', { class: 'button', href: addressOf(`/admin?account=${encodeURIComponent(who.account)}`) }, phrase('lift_here'))),
      ]
    : [];

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
