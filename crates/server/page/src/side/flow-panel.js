// Capital flow and distribution of the day next to the chart, for securities with stored trades.
// Kept up to date while it is visible.

import { abbreviated, grouped, signed } from '../decimal.js';
import { el } from '../dom.js';
import { factsPath } from '../facts.js';
import { phrase } from '../phrases/side.js';
import { distributionOf, endOf, flowPlaces, minutesOf, offsetFrom, wallText } from './capital.js';
import { SecurityPanel } from './security-panel.js';

const [WIDTH, HEIGHT] = [600, 200];
const SVG = 'http://www.w3.org/2000/svg';
const SIZE_PHRASES = { large: 'size_large', medium: 'size_medium', small: 'size_small' };

const directionOf = (text) => (!/[1-9]/.test(text) ? 'level' : text.startsWith('-') ? 'fall' : 'rise');
const signedAmount = (text) => signed(grouped(text));

export class FlowPanel extends SecurityPanel {
  mount(box) {
    this.box = box;
    this.said = el('p', { class: 'side-said', role: 'status' });
    this.curve = curve();
    this.day = el('p', { class: 'lead flow-day' });
    this.sums = el('div', { class: 'sums' });
    this.body = el(
      'div',
      { class: 'flow', hidden: true },
      el('h2', {}, phrase('flow_title')),
      this.curve.box,
      el('h2', {}, phrase('flow_distribution')),
      this.day,
      this.sums,
    );
    this.none = el('div', { class: 'lead', hidden: true });
    box.replaceChildren(this.said, this.body, this.none);
  }

  clear() {
    this.data = undefined;
    this.body.hidden = this.none.hidden = true;
  }

  async load(symbol) {
    const query = new URLSearchParams({ symbol });
    if (!this.data && !(await this.hasFlow(symbol))) return;
    const [flow, distribution] = await Promise.all(
      ['capital-flow', 'capital-distribution'].map((name) => this.ask(`/v1/quote/${name}?${query}`)),
    );
    if (this.symbol !== symbol) return;
    this.data = { flow: flow.data, distribution: distribution.data };
    this.show();
  }

  /** Whether the server has capital flow of a security; if not, the panel shows why. */
  async hasFlow(symbol) {
    const { data } = await this.ask(factsPath(symbol));
    if (this.symbol !== symbol) return false;
    if (data.capital_flow === 'known') return true;
    // No polling needed: trades arrive with an import.
    this.live.stop();
    this.said.textContent = '';
    this.body.hidden = true;
    this.none.hidden = false;
    // No import would help for a warrant or an option, so none is suggested.
    const advice =
      data.capital_flow === 'unavailable'
        ? [el('p', {}, phrase('flow_unavailable'))]
        : [el('p', {}, phrase('flow_none', symbol)), el('pre', {}, el('code', {}, `chandler import trades.csv --symbol ${symbol}`))];
    this.none.replaceChildren(...advice);
    return false;
  }

  show() {
    const { flow, distribution } = this.data;
    const lines = flow.capital_flow_lines;
    const offset = lines.length > 0 ? offsetFrom(this.sessions, lines[0].timestamp) : 0;
    this.said.textContent = '';
    this.none.hidden = true;
    this.body.hidden = false;
    this.curve.show(lines, { minutes: minutesOf(this.sessions, lines), offset, end: endOf(this.sessions) });
    this.day.textContent = distribution.timestamp ? phrase('as_of', wallText(distribution.timestamp, offset)) : '\u00a0';
    const { rows, total } = distributionOf(distribution);
    this.sums.replaceChildren(
      ...rows.map(({ size, ...row }) => sum(phrase(SIZE_PHRASES[size]), row)),
      sum(phrase('size_all'), total),
    );
  }
}

