// The panel beside the chart is a script of its own (`side/side.js`), which comes after the first paint: nobody waits for it, and a chart
// without it is still a chart.

import { addressOf } from './base.js';

const NO_MARKS = { lines: [], dots: [], words: new Map() };

export class Beside {
  /** What the panel is made with; `fetchScript` is for tests. */
  constructor(ask, on, fetchScript = () => import(addressOf('/side.js'))) {
    Object.assign(this, { ask, on, fetchScript, side: undefined, coming: undefined });
  }

  /** The panel, once it is there; nothing if its script cannot be had, which is asked for again the next time. */
  async load() {
    this.coming ??= this.fetchScript().then(
      ({ Side }) => (this.side = new Side(this.ask, this.on)),
      () => (this.coming = undefined),
    );
    await this.coming;
    return this.side;
  }

  /** What it has to say on the chart: lines, dots, and words by the index of a candle. */
  marks(candles, period) {
    return this.side?.marks(candles, period) ?? NO_MARKS;
  }
}
