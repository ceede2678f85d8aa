// What the page knows of an account. One small question is asked again and again; lists are asked for again only when something has
// happened to the account, which its number of entries says.

import { isOpen } from './words.js';

const ROWS_A_PAGE = 50;
const HONG_KONG_S = 8 * 3600;
// A date is over when it is this long gone in Hong Kong, as the server reckons.
const OVER_AFTER_S = 9 * 3600;
const DAY_S = 86_400;

export class AccountState {
  constructor(ask) {
    Object.assign(this, { ask, now: undefined, equity: undefined, flows: [], hasMoreFlows: false, flowsShown: ROWS_A_PAGE });
    this.statements = { daily: [], monthly: [] };
    this.forget();
  }

  /** Orders by their number. Those that have ended stay known when they are no longer among today's. */
  forget() {
    this.known = new Map();
    this.hasEarlier = false;
    this.ordersShown = ROWS_A_PAGE;
  }

  async get(path) {
    return (await this.ask(path)).data;
  }

  /** Asks how the account is, and for what has changed with it. Whether anything has. */
  async refresh() {
    const before = this.now;
    const now = await this.get('/v1/asset/portfolio');
    const isRewound = before !== undefined && (now.entries < before.entries || Number(now.at) < Number(before.at));
    const isNew = before === undefined || isRewound;
    const hasHappened = isNew || now.entries !== before.entries;
    const isNextDay = isNew || dayOf(now.at) !== dayOf(before.at);
    if (isRewound) this.forget();
    const asked = [];
    if (hasHappened || isNextDay) asked.push(this.askToday(now, isNew), this.askFlows(now));
    // With a rate that has come, or is gone, other days have a value.
    if (isNextDay || !before.totals !== !now.totals) asked.push(this.askEquity());
    if (isNextDay) asked.push(this.askStatements());
    await Promise.all(asked);
    // Only now, so that what could not be asked for is asked for again.
    this.now = now;
    return asked.length > 0;
  }

  async askEquity() {
    this.equity = await this.get('/v1/asset/equity');
  }

  /** Those of the last weeks and months; a new one is made when a day has begun. */
  async askStatements() {
    const list = async (type) => (await this.get(`/v1/statement/list?statement_type=${type}&limit=${ROWS_A_PAGE}`)).list;
    const [daily, monthly] = await Promise.all([list(1), list(2)]);
    this.statements = { daily, monthly };
  }

  async askToday(now, isNew) {
    const { orders } = await this.get('/v1/trade/order/today');
    const today = new Set(orders.map(({ order_id: id }) => id));
    const isGone = (order) => !today.has(order.order_id) && isOpen(order);
    const hasLost = [...this.known.values()].some(isGone);
    for (const order of orders) this.known.set(order.order_id, order);
    // One that was open, and has ended on a day that is over, is in the history alone.
    if (isNew || hasLost) await this.askHistory(now.at);
  }

  /** The newest of all that were submitted up to an instant. */
  async askHistory(end) {
    const { orders, has_more: hasMore } = await this.get(`/v1/trade/order/history?start_at=1&end_at=${end}`);
    for (const order of orders) this.known.set(order.order_id, order);
    this.hasEarlier = hasMore;
  }

  async askFlows(now) {
    const size = this.flowsShown + 1;
    const { list } = await this.get(`/v1/asset/cashflow?${new URLSearchParams({ start_time: 1, end_time: now.at, size })}`);
    this.flows = list.slice(0, this.flowsShown);
    this.hasMoreFlows = list.length > this.flowsShown;
  }

  async moreFlows() {
    this.flowsShown += ROWS_A_PAGE;
    await this.askFlows(this.now);
  }

  /** Newest first. */
  get orders() {
    const rank = ({ submitted_at: at, order_id: id }) => [Number(at), Number(id)];
    return [...this.known.values()].sort((a, b) => {
      const [left, right] = [rank(a), rank(b)];
      return right[0] - left[0] || right[1] - left[1];
    });
  }

  get openOrders() {
    return this.orders.filter(isOpen);
  }

  get pastOrders() {
    return this.orders.filter((order) => !isOpen(order));
  }

  get hasMoreOrders() {
    return this.hasEarlier || this.pastOrders.length > this.ordersShown;
  }

  /** Shows more of the past, and asks for what is not known of it yet. */
  async moreOrders() {
    this.ordersShown += ROWS_A_PAGE;
    if (!this.hasEarlier || this.pastOrders.length >= this.ordersShown) return;
    await this.askHistory(this.orders.at(-1)?.submitted_at ?? this.now.at);
  }
}

/** The day that an instant counts for, as a number. */
export const dayOf = (at) => Math.floor((Number(at) + HONG_KONG_S - OVER_AFTER_S) / DAY_S);
