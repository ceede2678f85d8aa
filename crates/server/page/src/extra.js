// Indicators, comparison, copying and saving are a script of their own (`extras.js`), which comes when one of them is wanted: the first
// picture of a chart needs none of it.

import { addressOf } from './base.js';
import { STUDY_NAMES } from './study/settings.js';

/** Whether a view has something on it that the script draws. */
export const wantsExtras = (view) => view.compare !== undefined || STUDY_NAMES.some((name) => view[name] !== undefined);

export class Extra {
  /** What the script is made with; `fetchScript` is for tests. */
  constructor(with_, fetchScript = () => import(addressOf('/extras.js'))) {
    Object.assign(this, { with: with_, fetchScript, loaded: undefined, coming: undefined });
  }

  /** The script, once it is there; nothing if it cannot be had, which is asked for again the next time. */
  async load() {
    this.coming ??= this.fetchScript().then(
      ({ Extras }) => (this.loaded = new Extras(this.with)),
      () => (this.coming = undefined),
    );
    await this.coming;
    return this.loaded;
  }
}
