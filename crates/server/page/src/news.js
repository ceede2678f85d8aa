// Candles that the page loads by itself: newer ones, and a reload after something was imported,
// undone or removed. They are not loaded if they would cost quota.

import { Feed } from './feed.js';
import { CANDLES_A_CALL } from './served-limits.js';
import { pointOf } from './words.js';

/** Maximum pages beyond the first. Earlier candles are loaded again when scrolled to. */
const PAGES_MAX = 6;

export class News {
  /**
   * `current` returns view, feed, chart and period. `take` replaces the current feed, `draw`
   * redraws it, `open` reopens it, `onRefused` gets refusals.
   */
  constructor(ask, { current, take, draw, open, onRefused }) {
    Object.assign(this, { ask, current, take, draw, open, onRefused });
  }

  /** Loads the newest candles; a view that was at the end follows them. */
  async newest() {
    const { feed } = this.current();
    if (!feed?.reachesNow || feed.isFull) return;
    if (await this.came(feed.newer(false))) this.redraw();
  }

  /** Old candles may have been corrected: reloads and replaces the visible ones. */
  async again() {
    const again = this.feedAgain();
    if (!(await this.came(this.fill(again)))) return;
    if (again.candles.length === 0) {
      this.open();
      return;
    }
    this.take(again);
    this.redraw();
  }

  /**
   * The feed to reload, ending where the visible range ends. From the newest if those are near: a
   * correcting file usually adds candles too.
   */
  feedAgain() {
    const { view, feed, chart, period } = this.current();
    const isNear = feed.reachesNow && feed.candles.length - chart.range().to < CANDLES_A_CALL;
    return new Feed({ ...view, before: isNear ? undefined : pointOf(this.visible('to'), period) }, this.ask, false);
  }

  async fill(again) {
    const first = this.visible('from').stamp;
    await again.open();
    for (let page = 0; page < PAGES_MAX && again.hasOlder && again.candles[0]?.stamp > first; page += 1) await again.older();
  }

  /** The candle at an end of the visible range. */
  visible(end) {
    const { feed: { candles }, chart } = this.current();
    return candles[Math.min(Math.max(Math.floor(chart.range()[end]), 0), candles.length - 1)];
  }

  /** Whether the response has arrived and is still wanted. */
  async came(coming) {
    const { feed } = this.current();
    const isWanted = () => this.current().feed === feed;
    try {
      await coming;
    } catch (error) {
      if (error.name !== 'AbortError' && isWanted()) this.onRefused(error);
      return false;
    }
    return isWanted();
  }

  redraw() {
    const { feed, chart } = this.current();
    const { isAtEnd } = chart;
    const range = chart.range();
    const added = feed.candles.length - chart.candles.length;
    this.draw();
    if (isAtEnd && range && added !== 0) chart.moveTo({ from: range.from + added, to: range.to + added });
  }
}
