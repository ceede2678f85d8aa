// Wraps the chart library: show candles, report the visible range, move, zoom. Positions are
// indexes into all candles of the view; the library gets a window of them (window.js) and counts
// from its start.

import { CandlestickSeries, HistogramSeries, LineSeries, PriceScaleMode, createChart, createSeriesMarkers } from 'lightweight-charts';

import { Backdrop } from './backdrop.js';
import { followed, shiftOf } from './candles.js';
import { CARRIER, LINE_STYLES, ROOM_RIGHT, SCALE_WIDTH, SPACING, SPACING_MAX, candleColours, chartColours, chartOptions } from './chart-style.js';
import { readPalette } from './palette.js';
import { Repaint } from './repaint.js';
import { covers, isNearEnd, windowOf } from './window.js';

const VOLUME_SHARE = 0.2;
/** The library keeps scrolling for a while after a finger is lifted. */
const GLIDE_MS = 1500;
const SPAN_MIN = 8;
const SPAN_MAX = 4000;
const MODES = { linear: PriceScaleMode.Normal, log: PriceScaleMode.Logarithmic, percent: PriceScaleMode.Percentage };

export class ChartView {
  /**
   * `backdropOf` returns the background of candles, `onLook` gets the candle under the pointer,
   * `onMark` a mark under the pointer, `onPoint` the position of the pointer in the price pane,
   * `onRange` the visible range; `onSize` is called when the width available for candles changes.
   */
  constructor(container, { tickText, crosshairText, volumeText, backdropOf, onLook, onMark, onPoint, onRange, onSize }) {
    Object.assign(this, { container, backdropOf, onLook, onPoint, onRange, onSize });
    Object.assign(this, { candles: [], start: 0, end: 0, room: ROOM_RIGHT, cursor: undefined, isByKeys: false, goal: undefined, panes: new Map() });
    this.trades = { lines: [], arrows: [] };
    this.lines = [];
    /** Called when the library got other candles, or when the colours changed. */
    this.onLoaded = () => {};
    /** Called when the candles were redrawn. */
    this.onRepaint = () => {};
    this.palette = readPalette();
    this.chart = createChart(container, chartOptions(this.palette, { tickText, crosshairText }));
    this.price = this.chart.addSeries(CandlestickSeries, { borderVisible: false, priceLineVisible: false, ...candleColours(this.palette) });
    this.chart.panes()[0].setStretchFactor(1 - VOLUME_SHARE);
    this.volumeFormat = { type: 'custom', minMove: 1, formatter: volumeText };
    this.backdrops = [new Backdrop(true), new Backdrop(false)];
    this.price.attachPrimitive(this.backdrops[0]);
    this.setVolume(true);
    this.price.attachPrimitive(new Repaint(() => this.onRepaint()));
    this.watch(onMark);
  }

  /** Adds or removes the pane of volumes, which an index does not have. */
  setVolume(isShown) {
    if (isShown === (this.volume !== undefined)) return;
    const names = [...this.panes.keys()];
    // The library numbers the panes from the top, and removes one with its last series.
    this.setPanes([]);
    if (isShown) {
      this.volume = this.chart.addSeries(HistogramSeries, { priceLineVisible: false, lastValueVisible: false, priceFormat: this.volumeFormat }, 1);
      this.volume.getPane().setStretchFactor(VOLUME_SHARE);
      this.volume.priceScale().applyOptions({ scaleMargins: { top: 0.12, bottom: 0 } });
      this.volume.attachPrimitive(this.backdrops[1]);
    } else {
      this.volume.detachPrimitive(this.backdrops[1]);
      this.chart.removeSeries(this.volume);
      this.volume = undefined;
    }
    this.setPanes(names);
  }

  /** The number of panes above those of indicators. */
  get panesAbove() {
    return this.volume ? 2 : 1;
  }

  watch(onMark) {
    const marked = ({ hoveredInfo, logical, time }) => {
      const [, at] = /^mark:(\d+)$/.exec(hoveredInfo?.objectId ?? '') ?? [];
      return at === undefined ? { isMark: false, index: time === undefined ? undefined : this.start + logical } : { isMark: true, index: this.start + Number(at) };
    };
    this.chart.subscribeCrosshairMove((event) => {
      const at = this.start + event.logical;
      this.cursor = event.time !== undefined && this.candles[at] ? at : undefined;
      if (event.sourceEvent) this.isByKeys = false;
      this.onPoint(event.sourceEvent && event.paneIndex === 0 ? event.point : undefined);
      this.onLook(this.cursor);
      onMark(marked(event));
    });
    // A tap does not move the crosshair.
    this.chart.subscribeClick((event) => onMark(marked(event)));
    this.chart.timeScale().subscribeVisibleLogicalRangeChange(() => {
      const range = this.range();
      if (!range) return;
      this.follow(range);
      this.onRange(range);
    });
    // The range matches the new size in the next frame.
    this.chart.timeScale().subscribeSizeChange(() => requestAnimationFrame(() => this.onSize()));
    // A drag is measured from the newest candle in the library, so the window must not change
    // meanwhile.
    const held = (until) => () => (this.heldUntil = until());
    this.heldUntil = 0;
    this.container.addEventListener('pointerdown', held(() => Infinity), { capture: true });
    for (const name of ['pointerup', 'pointercancel']) addEventListener(name, held(() => performance.now() + GLIDE_MS), { capture: true });
  }

