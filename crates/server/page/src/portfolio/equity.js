// The equity of the account by day, as a line. Drawn without a library: that of the chart page is
// larger than this page.

import { minus, percentOf, signed } from '../decimal.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { amount, directionOf, signedAmount } from './words.js';

const [WIDTH, HEIGHT] = [1000, 200];
const SVG = 'http://www.w3.org/2000/svg';

/** The points of the response, the last one updated to the current net worth. */
export function pointsOf(equity, now) {
  const points = equity?.points ?? [];
  const last = points.at(-1);
  if (!last || last.is_over || !now.totals) return points;
  return [...points.slice(0, -1), { ...last, at: now.at, net_assets: now.totals.net_assets }];
}

/**
 * Positions of points in a box of this size, and the values at its upper and lower edge; a single
 * point is a horizontal line.
 */
export function placed(points, width = WIDTH, height = HEIGHT) {
  const values = points.map(({ net_assets: text }) => Number(text));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  // If the account is worth the same every day, the line is in the middle.
  const room = high === low ? Math.max(Math.abs(high) * 0.01, 1) : (high - low) * 0.08;
  const [bottom, top] = [low - room, high + room];
  const x = (at) => (points.length === 1 ? width / 2 : (at / (points.length - 1)) * width);
  const y = (value) => height - ((value - bottom) / (top - bottom)) * height;
  return { places: values.map((value, at) => ({ x: x(at), y: y(value) })), top, bottom };
}

function drawn(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function equitySheet() {
  const title = phrase('equity');
  const reading = el('p', { class: 'reading' });
  const [high, low, from, to] = ['high', 'low', 'from', 'to'].map((name) => el('span', { class: name, 'aria-hidden': 'true' }));
  const area = drawn('path', { class: 'area' });
  const line = drawn('path', { class: 'line' });
  const cursor = drawn('path', { class: 'cursor' });
  const picture = drawn('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  picture.append(area, line, cursor);
  const stage = el('div', { class: 'curve', tabindex: 0, role: 'application', 'aria-label': phrase('equity_keys') }, picture, high, low, from, to);
  const box = el('section', { class: 'sheet equity', 'aria-label': title }, el('div', { class: 'row' }, el('h2', {}, title), reading), stage);
  let points = [];
  let missing;
  let places = [];
  let at;

  const look = (index) => {
    at = index;
    const shown = points[index ?? points.length - 1];
    if (!shown) return reading.replaceChildren(missing ? phrase('no_totals', missing) : phrase('equity_none'));
    reading.replaceChildren(...words(points, index ?? points.length - 1));
    const place = places[index];
    cursor.setAttribute('d', place ? `M${place.x} 0V${HEIGHT}` : '');
  };
  const step = (index) => look(Math.min(Math.max(index, 0), points.length - 1));
  const keys = {
    ArrowLeft: () => step((at ?? points.length) - 1),
    ArrowRight: () => step((at ?? points.length - 2) + 1),
    Home: () => step(0),
    End: () => step(points.length - 1),
    Escape: () => look(undefined),
  };
  stage.addEventListener('keydown', (event) => {
    if (!keys[event.key] || points.length === 0) return;
    event.preventDefault();
    keys[event.key]();
  });
  // Market updates are not announced; moves by keys are.
  stage.addEventListener('focus', () => (reading.ariaLive = 'polite'));
  stage.addEventListener('blur', () => (reading.ariaLive = 'off'));
  stage.addEventListener('pointermove', (event) => {
    const { left, width } = stage.getBoundingClientRect();
    if (points.length > 0) step(Math.round(((event.clientX - left) / width) * (points.length - 1)));
  });
  stage.addEventListener('pointerleave', () => look(undefined));

  const show = ({ equity, now }) => {
    points = pointsOf(equity, now);
    missing = equity?.missing;
    if (points.length === 0) return look(undefined);
    const drawing = placed(points);
    places = drawing.places;
    // A single day is also a line from edge to edge.
    const [first, last] = [places[0], places.at(-1)];
    const along = places.length === 1 ? `M0 ${first.y}H${WIDTH}` : `M${places.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')}`;
    line.setAttribute('d', along);
    area.setAttribute('d', `${along}V${HEIGHT}H${places.length === 1 ? 0 : first.x}Z`);
    picture.dataset.points = String(places.length);
    high.textContent = amount(drawing.top.toFixed(0));
    low.textContent = amount(drawing.bottom.toFixed(0));
    from.textContent = points[0].date;
    to.textContent = last === first ? '' : points.at(-1).date;
    look(points[at] ? at : undefined);
  };
  return { box, show };
}

/** `2026-03-18 HKD 1,002,345.00 +2,345.00 (+0.23 %) since the day before`. */
function words(points, index) {
  const { date, net_assets: worth, is_over: isOver } = points[index];
  const before = points[index - 1];
  const head = el('strong', {}, `${date}${isOver ? '' : ` (${phrase('equity_now')})`}`);
  if (!before) return [head, ` ${amount(worth)} `, el('small', {}, phrase('equity_first'))];
  const change = minus(worth, before.net_assets);
  const percent = percentOf(change, before.net_assets) ?? '0.00';
  const since = phrase('equity_change', signedAmount(change), signed(percent));
  return [head, ` ${amount(worth)} `, el('small', { 'data-direction': directionOf(change) }, since)];
}
