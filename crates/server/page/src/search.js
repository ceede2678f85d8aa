// The search box: a combobox over results of the server and cached results.

import { ask } from './api.js';
import { el } from './dom.js';
import { symbolOf } from './link.js';
import { marketOf } from './market.js';
import { phrase } from './phrases/chart.js';
import { RESULTS_MAX, nameFor, rank } from './rank.js';

const PAUSE_MS = 120;
const COMPOSING = 229;
// The maximum that the server accepts.
const QUERY_MAX = 64;

export class Search {
  /** `list` is for the results, `status` for the text when there are none. */
  constructor({ input, list, status }, onChoose) {
    Object.assign(this, { input, list, status, onChoose, seen: new Map(), results: [], at: -1 });
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
      if (option) this.choose(option.dataset.symbol);
    });
  }

  type() {
    const query = this.input.value === this.shown ? '' : this.input.value;
    Object.assign(this, { query, isAnswered: false, isEntered: false, hasMoved: false });
    this.show(rank([...this.seen.values()], query));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.find(query), query === '' ? 0 : PAUSE_MS);
  }

  async find(query) {
    try {
      const found = await suggestions(query);
      for (const security of found) this.seen.set(security.symbol, security);
      // The response to an outdated query is cached but not shown.
      if (this.query !== query || document.activeElement !== this.input) return;
      this.isAnswered = true;
      // The list must not change while the user moves along it.
      if (!this.hasMoved) this.show(found.slice(0, RESULTS_MAX), phrase('search_none'));
      if (this.isEntered) this.enter();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      if (this.query === query && document.activeElement === this.input)
        this.show([], phrase(error.status === 401 ? 'search_visitor' : 'search_down'));
    }
  }

  /** `none` is the text for an empty list; it stays empty until the server has answered. */
  show(results, none = '') {
    this.results = results;
    this.at = results.length > 0 && this.query !== '' ? 0 : -1;
    this.list.replaceChildren(
      ...results.map((security, at) =>
        el(
          'li',
          { role: 'option', id: `found-${at}`, 'data-symbol': security.symbol },
          el('b', {}, security.symbol),
          el('span', {}, nameFor(security)),
          el('small', {}, otherName(security)),
          el('i', {}, marketOf(security.symbol)?.market ?? ''),
        ),
      ),
    );
    this.status.textContent = results.length === 0 ? none : '';
    this.open(results.length > 0);
    this.mark();
  }

  press(event) {
    // Enter and the arrows belong to the input method while it composes; Safari reports its last
    // key only by key code.
    if (event.isComposing || event.keyCode === COMPOSING) return;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const { length } = this.results;
      if (length === 0) return;
      const step = event.key === 'ArrowDown' ? 1 : -1;
      this.at = this.at < 0 && step < 0 ? length - 1 : (this.at + step + length) % length;
      this.hasMoved = true;
      this.mark();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      this.enter();
    } else if (event.key === 'Escape') {
      this.set(this.shown);
      this.input.blur();
    }
  }

  /**
   * A cached match may not be the best one, and opening it costs quota: nothing is chosen before
   * the server has answered.
   */
  enter() {
    const marked = this.results[this.at]?.symbol;
    // A complete symbol is used as typed, whatever is first in the list.
    const typed = symbolOf(this.input.value);
    const symbol = this.hasMoved ? marked : (typed ?? (this.isAnswered ? marked : undefined));
    this.isEntered = symbol === undefined;
    if (symbol) this.choose(symbol);
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

  /** `text` is for a box without a security: it is searched when the box gets the focus. */
  set(symbol, text = symbol ?? '') {
    this.shown = symbol;
    this.input.value = text;
  }

  open(isOpen) {
    this.list.hidden = !isOpen;
    this.input.setAttribute('aria-expanded', String(isOpen));
  }

  close() {
    clearTimeout(this.timer);
    this.query = undefined;
    this.show([]);
    if (this.shown) this.input.value = this.shown;
  }
}

/** Securities for a query; without a query, suggestions. */
export async function suggestions(query) {
  return (await listed(query)).securities;
}

/** The same, and whether the store is empty. */
export async function listed(query) {
  const params = new URLSearchParams({ query: query.trim().slice(0, QUERY_MAX), limit: 50 });
  return (await ask(`/v1/securities?${params}`)).data;
}

function otherName(security) {
  const main = nameFor(security);
  return [security.name_en, security.name_cn, security.name_hk].find((name) => name && name !== main) ?? '';
}
