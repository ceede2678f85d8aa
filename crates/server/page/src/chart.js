// The chart library, behind the few things that the page wants of it: show candles, say what is looked at, move, zoom.

import {
  CandlestickSeries,
  ColorType,
  CrosshairMode,
  HistogramSeries,
  LineStyle,
  createChart,
  createSeriesMarkers,
} from 'lightweight-charts';

import { Backdrop } from './backdrop.js';
import { followed } from './candles.js';
import { abbreviated } from './decimal.js';
import { FONT, readPalette } from './palette.js';

const SPACING = 7;
/** Candles' worth of empty space to the right of the newest. */
const ROOM_RIGHT = 4;
const VOLUME_SHARE = 0.2;
const STYLES = { order: LineStyle.LargeDashed, trigger: LineStyle.Dashed, base: LineStyle.Solid, level: LineStyle.Dotted, bound: LineStyle.SparseDotted };

export class ChartView {
  constructor(container, { tickText, crosshairText, onLook, onRange }) {
    this.container = container;
    this.onLook = onLook;
    this.candles = [];
    this.cursor = undefined;
    this.isByKeys = false;
    this.trades = { lines: [], arrows: [] };
    this.lines = [];
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.palette = readPalette();
    const { layout, ...colours } = chartColours(this.palette);
    this.chart = createChart(container, {
      ...colours,
      autoSize: true,
      // The library's logo brings a style element that the content policy forbids; the page names its makers in words.
      layout: {
        ...layout,
        fontFamily: FONT,
        fontSize: 11,
        attributionLogo: false,
        panes: { ...layout.panes, enableResize: false },
      },
      kineticScroll: { touch: !isCalm, mouse: false },
      rightPriceScale: { borderVisible: false, minimumWidth: 68, scaleMargins: { top: 0.06, bottom: 0.1 } },
      timeScale: {
        borderVisible: false,
        timeVisible: true,
        barSpacing: SPACING,
        rightOffset: ROOM_RIGHT,
        minBarSpacing: 0.6,
        // A page of newer candles must not move the visible ones.
        shiftVisibleRangeOnNewBar: false,
        tickMarkFormatter: (wall, weight) => tickText(wall, weight),
      },
      localization: { timeFormatter: (wall) => crosshairText(wall) },
    });
    const options = { borderVisible: false, priceLineVisible: false, ...candleColours(this.palette) };
    this.price = this.chart.addSeries(CandlestickSeries, options);
    this.volume = this.chart.addSeries(
      HistogramSeries,
      { priceLineVisible: false, lastValueVisible: false, priceFormat: { type: 'custom', minMove: 1, formatter: abbreviated } },
      1,
    );
    const [top, bottom] = this.chart.panes();
    top.setStretchFactor(1 - VOLUME_SHARE);
    bottom.setStretchFactor(VOLUME_SHARE);
    this.volume.priceScale().applyOptions({ scaleMargins: { top: 0.12, bottom: 0 } });
    this.backdrops = [new Backdrop(true), new Backdrop(false)];
    this.price.attachPrimitive(this.backdrops[0]);
    this.volume.attachPrimitive(this.backdrops[1]);
    this.chart.subscribeCrosshairMove((event) => {
      const isInside = event.time !== undefined && this.candles[event.logical] !== undefined;
      this.cursor = isInside ? event.logical : undefined;
      if (event.sourceEvent) this.isByKeys = false;
      onLook(this.cursor);
    });
    this.chart.timeScale().subscribeVisibleLogicalRangeChange(() => {
      const range = this.range();
      if (range) onRange(range);
    });
  }

  /** Replaces the candles of the view; the visible ones stay where they are. */
  show(candles, { decimals, backdrop }) {
    // When newer ones come, the library keeps the view only as long as there have been as many before: after a few, it would jump.
    const stays = candles.length > this.candles.length && candles[0]?.wall === this.candles[0]?.wall ? this.range() : undefined;
    if (stays) this.goesTo(() => stays);
    this.cursor = followed(this.candles, this.cursor, candles);
    this.candles = candles;
    this.backdrop = backdrop;
    const step = 10 ** -decimals;
    this.price.applyOptions({ priceFormat: { type: 'price', precision: decimals, minMove: step } });
    this.price.setData(candles.map(({ wall, open, high, low, close }) => ({ time: wall, open, high, low, close })));
    this.drawVolume();
    this.drawBackdrop();
    if (stays) this.moveTo(stays);
  }

  drawVolume() {
    const { 'rise-soft': rise, 'fall-soft': fall } = this.palette;
    this.volume.setData(
      this.candles.map(({ wall, open, close, volume }) => ({ time: wall, value: volume, color: close >= open ? rise : fall })),
    );
  }

  decorate(backdrop) {
    this.backdrop = backdrop;
    this.drawBackdrop();
  }

  drawBackdrop() {
    if (!this.backdrop) return;
    for (const one of this.backdrops) one.show({ ...this.backdrop, palette: this.palette });
  }

