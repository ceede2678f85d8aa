// Advice as an element: title, text, and what can be done.

import { me } from './api.js';
import { addressOf } from './base.js';
import { commandFor, liftingFor } from './command.js';
import { el } from './dom.js';
import { phrase } from './phrases/shared.js';

/** Who is signed in, where the advice depends on it: asked for before it is shown, so that nothing moves afterwards. */
export const whoFor = async ({ command, isLimit }) => (command || isLimit ? me().catch(() => undefined) : undefined);

/**
 * `onRetry` is called by the button or when the wait is over; `who` may be nothing. Returns the element and a way to stop counting.
 */
export function adviceElement(advice, onRetry, who) {
  const box = el('div', { class: 'advice' }, el('h2', {}, advice.title), el('p', {}, advice.text));
  if (advice.command) box.append(el('pre', {}, el('code', {}, commandFor(advice.command, who))));
  const choices = el('p', { class: 'choices' });
  advice.links.forEach(({ href, label }, at) => choices.append(el('a', { class: at === 0 ? 'button main' : 'button', href }, label)));
  if (advice.takesFiles && who?.role === 'operator')
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
