// Compares other securities with that of the view, each as a line, in percent of its first visible
// candle.

import { dateOf } from '../candles.js';
import { percentChange, signed } from '../decimal.js';
import { Feed } from '../feed.js';

/** The key that matches candles of two securities: the instant for clock periods, else the date. */
export const keyOf = (candle, family) => (family === 'clock' ? candle.stamp : dateOf(candle));

/** The candle of another security for each candle of the view; undefined where it has none. */
export function aligned(candles, others, family) {
  const found = new Map(others.map((candle) => [keyOf(candle, family), candle]));
  return candles.map((candle) => found.get(keyOf(candle, family)));
}

/** The change of a security in percent, from its first visible candle to the candle at an index. */
export function changeAt(row, from, index) {
  const first = row.slice(Math.max(from, 0), index + 1).find(Boolean);
  const last = row[index];
  const percent = first && last ? percentChange(last.text.close, first.text.close) : undefined;
  return percent === undefined ? '–' : `${signed(percent)} %`;
}

export class Compared {
  constructor(ask, current, onChanged) {
    Object.assign(this, { ask, current, onChanged, others: new Map() });
  }

  /** Shows exactly the compared securities of the view. */
  show() {
    const { view, chart, feed } = this.current();
    const wanted = view.compare && chart.candles.length > 0 ? view.compare.split(',') : [];
    // A new feed has another period or time, or its candles may have changed.
    for (const [symbol, other] of this.others) if (!wanted.includes(symbol) || other.beside !== feed) this.drop(symbol);
    for (const symbol of wanted) if (!this.others.has(symbol)) this.add(symbol);
    this.refresh();
    this.follow();
  }

  add(symbol) {
    const { view, chart, feed: beside } = this.current();
    const series = chart.addLine({ lineWidth: 2, crosshairMarkerVisible: false, lastValueVisible: true });
    const feed = new Feed({ ...view, symbol, before: this.end() }, this.ask);
    const other = { series, feed, beside, row: [], refused: undefined, isBusy: false };
    this.others.set(symbol, other);
    this.turn(symbol, 'open');
  }

  /**
   * Where to start loading another security: at the last candles of the view, which may be old.
   * Clock periods use an instant, since each market has its own clock.
   */
  end() {
    const { feed, chart, period } = this.current();
    const last = chart.candles.at(-1);
    if (feed.reachesNow) return undefined;
    return period.family === 'clock' ? new Date(last.stamp * 1000).toISOString().replace('.000', '') : dateOf(last);
  }

  drop(symbol) {
    const { series, feed } = this.others.get(symbol);
    feed.close();
    this.current().chart.chart.removeSeries(series);
    this.others.delete(symbol);
  }

  /** Loads one page, then whatever else is needed. */
  async turn(symbol, way) {
    const other = this.others.get(symbol);
    other.isBusy = true;
    try {
      await other.feed[way]();
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (error.name !== 'Refused') throw error;
      other.refused = error;
    }
    other.isBusy = false;
    if (this.others.get(symbol) !== other) return;
    this.refresh();
    this.follow();
    this.onChanged();
  }

  /** Loads another security as far as the visible range reaches, a page at a time. */
  follow() {
    const { chart, feed: shown } = this.current();
    const range = chart.range();
    if (!range || chart.candles.length === 0) return;
    const first = chart.candles[Math.max(Math.floor(range.from), 0)] ?? chart.candles[0];
    const last = chart.candles.at(-1);
    for (const [symbol, { feed, beside, isBusy, refused, requested }] of this.others) {
      if (beside !== shown || isBusy || refused || feed.candles.length === 0) continue;
      if (feed.candles[0].stamp > first.stamp && feed.hasOlder) this.turn(symbol, 'older');
      else if (feed.candles.at(-1).stamp < last.stamp && requested !== last.stamp) {
        // Once per new candle of the view: the other security may have none.
        this.others.get(symbol).requested = last.stamp;
        this.turn(symbol, 'newer');
      }
    }
  }

  /** Redraws the lines for the candles in the library. */
  refresh() {
    const { chart, period } = this.current();
    let number = 0;
    for (const other of this.others.values()) {
      // Colours are taken from the end: indicators start with the first.
      other.colour = chart.palette[`study-${5 - number}`];
      number += 1;
      other.row = aligned(chart.candles, other.feed.candles, period.family);
      other.series.applyOptions({ color: other.colour });
      const points = [];
      for (let at = chart.start; at < chart.end; at += 1) {
        if (other.row[at]) points.push({ time: chart.candles[at].wall, value: other.row[at].close });
      }
      other.series.setData(points);
    }
  }

  /** A row of the legend. */
  legends(index) {
    const { chart, view } = this.current();
    // As the library does: from the candle that the left edge cuts.
    const from = Math.floor(chart.range()?.from ?? 0);
    if (this.others.size === 0) return [];
    const values = [...this.others].map(([symbol, { row, colour, refused, isBusy }]) => ({
      label: symbol, colour, text: refused ? refused.message : isBusy && row.every((one) => !one) ? '…' : changeAt(row, from, index),
    }));
    const own = { label: view.symbol, colour: chart.palette.ink, text: changeAt(chart.candles, from, index) };
    return [{ pane: 0, values: [own, ...values] }];
  }
}
