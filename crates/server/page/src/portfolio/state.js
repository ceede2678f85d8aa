// The state of an account. One small request is polled; lists are requested again only when the
// account's number of journal entries has changed.

import { isOpen, isWorking } from './words.js';

const ROWS_A_PAGE = 50;
const GRIDS_MAX = 100;
const HONG_KONG_S = 8 * 3600;
// The server closes a date this long after its end in Hong Kong.
const OVER_AFTER_S = 9 * 3600;
const DAY_S = 86_400;

export class AccountState {
  constructor(ask) {
    Object.assign(this, { ask, now: undefined, equity: undefined, performance: undefined, benchmark: undefined, refusal: undefined, grids: [], hasMoreGrids: false, flows: [], hasMoreFlows: false, flowsShown: ROWS_A_PAGE });
    this.statements = { daily: [], monthly: [] };
    this.forget();
  }

  /**
   * Forgets the orders, which are stored by number. Closed ones stay known after they leave today's
   * list.
   */
  forget() {
    this.known = new Map();
    this.hasEarlier = false;
    this.ordersShown = ROWS_A_PAGE;
  }

  async get(path) {
    return (await this.ask(path)).data;
  }

  /**
   * Requests the state of the account, and the lists that have changed. Returns whether any did.
   */
  async refresh() {
    const before = this.now;
    const now = await this.get('/v1/asset/portfolio');
    const isRewound = before !== undefined && (now.entries < before.entries || Number(now.at) < Number(before.at));
    const isNew = before === undefined || isRewound;
    const hasHappened = isNew || now.entries !== before.entries;
    const isNextDay = isNew || dayOf(now.at) !== dayOf(before.at);
    if (isRewound) this.forget();
    const requests = [];
    if (hasHappened || isNextDay) requests.push(this.askToday(now, isNew), this.askFlows(now), this.askGrids());
    if (hasHappened || isNextDay || pricesOf(now) !== pricesOf(before)) requests.push(this.askPerformance());
    // When an exchange rate appears or disappears, other days have a value.
    if (isNextDay || !before.totals !== !now.totals) requests.push(this.askEquity());
    if (isNextDay) requests.push(this.askStatements());
    await Promise.all(requests);
    // Assigned last, so that a failed request is repeated.
    this.now = now;
    return requests.length > 0;
  }

  async askGrids() {
    const query = new URLSearchParams({ page: 1, limit: GRIDS_MAX, sort_by: 'created_at', sort_order: 'desc' });
    const { grid_order: grids = [], has_more: hasMore } = await this.get(`/v1/gridtrading/list?${query}`);
    Object.assign(this, { grids, hasMoreGrids: hasMore });
  }

  async askPerformance() {
    this.performance = await this.get('/v1/asset/performance');
  }

  /** The curve, also without the benchmark if that is refused. */
  async askEquity() {
    const { benchmark } = this;
    this.refusal = undefined;
    if (benchmark) {
      try {
        this.equity = await this.get(`/v1/asset/equity?benchmark=${encodeURIComponent(benchmark)}`);
        return;
      } catch (error) {
        if (error.name !== 'Refused' || ![400, 403, 404].includes(error.status)) throw error;
        this.refusal = error.message;
      }
    }
    this.equity = await this.get('/v1/asset/equity');
  }

  /** Compares the curve with another security, or with none. */
  async compareWith(benchmark) {
    this.benchmark = benchmark;
    await this.askEquity();
  }

  /** Statements of the last weeks and months; a new one is made when a day has begun. */
  async askStatements() {
    const list = async (type) => (await this.get(`/v1/statement/list?statement_type=${type}&limit=${ROWS_A_PAGE}`)).list;
    const [daily, monthly] = await Promise.all([list(1), list(2)]);
    this.statements = { daily, monthly };
  }

  async askToday(now, isNew) {
    const { orders } = await this.get('/v1/trade/order/today');
    const today = new Set(orders.map(({ order_id: id }) => id));
    const isGone = (order) => !today.has(order.order_id) && isWorking(order);
    const hasLost = [...this.known.values()].some(isGone);
    for (const order of orders) this.known.set(order.order_id, order);
    // An order that was open and was closed on a past day is only in the history.
    if (isNew || hasLost) await this.askHistory(now.at);
  }

  /** The newest orders submitted up to an instant. */
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
    return this.orders.filter(isWorking);
  }

  get pastOrders() {
    return this.orders.filter((order) => !isWorking(order));
  }

  get hasMoreOrders() {
    return this.hasEarlier || this.pastOrders.length > this.ordersShown;
  }

  /** Shows more past orders, and requests those not loaded yet. */
  async moreOrders() {
    this.ordersShown += ROWS_A_PAGE;
    if (!this.hasEarlier || this.pastOrders.length >= this.ordersShown) return;
    await this.askHistory(this.orders.at(-1)?.submitted_at ?? this.now.at);
  }
}

const pricesOf = ({ positions, totals }) => JSON.stringify([positions, totals]);

/** The day that an instant counts towards, as a number. */
export const dayOf = (at) => Math.floor((Number(at) + HONG_KONG_S - OVER_AFTER_S) / DAY_S);
