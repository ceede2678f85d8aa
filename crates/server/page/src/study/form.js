// The indicator dialog: which ones, and with which parameters. A change is drawn immediately.

import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/extras.js';
import { STUDIES, STUDY_NAMES, settingOf } from './settings.js';

/** `set` gets the changed part of the view. */
export function openStudies(view, set) {
  const said = el('p', { class: 'said', role: 'status' });
  const rows = STUDY_NAMES.map((name) => row(name, view[name], set, said));
  const none = () => {
    set(Object.fromEntries(STUDY_NAMES.map((name) => [name, undefined])));
    box.close();
  };
  const box = openDialog(
    'studies',
    phrase('studies'),
    el('div', { class: 'study-rows' }, ...rows),
    said,
    el('p', { class: 'hint' }, phrase('studies_hint')),
    el(
      'p',
      { class: 'choices' },
      el('button', { type: 'button', onclick: none }, phrase('studies_none')),
      el('button', { type: 'button', class: 'main', onclick: () => box.close() }, phrase('done')),
    ),
  );
}

function row(name, setting, set, said) {
  const { usual } = STUDIES[name];
  const tick = el('input', { type: 'checkbox', checked: setting !== undefined, onchange: () => send() });
  const numbers = STUDIES[name].isPlain ? undefined : el('input', {
    type: 'text', inputmode: 'decimal', value: setting ?? usual, 'aria-label': phrase('numbers_of', phrase(name)), autocomplete: 'off', onchange: () => {
      tick.checked = true;
      send();
    },
  });
  const send = () => {
    if (!numbers) return set({ [name]: tick.checked ? usual : undefined });
    const found = settingOf(name, numbers.value);
    numbers.setAttribute('aria-invalid', String(found === undefined));
    said.textContent = found === undefined ? phrase('wrong', phrase(`${name}_rule`)) : '';
    if (found) numbers.value = found;
    if (found || !tick.checked) set({ [name]: tick.checked ? found : undefined });
  };
  return el('div', { class: 'study-row' }, el('label', { class: 'tick' }, tick, el('span', {}, phrase(name))), numbers ?? '');
}
