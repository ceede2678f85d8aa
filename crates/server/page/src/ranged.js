// A range of the view on the screen: shown as far as it is loaded, and loaded as far as it goes.

import { startOfRange } from './ranges.js';

/** Pages that a range may ask for beyond the first. */
const PAGES_MAX = 5;
/** Candles by which a view may differ from its range and still be of it. */
const AWAY = 1.5;

export class Ranged {
  /** `now` tells view, feed and chart. */
  constructor(now, pager) {
    Object.assign(this, { now, pager, fitted: undefined });
  }

  /** From the first candle of the range on, as far as it is loaded. Whether it is. */
  fit() {
    const { view, feed, chart } = this.now();
    const at = startOfRange(view.range, feed.candles);
    chart.fitFrom(at);
    this.fitted = this.span();
    return at > 0 || !feed.hasOlder;
  }

  async reach() {
    const before = this.now();
    for (let page = 0; page < PAGES_MAX && !this.fit(); page += 1) {
      const hasCome = await this.pager.older();
      const { view, feed } = this.now();
      if (!hasCome || feed !== before.feed || view.range !== before.view.range) return;
    }
  }

  /** The screen is another: a window of another size, a phone turned, longer prices at the scale. The range is shown as before. */
  refit() {
    const { view, feed, chart } = this.now();
    if (view.range && this.fitted && feed?.candles === chart.candles && !this.isElsewhere()) this.fit();
  }

  /** Whether the reader has moved or zoomed since the range was shown. */
  isElsewhere() {
    const { spacing, count, end } = this.span();
    return Math.abs(count - (count * spacing) / this.fitted.spacing) > AWAY || Math.abs(end - this.fitted.end) > AWAY;
  }

  /**
   * What is visible: how many candles, how wide each is, since a screen of another size shows others of the same width, and where they end,
   * measured from the newest, which stays the newest while older ones come.
   */
  span() {
    const { feed, chart } = this.now();
    const { from, to } = chart.range();
    return { spacing: chart.width() / (to - from), count: to - from, end: feed.candles.length - to };
  }
}
