// Loads the order ticket and the movable lines of open orders (`orders/orders.js`), a separate
// script: when its tab is open, or when the account has open orders of the security. It is a tab of
// the side panel, and the ways to it from the chart: the right mouse button, and a button at the
// crosshair.

import { addressOf } from './base.js';
import { byId } from './dom.js';

/** The distance of the button from the price scale, in pixels. */
const ASIDE = 28;

export class Ordering {
  /**
   * `on` is passed to the script, and has `chart`, `mayTrade`, and `order`, which opens the tab at a
   * price. `fetchScript` is for tests.
   */
  constructor(on, fetchScript = () => import(addressOf('/orders.js'))) {
    Object.assign(this, { on, fetchScript, loaded: undefined, coming: undefined, box: undefined, isOpen: false });
    this.here = byId('order-here');
    this.here.addEventListener('click', () => this.on.order(this.price));
    this.here.addEventListener('pointerleave', () => this.point(undefined));
    byId('chart').addEventListener('contextmenu', (event) => this.menu(event));
  }

  /** The loaded script; undefined if it failed to load, which is retried at the next call. */
  async load() {
    this.coming ??= this.fetchScript().then(
      ({ Orders }) => (this.loaded = new Orders(this.on)),
      () => (this.coming = undefined),
    );
    await this.coming;
    return this.loaded;
  }

  mount(box) {
    this.box = box;
  }

  async open() {
    this.isOpen = true;
    const loaded = await this.load();
    if (!loaded) this.on.failed();
    if (this.isOpen) loaded?.open(this.box);
  }

  close() {
    this.isOpen = false;
    this.loaded?.close();
  }

  /** The marks say when the security has changed. */
  watch() {}

  /** The marks of the account have changed. */
  show({ orders = [], read_only: isReadOnly = false } = {}) {
    if (this.loaded) return this.loaded.show();
    if (orders.length === 0 || isReadOnly) return undefined;
    return this.load().then((loaded) => loaded?.show());
  }

  /** Another view is opened. */
  leave() {
    this.here.hidden = true;
    this.loaded?.show();
  }

  /** A long press belongs to the crosshair. */
  menu(event) {
    const price = event.pointerType === 'touch' || !this.on.mayTrade() ? undefined : this.on.chart()?.priceUnder(event);
    if (price === undefined) return;
    event.preventDefault();
    this.on.order(price);
  }

  /** Moves the button with the crosshair; `point` is in pixels, undefined outside the prices. */
  point(point) {
    const chart = this.on.chart();
    const isIn = point !== undefined && chart !== undefined && this.on.mayTrade();
    // The pointer leaves the chart when it reaches the button.
    if (!isIn && this.here.matches(':hover')) return;
    this.here.hidden = !isIn;
    if (!isIn) return;
    this.price = chart.priceAt(point.y);
    this.here.style.transform = `translate(${Math.round(chart.width() - ASIDE)}px, ${Math.round(point.y) - 12}px)`;
  }
}
