// The quantity of an order: typed as a number of shares, as an amount of money, or as a share of
// the cash (of the position, for a sale), and then in whole lots.

import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { nextQuantity, quantityFor, shareOf } from '../price-steps.js';
import { amount } from './words.js';

const DECIMAL = /^\d+(\.\d+)?$/;
const isPositive = (text) => /[1-9]/.test(text ?? '');

export class Size {
  constructor(ask) {
    Object.assign(this, { ask, info: undefined, most: undefined, query: undefined });
    this.input = el('input', { id: 'ticket-quantity', type: 'text', inputmode: 'decimal', autocomplete: 'off' });
    const option = (value, words) => el('option', { value }, words);
    this.options = [option('shares', phrase('unit_shares')), option('amount', phrase('unit_amount')), option('percent', phrase('unit_percent'))];
    this.unit = el('select', { id: 'ticket-unit', 'aria-label': phrase('unit') }, this.options);
    this.result = el('output', { class: 'lead counted', for: 'ticket-quantity ticket-unit' });
    this.input.addEventListener('keydown', (event) => this.press(event));
    // A number in one unit has no meaning in another.
    this.unit.addEventListener('input', () => (this.input.value = ''));
  }

  get isPercent() {
    return this.unit.value === 'percent';
  }

  get lot() {
    return isPositive(this.info?.lot_size) ? this.info.lot_size : '1';
  }

  /** Another security, whose lot and currency are not known yet. */
  clear() {
    Object.assign(this, { info: undefined, query: undefined, most: undefined });
    this.input.value = '';
  }

  /** `info` is a response of `GET /v1/orders/info`. */
  learn(info) {
    this.info = info;
    this.options[1].textContent = info.channel_infos.currency;
  }

  /** Fills in one lot, unless a number was typed. */
  prefill() {
    if (this.input.value !== '' || this.unit.value !== 'shares') return;
    this.input.value = this.lot;
    if (document.activeElement === this.input) this.input.select();
  }

  press(event) {
    const direction = { ArrowUp: 'up', ArrowDown: 'down' }[event.key];
    const typed = this.input.value.trim();
    if (!direction || this.unit.value !== 'shares' || !this.info || (typed && !DECIMAL.test(typed))) return;
    event.preventDefault();
    this.input.value = nextQuantity(typed || '0', this.lot, direction);
    this.input.dispatchEvent(new Event('input', { bubbles: true }));
  }

  /** The quantity at a price; undefined while it is not known. */
  quantity(price) {
    const typed = this.input.value.trim();
    if (!DECIMAL.test(typed)) return undefined;
    if (this.unit.value === 'shares') return typed;
    if (this.isPercent) return this.most === undefined ? undefined : shareOf(this.most, typed, this.lot);
    return this.info && isPositive(price) ? quantityFor(typed, price, this.lot) : undefined;
  }

  show(side, price) {
    this.options[2].textContent = phrase(side === 'Buy' ? 'unit_percent' : 'unit_percent_held');
    const quantity = this.unit.value === 'shares' ? undefined : this.quantity(price);
    this.result.textContent = quantity === undefined ? '' : phrase('unit_result', amount(quantity));
  }

  /** The order's terms have changed: what is known of the maximum may not apply to them. */
  expect(terms) {
    const query = String(new URLSearchParams(terms));
    if (query !== this.query) Object.assign(this, { query, most: undefined });
  }

  /** Whether the maximum has to be requested first. */
  get isIncomplete() {
    return this.isPercent && this.most === undefined && DECIMAL.test(this.input.value.trim());
  }

  async request() {
    const { query } = this;
    const { data } = await this.ask(`/v1/trade/estimate/buy_limit?${query}`);
    if (this.query === query) this.most = data.cash_max_qty;
  }

  /** The account has changed. */
  outdate() {
    this.query = undefined;
  }
}