  /**
   * Replaces the candles of the view; the visible ones stay in place. The first candles of a view
   * are shown from their end.
   */
  show(candles, { decimals, isWhole = false }) {
    const before = this.candles;
    const range = before.length > 0 ? this.range() : undefined;
    const shift = range ? shiftOf(before, candles, Math.floor(range.to)) : 0;
    this.cursor = followed(before, this.cursor, candles);
    this.candles = candles;
    this.isWhole = isWhole;
    this.setVolume(candles.length === 0 || candles.some(({ volume }) => volume > 0));
    this.price.applyOptions({ priceFormat: { type: 'price', precision: decimals, minMove: 10 ** -decimals } });
    if (!range) {
      this.home();
      return;
    }
    const moved = { from: range.from + shift, to: range.to + shift };
    this.load(moved, { hasShifted: shift });
    this.place(moved);
  }

  /** Passes the candles around a range to the library. */
  load(range, { hasShifted = 0 } = {}) {
    const wanted = windowOf(this.candles.length, range);
    if (performance.now() < this.heldUntil && this.end > 0) wanted.end = Math.max(wanted.end, Math.min(this.end + hasShifted, this.candles.length));
    Object.assign(this, wanted);
    const shown = this.shown();
    this.price.setData(shown.map(({ wall, open, high, low, close }) => ({ time: wall, open, high, low, close })));
    this.drawVolume(shown);
    this.decorate();
    this.showTrades(this.trades);
    this.onLoaded();
  }

  /** The candles in the library. */
  shown() {
    return this.start === 0 && this.end === this.candles.length ? this.candles : this.candles.slice(this.start, this.end);
  }

  /** Moves the window before the user reaches its end. */
  follow(range) {
    if (this.goal || !isNearEnd(this, range, this.candles.length) || performance.now() < this.heldUntil) return;
    cancelAnimationFrame(this.following);
    this.following = requestAnimationFrame(() => {
      const now = this.range();
      if (!now || !isNearEnd(this, now, this.candles.length)) return;
      this.load(now);
      this.place(now);
    });
  }

  drawVolume(shown = this.shown()) {
    const { 'rise-soft': rise, 'fall-soft': fall } = this.palette;
    this.volume?.setData(shown.map(({ wall, open, close, volume }) => ({ time: wall, value: volume, color: close >= open ? rise : fall })));
  }

  /** Redraws the background of the candles. */
  decorate() {
    if (this.candles.length === 0) return;
    const backdrop = this.backdropOf(this.shown(), this.start);
    for (const one of this.backdrops) one.show({ ...backdrop, palette: this.palette });
  }

  /**
   * Shows open orders, the position and grid levels as lines at their price, fills as arrows at their candles,
   * triggers as dots at their price.
   */
  showTrades(trades) {
    this.trades = trades;
    const { rise, fall, accent, soft, ink } = this.palette;
    const colour = (side) => ({ Buy: rise, Sell: fall, base: accent, bound: soft, held: ink })[side];
    for (const line of this.lines) this.price.removePriceLine(line);
    this.lines = trades.lines.map(({ side, price, words, style, hasHandle }) =>
      this.price.createPriceLine({
        price: Number(price), color: colour(side), lineWidth: 1, lineStyle: LINE_STYLES[style], axisLabelVisible: true, title: hasHandle ? '' : words,
      }),
    );
    if (!this.arrows && trades.arrows.length === 0) return;
    this.arrows ??= createSeriesMarkers(this.price, []);
    // The library would draw an arrow of a candle outside its window at the nearest candle inside.
    const [first, last] = [this.candles[this.start]?.wall ?? Infinity, this.candles[this.end - 1]?.wall ?? -Infinity];
    this.arrows.setMarkers(
      trades.arrows.filter(({ wall }) => wall >= first && wall <= last).map(({ wall, side, text, price }) => ({
        time: wall,
        color: colour(side),
        text,
        ...(price !== undefined && { position: 'atPriceMiddle', price: Number(price), shape: 'circle' }),
        ...(price === undefined && (side === 'Buy' ? { position: 'belowBar', shape: 'arrowUp' } : { position: 'aboveBar', shape: 'arrowDown' })),
      })),
    );
  }

