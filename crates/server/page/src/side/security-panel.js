// A panel about the security of the chart. While it is open, it requests its data again after pushes
// of the security, or polls without a stream. It never shows data of a previous security.

import { Live } from '../live.js';
import { phrase } from '../phrases/side.js';

/** Prices move by the minute, and the requests share the rate limit with those of the chart. */
const EVERY_MS = 15_000;
const PUSH_PAUSE_MS = 500;

/** A panel has `mount(box)`, which sets `said`, `clear()`, and `load(symbol)`, which may fail. */
export class SecurityPanel {
  constructor(ask, stream) {
    Object.assign(this, { ask, symbol: undefined, sessions: [], isOpen: false, askedAt: -Infinity });
    this.live = new Live(() => this.refresh(), { every: EVERY_MS, onLost: (error) => this.lost(error) });
    this.live.pushed(Boolean(stream?.isOpen));
    const pushed = ({ symbol }) => symbol === this.symbol && this.pushed();
    stream?.listen({ quote: pushed, trades: pushed, clock: () => this.pushed(), state: () => this.live.pushed(stream.isOpen) });
  }

  /** At most as often as it would be polled. */
  pushed() {
    this.live.soon(Math.max(PUSH_PAUSE_MS, this.askedAt + EVERY_MS - Date.now()));
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
    this.askedAt = Date.now();
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
