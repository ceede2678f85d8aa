// Loads the panel next to the chart. It is a separate script (`side/side.js`) that loads after the
// first paint; the chart works without it.

import { addressOf } from './base.js';

const NO_MARKS = { lines: [], dots: [], words: new Map() };

export class Beside {
  /** `ask` and `on` are passed to the panel; `fetchScript` is for tests. */
  constructor(ask, on, fetchScript = () => import(addressOf('/side.js'))) {
    Object.assign(this, { ask, on, fetchScript, side: undefined, coming: undefined });
  }

  /**
   * The loaded panel; undefined if its script failed to load, which is retried at the next call.
   */
  async load() {
    this.coming ??= this.fetchScript().then(
      ({ Side }) => (this.side = new Side(this.ask, this.on)),
      () => (this.coming = undefined),
    );
    await this.coming;
    return this.side;
  }

  /** Marks of the panel for the chart: lines, dots, and texts by candle index. */
  marks(candles, period) {
    return this.side?.marks(candles, period) ?? NO_MARKS;
  }
}
