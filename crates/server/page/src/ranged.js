// Shows the loaded part of the view's range, and loads the rest.

import { startOfRange } from './ranges.js';

/** Pages that a range may load beyond the first. */
const PAGES_MAX = 5;
/** Candles by which a view may differ from its range and still count as it. */
const AWAY = 1.5;

export class Ranged {
  /** `now` returns view, feed and chart. */
  constructor(now, pager) {
    Object.assign(this, { now, pager, fitted: undefined });
  }

  /** Shows the loaded part of the range. Returns whether it is loaded entirely. */
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

  /**
   * Shows the range again after a size change: a resized window, a rotated phone, longer prices at
   * the scale.
   */
  refit() {
    const { view, feed, chart } = this.now();
    if (view.range && this.fitted && feed?.candles === chart.candles && !this.isElsewhere()) this.fit();
  }

  /** Whether the user has moved or zoomed since the range was shown. */
  isElsewhere() {
    const { spacing, count, end } = this.span();
    return Math.abs(count - (count * spacing) / this.fitted.spacing) > AWAY || Math.abs(end - this.fitted.end) > AWAY;
  }

  /**
   * The visible range: its number of candles, their width (a screen of another size shows another
   * number at the same width), and its end counted from the newest candle, which does not change
   * when older ones are loaded.
   */
  span() {
    const { feed, chart } = this.now();
    const { from, to } = chart.range();
    return { spacing: chart.width() / (to - from), count: to - from, end: feed.candles.length - to };
  }
}
