// Loads the replay bar (`replay/bar.js`), a separate script: with the page if its address names a
// world, otherwise on demand.

import { addressOf } from './base.js';
import { byId } from './dom.js';
import { WORLD } from './world.js';

export class Replayer {
  /** `on` is passed to the bar; `fetchScript` is for tests. */
  constructor(on, fetchScript = () => import(addressOf('/replay.js'))) {
    Object.assign(this, { on, fetchScript, bar: undefined, coming: undefined });
    if (WORLD) this.open();
  }

  get isOpen() {
    return document.documentElement.dataset.replay !== undefined;
  }

  /** Opens the bar; in a world it is always open. */
  async open() {
    document.documentElement.dataset.replay = '';
    byId('replay-open')?.setAttribute('aria-expanded', 'true');
    this.coming ??= this.fetchScript().then(
      ({ openBar }) => (this.bar = openBar(byId('replay'), this.on)),
      () => (this.coming = undefined),
    );
    await this.coming;
    return this.bar;
  }

  close() {
    if (WORLD) return;
    delete document.documentElement.dataset.replay;
    const button = byId('replay-open');
    button?.setAttribute('aria-expanded', 'false');
    button?.focus({ preventScroll: true });
  }

  /** The button and its key. */
  async toggle() {
    if (this.isOpen && !WORLD) return this.close();
    const bar = await this.open();
    if (!bar) {
      this.close();
      return this.on.failed();
    }
    return bar.focus();
  }
}
