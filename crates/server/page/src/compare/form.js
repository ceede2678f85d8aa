// The comparison dialog: the compared securities, and a search for others by code or name.

import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { COMPARED_MAX, comparedOf, symbolOf } from '../link.js';
import { phrase } from '../phrases/extras.js';
import { nameFor } from '../rank.js';

const PAUSE_MS = 150;
const FOUND_MAX = 6;

/** `set` gets the changed part of the view, `search` finds securities. */
export function openCompare(view, set, search) {
  let symbols = view.compare?.split(',') ?? [];
  const said = el('p', { class: 'said', role: 'status' });
  const list = el('ul', { class: 'chips compared' });
  const found = el('div', { class: 'compare-found' });
  const box = el('input', { type: 'text', 'aria-label': phrase('compare_with'), placeholder: phrase('compare_with'), autocomplete: 'off', autocapitalize: 'characters' });
  const change = (next) => {
    symbols = next;
    set({ compare: symbols.length > 0 ? symbols.join(',') : undefined });
    draw();
  };
  const add = (text) => {
    const { compared } = comparedOf([...symbols, text], view.symbol);
    const isMore = compared !== undefined && compared.split(',').length > symbols.length;
    if (!isMore) {
      said.textContent = symbols.length >= COMPARED_MAX ? phrase('compare_full', COMPARED_MAX) : phrase('compare_wrong', text.slice(0, 40));
      return;
    }
    said.textContent = '';
    box.value = '';
    found.replaceChildren();
    change(compared.split(','));
    box.focus();
  };
  const draw = () =>
    list.replaceChildren(
      ...symbols.map((symbol) =>
        el('li', {}, symbol, ' ', el('button', { type: 'button', 'aria-label': phrase('compare_without', symbol), onclick: () => change(symbols.filter((one) => one !== symbol)) }, '✕')),
      ),
    );
  let timer;
  box.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const query = box.value;
      const { securities } = await search(query).catch(() => ({ securities: [] }));
      if (box.value !== query || query.trim() === '') return;
      const offered = securities.filter(({ symbol }) => symbol !== view.symbol && !symbols.includes(symbol)).slice(0, FOUND_MAX);
      found.replaceChildren(...offered.map((one) => el('button', { type: 'button', onclick: () => add(one.symbol) }, `${one.symbol} ${nameFor(one)}`.trim())));
    }, PAUSE_MS);
  });
  box.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    // A complete symbol is used as typed, else the first result.
    add(symbolOf(box.value) ?? found.firstElementChild?.textContent.split(' ')[0] ?? box.value);
  });
  draw();
  const dialog = openDialog(
    'compare',
    phrase('compare'),
    list,
    box,
    found,
    said,
    el('p', { class: 'hint' }, phrase('compare_hint', COMPARED_MAX)),
    el('p', { class: 'choices' }, el('span', {}), el('button', { type: 'button', class: 'main', onclick: () => dialog.close() }, phrase('done'))),
  );
  box.focus();
}
