// The order ticket. Nothing is sent before its cost is shown, and nothing is sent twice: each order
// has an idempotency key, which stays the same when the button is pressed again or the response was
// lost.

import { ask } from '../api.js';
import { trimmed } from '../decimal.js';
import { el } from '../dom.js';
import { marketOf } from '../market.js';
import { phrase } from '../phrases/portfolio.js';
import { nextPrice, snapped, tickAt } from '../price-steps.js';
import { nameFor } from '../rank.js';
import { bill, verdictWords } from './preview.js';
import { Size } from './size.js';
import { PRICE_FIELDS, TYPES, amount, sideWords, typeOf, waitingWords } from './words.js';

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
  /**
   * `onPlaced` gets the number of an order, and returns the text to show. `parts` are elements shown
   * above the form's fields, and below the charges. `isNamed` is whether the page shows which
   * security the ticket is for.
   */
  constructor(onPlaced, { parts = {}, isNamed = true } = {}) {
    Object.assign(this, { onPlaced, parts, isNamed, symbol: undefined, info: undefined, previewed: undefined, name: requestName(), isSending: false });
    this.size = new Size(ask);
    this.build();
    for (const box of Object.values(this.prices)) box.addEventListener('keydown', (event) => this.pressPrice(event, box));
    this.form.addEventListener('input', (event) => {
      if (event.target.role !== 'combobox') this.changed();
    });
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.send();
    });
    this.changed();
  }

  /** The arrow keys change a price by one step. */
  pressPrice(event, box) {
    const direction = { ArrowUp: 'up', ArrowDown: 'down' }[event.key];
    const typed = box.value.trim();
    if (!direction || !this.info || !DECIMAL.test(typed) || box === this.prices.trailing_percent) return;
    event.preventDefault();
    box.value = nextPrice(this.info.bid_sizes, typed, direction);
    this.changed();
  }

  build() {
    this.named = el('p', { class: 'lead named' }, '\u00a0');
    const radio = (side) => {
      const box = el('input', { type: 'radio', name: 'side', value: side, checked: side === 'Buy' });
      return el('label', { class: side === 'Buy' ? 'buys' : 'sells' }, box, el('span', {}, sideWords(side)));
    };
    this.sides = el('fieldset', { class: 'pair side' }, el('legend', { class: 'unseen' }, phrase('side')), radio('Buy'), radio('Sell'));
    this.type = choice('ticket-type', TYPES.map(({ code, name }) => [code, phrase(name)]));
    this.quantity = this.size.input;
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
    const quantity = el('span', { class: 'sized' }, this.size.unit, this.quantity, this.size.result);
    this.form = el(
      'form',
      { class: 'fields', autocomplete: 'off' },
      this.parts.above,
      this.named,
      this.sides,
      field(phrase('order_type'), this.type),
      el('p', { class: 'field' }, el('label', { for: 'ticket-quantity' }, phrase('quantity')), quantity),
      ...Object.keys(PRICE_FIELDS).map((name) => this.rows[name]),
      field(phrase('time_in_force'), this.force),
      this.rows.expires,
      field(phrase('hours'), this.hours),
      field(phrase('remark'), this.remark),
      this.bill,
      this.parts.below,
      el('div', { class: 'ticket-foot' }, this.said, this.verdict, this.button),
    );
    this.readOnly = el('p', { class: 'lead', hidden: true }, phrase('read_only'));
    this.head = el('div', { class: 'row' }, el('h2', {}, phrase('ticket')), this.parts.hint);
    this.box = el('section', { class: 'ticket', 'aria-label': phrase('ticket') }, this.readOnly, this.head, this.form);
  }

  /**
   * Updates with the account: one that may not trade has no ticket, and an outdated preview is
   * repeated.
   */
  show({ now }) {
    this.isReadOnly = now.read_only;
    this.form.hidden = now.read_only;
    this.head.hidden = now.read_only;
    this.readOnly.hidden = !now.read_only;
    this.at = Number(now.at);
    if (now.entries !== this.entries) this.size.outdate();
    this.entries = now.entries;
    if (this.previewed && !this.isSending && Math.abs(this.at - this.previewed.at) >= STALE_S) this.preview();
  }

  focus() {
    if (!this.form.hidden) this.quantity.focus();
  }

  /**
   * Starts an order for a position, for the security of another page, or at a price of a chart,
   * which is a number.
   */
  begin(symbol, side, price) {
    this.choose(symbol, side, price);
    this.quantity.focus();
    this.quantity.select();
  }

  choose(symbol, side, price) {
    if (this.isReadOnly) return;
    if (this.symbol !== undefined && symbol !== this.symbol) {
      this.size.clear();
      for (const box of Object.values(this.prices)) box.value = '';
    }
    if (symbol !== this.symbol) {
      this.info = undefined;
      this.named.textContent = '\u00a0';
    }
    this.symbol = symbol;
    // Reserves the height of the preview.
    this.box.dataset.symbol = symbol;
    if (side) this.sides.querySelector(`[value=${side}]`).checked = true;
    if (price !== undefined) this.type.value = typeOf(this.type.value).fields.includes('price') ? this.type.value : 'LO';
    this.changed();
    this.learn(price);
  }

  /** Shows the security, and fills in one lot and the last price, or the given one. */
  async learn(price) {
    const { symbol } = this;
    const turn = (this.learning = {});
    const facts = async (path) => {
      try {
        return (await ask(path)).data;
      } catch (error) {
        // The ticket works without them; the preview reports whether the security can be traded.
        if (error.name !== 'Refused') throw error;
        return undefined;
      }
    };
    const name = encodeURIComponent(symbol);
    const [info, security] = await Promise.all([
      facts(`/v1/orders/info?symbol=${name}`),
      this.isNamed ? undefined : facts(`/v1/securities/${name}`),
    ]);
    if (this.learning !== turn) return;
    this.showNamed(info, security);
    if (!info) return;
    this.info = info;
    this.size.learn(info);
    this.size.prefill();
    const box = this.prices.price;
    const wanted = price === undefined ? undefined : snapped(info.bid_sizes, price);
    // A typed price stays.
    if (wanted || ['', this.filled].includes(box.value)) box.value = this.filled = wanted ?? trimmed(info.last_done);
    if (document.activeElement === box) box.select();
    this.changed();
  }

  showNamed(info, security) {
    const lot = info?.lot_size ?? String(security?.lot ?? '');
    const tick = info?.last_done ? tickAt(info.bid_sizes, info.last_done) : undefined;
    const parts = [
      info?.channel_infos.currency ?? security?.currency,
      lot && lot !== '1' ? phrase('lot', amount(lot)) : '',
      tick ? phrase('tick', trimmed(tick)) : '',
      this.isNamed ? info?.last_done && phrase('last', trimmed(info.last_done)) : security && nameFor(security),
    ];
    this.named.textContent = parts.filter(Boolean).join(' · ') || '\u00a0';
  }

  get side() {
    return this.sides.querySelector(':checked').value;
  }

  /** The price by which an amount of money is converted: of the order, else the last one. */
  get price() {
    const { fields } = typeOf(this.type.value);
    const typed = ['price', 'trigger_price'].filter((name) => fields.includes(name)).map((name) => this.prices[name].value.trim());
    return typed.find((text) => DECIMAL.test(text)) ?? this.info?.last_done;
  }

  /** The body of the request; undefined while something is missing. */
  terms() {
    const { fields } = typeOf(this.type.value);
    const values = Object.fromEntries(fields.map((name) => [SUBMITTED[name] ?? name, this.prices[name].value.trim()]));
    const quantity = this.size.quantity(this.price);
    const isDated = this.force.value === 'GTD';
    const isWhole = Object.values(values).every((text) => DECIMAL.test(text)) && (!isDated || this.expires.value);
    if (!this.symbol || !/[1-9]/.test(quantity ?? '') || !isWhole) return undefined;
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
    this.said.textContent = '';
    const price = fields.includes('price') && DECIMAL.test(this.prices.price.value.trim()) ? { price: this.prices.price.value.trim() } : {};
    this.size.expect({ symbol: this.symbol, side: this.side, order_type: this.type.value, ...price });
    this.size.show(this.side, this.price);
    this.forget();
    clearTimeout(this.timer);
    if (this.symbol && this.size.isIncomplete) this.timer = setTimeout(() => this.requestMost(), PAUSE_MS);
    else if (this.terms()) this.timer = setTimeout(() => this.preview(), PAUSE_MS);
  }

  /** Requests the maximum of which the quantity is a share. */
  async requestMost() {
    try {
      await this.size.request();
      if (!this.size.isIncomplete) this.changed();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.refuse(error);
    }
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
      this.bill.replaceChildren(...waitingNote(data), bill(data), noteList(data));
      this.button.disabled = this.isSending || data.verdict === 'refused';
      this.button.textContent = phrase('place_one', sideWords(terms.side), amount(terms.submitted_quantity), terms.symbol);
    } catch (error) {
      if (error.name === 'AbortError' || this.abort !== mine) return;
      if (error.name !== 'Refused') throw error;
      this.refuse(error);
    }
  }

  refuse({ message }) {
    this.verdict.textContent = phrase('not_done', message);
    this.verdict.dataset.verdict = 'refused';
    this.bill.replaceChildren();
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
const noteList = ({ notes, waiting }) => el('ul', { class: 'notes' }, notes.filter((note) => note !== waiting?.words).map((note) => el('li', {}, note)));
/** Why the order would not fill now: above the bill, where it is seen without scrolling. */
const waitingNote = ({ symbol, waiting }) => (waiting ? [el('p', { class: 'waits' }, waitingWords(symbol, waiting))] : []);
const field = (label, box) => el('p', { class: 'field' }, el('label', { for: box.id }, label), box);
const decimal = (id) => el('input', { id, type: 'text', inputmode: 'decimal', autocomplete: 'off' });
const choice = (id, options) => el('select', { id }, options.map(([value, label]) => el('option', { value }, label)));
