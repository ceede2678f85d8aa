// Orders on the chart: the tab with the ticket, the position and the open orders of the security,
// and the order lines that can be moved and closed. Start here.

import { ask } from '../api.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { changeOrder, confirmCancel, confirmPrice } from '../portfolio/dialogs.js';
import { fillSheet, rowButton } from '../portfolio/sheet.js';
import { Ticket } from '../portfolio/ticket.js';
import { amount, orderWords, statusWords } from '../portfolio/words.js';
import { Lines, pricesOf } from './lines.js';

export class Orders {
  /**
   * `on` has `symbol`, `marks` and `chart`, which return the current ones, `traded`, which requests
   * the marks again, and `say`, which announces a text.
   */
  constructor(on) {
    Object.assign(this, { on, ticks: undefined, ticksOf: undefined, isOpen: false });
    this.lines = new Lines({
      chart: () => on.chart(),
      onMoved: (order, name, price, onClosed) => confirmPrice(order, name, price, { onDone: (words) => this.done(words), onClosed }),
      onChange: (order) => this.change(order),
      onCancel: (order) => this.cancel(order),
    });
    this.list = el('div', { class: 'chart-orders' });
  }

  /** Fills the tab. */
  open(box) {
    this.isOpen = true;
    if (!this.ticket) {
      this.ticket = new Ticket((id) => this.placed(id), { parts: { below: this.list } });
      box.replaceChildren(this.ticket.box);
    }
    this.show();
  }

  close() {
    this.isOpen = false;
  }

  /** Starts an order; `price` is a number, or undefined for the last price. */
  begin(price) {
    const { position } = this.on.marks() ?? {};
    const isAbove = price !== undefined && price > this.on.chart().candles.at(-1)?.close;
    // Above the market a limit order to buy would fill immediately.
    const side = price === undefined ? undefined : isAbove && /[1-9]/.test(position?.available_quantity ?? '') ? 'Sell' : 'Buy';
    this.ticket.begin(this.on.symbol(), side, price);
  }

  /** The marks, or the candles, have changed. */
  show() {
    const [marks, symbol] = [this.on.marks(), this.on.symbol()];
    const mayTrade = marks !== undefined && !marks.read_only;
    const orders = (mayTrade ? marks.orders : []).map((order) => orderOf(order, symbol));
    if (orders.some((order) => pricesOf(order).length > 0)) this.learn(symbol);
    this.lines.show(orders, this.ticksOf === symbol ? this.ticks : undefined);
    if (!this.ticket || !marks) return;
    this.ticket.show({ now: marks });
    // A closed tab requests nothing.
    if (this.isOpen && symbol !== this.ticket.symbol) this.ticket.choose(symbol);
    fillSheet(this.list, [orders, marks.position], () => this.rows(orders, marks.position));
  }

  rows(orders, position) {
    const held = position ? [el('h3', {}, phrase('positions')), el('p', {}, phrase('position_line', amount(position.quantity), amount(position.cost_price)))] : [];
    if (orders.length === 0) return [...held, el('p', { class: 'lead' }, phrase('no_open'))];
    // An attached order is under its main order, and alone once that is filled.
    const isUnder = (order) => orders.some(({ order_id: id }) => id === order.main_order_id);
    const nested = orders.filter((order) => !isUnder(order)).flatMap((order) => [order, ...orders.filter(({ main_order_id: id }) => id === order.order_id)]);
    const row = (order) => {
      const { order_id: id } = order;
      const ways = [
        rowButton(`change ${id}`, phrase('change'), phrase('change_one', id), () => this.change(order)),
        rowButton(`cancel ${id}`, phrase('cancel'), phrase('cancel_one', id), () => this.cancel(order)),
      ];
      return el('li', { class: order.main_order_id ? 'leg' : undefined }, el('span', {}, order.main_order_id ? '↳ ' : '', orderWords(order), ' ', el('small', {}, statusWords(order.status))), el('span', { class: 'ways' }, ways));
    };
    return [...held, el('h3', {}, phrase('open_orders')), el('ul', {}, nested.map(row)), el('p', { class: 'lead' }, phrase('lines_hint'))];
  }

  /** Requests the price steps, once for each security with order lines. */
  async learn(symbol) {
    if (this.ticksOf === symbol) return;
    Object.assign(this, { ticksOf: symbol, ticks: undefined });
    try {
      const { data } = await ask(`/v1/orders/info?symbol=${encodeURIComponent(symbol)}`);
      if (this.ticksOf !== symbol) return;
      this.ticks = data.bid_sizes;
      this.show();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      // Lines cannot be moved without them; the next change requests them again.
      if (this.ticksOf === symbol) this.ticksOf = undefined;
    }
  }

  /** The dialog shows all terms, of which the marks have only some. */
  async change({ order_id: id }) {
    try {
      const { data } = await ask(`/v1/trade/order?order_id=${encodeURIComponent(id)}`);
      changeOrder(data, (words) => this.done(words));
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.on.say(phrase('not_done', error.message));
    }
  }

  cancel(order) {
    confirmCancel(order, (words) => this.done(words));
  }

  async done(words) {
    this.on.say(words);
    await this.on.traded();
  }

  /** The outcome of a new order, which may be closed already. */
  async placed(id) {
    const [{ data }] = await Promise.all([ask(`/v1/trade/order?order_id=${encodeURIComponent(id)}`), this.on.traded()]);
    return phrase('placed', id, [statusWords(data.status), data.msg].filter(Boolean).join(' '));
  }
}

/** An order of the marks as in a list of orders, where the quantity is the whole of it. */
const orderOf = (order, symbol) => ({ ...order, symbol, quantity: order.total_quantity, remaining: order.quantity });
