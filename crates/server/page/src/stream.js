// The stream of quotes, trades and changes (`GET /v1/live`), one for each page. It has the union of
// the securities that the parts of the page show, is closed while the tab is hidden, and reconnects
// with increasing pauses.

import { addressOf } from './base.js';
import { inWorld } from './world.js';

const PAUSE_MS = 1000;
const PAUSE_MAX_MS = 30_000;
/** Parts of a page change their securities one after the other; this joins the changes. */
const SETTLE_MS = 50;
/** The server's limit of symbols in a request. */
const SYMBOLS_MAX = 500;

/** The pause before an attempt: exponential, with a random half, so that clients do not return together. */
export function pauseBefore(attempt, random = Math.random) {
  const most = Math.min(PAUSE_MS * 2 ** attempt, PAUSE_MAX_MS);
  return most / 2 + (random() * most) / 2;
}

export const streamPath = (symbols) => (symbols.length > 0 ? `/v1/live?${new URLSearchParams({ symbols: symbols.join(',') })}` : '/v1/live');

export class Stream {
  /** `connect` makes an `EventSource`; `page` is the document. Both are replaced in tests. */
  constructor({ connect = (path) => new EventSource(addressOf(inWorld(path))), page = document, random = Math.random } = {}) {
    Object.assign(this, { connect, page, random, wanted: new Map(), listeners: [], attempt: 0, symbols: undefined, source: undefined });
    /** `closed` (nothing to show, or hidden), `connecting`, `open` or `reconnecting`. */
    this.state = 'closed';
    this.clock = undefined;
    /** The last `market` event of each market. */
    this.markets = new Map();
    page.addEventListener('visibilitychange', () => this.settle());
  }

  get isOpen() {
    return this.state === 'open';
  }

  /** `listener` has any of the functions `quote`, `trades`, `clock`, `market`, `account`, `end` and `state`. */
  listen(listener) {
    this.listeners.push(listener);
  }

  /** Sets the securities of one part of the page. */
  want(part, symbols) {
    this.wanted.set(part, symbols);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), SETTLE_MS);
  }

  /** Keeps the connection open without securities, too, for changes of the account. */
  follow() {
    this.isKept = true;
    this.settle();
  }

  /** Opens, replaces or closes the connection, as the page needs it. */
  settle() {
    // The first parts are more important where there are too many.
    const all = [...new Set([...this.wanted.values()].flat())].slice(0, SYMBOLS_MAX).sort();
    const isNeeded = !this.page.hidden && (all.length > 0 || this.isKept);
    const symbols = isNeeded ? all : undefined;
    if (symbols?.join() === this.symbols?.join()) return;
    this.symbols = symbols;
    this.attempt = 0;
    this.close();
    if (isNeeded) this.open('connecting');
    else this.become('closed');
  }

  /** Closes the stream for good. */
  stop() {
    this.isStopped = true;
    this.close();
    this.become('closed');
  }

  open(state) {
    clearTimeout(this.timer);
    if (this.isStopped) return;
    const source = this.connect(streamPath(this.symbols));
    this.source = source;
    const on = (name, take) => source.addEventListener(name, (event) => this.source === source && take(event));
    const json = (name) => on(name, ({ data }) => this.tell(name, JSON.parse(data)));
    on('subscribed', () => {
      this.attempt = 0;
      this.become('open');
    });
    on('clock', ({ data }) => {
      const clock = JSON.parse(data);
      // The highest speed of a world cannot be extrapolated.
      this.clock = { ...clock, speed: Number(clock.speed) || 0, at: Date.now() };
      this.tell('clock', this.clock);
    });
    on('market', ({ data }) => {
      const state = JSON.parse(data);
      this.markets.set(state.market, state);
      this.tell('market', state);
    });
    json('quote');
    json('trades');
    json('account');
    // The browser would reconnect by itself, at once and without end.
    on('error', () => this.retry());
    on('end', ({ data }) => {
      const end = JSON.parse(data);
      this.tell('end', end);
      if (end.retry) return this.retry();
      // Signed out, or in a world that was deleted: every attempt would be refused.
      this.close();
      return this.become('closed');
    });
    this.become(state);
  }

  retry() {
    this.close();
    this.become('reconnecting');
    this.timer = setTimeout(() => this.open('reconnecting'), pauseBefore(this.attempt, this.random));
    this.attempt += 1;
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = undefined;
  }

  become(state) {
    if (state === this.state) return;
    this.state = state;
    this.tell('state', state);
  }

  tell(name, what) {
    for (const listener of this.listeners) listener[name]?.(what);
  }
}
