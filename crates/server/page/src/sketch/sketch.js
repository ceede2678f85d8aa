// Drawings on the chart: their bar, their elements over the chart, and their storage. Start here.
// They are SVG elements above the chart's canvas, which follow when it has redrawn the candles, so
// that each one is a control with a name.

import { decimalsOf } from '../decimal.js';
import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { formatLink } from '../link.js';
import { phrase } from '../phrases/sketch.js';
import { Repaint } from '../repaint.js';
import { Alerts } from './alerts.js';
import { DRAWINGS_MAX, NOTE_MAX, POINTS, drawingsOf, indexOfTime, linked, measured, timeOfIndex } from './shapes.js';

const SVG = 'http://www.w3.org/2000/svg';
const KINDS = Object.keys(POINTS);
const DRAG_PX = 4;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const svg = (name, attributes = {}, ...children) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

export class Sketch {
  /** `on` has `ask`, `chart`, `view`, `say`, and `note`, which shows a text. */
  constructor(on) {
    Object.assign(this, { on, symbol: undefined, own: [], shared: [], rows: [], tool: undefined, points: [], attached: undefined, unsent: new Map() });
    this.canvas = svg('svg', { class: 'sketch', role: 'group', 'aria-label': phrase('drawings') });
    this.canvas.addEventListener('pointerdown', (event) => this.press(event));
    this.canvas.addEventListener('pointermove', (event) => this.hover(event));
    document.querySelector('.stage').append(this.canvas);
    this.alerts = new Alerts(on, () => this.redraw());
    this.bar = this.makeBar();
    document.querySelector('.stage').append(this.bar);
    // Before the keys of the page.
    document.addEventListener('keydown', (event) => this.key(event), { capture: true });
  }

  makeBar() {
    const tool = (kind) => el('button', { type: 'button', 'data-tool': kind, 'aria-pressed': 'false', onclick: () => this.choose(kind) }, phrase(kind));
    const other = (name, does) => el('button', { type: 'button', 'data-tool': name, onclick: does }, phrase(name));
    return el(
      'div', { class: 'sketch-bar', role: 'toolbar', 'aria-label': phrase('tools'), hidden: true },
      ...KINDS.map(tool),
      other('alert', () => this.alerts.open(this.symbol)),
      other('link', () => this.copy()),
      other('clear', () => this.clear()),
      el('button', { type: 'button', class: 'close', 'aria-label': phrase('close'), title: phrase('close'), onclick: () => this.toggle() }, '✕'),
    );
  }

  toggle() {
    this.bar.hidden = !this.bar.hidden;
    document.getElementById('draw-open').setAttribute('aria-expanded', String(!this.bar.hidden));
    if (this.bar.hidden) this.choose(undefined);
    else this.bar.querySelector('button').focus({ preventScroll: true });
  }

  /** Shows the drawings of a security: those of the account, and those of the link. */
  show(symbol, own, link) {
    if (this.symbol !== symbol) this.own = own.map((one) => ({ ...one }));
    this.symbol = symbol;
    this.shared = drawingsOf(link);
    this.attach();
    this.alerts.refresh();
    this.redraw();
  }

  leave() {
    Object.assign(this, { symbol: undefined, own: [], shared: [] });
    this.choose(undefined);
    this.redraw();
  }

  attach() {
    const chart = this.on.chart();
    if (!chart || this.attached === chart) return;
    this.attached = chart;
    chart.price.attachPrimitive(new Repaint(() => this.place()));
  }

  choose(kind) {
    const next = kind === this.tool ? undefined : kind;
    if (next && this.own.length >= DRAWINGS_MAX) return this.on.say(phrase('many', DRAWINGS_MAX));
    Object.assign(this, { tool: next, points: [] });
    for (const button of this.bar.querySelectorAll('[aria-pressed]')) button.ariaPressed = String(button.dataset.tool === next);
    this.canvas.classList.toggle('armed', next !== undefined);
    this.draft?.remove();
    this.draft = undefined;
    if (next) this.on.say(phrase(POINTS[next] === 2 ? 'first' : 'place'));
    if (next) document.getElementById('chart').focus({ preventScroll: true });
  }

