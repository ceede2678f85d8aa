// Draws indicators from columns of values, reading only the visible ones. The chart library would
// allocate a point for each value of each line, which is noticeably slow for fifty thousand
// candles.

const GUIDE_DASH = [4, 4];
const CLOUD_ALPHA = 0.14;
/** The library's constant for a logarithmic scale. */
const LOGARITHMIC = 1;

export class Lines {
  constructor() {
    this.shown = { lines: [], start: 0, guides: [], colours: [] };
    const draw = (target) => this.paint(target);
    this.views = [{ zOrder: () => 'normal', renderer: () => ({ draw }) }];
  }

  attached({ chart, series, requestUpdate }) {
    Object.assign(this, { time: chart.timeScale(), series, requestUpdate });
  }

  paneViews() {
    return this.views;
  }

  /** `lines` have a column each, `start` is the first candle in the library. */
  show(shown) {
    this.shown = shown;
    this.requestUpdate?.();
  }

  /** Makes the scale include the visible values. */
  autoscaleInfo(first, last) {
    let [low, high] = [Infinity, -Infinity];
    const { lines, start, guides } = this.shown;
    const { isLogarithmic } = this;
    for (const { values, size, isBars } of lines) {
      const end = Math.min(Math.ceil(last) + start, values.length - 1);
      for (let at = Math.max(Math.floor(first) + start, 0); at <= end; at += 1) {
        const value = values[at] / size;
        if (isLogarithmic && value <= 0) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
      if (isBars) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    }
    for (const guide of guides) [low, high] = [Math.min(low, guide), Math.max(high, guide)];
    return low <= high ? { priceRange: { minValue: low, maxValue: high } } : null;
  }

  paint(target) {
    const range = this.time?.getVisibleLogicalRange();
    if (!range) return;
    const { lines, guides, colours } = this.shown;
    target.useBitmapCoordinateSpace(({ context, bitmapSize, horizontalPixelRatio: across, verticalPixelRatio: down }) => {
      const spacing = this.time.options().barSpacing * across;
      const origin = this.time.logicalToCoordinate(0) * across;
      const place = { context, range, down, spacing, start: this.shown.start, height: this.heights(), xOf: (logical) => origin + logical * spacing };
      context.lineWidth = Math.max(1, Math.round(down));
      context.strokeStyle = colours.line;
      context.setLineDash(GUIDE_DASH);
      for (const guide of guides) {
        const y = Math.round(place.height(guide) * down) + 0.5;
        context.beginPath();
        context.moveTo(0, y);
        context.lineTo(bitmapSize.width, y);
        context.stroke();
      }
      context.setLineDash([]);
      for (const line of lines) if (line.filledTo) paintBetween(place, line, line.filledTo);
      for (const line of lines) (line.isBars ? paintBars : paintLine)(place, line, colours);
    });
  }

  get isLogarithmic() {
    return this.series.priceScale().options().mode === LOGARITHMIC;
  }

  /**
   * Maps a value to its height. A linear scale needs two calls to the library; a logarithmic scale
   * needs one per value, and has no position for zero or less, which the lower of two wide bands
   * may reach.
   */
  heights() {
    const at = (value) => this.series.priceToCoordinate(value);
    if (this.isLogarithmic) return (value) => (value > 0 ? at(value) ?? NaN : NaN);
    const [zero, one] = [at(0), at(1000)];
    return zero === null ? () => NaN : (value) => zero + (value * (one - zero)) / 1000;
  }
}

/** The visible values, plus one at either end. */
function ends({ range, start }, values) {
  return { first: Math.max(Math.floor(range.from) - 1 + start, 0), last: Math.min(Math.ceil(range.to) + 1 + start, values.length - 1) };
}

/** The area between two lines, in the colour of the upper one. */
function paintBetween(place, one, other) {
  const { context, down, start, height, xOf } = place;
  const { first, last } = ends(place, one.values);
  context.save();
  context.globalAlpha = CLOUD_ALPHA;
  const paint = (points, colour) => {
    if (points.length < 2) return;
    context.fillStyle = colour;
    context.beginPath();
    for (const [x, y] of points) context.lineTo(x, y);
    for (const [x, , y] of points.reverse()) context.lineTo(x, y);
    context.fill();
  };
  let [points, colour] = [[], undefined];
  for (let at = first; at <= last; at += 1) {
    const [above, below] = [one, other].map(({ values, size }) => height(values[at] / size) * down);
    const next = Number.isNaN(above + below) ? undefined : above <= below ? one.colour : other.colour;
    const point = [xOf(at - start), above, below];
    // The lines cross between two candles: the area up to the second one has the colour of the first.
    if (next && colour) points.push(point);
    if (next === colour) continue;
    paint(points, colour);
    [points, colour] = [next ? [point] : [], next];
  }
  paint(points, colour);
  context.restore();
}

/** `parts` changes where the line ends and another one begins, which `colours` may distinguish. */
function paintLine(place, { values, size, colour, parts, colours }) {
  const { context, down, start, height, xOf } = place;
  const { first, last } = ends(place, values);
  context.strokeStyle = colour;
  context.lineWidth = 1.3 * down;
  context.lineJoin = 'round';
  context.beginPath();
  let isDrawing = false;
  let part;
  for (let at = first; at <= last; at += 1) {
    const y = height(values[at] / size) * down;
    const hasPlace = !Number.isNaN(y);
    if (parts && parts[at] !== part) {
      context.stroke();
      context.beginPath();
      context.strokeStyle = colours?.[parts[at]] ?? colour;
      [part, isDrawing] = [parts[at], false];
    }
    if (hasPlace && isDrawing) context.lineTo(xOf(at - start), y);
    else if (hasPlace) context.moveTo(xOf(at - start), y);
    isDrawing = hasPlace;
  }
  context.stroke();
}

function paintBars(place, { values, size }, { rise, fall }) {
  const { context, down, start, spacing, height, xOf } = place;
  const { first, last } = ends(place, values);
  const zero = Math.round(height(0) * down);
  const width = Math.max(1, Math.round(spacing * 0.6));
  for (let at = first; at <= last; at += 1) {
    if (Number.isNaN(values[at])) continue;
    const y = Math.round(height(values[at] / size) * down);
    context.fillStyle = values[at] >= 0 ? rise : fall;
    context.fillRect(Math.round(xOf(at - start) - width / 2), Math.min(y, zero), width, Math.max(Math.abs(y - zero), 1));
  }
}
