// Two or four charts side by side, and saved layouts. The page has one complete chart, the focused
// one, and beside it charts that only show. Focusing another one exchanges the views of the two; the
// complete chart moves to its place.

import { byId, el } from '../dom.js';
import { FOCUS, besideOf, cellText } from '../link.js';
import { periodNamed } from '../periods.js';
import { Cell, headWords } from './cell.js';
import { openLayouts } from './form.js';
import { linkedIndex } from './linked.js';

/** Where only one chart fits, the others are not loaded (as in layouts.css). */
const NARROW = '(max-width: 640px), (max-height: 480px)';

export class Layouts {
  /**
   * `current` returns view, feed, chart and period of the focused chart. `swap` shows another view in
   * it, `alter` changes how the page shows its view, `visit` opens the address of a layout.
   */
  constructor(kit) {
    Object.assign(this, { kit, cells: [undefined], at: 0, text: undefined, isLinking: false });
    this.room = byId('charts');
    this.head = el('button', { type: 'button', class: 'chart-head own', 'aria-current': 'true', onclick: () => byId('chart').focus() });
    this.narrow = matchMedia(NARROW);
    this.narrow.addEventListener('change', () => this.open());
    kit.stream.listen({
      quote: (quote) => this.each((cell) => cell.follow.quote(quote)),
      trades: (trades) => this.each((cell) => cell.follow.trades(trades)),
      state: (state) => state === 'open' && this.each((cell) => cell.newest()),
    });
    // The theme and the colours of rising candles are attributes of the document.
    const restyle = () => this.each((cell) => cell.chart?.restyle());
    new MutationObserver(restyle).observe(document.documentElement, { attributeFilter: ['data-theme', 'data-rise'] });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
  }

  each(what) {
    for (const cell of this.cells) if (cell) what(cell);
  }

  /** The charts as in an address. */
  get shown() {
    return this.cells.some(Boolean) ? this.cells.map((cell) => (cell ? cellText(cell.view) : FOCUS)).join('!') : undefined;
  }

  /** Shows the charts of the view. Charts that are there already stay. */
  sync() {
    const { view } = this.kit.current();
    if (view.beside === this.text) return;
    this.text = view.beside;
    const wanted = view.beside ? besideOf(view.beside) : [undefined];
    const before = this.cells;
    this.at = wanted.indexOf(undefined);
    const isSame = (cell, next) => cell && next && cellText(cell.view) === cellText(next);
    this.cells = wanted.map((next, at) => {
      if (!next) return undefined;
      if (isSame(before[at], next)) return before[at];
      return new Cell(next, { ...this.kit, onLook: (cell, index) => this.look(cell, index), onFocus: (cell) => this.focus(this.cells.indexOf(cell)) });
    });
    for (const cell of before) if (cell && !this.cells.includes(cell)) cell.close();
    this.place();
    this.open();
  }

  /** Assigns the places in the grid, which the style sheet defines. */
  place() {
    const { dataset } = document.documentElement;
    const count = this.cells.length;
    if (count > 1) Object.assign(dataset, { charts: String(count), focus: String(this.at) });
    else {
      delete dataset.charts;
      delete dataset.focus;
    }
    if (count > 1 && !this.head.isConnected) this.room.prepend(this.head);
    if (count === 1) this.head.remove();
    this.cells.forEach((cell, at) => {
      if (!cell) return;
      for (const part of [cell.head, cell.stage]) part.dataset.at = String(at);
      if (!cell.stage.isConnected) this.room.append(cell.head, cell.stage);
    });
    this.draw();
  }

  /** Loads the charts beside the focused one, if there is room for them. */
  open() {
    const isShown = !this.narrow.matches;
    this.kit.stream.want('beside', isShown ? [...new Set(this.cells.filter(Boolean).map(({ view }) => view.symbol))] : []);
    if (!isShown) return;
    const opened = this.cells.filter(Boolean).map((cell) => cell.open());
    // For the benchmark.
    this.painted = Promise.all(opened).then(() => void performance.mark('chandler:beside'));
  }

  /** Requests all candles again. */
  again() {
    this.each((cell) => cell.take({ view: cell.view }, !this.narrow.matches));
  }

  /** The focused chart has other candles. */
  draw() {
    const { view, feed } = this.kit.current();
    headWords(this.head, view, periodNamed(view.period), feed);
  }

  /** Focuses the chart at a place; the one that had the focus keeps its own. */
  focus(at) {
    const cell = this.cells[at];
    if (!cell) return;
    const { view, feed, chart } = this.kit.current();
    const hasCandles = chart && feed?.candles.length > 0 && chart.candles.length > 0;
    const left = { view: { ...view, beside: undefined }, feed: hasCandles ? feed.copy() : undefined, range: hasCandles ? chart.range() : undefined };
    const taken = cell.state();
    this.cells[this.at] = cell;
    this.cells[at] = undefined;
    this.at = at;
    cell.take(left, !this.narrow.matches);
    this.text = this.shown;
    this.kit.swap({ ...taken, beside: this.text });
    this.place();
    this.open();
    byId('chart').focus({ preventScroll: true });
  }

  /** Focuses the next chart, or with -1 the previous one. */
  step(by) {
    const count = this.cells.length;
    if (count > 1) this.focus((this.at + by + count) % count);
  }

  /** Shows one, two or four charts: removes the last ones, or adds some with the view of the focused one. */
  resize(count) {
    const { view } = this.kit.current();
    const texts = this.cells.map((cell) => (cell ? cellText(cell.view) : FOCUS));
    const kept = texts.slice(0, count);
    // The focused chart stays.
    if (!kept.includes(FOCUS)) kept[count - 1] = FOCUS;
    while (kept.length < count) kept.push(cellText(view));
    this.kit.alter({ beside: count > 1 ? kept.join('!') : undefined });
    this.sync();
  }

  /** Moves the crosshair of the other charts to the time of a candle; `from` is undefined for the focused chart. */
  look(from, index) {
    if (this.isLinking || this.cells.length < 2 || this.narrow.matches) return;
    const all = [this.kit.current(), ...this.cells.filter(Boolean).map((cell) => cell.current())].filter(({ chart }) => chart);
    const source = from ? from.current() : this.kit.current();
    const candle = source.chart?.candles[index];
    this.isLinking = true;
    for (const { chart, period } of all) {
      if (chart === source.chart) continue;
      chart.point(candle && linkedIndex(chart.candles, candle, source.period.family, period.family));
    }
    this.isLinking = false;
  }

  openForm() {
    openLayouts({ ...this.kit, count: this.cells.length || 1, resize: (count) => this.resize(count) });
  }
}
