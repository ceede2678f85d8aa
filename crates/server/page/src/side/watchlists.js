// The lists of the account: groups of securities, of which one holds all that are watched. Changes are sent one after the other, each to
// what the one before has left.

/** Characters of a name that the server takes. */
export const NAME_MAX = 40;
/** The group of all that an account watches has this number for everybody. */
const ALL = '1';
/** Securities whose prices are asked for at once. */
export const PORTION = 200;

export class Watchlists {
  /** `onTold` is called when they are others than before. */
  constructor(ask, onTold) {
    Object.assign(this, { ask, onTold, groups: undefined, prices: new Map(), turn: Promise.resolve() });
  }

  async refresh() {
    const { data } = await this.ask('/v1/watchlist/groups');
    const isSame = JSON.stringify(data.groups) === JSON.stringify(this.groups);
    this.groups = data.groups;
    if (!isSame) this.onTold();
  }

  /** The last prices of the securities of a group. Those that have none, or that the account may not see, stay without. */
  async quote(group) {
    const symbols = group?.securities.map((one) => one.symbol) ?? [];
    const before = JSON.stringify([...this.prices]);
    for (let at = 0; at < symbols.length; at += PORTION) {
      const some = symbols.slice(at, at + PORTION);
      const { data } = await this.ask(`/v1/quote/quotes?${new URLSearchParams({ symbols: some.join(',') })}`);
      for (const { symbol, last_done: price } of data.secu_quote) this.prices.set(symbol, price);
    }
    if (JSON.stringify([...this.prices]) !== before) this.onTold();
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

  /** One change after the other, then what has become of it. */
  change(send) {
    const mine = this.turn.then(async () => {
      try {
        await send();
      } finally {
        await this.refresh();
      }
    });
    // The next one goes on after a refusal, which is told to whoever asked for this one.
    this.turn = mine.catch(() => {});
    return mine;
  }

  put(body) {
    return this.ask('/v1/watchlist/groups', { method: 'PUT', body });
  }

  add(id, symbol) {
    return this.change(() => this.put({ id, securities: [symbol], mode: 'add' }));
  }

  /** From the group of all it is gone everywhere. */
  remove(id, symbol) {
    return this.change(() => this.put({ id, securities: [symbol], mode: 'remove' }));
  }

  /** The number of the new group, which begins with a security if one is given. */
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

  /** By one place up or down, among what is pinned or among the rest; in the list as it is by then, which somebody else may have changed. */
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

/** Pinned ones first; otherwise as they are kept. */
export const ordered = (securities) => [...securities.filter((one) => one.is_pinned), ...securities.filter((one) => !one.is_pinned)];

/** The same list if there is nowhere to go. */
export function moved(securities, symbol, step) {
  const at = securities.findIndex((one) => one.symbol === symbol);
  const to = at + step;
  if (at < 0 || !securities[to] || securities[to].is_pinned !== securities[at].is_pinned) return securities;
  const after = [...securities];
  [after[at], after[to]] = [after[to], after[at]];
  return after;
}
