// Options of the chart library: the colours of the page, and constants.

import { ColorType, CrosshairMode, LineStyle } from 'lightweight-charts';

import { FONT } from './palette.js';

/** The initial width of a candle in pixels. */
export const SPACING = 7;
/** The maximum width of a candle when a few of them fill the screen. */
export const SPACING_MAX = 42;
const SPACING_MIN = 0.6;
/** Empty space to the right of the newest candle, in candles. */
export const ROOM_RIGHT = 4;
export const SCALE_WIDTH = 68;
const MARGINS = { top: 0.06, bottom: 0.1 };

/** A series that only carries a scale. */
export const CARRIER = {
  lineVisible: false,
  lastValueVisible: false,
  priceLineVisible: false,
  crosshairMarkerVisible: false,
  pointMarkersVisible: false,
  priceFormat: { type: 'custom', minMove: 0.0001, formatter: (value) => value.toFixed(2) },
};

export const LINE_STYLES = {
  order: LineStyle.LargeDashed,
  cost: LineStyle.Solid,
  trigger: LineStyle.Dashed,
  base: LineStyle.Solid,
  level: LineStyle.Dotted,
  bound: LineStyle.SparseDotted,
};

export function chartOptions(palette, { tickText, crosshairText }) {
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const { layout, ...colours } = chartColours(palette);
  return {
    ...colours,
    autoSize: true,
    // The library's logo adds a style element that the content security policy forbids; the page
    // credits the authors in text.
    layout: { ...layout, fontFamily: FONT, fontSize: 11, attributionLogo: false, panes: { ...layout.panes, enableResize: false } },
    kineticScroll: { touch: !isCalm, mouse: false },
    rightPriceScale: { borderVisible: false, minimumWidth: SCALE_WIDTH, scaleMargins: MARGINS },
    timeScale: {
      borderVisible: false,
      timeVisible: true,
      barSpacing: SPACING,
      rightOffset: ROOM_RIGHT,
      minBarSpacing: SPACING_MIN,
      // A page of newer candles must not move the visible ones, and zooming with the wheel keeps
      // the right edge in place.
      shiftVisibleRangeOnNewBar: false,
      rightBarStaysOnScroll: true,
      tickMarkFormatter: (wall, weight) => tickText(wall, weight),
    },
    localization: { timeFormatter: (wall) => crosshairText(wall) },
  };
}

export function chartColours({ sheet, soft, ink, grid, line }) {
  const label = { color: soft, width: 1, style: LineStyle.Dotted, labelBackgroundColor: ink };
  return {
    layout: { background: { type: ColorType.Solid, color: sheet }, textColor: soft, panes: { separatorColor: line } },
    grid: { vertLines: { color: grid }, horzLines: { color: grid } },
    crosshair: { mode: CrosshairMode.Normal, vertLine: label, horzLine: label },
  };
}

export const candleColours = ({ rise, fall }) => ({ upColor: rise, downColor: fall, wickUpColor: rise, wickDownColor: fall });
