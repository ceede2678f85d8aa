// The layouts dialog: how many charts, and the saved layouts.

import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { layoutQuery } from '../link.js';
import { phrase } from '../phrases/layouts.js';

const PATH = '/v1/layouts';
const COUNTS = [1, 2, 4];
const NAME_MAX = 40;

export function openLayouts({ ask, current, visit, count, resize }) {
  const said = el('p', { class: 'said', role: 'status' });
  const list = el('ul', { class: 'layout-list' });
  const name = el('input', { type: 'text', maxlength: NAME_MAX, 'aria-label': phrase('name'), placeholder: phrase('name'), autocomplete: 'off' });
  const counts = COUNTS.map((number) =>
    el('label', {}, el('input', { type: 'radio', name: 'charts', value: number, checked: number === count, onchange: () => resize(number) }), el('span', {}, phrase(`charts_${number}`))),
  );
  /** Sends a change, and shows the list again or the refusal. */
  const change = async (path, options, words) => {
    try {
      if (options) await ask(path, options);
      const { data } = await ask(PATH);
      show(data.layouts);
      said.textContent = words ?? '';
      return true;
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('refused', error.message);
      return false;
    }
  };
  const put = (body, words) => change(PATH, { method: 'PUT', body }, words);
  const open = ({ query }) => {
    box.close();
    visit(query);
  };
  const remove = async (layout) => {
    if (await change(`${PATH}?${new URLSearchParams({ name: layout.name })}`, { method: 'DELETE' }, phrase('deleted', layout.name))) name.focus();
  };
  const row = (layout) => {
    const { name: own } = layout;
    const item = el(
      'li',
      {},
      el('button', { type: 'button', class: 'layout-name', title: layout.query, 'aria-label': phrase('open', own), onclick: () => open(layout) }, own),
      el('button', { type: 'button', 'aria-label': phrase('rename_one', own), onclick: () => rename(item, layout) }, phrase('rename')),
      el('button', { type: 'button', 'aria-label': phrase('delete_one', own), onclick: () => confirm(item, layout) }, phrase('delete')),
    );
    return item;
  };
  const rename = (item, layout) => {
    const box = el('input', { type: 'text', maxlength: NAME_MAX, value: layout.name, 'aria-label': phrase('name_new', layout.name) });
    const send = async (event) => {
      event.preventDefault();
      if (await put({ name: box.value, rename_from: layout.name }, phrase('renamed'))) list.querySelector('button')?.focus();
    };
    item.replaceChildren(el('form', { onsubmit: send }, box, el('button', { class: 'main' }, phrase('rename')), el('button', { type: 'button', onclick: () => item.replaceWith(row(layout)) }, phrase('cancel'))));
    box.select();
  };
  const confirm = (item, layout) => {
    const yes = el('button', { type: 'button', class: 'main', 'aria-label': phrase('delete_one', layout.name), onclick: () => remove(layout) }, phrase('delete'));
    item.replaceChildren(el('span', { class: 'layout-name' }, layout.name), yes, el('button', { type: 'button', onclick: () => item.replaceWith(row(layout)) }, phrase('cancel')));
    yes.focus();
  };
  const show = (layouts) => list.replaceChildren(...(layouts.length > 0 ? layouts.map(row) : [el('li', { class: 'hint' }, phrase('none'))]));
  const save = async (event) => {
    event.preventDefault();
    const saved = name.value.trim();
    if (await put({ name: saved, query: layoutQuery(current().view) }, phrase('saved', saved))) name.value = '';
  };
  const box = openDialog(
    'layouts',
    phrase('layouts'),
    el('fieldset', { class: 'pair layout-counts' }, el('legend', { class: 'unseen' }, phrase('charts')), ...counts),
    list,
    el('form', { class: 'layout-save', onsubmit: save }, name, el('button', { class: 'main' }, phrase('save'))),
    said,
    el('p', { class: 'hint' }, phrase('hint')),
    el('p', { class: 'choices' }, el('span', {}), el('button', { type: 'button', onclick: () => box.close() }, phrase('done'))),
  );
  counts[COUNTS.indexOf(count)].querySelector('input').focus();
  change();
}
