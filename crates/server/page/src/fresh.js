// Loads new candles without a reload. A small endpoint, which costs neither quota nor calls, has the
// stored data of the security and the market's clock. Candles are requested when the response shows
// that there may be new ones. It is polled while the page is visible and has no stream; with one, it
// is requested when the stream was lost or the user returns to the page.

import { factsPath } from './facts.js';
import { Live } from './live.js';

const EVERY_MS = 10_000;
/** In market time: after this there may be another candle. */
const CANDLE_S = 60;

/**
 * Whether something was imported, undone or removed since `before`: old candles may have changed.
 */
export function hasChanged(before, now) {
  const versions = ({ stored }) => JSON.stringify(stored.map(({ period, version }) => [period, version]));
  return versions(before) !== versions(now);
}

/** Whether there may be candles that did not exist at `before`. */
export function mayHaveNew(before, now, isFollowed = false) {
  if (JSON.stringify(before.stored) !== JSON.stringify(now.stored)) return true;
  // The stream brings the candles that the clock reaches.
  if (isFollowed) return false;
  // Candles stored beyond the clock become visible as it advances.
  const isToday = now.stored.some(({ last }) => last >= now.now.slice(0, 10));
  return isToday && (Date.parse(now.now) - Date.parse(before.now)) / 1000 >= CANDLE_S;
}

export class Fresh {
  /**
   * `onNews` is called when there may be new candles, and whether old ones may have changed;
   * `onGone` when nothing of the security is stored any longer, `onLost` with another refusal,
   * `onBack` after one. `isFollowed` tells whether pushes follow the clock.
   */
  constructor(ask, { onNews, onGone = () => {}, onLost, onBack, isFollowed = () => false }, every = EVERY_MS) {
    Object.assign(this, { ask, onNews, onGone, onLost, onBack, isFollowed, every, live: undefined, isPushed: false });
  }

  /** Compares with the facts that were current when the candles were requested. */
  watch(facts) {
    this.stop();
    let before = facts;
    let isLost = false;
    const refresh = async () => {
      const { data } = await this.ask(factsPath(facts.symbol));
      if (this.live !== live) return;
      if (isLost) this.onBack();
      isLost = false;
      if (!mayHaveNew(before, data, this.isFollowed())) return;
      await this.onNews(data, hasChanged(before, data));
      before = data;
    };
    const live = new Live(refresh, {
      every: this.every,
      onLost: (error) => {
        if (this.live !== live) return;
        if (error.status === 404) return this.onGone();
        isLost = true;
        this.onLost(error);
      },
    });
    this.live = live;
    live.pushed(this.isPushed);
    live.start();
  }

  /** While changes are pushed, nothing is polled. */
  pushed(isPushed) {
    this.isPushed = isPushed;
    this.live?.pushed(isPushed);
  }

  /** Requests once, for changes that are not pushed, such as imports. */
  check() {
    this.live?.now();
  }

  stop() {
    this.live?.stop();
    this.live = undefined;
  }
}

/**
 * Polls a server that does not answer, and calls back when it does. Returns a function that gives
 * up.
 */
export const whenBack = (ask, then, every = 2000) => when(async () => (await ask('/v1/me')) !== undefined, then, every);

/**
 * Polls until candles of a security are stored that the account may see, and calls back. Returns a
 * function that gives up.
 */
export const whenStored = (ask, symbol, then, every = 4000) =>
  when(async () => (await ask(`/v1/inventory?${new URLSearchParams({ symbols: symbol, limit: 1 })}`)).data.total > 0, then, every);

function when(isSo, then, every) {
  const done = () => {
    live.stop();
    then();
  };
  const refresh = async () => {
    if (await isSo()) done();
  };
  // A user who was signed out meanwhile also gets a response.
  const live = new Live(refresh, { every, onLost: ({ status }) => status === 401 && done() });
  live.start();
  return () => live.stop();
}
