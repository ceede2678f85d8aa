// The lines of open orders over the chart: a line can be dragged to another price and closed. The
// chart library draws the lines themselves. While one is dragged, only its own element moves: the
// library redraws nothing.

import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { snapped } from '../price-steps.js';
import { PRICE_FIELDS, amount, sideWords } from '../portfolio/words.js';

/** Orders with handles, those nearest to the market first. All orders are in the list. */
const LINES_MAX = 60;
/** A shorter movement is a click. */
const DRAG_PX = 4;
/** Handles closer than this would cover each other. */
const HANDLE_PX = 26;
const LEVELS = 3;

/** The prices that an order waits for. */
export const pricesOf = (order) => ['trigger_price', 'price'].filter((name) => order[name]).map((name) => ({ name, price: order[name] }));

/**
 * How far each handle is set aside so that it does not cover the one above it; undefined for those
 * outside the pane.
 */
export function levelsOf(places, height) {
  const order = places.map((y, at) => ({ y, at })).filter(({ y }) => y !== undefined && y >= 0 && y <= height).sort((a, b) => a.y - b.y);
  const levels = places.map(() => undefined);
  const ends = [];
  for (const { y, at } of order) {
    const free = Array.from({ length: LEVELS }, (_, level) => level).find((level) => y - (ends[level] ?? -Infinity) >= HANDLE_PX);
    levels[at] = free ?? 0;
    ends[levels[at]] = y;
  }
  return levels;
}

