// The grids of a security: all of them in brief, and one of them with its triggers. They are
// requested again when the account's journal has advanced, which the chart polls anyway.

import { trimmed } from '../decimal.js';
import { BY_PERCENT, isLive, levelsOf, sideOf } from './levels.js';
import { phrase } from '../phrases/side.js';

const GRIDS_MAX = 50;
const TRIGGERS_MAX = 100;

export class Grids {
  /** `onChanged` is called when the content changes. */
  constructor(ask, onChanged) {
    Object.assign(this, { ask, onChanged });
    this.forget(undefined);
  }

  /** Switches to another security: nothing is requested until the account is known to trade. */
  forget(symbol) {
    Object.assign(this, { symbol, grids: undefined, chosen: undefined, triggers: [], info: undefined, refusal: undefined, wanted: undefined });
  }

  async get(path, query) {
    return (await this.ask(`${path}?${new URLSearchParams(query)}`)).data;
  }

  /**
   * Requests the grids again. If that is refused, the known ones stay and the refusal is shown with
   * them.
   */
  async refresh() {
    const { symbol } = this;
    if (!symbol) return;
    const mine = {};
    // Two requests may run concurrently, such as after a button and a journal change: the later one
    // counts.
    this.latest = mine;
    const isOld = () => this.latest !== mine || this.symbol !== symbol;
    try {
      const query = { symbol, page: 1, limit: GRIDS_MAX, sort_by: 'created_at', sort_order: 'desc' };
      const { grid_order: grids = [] } = await this.get('/v1/gridtrading/list', query);
      if (isOld()) return;
      const one = this.pick(grids);
      const [more, triggers] = one ? await this.about(one.order_id) : [{}, []];
      if (one && !this.info) await this.learn();
      if (isOld()) return;
      Object.assign(this, { grids, chosen: one && { ...one, ...more }, triggers, refusal: undefined });
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      if (isOld()) return;
      this.refusal = error;
    }
    this.onChanged();
  }

  /**
   * The grid to show: the one chosen by the user; else the shown one if active, or another active
   * one; else the shown one, which has ended.
   */
  pick(grids) {
    const shown = grids.find(({ order_id: id }) => id === this.chosen?.order_id);
    const alive = shown && isLive(shown) ? shown : grids.find(isLive);
    return grids.find(({ order_id: id }) => id === this.wanted) ?? alive ?? shown;
  }

  about(id) {
    return Promise.all([
      // The reason for sleep or suspension, and the expiry, are only in its detail.
      this.get('/v1/gridtrading/detail', { order_id: id, limit: 1 }).then(({ suspend_reason, sleeping_reason, expire_time }) => ({ suspend_reason, sleeping_reason, expire_time })),
      this.get('/v1/gridtrading/trigger_history_list', { grid_order_id: id, page: 1, limit: TRIGGERS_MAX }).then((data) => data.trigger_orders ?? []),
    ]);
  }

  /** Requests price steps, the lot and the last price of the security. */
  async learn() {
    const { symbol } = this;
    const info = await this.get('/v1/orders/info', { symbol });
    if (this.symbol === symbol) this.info = info;
    return info;
  }

  async choose(id) {
    this.wanted = id;
    await this.refresh();
  }

  get ticks() {
    return this.info?.bid_sizes ?? [];
  }

  /**
   * The lines of the chosen grid over the candles, while it is active: its base, its next levels,
   * its bounds.
   */
  get lines() {
    const grid = this.chosen;
    if (!grid || !isLive(grid)) return [];
    const { base, sell, buy } = levelsOf(grid, this.ticks);
    const line = (style, side, price, words) => (price ? [{ style, side, price: trimmed(price), words }] : []);
    return [
      ...line('bound', 'bound', grid.upper_limit_price, phrase('line_upper')),
      ...line('level', 'Sell', sell, phrase('line_sell', grid.trigger_quantity)),
      ...line('base', 'base', base, phrase(grid.status === 'Suspended' ? 'line_suspended' : 'line_base')),
      ...line('level', 'Buy', buy, phrase('line_buy', grid.trigger_quantity)),
      ...line('bound', 'bound', grid.lower_limit_price, phrase('line_lower')),
    ];
  }
}

/** `grid sold 100 at 306`. */
export const triggerWords = (trigger) =>
  phrase(sideOf(trigger) === 'Buy' ? 'grid_buys' : 'grid_sells', trigger.quantity, trimmed(trigger.trigger_price));

/** `+2 % / −2 %`, or amounts. */
export function stepWords(grid) {
  const isPercent = grid.trigger_price_type === BY_PERCENT;
  const [up, down] = isPercent ? [grid.trigger_percent_up, grid.trigger_percent_down] : [grid.trigger_spread_up, grid.trigger_spread_down];
  return `+${up}${isPercent ? ' %' : ''} / \u2212${down}${isPercent ? ' %' : ''}`;
}
