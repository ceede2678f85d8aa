// Loads the script of charts side by side and of saved layouts (`layouts.js`) on demand.

import { addressOf } from './base.js';

/** How long the rest of the page waits for the charts beside the focused one. */
const PATIENCE_MS = 1000;

export class Charts {
  /** `with_` is passed to the script. */
  constructor(with_) {
    Object.assign(this, { with: with_, loaded: undefined, coming: undefined });
  }

  /** Shows the charts of the view. */
  sync() {
    if (this.loaded) this.loaded.sync();
    else if (this.with.current().view.beside) this.load();
  }

  /** Resolves when the other charts of the view are painted, or after a second: candles may be slow. */
  async painted() {
    if (!this.with.current().view.beside) return;
    const all = this.load().then((loaded) => loaded?.painted);
    await Promise.race([all, new Promise((done) => setTimeout(done, PATIENCE_MS))]);
  }

  /** Opens the dialog. */
  async open() {
    const loaded = await this.load();
    if (loaded) loaded.openForm();
    else this.with.failed();
  }

  /** The loaded script; undefined if it failed to load, which is retried at the next call. */
  async load() {
    this.coming ??= import(addressOf('/layouts.js')).then(
      ({ Layouts }) => {
        this.loaded = new Layouts(this.with);
        this.loaded.sync();
      },
      () => (this.coming = undefined),
    );
    await this.coming;
    return this.loaded;
  }
}