  /** Applies a changed colour scheme or rise colour. */
  restyle() {
    this.palette = readPalette();
    this.chart.applyOptions(chartColours(this.palette));
    this.price.applyOptions(candleColours(this.palette));
    this.drawVolume();
    this.decorate();
    this.showTrades(this.trades);
    this.onLoaded();
  }

  /** Sets a linear, logarithmic or percent scale (percent of the first visible candle). */
  setScale(name) {
    const mode = MODES[name];
    const scale = this.price.priceScale();
    // Percentages are longer than prices; reserve their width now, or the layout would shift.
    if (scale.options().mode !== mode) scale.applyOptions({ mode, autoScale: true, minimumWidth: name === 'percent' ? SCALE_WIDTH + 8 : SCALE_WIDTH });
  }

  /**
   * Clears the candles before another view: the library would hold the times of both until the
   * volumes follow the prices.
   */
  clear() {
    Object.assign(this, { candles: [], start: 0, end: 0, cursor: undefined });
    cancelAnimationFrame(this.looking);
    cancelAnimationFrame(this.following);
    this.chart.clearCrosshairPosition();
    this.showTrades({ lines: [], arrows: [] });
    this.onLoaded();
    this.future?.setData([]);
    this.volume?.setData([]);
    this.price.setData([]);
  }

  /** Whether the newest candle is where `home` puts it. */
  get isAtEnd() {
    return this.candles.length > 0 && this.edge() === this.candles.length - 1;
  }

  /** Shows the newest candles at the usual width; a short history fills the screen. */
  home() {
    const time = this.chart.timeScale();
    const count = this.candles.length;
    const fitting = this.isWhole && count * SPACING < screen.width ? this.width() / (count + this.room) : SPACING;
    const barSpacing = Math.min(Math.max(fitting, SPACING), SPACING_MAX);
    time.applyOptions({ barSpacing, rightOffset: this.room });
    this.price.priceScale().applyOptions({ autoScale: true });
    const isNew = this.end === 0;
    if (isNew || this.end < count) this.load(undefined);
    time.scrollToPosition(this.room, false);
    this.goesTo(() => {
      const to = this.candles.length - 1 + this.room;
      return { from: to - this.width() / barSpacing, to };
    });
  }

  /** The width in pixels for candles, without the scale; an estimate before the first paint. */
  width() {
    return this.chart.timeScale().width() || this.container.clientWidth - SCALE_WIDTH;
  }

  moveTo(range) {
    if (!covers(this, range, this.candles.length)) this.load(range);
    this.place(range);
  }

  place(range) {
    this.chart.timeScale().setVisibleLogicalRange({ from: range.from - this.start, to: range.to - this.start });
    this.goesTo(() => range);
  }

  /** The library moves in the next frame; until then the old position must not be reported. */
  goesTo(where) {
    this.goal = where;
    // Called after the library has moved, so its frame was requested earlier.
    requestAnimationFrame(() => {
      if (this.goal === where) this.goal = undefined;
    });
  }

  range() {
    if (this.goal) return this.goal();
    const range = this.chart.timeScale().getVisibleLogicalRange();
    return range ? { from: range.from + this.start, to: range.to + this.start } : undefined;
  }

  /**
   * The candle that `home` would put at the current position. A view is dated by it, so that
   * opening its address again does not move the chart.
   */
  edge() {
    const last = this.candles.length - 1;
    const right = Math.round(this.range()?.to ?? Infinity) - this.room;
    return Math.min(Math.max(right, 0), last);
  }

  /** Shows the candles from an index to the newest. */
  fitFrom(index) {
    this.price.priceScale().applyOptions({ autoScale: true });
    const to = this.candles.length - 1 + this.room;
    // A day with few candles must not be stretched beyond the maximum width.
    const span = Math.max(to - index + 0.5, this.width() / SPACING_MAX);
    this.moveTo({ from: to - span, to });
  }

  /**
   * Zooms around the right edge, where the newest candle is, or around the cursor if there is one.
   */
  zoom(factor) {
    const { from, to } = this.range() ?? {};
    if (from === undefined) return;
    const anchor = this.cursor ?? to;
    const span = Math.min(Math.max((to - from) / factor, SPAN_MIN), SPAN_MAX);
    const share = (anchor - from) / (to - from);
    // Never more empty space after the newest candle than at `home`.
    const right = Math.min(anchor + span * (1 - share), Math.max(to, this.candles.length - 1 + this.room));
    this.moveTo({ from: right - span, to: right });
  }

