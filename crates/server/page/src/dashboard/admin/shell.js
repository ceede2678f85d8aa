// Shared by the operator's pages: the links between them, and the refusal of other accounts.

import { Refused } from '../../api.js';
import { addressOf } from '../../base.js';
import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';

const PAGES = [
  ['/admin', 'accounts'],
  ['/admin/audit', 'audit'],
  ['/admin/status', 'status'],
];

/** A dashboard page for operators only. The server checks every request again. */
export function forOperators(path, name, fill) {
  const title = phrase(name);
  return {
    title,
    fill: async (who) => {
      if (who.role !== 'operator') throw new Refused({ status: 403, message: 'this is for operators' });
      document.body.classList.add('admin');
      return [pagesOf(path), ...(await fill(who))];
    },
  };
}

const pagesOf = (here) =>
  el(
    'nav',
    { class: 'pages-of', 'aria-label': phrase('admin') },
    PAGES.map(([path, name]) =>
      el('a', { href: addressOf(path), 'aria-current': path === here ? 'page' : undefined }, phrase(name)),
    ),
  );

let fields = 0;

/** A field with its label. */
export function field(label, input, hint) {
  fields += 1;
  const id = `field-${fields}`;
  input.id = id;
  if (hint) input.setAttribute('aria-describedby', `${id}-hint`);
  return el(
    'p',
    { class: 'field' },
    el('label', { for: id }, label),
    el('span', {}, input, hint ? el('small', { id: `${id}-hint` }, hint) : undefined),
  );
}

export const tick = (label, input) => el('label', { class: 'tick' }, input, label);

export function choice(options, chosen) {
  const select = el('select', {}, options.map(([value, text]) => el('option', { value, selected: value === chosen }, text)));
  return select;
}

/** Text to pass on, with a copy button. */
export function copied(label, text) {
  const shown = el('input', { type: 'text', class: 'secret', readonly: true, value: text, 'aria-label': label });
  const button = el('button', { type: 'button' }, phrase('copy'));
  button.addEventListener('click', async () => {
    shown.select();
    // Browsers allow clipboard access only over https and on localhost; elsewhere the text is
    // selected for copying by key.
    const isDone = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    button.textContent = phrase(isDone ? 'copied' : 'press_copy');
  });
  return el('span', { class: 'copied' }, shown, button);
}
