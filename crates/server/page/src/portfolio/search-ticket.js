// The order ticket of a page that is not about one security: it has a search box.

import { el } from '../dom.js';
import { symbolOf } from '../link.js';
import { phrase } from '../phrases/portfolio.js';
import { Search } from '../search.js';
import { Ticket } from './ticket.js';

export class SearchTicket extends Ticket {
  constructor(onPlaced) {
    const input = el('input', {
      id: 'ticket-symbol', type: 'text', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': 'ticket-found', 'aria-autocomplete': 'list',
      autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false', enterkeyhint: 'next',
    });
    const list = el('ul', { id: 'ticket-found', role: 'listbox', 'aria-label': phrase('securities'), hidden: true });
    const status = el('p', { id: 'found-none', role: 'status' });
    const above = el('div', { class: 'search', role: 'search' }, el('label', { for: 'ticket-symbol' }, phrase('symbol')), input, list, status);
    const hint = el('small', { class: 'push lead keyed' }, phrase('key_new'));
    super(onPlaced, { parts: { above, hint }, isNamed: false });
    this.input = input;
    this.box.classList.add('sheet');
    this.search = new Search({ input, list, status }, (symbol) => {
      this.choose(symbol);
      this.quantity.focus();
    });
    // A complete symbol also counts when the box is left with Tab.
    input.addEventListener('keydown', (event) => {
      const typed = event.key === 'Tab' && input.value !== this.symbol ? symbolOf(input.value) : undefined;
      if (!typed) return;
      // Choosing moves the focus to the quantity, and the Tab key would move it once more.
      event.preventDefault();
      this.search.choose(typed);
    });
  }

  focus() {
    if (!this.form.hidden) this.input.focus();
  }

  begin(symbol, side) {
    this.search.set(symbol);
    super.begin(symbol, side);
  }
}
