// Key figures of the security: shares, per-share figures, and their ratios to the last price.

import { el } from '../dom.js';
import { factsPath } from '../facts.js';
import { phrase } from '../phrases/side.js';
import { FIGURE_PHRASES, figureRows, isAnyKnown } from './figures.js';
import { SecurityPanel } from './security-panel.js';

export class FiguresPanel extends SecurityPanel {
  mount(box) {
    this.box = box;
    this.said = el('p', { class: 'side-said', role: 'status' });
    this.basis = el('p', { class: 'lead' });
    this.cells = FIGURE_PHRASES.map(() => el('dd'));
    const rows = FIGURE_PHRASES.map((name, at) => el('div', {}, el('dt', {}, phrase(name)), this.cells[at]));
    this.body = el('div', { class: 'key-figures', hidden: true }, el('h2', {}, phrase('figures_title')), this.basis, el('dl', {}, rows));
    this.none = el('div', { class: 'lead', hidden: true });
    box.replaceChildren(this.said, this.body, this.none);
  }

  clear() {
    this.body.hidden = this.none.hidden = true;
  }

  async load(symbol) {
    const { data } = await this.ask(`${factsPath(symbol)}/figures`);
    if (this.symbol === symbol) this.show(data);
  }

  show(figures) {
    const { symbol, currency, last_done: price } = figures;
    const isKnown = isAnyKnown(figures);
    this.said.textContent = '';
    this.body.hidden = !isKnown;
    this.none.hidden = isKnown;
    if (!isKnown) {
      const command = el('pre', {}, el('code', {}, 'chandler import securities.csv'));
      this.none.replaceChildren(el('p', {}, phrase('figures_none', symbol)), command);
      return;
    }
    this.basis.textContent = price === null ? phrase('figures_unpriced', currency) : phrase('figures_in', currency, price);
    for (const [at, { words, exact, missing }] of figureRows(figures).entries()) {
      const cell = this.cells[at];
      cell.title = missing ? phrase(missing) : (exact ?? '');
      // A dash is meaningless to a screen reader.
      if (missing) cell.replaceChildren(el('span', { 'aria-hidden': 'true' }, '–'), el('span', { class: 'unseen' }, phrase(missing)));
      else cell.textContent = words;
    }
  }
}
