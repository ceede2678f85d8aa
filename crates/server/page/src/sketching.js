// Loads drawings and alerts (`sketch/sketch.js`), a separate script: when its bar is opened, when the
// account has drawings on the chart of the security, when a shared link has some, or when an alert
// has fired.

import { addressOf } from './base.js';
import { byId } from './dom.js';

export class Sketching {
  /**
   * `on` is passed to the script, and has `ask`, `chart`, `view` and `failed`. `fetchScript` is for
   * tests.
   */
  constructor(on, fetchScript = () => import(addressOf('/sketch.js'))) {
    Object.assign(this, { on, fetchScript, loaded: undefined, coming: undefined, symbol: undefined, own: undefined });
    byId('draw-open').addEventListener('click', () => this.toggle());
  }

  /** The loaded script; undefined if it failed to load, which is retried at the next call. */
  async load() {
    this.coming ??= this.fetchScript().then(
      ({ Sketch }) => (this.loaded = new Sketch(this.on)),
      () => (this.coming = undefined),
    );
    await this.coming;
    return this.loaded;
  }

  async toggle() {
    if (!this.on.chart()) return undefined;
    const loaded = await this.load();
    if (!this.own) await this.watch(this.on.view().symbol);
    if (!loaded || !this.own) return this.on.failed();
    loaded.show(this.symbol, this.own, this.on.view().draw);
    return loaded.toggle();
  }

  /** Another security is shown, or the same one again. */
  async watch(symbol) {
    if (this.symbol === symbol && this.own) return this.loaded?.show(symbol, this.own, this.on.view().draw);
    this.leave();
    this.symbol = symbol;
    let own;
    try {
      ({ data: { drawings: own } } = await this.on.ask(`/v1/drawings/${encodeURIComponent(symbol)}`));
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      return undefined;
    }
    if (this.symbol !== symbol) return undefined;
    this.own = own;
    const shared = this.on.view().draw;
    if (!this.loaded && own.length === 0 && !shared) return undefined;
    return (await this.load())?.show(symbol, own, shared);
  }

  /** Another view is opened, which may be of the same security. */
  leave() {
    this.loaded?.choose(undefined);
    if (this.symbol === this.on.view().symbol) return;
    Object.assign(this, { symbol: undefined, own: undefined });
    this.loaded?.leave();
  }

  /** An alert of the account has fired. */
  async alerted() {
    (await this.load())?.alerts.refresh(true);
  }

  /** The stream is open again: alerts may have fired meanwhile. */
  connected() {
    this.loaded?.alerts.refresh();
  }
}
