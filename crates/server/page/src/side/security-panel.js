// A panel about the security of the chart. It polls the server while it is open, and never shows
// data of a previous security.

import { Live } from '../live.js';
import { phrase } from '../phrases/side.js';

/**
 * Prices move by the minute; the chart polls too, and its requests share the rate limit with these.
 */
const EVERY_MS = 15_000;

/** A panel has `mount(box)`, which sets `said`, `clear()`, and `load(symbol)`, which may fail. */
export class SecurityPanel {
  constructor(ask) {
    Object.assign(this, { ask, symbol: undefined, sessions: [], isOpen: false });
    this.live = new Live(() => this.refresh(), { every: EVERY_MS, onLost: (error) => this.lost(error) });
  }

  open() {
    this.isOpen = true;
    this.begin();
  }

  close() {
    this.isOpen = false;
    this.live.stop();
  }

  watch(symbol, sessions = []) {
    this.sessions = sessions;
    if (symbol === this.symbol) return;
    this.symbol = symbol;
    if (this.isOpen) this.begin();
  }

  begin() {
    this.clear();
    this.said.textContent = this.symbol ? phrase('loading') : '';
    this.live.stop();
    if (!this.symbol) return;
    this.live.start();
    this.live.now();
  }

  async refresh() {
    const { symbol } = this;
    try {
      await this.load(symbol);
    } catch (error) {
      // A refusal for this security does not apply to the next one, whose request follows.
      if (this.symbol === symbol || error.name !== 'Refused') throw error;
    }
  }

  lost(error) {
    this.said.textContent = error.status === 401 ? phrase('sign_in') : phrase('lost', error.message);
  }
}