  /** Open orders and the levels of a grid as lines at their price, fills as arrows at their candles, triggers as dots at their price. */
  showTrades(trades) {
    this.trades = trades;
    const { rise, fall, accent, soft } = this.palette;
    const colour = (side) => ({ Buy: rise, Sell: fall, base: accent, bound: soft })[side];
    for (const line of this.lines) this.price.removePriceLine(line);
    this.lines = trades.lines.map(({ side, price, words, style }) =>
      this.price.createPriceLine({
        price: Number(price), color: colour(side), lineWidth: 1, lineStyle: STYLES[style], axisLabelVisible: true, title: words,
      }),
    );
    if (!this.arrows && trades.arrows.length === 0) return;
    this.arrows ??= createSeriesMarkers(this.price, []);
    this.arrows.setMarkers(
      trades.arrows.map(({ wall, side, text, price }) => ({
        time: wall,
        color: colour(side),
        text,
        ...(price !== undefined && { position: 'atPriceMiddle', price: Number(price), shape: 'circle' }),
        ...(price === undefined && (side === 'Buy' ? { position: 'belowBar', shape: 'arrowUp' } : { position: 'aboveBar', shape: 'arrowDown' })),
      })),
    );
  }

  /** After another scheme, or another colour of rising. */
  restyle() {
    this.palette = readPalette();
    this.chart.applyOptions(chartColours(this.palette));
    this.price.applyOptions(candleColours(this.palette));
    this.drawVolume();
    this.drawBackdrop();
    this.showTrades(this.trades);
  }

  /** Before the candles of another view: the library would keep the times of both until the volumes have followed the prices. */
  clear() {
    this.candles = [];
    this.cursor = undefined;
    cancelAnimationFrame(this.looking);
    this.chart.clearCrosshairPosition();
    this.showTrades({ lines: [], arrows: [] });
    this.volume.setData([]);
    this.price.setData([]);
  }

  /** Whether the newest candle is where `home` puts it. */
  get isAtEnd() {
    return this.candles.length > 0 && this.edge() === this.candles.length - 1;
  }

  /** The newest candles at the usual width, also those that are shown between this and the next frame. */
  home() {
    const time = this.chart.timeScale();
    time.applyOptions({ barSpacing: SPACING, rightOffset: ROOM_RIGHT });
    time.scrollToPosition(ROOM_RIGHT, false);
    this.price.priceScale().applyOptions({ autoScale: true });
    this.goesTo(() => {
      const to = this.candles.length - 1 + ROOM_RIGHT;
      return { from: to - time.width() / SPACING, to };
    });
  }

  moveTo(range) {
    this.chart.timeScale().setVisibleLogicalRange(range);
    this.goesTo(() => range);
  }

  /** The library moves with the next frame; until then the old position must not be reported. */
  goesTo(where) {
    this.goal = where;
    // Called after the library has moved, which has asked for its frame before.
    requestAnimationFrame(() => {
      if (this.goal === where) this.goal = undefined;
    });
  }

  range() {
    return this.goal?.() ?? this.chart.timeScale().getVisibleLogicalRange();
  }

  /** The candle that `home` would put where it is now: what a view is dated by, so that opening its address again moves nothing. */
  edge() {
    const last = this.candles.length - 1;
    const right = Math.round(this.range()?.to ?? Infinity) - ROOM_RIGHT;
    return Math.min(Math.max(right, 0), last);
  }

  /** Round the right edge, where the newest candle is, unless the cursor says what is looked at. */
  zoom(factor) {
    const { from, to } = this.range() ?? {};
    if (from === undefined) return;
    const anchor = this.cursor ?? to;
    const span = Math.min(Math.max((to - from) / factor, 8), 4000);
    const share = (anchor - from) / (to - from);
    this.moveTo({ from: anchor - span * share, to: anchor + span * (1 - share) });
  }

  /** Moves the crosshair by candles, and the chart after it. */
  step(count) {
    if (this.candles.length === 0) return;
    const last = this.candles.length - 1;
    const at = this.cursor ?? this.edge() - count;
    this.look(Math.min(Math.max(at + count, 0), last));
  }

  look(index, { from, to } = this.range()) {
    const candle = this.candles[index];
    if (!candle) return;
    // The library reports pointer moves alone, so moves by keys are reported here.
    this.cursor = index;
    this.isByKeys = true;
    this.onLook(index);
    const span = to - from;
    const left = index < from + 2 ? index - 4 : index > to - 1 ? index + ROOM_RIGHT - span : undefined;
    if (left !== undefined) {
      // A crosshair that stays while the candles move would report the candle that comes under it.
      this.chart.clearCrosshairPosition();
      this.moveTo({ from: left, to: left + span });
    }
    // The library moves the range with the next frame, and would place the crosshair by the range of this one.
    cancelAnimationFrame(this.looking);
    this.looking = requestAnimationFrame(() => this.chart.setCrosshairPosition(candle.close, candle.wall, this.price));
  }

  clearLook() {
    cancelAnimationFrame(this.looking);
    this.chart.clearCrosshairPosition();
    this.cursor = undefined;
    this.onLook(undefined);
  }
}

function chartColours({ sheet, soft, ink, grid, line }) {
  const label = { color: soft, width: 1, style: LineStyle.Dotted, labelBackgroundColor: ink };
  return {
    layout: { background: { type: ColorType.Solid, color: sheet }, textColor: soft, panes: { separatorColor: line } },
    grid: { vertLines: { color: grid }, horzLines: { color: grid } },
    crosshair: { mode: CrosshairMode.Normal, vertLine: label, horzLine: label },
  };
}

const candleColours = ({ rise, fall }) => ({ upColor: rise, downColor: fall, wickUpColor: rise, wickDownColor: fall });
