// The search box: a combobox over what the server finds and what earlier answers have left here.

import { ask } from './api.js';
import { el } from './dom.js';
import { symbolOf } from './link.js';
import { marketOf } from './market.js';
import { phrase } from './phrases/chart.js';
import { RESULTS_MAX, nameFor, rank } from './rank.js';

const PAUSE_MS = 120;

export class Search {
  constructor(input, list, onChoose) {
    Object.assign(this, { input, list, onChoose, seen: new Map(), results: [], at: -1 });
    input.addEventListener('input', () => this.type());
    input.addEventListener('focus', () => {
      input.select();
      this.type();
    });
    input.addEventListener('blur', () => this.close());
    input.addEventListener('keydown', (event) => this.press(event));
    // Without this the box loses the focus, and with it the list, before the click arrives.
    list.addEventListener('pointerdown', (event) => event.preventDefault());
    list.addEventListener('click', (event) => {
      const option = event.target.closest('[role=option]');
      if (option) this.choose(this.results[Number(option.dataset.at)].symbol);
    });
  }

  type() {
    const query = this.input.value === this.shown ? '' : this.input.value;
    this.query = query;
    this.show(rank([...this.seen.values()], query));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.find(query), this.seen.size === 0 ? 0 : PAUSE_MS);
  }

  async find(query) {
    try {
      const found = await suggestions(query);
      for (const security of found) this.seen.set(security.symbol, security);
      // An answer to what is no longer in the box is kept but not shown.
      if (this.query === query && document.activeElement === this.input)
        this.show(query === '' ? found.slice(0, RESULTS_MAX) : rank([...this.seen.values()], query), true);
    } catch (error) {
      if (document.activeElement === this.input)
        this.say(phrase(error.status === 401 ? 'search_visitor' : 'search_down'));
    }
  }

  show(results, isFinal = false) {
    this.results = results;
    this.at = results.length > 0 && this.query !== '' ? 0 : -1;
    if (results.length === 0) {
      if (isFinal) this.say(phrase('search_none'));
      return;
    }
    const languages = navigator.languages;
    this.list.replaceChildren(
      ...results.map((security, at) =>
        el(
          'li',
          { role: 'option', id: `found-${at}`, 'data-at': at },
          el('b', {}, security.symbol),
          el('span', {}, nameFor(security, languages)),
          el('small', {}, otherName(security, languages)),
          el('i', {}, marketOf(security.symbol)?.market ?? ''),
        ),
      ),
    );
    this.open();
    this.mark();
  }

  say(text) {
    this.results = [];
    this.list.replaceChildren(el('li', { class: 'nothing' }, text));
    this.open();
  }

  press(event) {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const { length } = this.results;
      if (length === 0) return;
      const step = event.key === 'ArrowDown' ? 1 : -1;
      this.at = this.at < 0 && step < 0 ? length - 1 : (this.at + step + length) % length;
      this.mark();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const typed = symbolOf(this.input.value);
      // Somebody who typed a whole symbol means it, whatever the list has at its top.
      const symbol = this.results.find((one) => one.symbol === typed)?.symbol ?? this.results[this.at]?.symbol ?? typed;
      if (symbol) this.choose(symbol);
    } else if (event.key === 'Escape') {
      this.set(this.shown ?? '');
      this.input.blur();
    }
  }

  mark() {
    [...this.list.children].forEach((option, at) => option.setAttribute('aria-selected', String(at === this.at)));
    const current = this.list.children[this.at];
    if (current) this.input.setAttribute('aria-activedescendant', current.id);
    else this.input.removeAttribute('aria-activedescendant');
    current?.scrollIntoView({ block: 'nearest' });
  }

  choose(symbol) {
    this.set(symbol);
    this.input.blur();
    this.onChoose(symbol);
  }

  set(symbol) {
    this.shown = symbol;
    this.input.value = symbol;
  }

  open() {
    this.list.hidden = false;
    this.input.setAttribute('aria-expanded', 'true');
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute('aria-expanded', 'false');
    this.input.removeAttribute('aria-activedescendant');
    if (this.shown) this.input.value = this.shown;
  }
}

/** Securities for a query; for none, what is worth a look first. */
export async function suggestions(query) {
  const asked = new URLSearchParams({ query: query.trim(), limit: 50 });
  return (await ask(`/v1/securities?${asked}`)).data.securities;
}

function otherName(security, languages) {
  const main = nameFor(security, languages);
  return [security.name_en, security.name_cn, security.name_hk].find((name) => name && name !== main) ?? '';
}
