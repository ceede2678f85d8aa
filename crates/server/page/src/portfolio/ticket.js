// The order ticket. Nothing is sent before its cost is shown, and nothing is sent twice: each order
// has an idempotency key, which stays the same when the button is pressed again or the response was
// lost.

import { ask } from '../api.js';
import { el } from '../dom.js';
import { symbolOf } from '../link.js';
import { marketOf } from '../market.js';
import { phrase } from '../phrases/portfolio.js';
import { nameFor } from '../rank.js';
import { Search } from '../search.js';
import { bill, verdictWords } from './preview.js';
import { PRICE_FIELDS, TYPES, amount, sideWords, typeOf } from './words.js';

const PAUSE_MS = 250;
// In market time: prices and hours change with it, and so does the preview of an order.
const STALE_S = 60;
const DECIMAL = /^\d+(\.\d+)?$/;
const SUBMITTED = { price: 'submitted_price' };

/** A unique idempotency key. `randomUUID` is unavailable on a page served without TLS. */
export function requestName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

export class Ticket {
  /** `onPlaced` gets the number of an order, and returns the text to show. */
  constructor(onPlaced) {
    Object.assign(this, { onPlaced, symbol: undefined, previewed: undefined, name: requestName(), isSending: false });
    this.build();
    this.search = new Search({ input: this.input, list: this.found, status: this.foundNone }, (symbol) => {
      this.choose(symbol);
      this.quantity.focus();
    });
    // A complete symbol also counts when the box is left with Tab.
    this.input.addEventListener('keydown', (event) => {
      const typed = event.key === 'Tab' && this.input.value !== this.symbol ? symbolOf(this.input.value) : undefined;
      if (!typed) return;
      // Choosing moves the focus to the quantity, and the Tab key would move it once more.
      event.preventDefault();
      this.search.choose(typed);
    });
    this.form.addEventListener('input', (event) => {
      if (event.target !== this.input) this.changed();
    });
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.send();
    });
    this.changed();
  }

  build() {
    this.input = el('input', {
      id: 'ticket-symbol', type: 'text', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': 'ticket-found', 'aria-autocomplete': 'list',
      autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false', enterkeyhint: 'next',
    });
    this.found = el('ul', { id: 'ticket-found', role: 'listbox', 'aria-label': phrase('securities'), hidden: true });
    this.foundNone = el('p', { id: 'found-none', role: 'status' });
    this.named = el('p', { class: 'lead named' }, '\u00a0');
    const radio = (side) => {
      const box = el('input', { type: 'radio', name: 'side', value: side, checked: side === 'Buy' });
      return el('label', { class: side === 'Buy' ? 'buys' : 'sells' }, box, el('span', {}, sideWords(side)));
    };
    this.sides = el('fieldset', { class: 'pair side' }, el('legend', { class: 'unseen' }, phrase('side')), radio('Buy'), radio('Sell'));
    this.type = choice('ticket-type', TYPES.map(({ code, name }) => [code, phrase(name)]));
    this.quantity = decimal('ticket-quantity');
    this.prices = Object.fromEntries(Object.keys(PRICE_FIELDS).map((name) => [name, decimal(`ticket-${name}`)]));
    this.force = choice('ticket-force', [['Day', phrase('tif_day')], ['GTC', phrase('tif_gtc')], ['GTD', phrase('tif_gtd')]]);
    this.expires = el('input', { id: 'ticket-expires', type: 'date' });
    this.hours = choice('ticket-hours', [['RTH_ONLY', phrase('hours_regular')], ['ANY_TIME', phrase('hours_any')], ['OVERNIGHT', phrase('hours_night')]]);
    this.remark = el('input', { id: 'ticket-remark', type: 'text', maxlength: 64, autocomplete: 'off' });
    this.verdict = el('p', { class: 'verdict', role: 'status' });
    this.bill = el('div', { class: 'bill-box', tabindex: 0, role: 'region', 'aria-label': phrase('charges') });
    this.button = el('button', { class: 'main place' }, phrase('place'));
    this.said = el('p', { class: 'said', role: 'status' });
    this.rows = {
      ...Object.fromEntries(Object.entries(PRICE_FIELDS).map(([name, key]) => [name, field(phrase(key), this.prices[name])])),
      expires: field(phrase('expires'), this.expires),
    };
    this.form = el(
      'form',
      { class: 'fields', autocomplete: 'off' },
      el('div', { class: 'search', role: 'search' }, el('label', { for: 'ticket-symbol' }, phrase('symbol')), this.input, this.found, this.foundNone),
      this.named,
      this.sides,
      field(phrase('order_type'), this.type),
      field(phrase('quantity'), this.quantity),
      ...Object.keys(PRICE_FIELDS).map((name) => this.rows[name]),
      field(phrase('time_in_force'), this.force),
      this.rows.expires,
      field(phrase('hours'), this.hours),
      field(phrase('remark'), this.remark),
      this.verdict,
      this.bill,
      this.button,
      this.said,
    );
    this.readOnly = el('p', { class: 'lead', hidden: true }, phrase('read_only'));
    this.head = el('div', { class: 'row' }, el('h2', {}, phrase('ticket')), el('small', { class: 'push lead keyed' }, phrase('key_new')));
    this.box = el('section', { class: 'sheet ticket', 'aria-label': phrase('ticket') }, this.readOnly, this.head, this.form);
  }

  /**
   * Updates with the account: one that may not trade has no ticket, and an outdated preview is
   * repeated.
   */
  show({ now }) {
    this.form.hidden = now.read_only;
    this.head.hidden = now.read_only;
    this.readOnly.hidden = !now.read_only;
    this.at = Number(now.at);
    if (this.previewed && !this.isSending && Math.abs(this.at - this.previewed.at) >= STALE_S) this.preview();
  }

  focus() {
    if (!this.form.hidden) this.input.focus();
  }

  /** Starts an order for a position, or for the security of another page. */
  begin(symbol, side) {
    this.search.set(symbol);
    this.choose(symbol, side);
    this.quantity.focus();
  }

  choose(symbol, side) {
    this.symbol = symbol;
    if (side) this.sides.querySelector(`[value=${side}]`).checked = true;
    this.changed();
    this.showName();
  }

  /** Shows the name of the security, and its lot. */
  async showName() {
    const { symbol } = this;
    this.named.textContent = '\u00a0';
    try {
      const { data } = await ask(`/v1/securities/${encodeURIComponent(symbol)}`);
      if (this.symbol !== symbol) return;
      const lot = data.lot > 1 ? phrase('lot', data.lot) : '';
      this.named.textContent = [data.currency, lot, nameFor(data)].filter(Boolean).join(' · ') || '\u00a0';
    } catch (error) {
      // The ticket works without the name; the preview reports whether the security exists.
      if (error.name !== 'Refused') throw error;
    }
  }

  get side() {
    return this.sides.querySelector(':checked').value;
  }

  /** The body of the request; undefined while something is missing. */
  terms() {
    const { fields } = typeOf(this.type.value);
    const values = Object.fromEntries(fields.map((name) => [SUBMITTED[name] ?? name, this.prices[name].value.trim()]));
    const quantity = this.quantity.value.trim();
    const isDated = this.force.value === 'GTD';
    const isWhole = [quantity, ...Object.values(values)].every((text) => DECIMAL.test(text)) && (!isDated || this.expires.value);
    if (!this.symbol || !isWhole) return undefined;
    return {
      symbol: this.symbol,
      side: this.side,
      order_type: this.type.value,
      submitted_quantity: quantity,
      ...values,
      time_in_force: this.force.value,
      ...(isDated && { expire_date: this.expires.value }),
      ...(!this.hours.disabled && { outside_rth: this.hours.value }),
      ...(this.remark.value.trim() && { remark: this.remark.value.trim() }),
    };
  }

  /**
   * Called when a field changes: the preview is outdated, and the next order gets a new idempotency
   * key.
   */
  changed() {
    const market = this.symbol && marketOf(this.symbol)?.market;
    const { fields } = typeOf(this.type.value);
    for (const name of Object.keys(PRICE_FIELDS)) this.rows[name].hidden = !fields.includes(name);
    this.rows.expires.hidden = this.force.value !== 'GTD';
    // Always in the form: a security is chosen when the server has answered, and the layout must
    // not shift then.
    this.hours.disabled = market !== 'US';
    if (this.hours.disabled) this.hours.value = 'RTH_ONLY';
    for (const option of this.type.options) option.disabled = Boolean(typeOf(option.value).isHongKong) && market === 'US';
    this.box.dataset.side = this.side;
    this.name = requestName();
    this.forget();
    clearTimeout(this.timer);
    if (this.terms()) this.timer = setTimeout(() => this.preview(), PAUSE_MS);
  }

  forget() {
    this.abort?.abort();
    this.previewed = undefined;
    this.button.disabled = true;
    this.button.textContent = phrase('place');
    this.verdict.textContent = this.terms() ? phrase('reckoning') : phrase('cost_first');
    this.verdict.dataset.verdict = '';
    this.bill.replaceChildren();
  }

  async preview() {
    const terms = this.terms();
    if (!terms) return;
    this.abort?.abort();
    const mine = new AbortController();
    this.abort = mine;
    try {
      const { data } = await ask('/v1/trade/order/preview', { method: 'POST', body: terms, signal: mine.signal });
      if (this.abort !== mine) return;
      this.previewed = { terms, at: this.at };
      this.verdict.textContent = verdictWords(data);
      this.verdict.dataset.verdict = data.verdict;
      this.bill.replaceChildren(bill(data), noteList(data.notes));
      this.button.disabled = this.isSending || data.verdict === 'refused';
      this.button.textContent = phrase('place_one', sideWords(terms.side), amount(terms.submitted_quantity), terms.symbol);
    } catch (error) {
      if (error.name === 'AbortError' || this.abort !== mine) return;
      if (error.name !== 'Refused') throw error;
      this.verdict.textContent = phrase('not_done', error.message);
      this.verdict.dataset.verdict = 'refused';
      this.bill.replaceChildren();
    }
  }

  async send() {
    if (!this.previewed || this.isSending || this.button.disabled) return;
    this.isSending = true;
    this.button.disabled = true;
    this.said.textContent = '';
    const { terms } = this.previewed;
    try {
      const { data } = await ask('/v1/trade/order', { method: 'POST', body: { ...terms, client_request_id: this.name } });
      // The next order needs a new quantity, so that one key press too many sends nothing.
      this.quantity.value = '';
      this.changed();
      this.said.textContent = await this.onPlaced(data.order_id);
      // Not if the user has moved elsewhere meanwhile. Disabling the button moved the focus to the
      // document.
      const { activeElement } = document;
      if (activeElement === document.body || this.form.contains(activeElement)) this.quantity.focus();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.said.textContent = phrase('not_done', error.message);
      // The idempotency key is unchanged: if the order was accepted and only the response was lost,
      // it is not accepted twice.
      this.button.disabled = false;
    } finally {
      this.isSending = false;
    }
  }
}

// Sentences of the server: which parts of the request are not honoured, and how the stored candles
// affect the order.
const noteList = (notes) => el('ul', { class: 'notes' }, notes.map((note) => el('li', {}, note)));
const field = (label, box) => el('p', { class: 'field' }, el('label', { for: box.id }, label), box);
const decimal = (id) => el('input', { id, type: 'text', inputmode: 'decimal', autocomplete: 'off' });
const choice = (id, options) => el('select', { id }, options.map(([value, label]) => el('option', { value }, label)));
