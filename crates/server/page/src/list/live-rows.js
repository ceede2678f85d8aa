// Keeps the visible rows of a list live: subscribes to their securities, and draws pushed quotes
// once per frame.

import { fillCells } from './cells.js';

/** While the user scrolls, the subscription stays: each change opens the stream again. */
const SETTLE_MS = 250;

export class LiveRows {
  /**
   * `stale` is called, at most once per pause, when rows have to be requested again. `part` names
   * the list in the stream.
   */
  constructor({ stream, part, stale, settle = SETTLE_MS, onFrame = (draw) => requestAnimationFrame(draw), fill = fillCells }) {
    Object.assign(this, { stream, part, stale, settle, onFrame, fill, rows: new Map(), changed: new Set(), subscribed: new Set() });
    stream?.listen({ quote: (quote) => this.take(quote) });
  }

  /** The visible rows: ticker and cells by symbol. */
  show(rows) {
    this.rows = rows;
    clearTimeout(this.timer);
    const symbols = [...rows.keys()];
    if (symbols.length > 0 && symbols.length === this.subscribed.size && symbols.every((symbol) => this.subscribed.has(symbol))) return;
    // The first rows, and none at all, are not a scroll.
    if (this.subscribed.size === 0 || symbols.length === 0) this.subscribe(symbols);
    else this.timer = setTimeout(() => this.subscribe(symbols), this.settle);
  }

  subscribe(symbols) {
    this.subscribed = new Set(symbols);
    this.stream?.want(this.part, symbols);
  }

  take(quote) {
    const row = this.rows.get(quote.symbol);
    if (!row?.ticker) return;
    const what = row.ticker.take(quote);
    if (what === 'stale') this.request();
    if (what !== 'changed') return;
    this.changed.add(quote.symbol);
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.onFrame(() => {
      this.isPlanned = false;
      const changed = [...this.changed];
      this.changed.clear();
      for (const symbol of changed) {
        const found = this.rows.get(symbol);
        if (found) this.fill(found.cells, found.ticker);
      }
    });
  }

  /** Many rows become stale together, when a day begins. */
  request() {
    if (this.requested) return;
    this.requested = setTimeout(() => {
      this.requested = undefined;
      this.stale();
    }, this.settle);
  }
}