export class Lines {
  /**
   * `chart` returns the chart; `onMoved` gets an order, the name of its price, the new price, and a
   * function to call when the user has decided; `onChange` and `onCancel` get an order.
   */
  constructor(on) {
    Object.assign(this, { on, rows: new Map(), drag: undefined, ticks: undefined, size: '' });
    this.box = el('div', { class: 'order-lines', role: 'group', 'aria-label': phrase('open_orders') });
    document.querySelector('.stage').append(this.box);
    this.onKey = (event) => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      event.stopPropagation();
      this.drop();
    };
  }

  show(orders, ticks) {
    this.ticks = ticks;
    this.box.classList.toggle('movable', ticks !== undefined);
    const chart = this.on.chart();
    if (chart) chart.onRepaint = () => this.place();
    const last = chart?.candles.at(-1)?.close ?? 0;
    const lines = orders.flatMap((order) => pricesOf(order).map((one) => ({ ...one, order })));
    const distance = ({ price }) => Math.abs(Number(price) - last);
    const wanted = new Map(lines.sort((a, b) => distance(a) - distance(b)).slice(0, LINES_MAX).map((line) => [`${line.order.order_id} ${line.name}`, line]));
    for (const [key, row] of this.rows) if (!wanted.has(key)) this.remove(key, row);
    for (const [key, line] of wanted) {
      const row = this.rows.get(key) ?? this.add(key, line);
      Object.assign(row, line);
      this.name(row);
    }
    this.place();
  }

  add(key, { order }) {
    const row = { key, words: el('span', {}) };
    const press = (event) => this.press(event, row);
    const grip = el('button', { type: 'button', class: 'grip', tabindex: -1, 'data-key': `grip ${key}`, onpointerdown: press, onclick: () => this.click(row) }, row.words);
    const close = el('button', { type: 'button', class: 'close', tabindex: -1, 'data-key': `close ${key}`, 'aria-label': phrase('cancel_one', order.order_id), onclick: () => this.on.onCancel(row.order) }, '×');
    row.box = el('div', { class: 'order-line', 'data-side': order.side }, el('i', { class: 'strip', onpointerdown: press }), el('span', { class: 'handle' }, grip, close));
    row.grip = grip;
    this.rows.set(key, row);
    this.box.append(row.box);
    return row;
  }

  remove(key, row) {
    if (this.drag?.row === row) this.end();
    this.rows.delete(key);
    row.box.remove();
  }

  name(row) {
    const { order, name, price, moved } = row;
    const words = `${sideWords(order.side)} ${amount(order.remaining)}`;
    const text = moved ? `${words} · ${amount(moved)}` : name === 'price' ? words : `${words} · ${phrase(PRICE_FIELDS[name])}`;
    if (row.words.textContent !== text) row.words.textContent = text;
    row.grip.ariaLabel = `${phrase('change_one', order.order_id)}: ${words}, ${phrase(PRICE_FIELDS[name])} ${moved ?? price}`;
  }

  /** Called whenever the chart has redrawn its candles. */
  place() {
    const chart = this.on.chart();
    if (!chart || this.rows.size === 0) return;
    const { y: height } = chart.spot(0);
    const size = `${Math.round(chart.width())} ${Math.round(height)}`;
    if (size !== this.size) {
      this.size = size;
      Object.assign(this.box.style, { width: `${Math.round(chart.width())}px`, height: `${Math.round(height)}px` });
    }
    const rows = [...this.rows.values()];
    const places = rows.map((row) => chart.yOf(row.moved ?? row.price));
    const levels = levelsOf(places, height);
    rows.forEach((row, at) => {
      if (this.drag?.row !== row) this.put(row, places[at], levels[at]);
    });
  }

  put(row, y, level) {
    const isOut = level === undefined;
    if (row.isOut !== isOut) row.box.hidden = row.isOut = isOut;
    if (isOut || (row.y === y && row.level === level)) return;
    if (row.level !== level) row.box.dataset.level = row.level = level;
    row.y = y;
    row.box.style.transform = `translateY(${y}px)`;
  }

  press(event, row) {
    // Also after a drag, so that a click without one is a click.
    this.hasDragged = false;
    if (event.button !== 0 || !this.ticks || this.drag || row.moved) return;
    const { target, pointerId } = event;
    const listeners = { pointermove: (move) => this.move(move), pointerup: () => this.release(), pointercancel: () => this.drop(), lostpointercapture: () => this.drop() };
    for (const [name, listener] of Object.entries(listeners)) target.addEventListener(name, listener);
    target.setPointerCapture(pointerId);
    addEventListener('keydown', this.onKey, { capture: true });
    this.drag = { row, target, pointerId, listeners, from: event.clientY, top: this.box.getBoundingClientRect().top, height: this.on.chart().spot(0).y };
  }

  move({ clientY }) {
    const { row, from, top, height } = this.drag;
    if (!this.hasDragged && Math.abs(clientY - from) < DRAG_PX) return;
    this.hasDragged = true;
    const chart = this.on.chart();
    const price = snapped(this.ticks, chart.priceAt(Math.min(Math.max(clientY - top, 0), height)));
    if (!price || price === row.moved) return;
    row.moved = price;
    row.box.dataset.moved = '';
    this.name(row);
    row.y = chart.yOf(price);
    row.box.style.transform = `translateY(${row.y}px)`;
  }

  release() {
    const { row } = this.drag;
    this.end();
    if (!row.moved) return;
    if (Number(row.moved) === Number(row.price)) return this.restore(row);
    // The new place stays until the user has decided, and the server has answered.
    this.on.onMoved(row.order, row.name, row.moved, () => this.restore(row));
  }

  /** Gives up a drag. */
  drop() {
    if (!this.drag) return;
    const { row } = this.drag;
    this.end();
    this.restore(row);
  }

  end() {
    const { target, pointerId, listeners } = this.drag;
    this.drag = undefined;
    for (const [name, listener] of Object.entries(listeners)) target.removeEventListener(name, listener);
    if (target.hasPointerCapture(pointerId)) target.releasePointerCapture(pointerId);
    removeEventListener('keydown', this.onKey, { capture: true });
  }

  restore(row) {
    row.moved = undefined;
    delete row.box.dataset.moved;
    this.name(row);
    this.place();
  }

  /** A click of the handle that was not a drag. */
  click(row) {
    if (!this.hasDragged) this.on.onChange(row.order);
    this.hasDragged = false;
  }
}
