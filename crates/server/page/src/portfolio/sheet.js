// Parts of the page that are refreshed while they are visible. A part has its size from the start,
// unchanged content is not redrawn, and focus and scroll position are preserved.

import { el } from '../dom.js';

/** A titled sheet, whose `body` is filled by `fillSheet`. `head` is placed next to the title. */
export function sheetOf(name, title, ...head) {
  const body = el('div', { class: 'steady' });
  const box = el('section', { class: `sheet ${name}`, 'aria-label': title }, el('div', { class: 'row' }, el('h2', {}, title), ...head), body);
  return { box, body };
}

const shown = new WeakMap();

/**
 * Fills a part, unless its content is unchanged. `make` returns its elements; `what` is the data
 * that they depend on.
 */
export function fillSheet(body, what, make) {
  const text = JSON.stringify(what);
  if (shown.get(body) === text) return;
  shown.set(body, text);
  const focus = body.contains(document.activeElement) ? document.activeElement : undefined;
  const strip = body.querySelector('.scroll');
  const [top, left] = [strip?.scrollTop ?? 0, strip?.scrollLeft ?? 0];
  body.replaceChildren(...make());
  const fresh = body.querySelector('.scroll');
  if (fresh) Object.assign(fresh, { scrollTop: top, scrollLeft: left });
  if (!focus) return;
  const key = focus.dataset.key;
  const same = key && [...body.querySelectorAll('[data-key]')].find((one) => one.dataset.key === key);
  (same ?? fresh)?.focus({ preventScroll: true });
}

/** A button of a row, which is found again by its key when the rows are recreated. */
export const rowButton = (key, label, name, onclick) =>
  el('button', { type: 'button', 'data-key': key, 'aria-label': name, onclick }, label);
