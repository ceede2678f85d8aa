// Paints behind and next to the candles: hours outside the regular session, the start of each
// trading day, the start of the history, and corporate actions. A primitive of the chart library,
// attached to a pane by one of its series.

import { FONT } from './palette.js';

const BADGE = 15;
const BADGE_FLOOR = 6;
// With smaller gaps, day breaks every few pixels would merge into a grey area.
const BREAK_GAP_MIN = 26;
const DASH = 4;

export class Backdrop {
  /** `hasLabels` is for the pane with text; the volume pane below only continues the background. */
  constructor(hasLabels) {
    this.hasLabels = hasLabels;
    /** Positions of the marks as last painted, for hit tests. */
    this.boxes = [];
    this.shown = { runs: [], breaks: [], pauses: [], placed: new Map(), begins: undefined, palette: undefined };
    const behind = { drawBackground: (target) => this.paint(target, paintBehind), draw: () => {} };
    const among = { draw: (target) => this.paint(target, paintLines) };
    const above = { draw: (target) => this.paint(target, paintAbove) };
    // Lines are drawn between candles and above the grid, which would hide lines at the same
    // position.
    this.views = [
      { zOrder: () => 'bottom', renderer: () => behind },
      { zOrder: () => 'normal', renderer: () => among },
    ];
    if (hasLabels) this.views.push({ zOrder: () => 'top', renderer: () => above });
  }

  attached({ chart, requestUpdate }) {
    this.time = chart.timeScale();
    this.requestUpdate = requestUpdate;
  }

  paneViews() {
    return this.views;
  }

  /** The mark under the pointer. */
  hitTest(x, y) {
    const box = this.boxes.find((one) => x >= one.left && x <= one.right && y >= one.top && y <= one.bottom);
    return box ? { externalId: `mark:${box.index}`, zOrder: 'top', cursorStyle: 'help', distance: 0, hitTestPriority: 2 } : null;
  }

  show(shown) {
    this.shown = shown;
    this.requestUpdate?.();
  }

  paint(target, painter) {
    const range = this.time?.getVisibleLogicalRange();
    if (!range || !this.shown.palette) return;
    target.useMediaCoordinateSpace(({ context, mediaSize }) => {
      const spacing = this.time.options().barSpacing;
      const leftOf = (index) => this.time.logicalToCoordinate(index) - spacing / 2;
      painter({ context, mediaSize, range, spacing, leftOf, boxes: this.boxes }, this.shown);
    });
  }
}

function paintBehind({ context, mediaSize, range, spacing, leftOf }, { runs, palette }) {
  const { height } = mediaSize;
  for (const run of runs) {
    if (run.to < range.from - 1 || run.from > range.to + 1) continue;
    const left = Math.round(leftOf(run.from));
    context.fillStyle = run.session === 3 ? palette.night : palette.outside;
    context.fillRect(left, 0, Math.round(leftOf(run.to) + spacing) - left, height);
  }
}

function paintLines({ context, mediaSize, range, spacing, leftOf }, { breaks, pauses, begins, palette }) {
  const { height } = mediaSize;
  context.fillStyle = palette.line;
  const roomy = (indexes) => {
    const visible = indexes.filter((index) => index >= range.from && index <= range.to + 1);
    const gap = visible.length > 1 ? ((visible.at(-1) - visible[0]) / (visible.length - 1)) * spacing : Infinity;
    return gap >= BREAK_GAP_MIN ? visible.map((index) => Math.round(leftOf(index))) : [];
  };
  for (const left of roomy(breaks)) context.fillRect(left, 0, 1, height);
  for (const left of roomy(pauses)) for (let top = 0; top < height; top += DASH * 2) context.fillRect(left, top, 1, DASH);
  if (begins && range.from < 1) {
    context.fillStyle = palette.accent;
    context.fillRect(Math.round(leftOf(0)) - 3, 0, 1, height);
  }
}

function paintAbove(place, { placed, begins, palette }) {
  if (begins && place.range.from < 1) paintBeginning(place, begins, palette);
  paintBadges(place, placed, palette);
}

function paintBeginning({ context, mediaSize, leftOf }, { line, date }, palette) {
  const at = Math.round(leftOf(0)) - 3;
  context.font = `11px ${FONT}`;
  context.textBaseline = 'middle';
  const width = Math.max(context.measureText(line).width, context.measureText(date).width);
  const fits = at - 10 - width > 0;
  context.textAlign = fits ? 'right' : 'left';
  const x = fits ? at - 8 : at + 10;
  context.fillStyle = palette.soft;
  context.fillText(line, x, mediaSize.height - 44);
  context.fillStyle = palette.ink;
  context.font = `600 11px ${FONT}`;
  context.fillText(date, x, mediaSize.height - 28);
}

/**
 * Paints marks at the bottom of the pane, each centred on its candle: as text if there is room,
 * else as letters, or as a tick where letters would overlap. Dividends yield to splits, because a
 * split explains a cliff in the prices and a dividend hardly shows.
 */
function paintBadges({ context, mediaSize, range, spacing, leftOf, boxes }, placed, palette) {
  boxes.length = 0;
  const visible = [...placed.keys()].filter((index) => index >= range.from - 1 && index <= range.to + 1).sort((a, b) => a - b);
  const middle = (index) => (index === undefined ? Infinity : leftOf(index) + spacing / 2);
  const marks = visible.map((index, at) => {
    const centre = middle(index);
    const gap = Math.min(middle(visible[at + 1]) - centre, at > 0 ? centre - middle(visible[at - 1]) : Infinity);
    return { index, centre, gap, actions: placed.get(index) };
  });
  const isMinor = ({ actions }) => actions.every(({ letter }) => letter === 'D');
  const top = mediaSize.height - BADGE - BADGE_FLOOR;
  context.font = `600 10px ${FONT}`;
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  for (const { index, centre, gap, actions } of [...marks.filter((one) => !isMinor(one)), ...marks.filter(isMinor)]) {
    const widthOf = (text) => Math.max(BADGE, Math.ceil(context.measureText(text).width) + 8);
    const words = actions.map(({ brief }) => brief).join(', ');
    const text = widthOf(words) / 2 + BADGE / 2 + 4 <= gap ? words : actions.map(({ letter }) => letter).join('');
    const width = widthOf(text);
    const left = Math.round(centre - width / 2);
    const box = { index, left, right: left + width, top, bottom: top + BADGE + 1 };
    if (boxes.some((other) => box.left < other.right + 2 && box.right + 2 > other.left)) {
      context.fillStyle = palette.accent;
      context.fillRect(Math.round(centre) - 1, top + BADGE + 2, 2, 3);
      continue;
    }
    boxes.push(box);
    paintBadge(context, { left, y: top, width, text }, palette);
  }
}

function paintBadge(context, { left, y, width, text }, palette) {
  context.beginPath();
  context.roundRect(left + 0.5, y + 0.5, width, BADGE, 3);
  context.fillStyle = palette.sheet;
  context.fill();
  context.strokeStyle = palette.accent;
  context.lineWidth = 1;
  context.stroke();
  context.fillStyle = palette.accent;
  context.fillText(text, left + width / 2 + 0.5, y + BADGE / 2 + 1);
}
