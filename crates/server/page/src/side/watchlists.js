// The watchlists of the account: groups of securities, one of which holds all watched ones. Changes
// are sent one after the other, each based on the result of the previous one.

import { Ticker } from '../list/ticker.js';

/** The maximum length of a name that the server accepts. */
export const NAME_MAX = 40;
/** The id of the group of all watched securities, the same for every account. */
const ALL = '1';
/** Securities per price request. */
export const PORTION = 200;

export class Watchlists {
  /** `onChanged` is called when the lists have changed. */
  constructor(ask, onChanged) {
    Object.assign(this, { ask, onChanged, groups: undefined, tickers: new Map(), turn: Promise.resolve() });
  }

  async refresh() {
    const { data } = await this.ask('/v1/watchlist/groups');
    const isSame = JSON.stringify(data.groups) === JSON.stringify(this.groups);
    this.groups = data.groups;
    if (!isSame) this.onChanged();
  }

  /**
   * The figures of the securities of a group. Those without candles, or that the account may not
   * see, have none.
   */
  async quote(group) {
    const symbols = group?.securities.map((one) => one.symbol) ?? [];
    for (let at = 0; at < symbols.length; at += PORTION) {
      const some = symbols.slice(at, at + PORTION);
      const { data } = await this.ask(`/v1/inventory?${new URLSearchParams({ symbols: some.join(','), limit: PORTION })}`);
      for (const row of data.rows) this.tickers.set(row.symbol, new Ticker(row));
    }
    if (symbols.length > 0) this.onChanged();
  }

  get all() {
    return this.groups?.find(({ id }) => id === ALL);
  }

  group(id) {
    return this.groups?.find((one) => one.id === id) ?? this.all;
  }

  /** How a security is watched: since when, at which price, whether it is pinned. */
  watched(symbol) {
    return this.all?.securities.find((one) => one.symbol === symbol);
  }

  isIn(group, symbol) {
    return group.securities.some((one) => one.symbol === symbol);
  }

  /** Sends one change after the other, then loads the result. */
  change(send) {
    const mine = this.turn.then(async () => {
      try {
        await send();
      } finally {
        await this.refresh();
      }
    });
    // Later changes continue after a refusal, which the caller of this change gets.
    this.turn = mine.catch(() => {});
    return mine;
  }

  put(body) {
    return this.ask('/v1/watchlist/groups', { method: 'PUT', body });
  }

  add(id, symbol) {
    return this.change(() => this.put({ id, securities: [symbol], mode: 'add' }));
  }

  /** Removing from the group of all removes it from every group. */
  remove(id, symbol) {
    return this.change(() => this.put({ id, securities: [symbol], mode: 'remove' }));
  }

  /** Returns the id of the new group, which starts with a security if one is given. */
  async create(name, securities = []) {
    let id;
    await this.change(async () => {
      ({ id } = (await this.ask('/v1/watchlist/groups', { method: 'POST', body: { name, securities } })).data);
    });
    return id;
  }

  rename(id, name) {
    return this.change(() => this.put({ id, name }));
  }

  /** Its securities stay in the group of all. */
  drop(id) {
    return this.change(() => this.ask(`/v1/watchlist/groups?${new URLSearchParams({ id, purge: false })}`, { method: 'DELETE' }));
  }

  pin(symbol, isPinned) {
    const body = { mode: isPinned ? 'add' : 'remove', securities: [symbol] };
    return this.change(() => this.ask('/v1/watchlist/pinned', { method: 'POST', body }));
  }

  /**
   * Moves a security by one place, among the pinned or among the others; in the current list, which
   * another client may have changed.
   */
  move(id, symbol, step) {
    return this.change(async () => {
      await this.refresh();
      const group = this.groups.find((one) => one.id === id);
      const before = ordered(group?.securities ?? []);
      const after = moved(before, symbol, step);
      if (after !== before) await this.put({ id, securities: after.map((one) => one.symbol), mode: 'replace' });
    });
  }
}

/** Pinned ones first; otherwise in stored order. */
export const ordered = (securities) => [...securities.filter((one) => one.is_pinned), ...securities.filter((one) => !one.is_pinned)];

/** Returns the same list if the security cannot move. */
export function moved(securities, symbol, step) {
  const at = securities.findIndex((one) => one.symbol === symbol);
  const to = at + step;
  if (at < 0 || !securities[to] || securities[to].is_pinned !== securities[at].is_pinned) return securities;
  const after = [...securities];
  [after[at], after[to]] = [after[to], after[at]];
  return after;
}
