// The indicators of the view on the chart: overlays on the prices, and a pane for each of the
// others.

import { computed, settling } from './compute.js';
import { Calendar, dateAt, futureWalls } from './future.js';
import { Lines } from './lines.js';
import { STUDIES, roomOf } from './settings.js';

const COLOURS = 5;
const GUIDES = { macd: [], rsi: [30, 70], kdj: [20, 80] };
const DECIMALS_MIN = 2;
/** The server's calendar covers a year before its clock. */
const YEAR_S = 360 * 86_400;
/** Colours that have a meaning, by the label of the line. */
const MEANINGS = { 'Span A': 'rise', 'Span B': 'fall' };

const isOnPrices = (name) => !STUDIES[name].isPane && !STUDIES[name].isVolume;

export class Studies {
  constructor(ask, current) {
    Object.assign(this, { current, overlay: undefined, drawn: new WeakMap(), shown: [] });
    this.calendar = new Calendar(ask, () => this.refresh());
  }

  /** How many candles before the visible ones the lines depend on. */
  settling() {
    return settling(this.current().view);
  }

  /** Recomputes everything, after the candles or settings changed. */
  show() {
    const { view, feed, chart } = this.current();
    const start = performance.now();
    this.shown = chart.candles.length > 0 ? computed(chart.candles, view, feed.reachesBeginning) : [];
    this.colour();
    this.refresh();
    // For the benchmark.
    performance.measure('chandler:studies', { start });
  }

  /** Overlays on the prices share the colours; each pane starts with the first. */
  colour() {
    const { palette } = this.current().chart;
    let overlays = 0;
    for (const { name, lines } of this.shown) {
      lines.forEach((line, at) => {
        const isBand = name === 'boll' && at > 0;
        const isOverlay = isOnPrices(name) && !line.isDown && !MEANINGS[line.label];
        if (isOverlay && !isBand) overlays += 1;
        const number = isOnPrices(name) ? overlays - 1 : at;
        line.colour = palette[MEANINGS[line.label] ?? `study-${(number % COLOURS) + 1}`];
        if (line.isDown) line.colours = [palette.rise, palette.fall];
      });
    }
  }

  /** The drawing primitive of a pane, by the series of its scale. */
  linesOf(series) {
    if (!this.drawn.has(series)) {
      const lines = new Lines();
      series.attachPrimitive(lines);
      this.drawn.set(series, lines);
    }
    return this.drawn.get(series);
  }

  /**
   * The scale of a pane has as many decimals as prices: for a security that costs cents all labels
   * would be 0.00.
   */
  scale(series, { size, format }) {
    const drawn = this.linesOf(series);
    if (drawn.format !== format) series.applyOptions({ priceFormat: { type: 'custom', minMove: 1, formatter: format ?? String } });
    drawn.format = format;
    if (format) return;
    const decimals = Math.max(Math.round(Math.log10(size)), DECIMALS_MIN);
    if (drawn.decimals === decimals) return;
    drawn.decimals = decimals;
    series.applyOptions({ priceFormat: { type: 'custom', minMove: 10 ** -decimals, formatter: (value) => value.toFixed(decimals) } });
  }

  /** Redraws the same lines for another window of candles, or in other colours. */
  refresh() {
    const { chart } = this.current();
    const { start, end, candles, palette } = chart;
    const colours = { rise: palette['rise-soft'], fall: palette['fall-soft'], line: palette.line };
    const state = (lines, guides = []) => ({ lines, start, guides, colours });
    const overlays = this.shown.filter(({ name }) => isOnPrices(name)).flatMap(({ lines }) => lines);
    if (overlays.length > 0 && !this.overlay) chart.price.attachPrimitive((this.overlay = new Lines()));
    this.overlay?.show(state(candles.length > 0 ? overlays : []));
    const onVolumes = this.shown.filter(({ name }) => STUDIES[name].isVolume).flatMap(({ lines }) => lines);
    if (chart.volume && (onVolumes.length > 0 || this.drawn.has(chart.volume))) this.linesOf(chart.volume).show(state(candles.length > 0 ? onVolumes : []));
    chart.setFuture(this.future());
    // The library shows a scale only while its series has a candle to the right of the left edge.
    const ends = candles.length > 0 ? [...new Set([start, end - 1])] : [];
    for (const [name, series] of chart.panes) {
      const { lines } = this.shown.find((study) => study.name === name) ?? { lines: [] };
      const main = lines[0]?.values;
      const point = (at) => ({ time: candles[at].wall, value: (main?.[at] || 0) / (lines[0]?.size ?? 1) });
      series.setData(ends.map(point));
      this.linesOf(series).show(state(candles.length > 0 ? lines : [], GUIDES[name]));
      if (lines.length > 0) this.scale(series, lines[0]);
    }
  }

  /** The times after the newest candle that an indicator draws at. */
  future() {
    const { view, feed, chart, period, facts } = this.current();
    const count = roomOf(view);
    const last = chart.candles.at(-1);
    if (count === 0 || !last || !feed.reachesNow || chart.end < chart.candles.length) return [];
    const market = facts?.market;
    const isByDay = period.family === 'clock' || period.name === 'day';
    const isNear = isByDay && market !== undefined && Date.parse(facts.now) / 1000 - last.stamp < YEAR_S;
    const days = this.calendar.after(market, dateAt(last.wall), count, isNear);
    return futureWalls(chart.candles, { period, market, days }, count);
  }

  /** The values of each indicator at a candle, by pane: 0 for the prices. */
  legends(index) {
    const { chart } = this.current();
    const panes = [...chart.panes.keys()];
    const paneOf = (name) => (STUDIES[name].isPane ? panes.indexOf(name) + chart.panesAbove : Number(Boolean(STUDIES[name].isVolume)));
    // An index has no pane of volumes.
    return this.shown.filter(({ name }) => chart.volume || !STUDIES[name].isVolume).map(({ name, setting, lines }) => ({
      name,
      setting,
      // Below the prices and the volume.
      pane: paneOf(name),
      values: lines.map(({ label, values, colour, colours, isDown, textAt }) => ({ label, colour: colours?.[isDown[index]] ?? colour, text: Number.isNaN(values[index]) || index >= values.length ? '–' : textAt(index) })),
    }));
  }
}