  get decimals() {
    return decimalsOf(this.on.chart()?.candles.at(-1)?.text.close ?? '');
  }

  /** The point under the pointer, at a candle. */
  pointUnder({ clientX, clientY }) {
    const chart = this.on.chart();
    const { left, top } = this.canvas.getBoundingClientRect();
    return this.pointAt(chart.indexAt(clientX - left), chart.priceAt(clientY - top));
  }

  pointAt(index, price) {
    const { candles } = this.on.chart();
    return { time: timeOfIndex(candles, index), price: price.toFixed(this.decimals) };
  }

  press(event) {
    if (!this.tool || event.button !== 0) return;
    event.preventDefault();
    this.take(this.pointUnder(event));
    // A line may also be dragged from one end to the other.
    if (!this.tool || this.points.length === 0) return;
    const { clientX, clientY, pointerId } = event;
    this.canvas.setPointerCapture(pointerId);
    const release = (up) => {
      if (this.points.length === 1 && Math.hypot(up.clientX - clientX, up.clientY - clientY) > DRAG_PX) this.take(this.pointUnder(up));
    };
    this.canvas.addEventListener('pointerup', release, { once: true });
  }

  hover(event) {
    if (!this.tool || this.points.length === 0) return;
    this.draft?.remove();
    const row = this.make({ kind: this.tool, points: [this.points[0], this.pointUnder(event)], text: '' }, 'draft');
    this.draft = row.box;
    this.canvas.append(row.box);
    this.put(row);
  }

  /** Takes the next point of the chosen kind. */
  take(point) {
    this.points.push(point);
    const { tool: kind, points } = this;
    if (points.length < POINTS[kind]) return this.on.say(phrase('second'));
    this.choose(undefined);
    if (kind === 'note') return this.askWords((text) => this.add({ kind, points, text }));
    return this.add({ kind, points: kind === 'level' ? [{ ...points[0], time: 0 }] : points, text: '' });
  }

