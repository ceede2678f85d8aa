// Loads the script for indicators, comparison, copying and saving (`extras.js`) on demand: the
// first paint of a chart needs none of it.

import { addressOf } from './base.js';
import { STUDY_NAMES } from './study/settings.js';

/** Whether a view has something that the script draws. */
export const wantsExtras = (view) => view.compare !== undefined || STUDY_NAMES.some((name) => view[name] !== undefined);

export class Extra {
  /** `with_` is passed to the script; `fetchScript` is for tests. */
  constructor(with_, fetchScript = () => import(addressOf('/extras.js'))) {
    Object.assign(this, { with: with_, fetchScript, loaded: undefined, coming: undefined });
  }

  /** The loaded script; undefined if it failed to load, which is retried at the next call. */
  async load() {
    this.coming ??= this.fetchScript().then(
      ({ Extras }) => (this.loaded = new Extras(this.with)),
      () => (this.coming = undefined),
    );
    await this.coming;
    return this.loaded;
  }
}
