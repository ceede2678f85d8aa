// New candles without reloading. While the page is looked at it asks a small question that costs neither quota nor calls: what is stored
// of the security, and what the market's clock says. Candles are asked for when the answer says that there may be others.

import { factsPath } from './facts.js';
import { Live } from './live.js';

const EVERY_MS = 10_000;
/** By the market's clock: there may be another candle by then. */
const CANDLE_S = 60;

/** Whether something was imported, undone or removed since `before` was told: old candles may be others. */
export function hasChanged(before, now) {
  const versions = ({ stored }) => JSON.stringify(stored.map(({ period, version }) => [period, version]));
  return versions(before) !== versions(now);
}

/** Whether there may be candles that were not there when `before` was told. */
export function mayHaveNew(before, now) {
  if (JSON.stringify(before.stored) !== JSON.stringify(now.stored)) return true;
  // What is stored beyond the clock becomes visible as that goes on.
  const isToday = now.stored.some(({ last }) => last >= now.now.slice(0, 10));
  return isToday && (Date.parse(now.now) - Date.parse(before.now)) / 1000 >= CANDLE_S;
}

export class Fresh {
  /** `onNews` when there may be new candles, and whether old ones may be others; `onLost` with a refusal, `onBack` after one. */
  constructor(ask, { onNews, onLost, onBack }, every = EVERY_MS) {
    Object.assign(this, { ask, onNews, onLost, onBack, every, live: undefined });
  }

  /** From what was told when the candles were asked for. */
  watch(facts) {
    this.stop();
    let before = facts;
    let isLost = false;
    const refresh = async () => {
      const { data } = await this.ask(factsPath(facts.symbol));
      if (this.live !== live) return;
      if (isLost) this.onBack();
      isLost = false;
      if (!mayHaveNew(before, data)) return;
      await this.onNews(data, hasChanged(before, data));
      before = data;
    };
    const live = new Live(refresh, {
      every: this.every,
      onLost: (error) => {
        if (this.live !== live) return;
        isLost = true;
        this.onLost(error);
      },
    });
    this.live = live;
    live.start();
  }

  stop() {
    this.live?.stop();
    this.live = undefined;
  }
}

/** Waits for a server that does not answer, and calls back when it does. Returns a way to give up. */
export function whenBack(ask, then, every = 2000) {
  const done = () => {
    live.stop();
    then();
  };
  const live = new Live(async () => {
    await ask('/v1/me');
    done();
  }, {
    every,
    // Somebody who was signed out meanwhile has an answer too.
    onLost: ({ status }) => status === 401 && done(),
  });
  live.start();
  return () => live.stop();
}