  askWords(does) {
    const input = el('input', { id: 'note-words', maxlength: NOTE_MAX, required: true, autocomplete: 'off' });
    const form = el('form', {}, el('label', { for: 'note-words' }, phrase('words')), input, el('div', { class: 'choices' }, el('button', { class: 'main' }, phrase('save'))));
    const box = openDialog('sketch-note', phrase('note'), form);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      box.close();
      if (input.value.trim()) does(input.value.trim());
    });
  }

  add(drawing) {
    this.own.push(drawing);
    this.redraw();
    const row = this.rows.find((one) => one.drawing === drawing);
    row?.box.focus({ preventScroll: true });
    this.on.say(phrase('drawn', this.name(drawing)));
    this.store();
  }

  remove(drawing) {
    this.own = this.own.filter((one) => one !== drawing);
    this.redraw();
    document.getElementById('chart').focus({ preventScroll: true });
    this.on.say(phrase('removed', this.name(drawing)));
    this.store();
  }

  clear() {
    if (this.own.length === 0) return;
    const keep = el('form', { method: 'dialog' }, el('button', { class: 'push' }, phrase('keep')));
    const box = openDialog('sure', phrase('clear_sure'), el('div', { class: 'choices' }, el('button', {
      type: 'button', class: 'main', onclick: () => {
        box.close();
        this.own = [];
        this.redraw();
        this.store();
      },
    }, phrase('clear')), keep));
  }

  /** Stores all drawings, one request at a time; changes meanwhile are stored together. */
  async store() {
    this.unsent.set(this.symbol, this.own);
    if (this.isSending) return;
    this.isSending = true;
    for (const [symbol, drawings] of this.unsent) {
      this.unsent.delete(symbol);
      try {
        await this.on.ask(`/v1/drawings/${encodeURIComponent(symbol)}`, { method: 'PUT', body: { drawings } });
      } catch (error) {
        if (error.name !== 'Refused') throw error;
        this.on.note(phrase('not_saved', error.message));
      }
    }
    this.isSending = false;
  }

  async copy() {
    const link = new URL(formatLink({ ...this.on.view(), draw: linked([...this.shared, ...this.own]) }), location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      this.on.say(phrase('copied'));
      this.on.note('');
    } catch {
      this.on.note(phrase('not_copied'));
    }
  }

  name({ kind, points, text }) {
    const words = kind === 'note' ? `${phrase(kind)} “${text}”` : phrase(kind);
    return points.length === 2 ? phrase('between', words, points[0].price, points[1].price) : phrase('at', words, points[0].price);
  }

  redraw() {
    const levels = this.alerts.levels(this.symbol).map((drawing) => this.make(drawing, 'alert'));
    const shared = this.shared.map((drawing) => this.make(drawing, 'shared'));
    const focused = this.rows.find(({ box }) => box === document.activeElement)?.drawing;
    this.rows = [...levels, ...shared, ...this.own.map((drawing) => this.make(drawing, 'own'))];
    this.canvas.replaceChildren(...this.rows.map(({ box }) => box));
    this.rows.find(({ drawing }) => focused && drawing === focused)?.box.focus({ preventScroll: true });
    this.place();
  }

  /** The elements of a drawing; only those of the account can be moved. */
  make(drawing, of) {
    const { kind, text } = drawing;
    const parts = [];
    if (kind === 'measure') parts.push(svg('rect', {}));
    if (kind !== 'note') parts.push(svg('line', { class: 'grip' }), svg('line', {}));
    const label = kind === 'note' || kind === 'measure' || of === 'alert' ? svg('text', {}) : undefined;
    if (label) label.textContent = text;
    const box = svg('g', { 'data-kind': kind, 'data-of': of }, ...parts, ...(label ? [label] : []));
    const row = { drawing, box, label, of };
    const name = of === 'shared' ? `${this.name(drawing)} (${phrase('shared')})` : this.name(drawing);
    if (of !== 'own') {
      box.setAttribute('role', 'img');
      box.setAttribute('aria-label', name);
      return row;
    }
    box.setAttribute('tabindex', '0');
    box.setAttribute('role', 'button');
    box.setAttribute('aria-label', name);
    row.ends = (kind === 'level' ? [] : drawing.points).map(() => svg('circle', { r: 5 }));
    box.append(...row.ends);
    box.addEventListener('pointerdown', (event) => this.grab(event, row));
    return row;
  }

  /** Called whenever the chart has redrawn its candles. */
  place() {
    const chart = this.on.chart();
    const isEmpty = !chart || chart.candles.length === 0;
    this.canvas.style.display = isEmpty ? 'none' : '';
    if (isEmpty) return;
    const [width, height] = [Math.round(chart.width()), Math.round(chart.spot(0).y)];
    const size = `${width} ${height}`;
    if (size !== this.size) {
      this.size = size;
      this.canvas.setAttribute('width', width);
      this.canvas.setAttribute('height', height);
    }
    for (const row of this.rows) this.put(row);
  }

  /** The distance of a time from the left in pixels. The library places whole positions only. */
  xOf(time) {
    const chart = this.on.chart();
    const index = indexOfTime(chart.candles, time);
    const [from, to] = [Math.floor(index), Math.ceil(index)].map((whole) => chart.spot(whole).x);
    return from + (to - from) * (index - Math.floor(index));
  }

  put(row) {
    const { drawing: { kind, points, text }, box, label, ends } = row;
    const chart = this.on.chart();
    const places = points.map(({ time, price }) => ({ x: kind === 'level' ? 0 : this.xOf(time), y: chart.yOf(price) }));
    if (kind === 'level') places.push({ x: chart.width(), y: places[0].y });
    const height = chart.spot(0).y;
    const isAside = ['level', 'note'].includes(kind) && !(places[0].y >= 0 && places[0].y <= height);
    const isOut = isAside || places.some(({ x, y }) => !Number.isFinite(x) || !Number.isFinite(y));
    box.style.display = isOut ? 'none' : '';
    if (isOut) return;
    const [from, to = from] = places;
    for (const line of box.querySelectorAll('line')) Object.entries({ x1: from.x, y1: from.y, x2: to.x, y2: to.y }).forEach(([key, value]) => line.setAttribute(key, value));
    const area = box.querySelector('rect');
    if (area) Object.entries({ x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y) }).forEach(([key, value]) => area.setAttribute(key, value));
    if (label && kind === 'measure') {
      const { change, percent, count } = measured(chart.candles, points, this.decimals);
      label.textContent = [change, percent && `${percent}%`, phrase('candles', count)].filter(Boolean).join(' · ');
    } else if (label) label.textContent = text;
    if (label) {
      label.setAttribute('x', kind === 'level' ? 8 : Math.min(from.x, to.x) + 4);
      label.setAttribute('y', Math.max(Math.min(from.y, to.y) - 5, 12));
    }
    ends?.forEach((end, at) => {
      end.setAttribute('cx', places[at].x);
      end.setAttribute('cy', places[at].y);
    });
  }

  /** Moves a drawing, or one of its ends, with the pointer. */
  grab(event, row) {
    if (this.tool || event.button !== 0) return;
    event.preventDefault();
    row.box.focus({ preventScroll: true });
    const { drawing } = row;
    const end = row.ends.indexOf(event.target);
    const before = drawing.points;
    const start = this.pointUnder(event);
    row.box.setPointerCapture(event.pointerId);
    const move = (moved) => {
      const now = this.pointUnder(moved);
      drawing.points = before.map((point, at) => (end >= 0 && at !== end ? point : this.moved(drawing.kind, end >= 0 ? now : this.between(point, start, now))));
      this.put(row);
    };
    const release = () => {
      row.box.removeEventListener('pointermove', move);
      if (drawing.points === before) return;
      this.redraw();
      this.store();
    };
    row.box.addEventListener('pointermove', move);
    row.box.addEventListener('lostpointercapture', release, { once: true });
  }

  moved(kind, point) {
    return kind === 'level' ? { ...point, time: 0 } : point;
  }

  /** A point moved as far as the pointer. */
  between(point, start, now) {
    const { candles } = this.on.chart();
    const index = indexOfTime(candles, point.time) + indexOfTime(candles, now.time) - indexOfTime(candles, start.time);
    return this.pointAt(index, Number(point.price) + Number(now.price) - Number(start.price));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const done = () => {
      event.preventDefault();
      event.stopPropagation();
    };
    if (this.tool && event.key === 'Escape') {
      done();
      return this.choose(undefined);
    }
    const chart = this.on.chart();
    if (this.tool && event.key === 'Enter' && event.target.id === 'chart') {
      done();
      const index = chart.cursor ?? chart.candles.length - 1;
      return this.take(this.pointAt(index, chart.candles[index].close));
    }
    const row = this.rows.find(({ box, of }) => of === 'own' && box === event.target);
    if (!row) return undefined;
    if (event.key === 'Delete' || event.key === 'Backspace') {
      done();
      return this.remove(row.drawing);
    }
    const [right, down] = ARROWS[event.key] ?? [];
    if (right === undefined) return undefined;
    done();
    const { drawing } = row;
    const unit = Math.max(chart.priceAt(0) - chart.priceAt(event.shiftKey ? 10 : 1), 10 ** -this.decimals);
    drawing.points = drawing.points.map(({ time, price }) =>
      this.moved(drawing.kind, this.pointAt(indexOfTime(chart.candles, time) + right, Number(price) - down * unit)));
    row.box.setAttribute('aria-label', this.name(drawing));
    this.put(row);
    return this.store();
  }
}
