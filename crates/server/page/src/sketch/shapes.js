// Drawings as values: where their points are on the chart, their form in a link, and the texts of
// measures. Nothing here needs a browser.

/** The same limits as on the server. */
export const DRAWINGS_MAX = 50;
export const NOTE_MAX = 120;
/** Maximum length of the drawings in a link. */
export const LINK_MAX = 1500;
/** The number of points of each kind. */
export const POINTS = { line: 2, level: 1, measure: 2, note: 1 };
const LETTERS = { t: 'line', l: 'level', m: 'measure', n: 'note' };
const letterOf = (kind) => Object.keys(LETTERS).find((letter) => LETTERS[letter] === kind);
const PRICE = /^-?\d{1,12}(\.\d{1,6})?$/;

/**
 * The position of a time among candles: that of the last candle up to it. Before the first and after
 * the last candle, positions continue at the usual distance.
 */
export function indexOfTime(candles, time) {
  const last = candles.length - 1;
  if (last < 0) return undefined;
  const step = stepOf(candles);
  if (time < candles[0].wall) return (time - candles[0].wall) / step;
  if (time >= candles[last].wall) return last + (time - candles[last].wall) / step;
  let [low, high] = [0, last];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (candles[middle].wall <= time) low = middle;
    else high = middle;
  }
  return low;
}

/** The time at a position. */
export function timeOfIndex(candles, index) {
  const last = candles.length - 1;
  const step = stepOf(candles);
  if (index < 0) return Math.round(candles[0].wall + index * step);
  if (index > last) return Math.round(candles[last].wall + (index - last) * step);
  return candles[Math.round(index)].wall;
}

/** The shortest distance of the last candles, so that nights and weekends do not count. */
function stepOf(candles) {
  const walls = candles.slice(-20).map(({ wall }) => wall);
  const steps = walls.slice(1).map((wall, at) => wall - walls[at]).filter((step) => step > 0);
  return steps.length > 0 ? Math.min(...steps) : 86_400;
}

/** The change between the points of a measure: as text, in percent, and its number of candles. */
export function measured(candles, [from, to], decimals) {
  const unit = 10 ** decimals;
  const change = Math.round(Number(to.price) * unit) - Math.round(Number(from.price) * unit);
  const base = Number(from.price);
  const percent = base === 0 ? undefined : ((change / unit / base) * 100).toFixed(2);
  const count = Math.round(indexOfTime(candles, to.time) - indexOfTime(candles, from.time));
  const sign = change > 0 ? '+' : '';
  return { change: sign + (change / unit).toFixed(decimals), percent: percent && sign + percent, count };
}

/** Drawings as the parameter `draw` of a link; the last ones if all are too long. */
export function linked(drawings) {
  const texts = drawings.map(({ kind, points, text }) => {
    const fields = points.flatMap(({ time, price }) => (kind === 'level' ? [price] : [time.toString(36), price]));
    return [letterOf(kind), ...fields, ...(kind === 'note' ? [encodeURIComponent(text)] : [])].join(':');
  });
  while (texts.join(',').length > LINK_MAX) texts.shift();
  return texts.length > 0 ? texts.join(',') : undefined;
}

/** The drawings of a link; those that are not understood are left out. */
export function drawingsOf(link) {
  if (!link || link.length > LINK_MAX) return [];
  return link.split(',').slice(0, DRAWINGS_MAX).map(drawingOf).filter(Boolean);
}

function drawingOf(text) {
  const [letter, ...fields] = text.split(':');
  const kind = LETTERS[letter];
  if (!kind) return undefined;
  const words = kind === 'note' ? noteOf(fields.pop()) : '';
  const pairs = kind === 'level' ? [['0', fields[0]]] : Array.from({ length: POINTS[kind] }, (_, at) => fields.slice(2 * at, 2 * at + 2));
  const isWhole = fields.length === (kind === 'level' ? 1 : 2 * POINTS[kind]);
  const points = pairs.map(([time, price]) => ({ time: parseInt(time, 36), price }));
  const isGood = points.every(({ time, price }) => Number.isSafeInteger(time) && PRICE.test(price ?? ''));
  return isWhole && isGood && words !== undefined ? { kind, points, text: words } : undefined;
}

function noteOf(text) {
  try {
    const words = decodeURIComponent(text ?? '');
    return words && [...words].length <= NOTE_MAX ? words : undefined;
  } catch {
    return undefined;
  }
}