/** One size: its difference, and bars for inflow and outflow. */
function sum(title, { come, gone, net, comeShare, goneShare }) {
  const bar = (name, text, share, direction) => {
    const row = el('div', { class: 'bar' }, el('dt', {}, phrase(name)), el('dd', {}, grouped(text)));
    if (share === undefined) return row;
    const fill = el('i', { 'data-direction': direction, 'aria-hidden': 'true' });
    fill.style.width = `${(share * 100).toFixed(1)}%`;
    row.append(fill);
    return row;
  };
  return el(
    'section',
    { class: 'sum' },
    el('h3', {}, title, ' ', el('small', { 'data-direction': directionOf(net) }, phrase('net', signedAmount(net)))),
    el('dl', {}, bar('come', come, comeShare, 'rise'), bar('gone', gone, goneShare, 'fall')),
  );
}

function drawn(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** The running total by minute, with a cursor for keys and pointer. */
function curve() {
  const reading = el('p', { class: 'reading' });
  const [high, low, from, to] = ['high', 'low', 'from', 'to'].map((name) => el('span', { class: name, 'aria-hidden': 'true' }));
  const [area, zero, line, cursor] = ['area', 'zero', 'line', 'cursor'].map((name) => drawn('path', { class: name }));
  const picture = drawn('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  picture.append(area, zero, line, cursor);
  const stage = el('div', { class: 'curve', tabindex: 0, role: 'application', 'aria-label': phrase('flow_keys') }, picture, high, low, from, to);
  let [lines, places, east] = [[], [], 0];
  let at;

  const look = (index) => {
    at = index;
    const shown = lines[index ?? lines.length - 1];
    if (!shown) return reading.replaceChildren('\u00a0');
    const place = places[index];
    cursor.setAttribute('d', place ? `M${place.x} 0V${HEIGHT}` : '');
    const value = el('strong', { 'data-direction': directionOf(shown.inflow) }, signedAmount(shown.inflow));
    return reading.replaceChildren(`${wallText(shown.timestamp, east)} `, value);
  };
  const step = (index) => look(Math.min(Math.max(index, 0), lines.length - 1));
  const keys = {
    ArrowLeft: () => step((at ?? lines.length) - 1),
    ArrowRight: () => step((at ?? lines.length - 2) + 1),
    Home: () => step(0),
    End: () => step(lines.length - 1),
  };
  stage.addEventListener('keydown', (event) => {
    if (!keys[event.key] || lines.length === 0) return;
    event.preventDefault();
    // The chart uses the same keys to move along its candles.
    event.stopPropagation();
    keys[event.key]();
  });
  stage.addEventListener('focus', () => (reading.ariaLive = 'polite'));
  stage.addEventListener('blur', () => {
    reading.ariaLive = 'off';
    look(undefined);
  });
  stage.addEventListener('pointermove', (event) => {
    const { left, width } = stage.getBoundingClientRect();
    const x = ((event.clientX - left) / width) * WIDTH;
    // The rest of the day has no minutes yet.
    const index = places.findIndex((place) => place.x >= x);
    if (places.length > 0) step(index < 0 ? lines.length - 1 : index);
  });
  stage.addEventListener('pointerleave', () => look(undefined));

  const show = (given, { minutes, offset, end }) => {
    [lines, east] = [given, offset];
    const drawing = flowPlaces(lines, minutes, WIDTH, HEIGHT);
    ({ places } = drawing);
    const along = places.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L');
    line.setAttribute('d', along && `M${along}`);
    area.setAttribute('d', along && `M0 ${drawing.zero}L${along}V${drawing.zero}Z`);
    zero.setAttribute('d', `M0 ${drawing.zero}H${WIDTH}`);
    picture.dataset.points = String(places.length);
    high.textContent = abbreviated(Number(drawing.high));
    low.textContent = abbreviated(Number(drawing.low));
    from.textContent = lines.length > 0 ? wallText(lines[0].timestamp, east).slice(11) : '';
    to.textContent = end ?? '';
    look(lines[at] ? at : undefined);
  };
  return { box: el('div', {}, reading, stage), show };
}
