// Candles that nobody has asked for: newer ones, and the same once more after something was imported, undone or removed. They are left
// where they are if they would cost quota.

import { Feed } from './feed.js';
import { CANDLES_A_CALL } from './served-limits.js';
import { pointOf } from './words.js';

/** Pages beyond the first. What was loaded beyond them comes again as it is scrolled to. */
const PAGES_MAX = 6;

export class News {
  /**
   * `current` tells view, feed, chart and period. `take` puts another feed in the place of the current one, `draw` draws what is current,
   * `open` begins it anew, `onRefused` gets the refusals.
   */
  constructor(ask, { current, take, draw, open, onRefused }) {
    Object.assign(this, { ask, current, take, draw, open, onRefused });
  }

  /** The newest candles, with the view after them if it was at the end. */
  async newest() {
    const { feed } = this.current();
    if (!feed?.reachesNow || feed.isFull) return;
    if (await this.came(feed.newer(false))) this.redraw();
  }

  /** Old candles may have been corrected: the visible ones take the place of those that were there. */
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

  /** Where what is visible ends. From the newest on, if those are near: a file that corrects mostly adds too. */
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

  /** The candle at an end of what is visible. */
  visible(end) {
    const { feed: { candles }, chart } = this.current();
    return candles[Math.min(Math.max(Math.floor(chart.range()[end]), 0), candles.length - 1)];
  }

  /** Whether what was asked for has come, and is still wanted. */
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