  /** Moves the crosshair by candles, and scrolls the chart with it. */
  step(count) {
    if (this.candles.length === 0) return;
    const last = this.candles.length - 1;
    const at = this.cursor ?? this.edge() - count;
    this.look(Math.min(Math.max(at + count, 0), last));
  }

  look(index, { from, to } = this.range()) {
    const candle = this.candles[index];
    if (!candle) return;
    // The library only reports pointer moves, so moves by keys are reported here.
    this.cursor = index;
    this.isByKeys = true;
    this.onLook(index);
    const span = to - from;
    const left = index < from + 2 ? index - 4 : index > to - 1 ? index + this.room - span : undefined;
    if (left !== undefined) {
      // A stationary crosshair would report each candle that moves under it.
      this.chart.clearCrosshairPosition();
      this.moveTo({ from: left, to: left + span });
    }
    // The library moves the range in the next frame; before that it would place the crosshair by
    // the old range.
    cancelAnimationFrame(this.looking);
    this.looking = requestAnimationFrame(() => this.chart.setCrosshairPosition(candle.close, candle.wall, this.price));
  }

  /** Shows the crosshair at a candle, if it is visible; without one, hides it. */
  point(index) {
    const [candle, range] = [this.candles[index], this.range()];
    const isVisible = candle !== undefined && range !== undefined && index >= Math.floor(range.from) && index <= Math.ceil(range.to);
    if (isVisible) this.chart.setCrosshairPosition(candle.close, candle.wall, this.price);
    else this.chart.clearCrosshairPosition();
    // The library only reports pointer moves.
    this.isByKeys = false;
    this.cursor = isVisible ? index : undefined;
    this.onLook(this.cursor);
  }

  clearLook() {
    cancelAnimationFrame(this.looking);
    this.chart.clearCrosshairPosition();
    this.cursor = undefined;
    this.onLook(undefined);
  }

  /** Adds a line to the price pane. */
  addLine(options) {
    return this.chart.addSeries(LineSeries, { priceLineVisible: false, ...options }, 0);
  }

  /**
   * Sets the panes below prices and volumes, by name, each with an invisible series that carries its
   * scale. Called before the first paint, so that the layout does not shift when their lines are drawn.
   */
  setPanes(names) {
    if (names.join() === [...this.panes.keys()].join()) return;
    for (const series of this.panes.values()) this.chart.removeSeries(series);
    const add = (name, at) => {
      const series = this.chart.addSeries(LineSeries, CARRIER, at + this.panesAbove);
      series.priceScale().applyOptions({ scaleMargins: { top: 0.18, bottom: 0.06 } });
      series.getPane().setStretchFactor(VOLUME_SHARE);
      return [name, series];
    };
    this.panes = new Map(names.map(add));
  }

  /** Reserves space after the newest candle, at most a third of the width, and keeps the chart's end in view. */
  setRoom(count) {
    const room = count === 0 ? ROOM_RIGHT : Math.max(ROOM_RIGHT, Math.min(count + 1, Math.floor(this.width() / SPACING / 3)));
    const [isAtEnd, moved] = [this.isAtEnd, room - this.room];
    this.room = room;
    if (!isAtEnd || moved === 0) return;
    const { from, to } = this.range();
    this.moveTo({ from: from + moved, to: to + moved });
  }

  /** Adds times to the axis after the newest candle. */
  setFuture(walls) {
    if (walls.length === 0 && !this.future) return;
    this.future ??= this.addLine(CARRIER);
    this.future.setData(walls.map((time) => ({ time })));
  }

  /**
   * The position of a candle in pixels from the left of the chart, and the height of the price
   * pane.
   */
  spot(index) {
    return { x: this.chart.timeScale().logicalToCoordinate(index - this.start), y: this.chart.panes()[0].getHeight() };
  }

  /** The price at a height in pixels, as a float. */
  priceAt(y) {
    return this.price.coordinateToPrice(y) ?? undefined;
  }

  /** The position of the candle at a distance in pixels from the left of the chart. */
  indexAt(x) {
    return (this.chart.timeScale().coordinateToLogical(x) ?? 0) + this.start;
  }

  /** The height in pixels of a price; undefined without candles. */
  yOf(price) {
    return this.price.priceToCoordinate(Number(price)) ?? undefined;
  }

  /** The price under the pointer; undefined outside the price pane. */
  priceUnder({ clientX, clientY }) {
    const { left, top } = this.container.getBoundingClientRect();
    const isIn = clientX - left <= this.width() && clientY - top <= this.spot(0).y;
    return isIn && this.candles.length > 0 ? this.priceAt(clientY - top) : undefined;
  }
}
