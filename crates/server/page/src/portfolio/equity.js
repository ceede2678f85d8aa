// The equity of the account by day, as a line. Drawn without a library: that of the chart page is
// larger than this page.

import { minus, percentOf, signed } from '../decimal.js';
import { el } from '../dom.js';
import { symbolOf } from '../link.js';
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
  const { places, ...edges } = drawing([values], width, height);
  return { places: places[0], ...edges };
}

/** Positions of several lines with a common scale; values that are missing have none. */
export function drawing(lines, width = WIDTH, height = HEIGHT) {
  const known = lines.flat().filter((value) => value !== undefined);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  // If the account is worth the same every day, the line is in the middle.
  const room = high === low ? Math.max(Math.abs(high) * 0.01, 1) : (high - low) * 0.08;
  const [bottom, top] = [low - room, high + room];
  const x = (at, { length }) => (length === 1 ? width / 2 : (at / (length - 1)) * width);
  const y = (value) => height - ((value - bottom) / (top - bottom)) * height;
  const places = lines.map((values) => values.map((value, at) => (value === undefined ? undefined : { x: x(at, values), y: y(value) })));
  return { places, top, bottom };
}

/** Whether a curve has a benchmark, and is drawn as growth. */
const isCompared = (points) => points.some(({ benchmark }) => benchmark);
const numberOf = (text) => (text === null || text === undefined ? undefined : Number(text));

/** A line through places, from edge to edge for a single one; it begins again after missing ones. */
function pathOf(places) {
  const there = places.filter(Boolean);
  if (there.length === 1) return `M0 ${there[0].y.toFixed(1)}H${WIDTH}`;
  const step = (place, at) => place && `${at > 0 && places[at - 1] ? 'L' : 'M'}${place.x.toFixed(1)} ${place.y.toFixed(1)}`;
  return places.map(step).filter(Boolean).join('');
}

function drawn(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** `onCompare` gets a symbol, or nothing to end the comparison. */
export function equitySheet(onCompare = async () => {}) {
  const title = phrase('equity');
  const reading = el('p', { class: 'reading' });
  const [high, low, from, to] = ['high', 'low', 'from', 'to'].map((name) => el('span', { class: name, 'aria-hidden': 'true' }));
  const area = drawn('path', { class: 'area' });
  const line = drawn('path', { class: 'line' });
  const other = drawn('path', { class: 'other' });
  const cursor = drawn('path', { class: 'cursor' });
  const picture = drawn('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  picture.append(area, other, line, cursor);
  const stage = el('div', { class: 'curve', tabindex: 0, role: 'application', 'aria-label': phrase('equity_keys') }, picture, high, low, from, to);
  const input = el('input', { id: 'benchmark', type: 'text', autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false', placeholder: phrase('benchmark_hint') });
  const said = el('p', { class: 'said warn', role: 'status' });
  const form = el('form', { class: 'compare' }, el('label', { for: 'benchmark' }, phrase('benchmark')), input);
  form.addEventListener('submit', (event) => event.preventDefault());
  input.addEventListener('change', () => {
    const text = input.value.trim();
    const symbol = symbolOf(text);
    said.textContent = text && !symbol ? phrase('benchmark_none', phrase('benchmark_bad')) : '';
    if (!text || symbol) onCompare(symbol);
  });
  const deepest = el('p', { class: 'lead deepest' });
  const head = el('div', { class: 'row' }, el('h2', {}, title), reading, form);
  const box = el('section', { class: 'sheet equity', 'aria-label': title }, head, stage, el('div', { class: 'row under' }, deepest, said));
  let points = [];
  let missing;
  let places = [];
  let benchmark;
  let at;

  const look = (index) => {
    at = index;
    const shown = points[index ?? points.length - 1];
    if (!shown) return reading.replaceChildren(missing ? phrase('no_totals', missing) : phrase('equity_none'));
    reading.replaceChildren(...words(points, index ?? points.length - 1, benchmark));
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

  const show = ({ equity, now, benchmark: chosen, refusal }) => {
    benchmark = chosen;
    if (document.activeElement !== input) input.value = chosen ?? '';
    if (refusal) said.textContent = phrase('benchmark_none', refusal);
    else if (symbolOf(input.value) || !input.value) said.textContent = '';
    const deep = equity?.max_drawdown;
    deepest.textContent = deep ? phrase('max_drawdown', percentOf(deep, '1')) : '';
    points = pointsOf(equity, now);
    missing = equity?.missing;
    if (points.length === 0) return look(undefined);
    const compared = isCompared(points);
    const own = points.map((point) => numberOf(compared ? point.growth : point.net_assets));
    const theirs = points.map((point) => (compared ? numberOf(point.benchmark) : undefined));
    const { places: lines, top, bottom } = drawing([own, theirs]);
    places = lines[0];
    const along = pathOf(places);
    line.setAttribute('d', along);
    other.setAttribute('d', pathOf(lines[1]));
    const isArea = !compared && places.length > 0;
    area.setAttribute('d', isArea ? `${along}V${HEIGHT}H0Z` : '');
    picture.dataset.points = String(places.length);
    picture.dataset.compared = String(compared);
    const edge = (value) => (compared ? `${signed(((value - 1) * 100).toFixed(2))} %` : amount(value.toFixed(0)));
    high.textContent = edge(top);
    low.textContent = edge(bottom);
    from.textContent = points[0].date;
    to.textContent = points.length === 1 ? '' : points.at(-1).date;
    look(points[at] ? at : undefined);
  };
  return { box, show };
}

/** `2026-03-18 HKD 1,002,345.00 +2,345.00 (+0.23 %) since the day before`. */
function words(points, index, benchmark) {
  const { date, net_assets: worth, is_over: isOver, growth, drawdown, benchmark: theirs } = points[index];
  const before = points[index - 1];
  const head = el('strong', {}, `${date}${isOver ? '' : ` (${phrase('equity_now')})`}`);
  if (theirs && growth) {
    const change = (ratio) => `${signed(percentOf(minus(ratio, '1'), '1'))} %`;
    return [head, ' ', phrase('growth_and', change(growth), benchmark, change(theirs), percentOf(drawdown, '1'))];
  }
  if (!before) return [head, ` ${amount(worth)} `, el('small', {}, phrase('equity_first'))];
  const change = minus(worth, before.net_assets);
  const percent = percentOf(change, before.net_assets) ?? '0.00';
  const since = phrase('equity_change', signedAmount(change), signed(percent));
  return [head, ` ${amount(worth)} `, el('small', { 'data-direction': directionOf(change) }, since)];
}
