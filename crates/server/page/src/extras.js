// The script for indicators, comparison, copying and saving, loaded on demand (`extra.js`). Start
// here.

import { openCompare } from './compare/form.js';
import { Compared } from './compare/compared.js';
import { nameFor } from './rank.js';
import { openSave } from './save/form.js';
import { openStudies } from './study/form.js';
import { Legend } from './study/legend.js';
import { Studies } from './study/studies.js';

export class Extras {
  /**
   * `current` returns view, feed, chart, period and facts; `set` changes the view, `search` finds
   * securities.
   */
  constructor({ ask, current, set, search }) {
    Object.assign(this, { current, set, search });
    this.studies = new Studies(ask, current);
    this.compared = new Compared(ask, current, () => this.look(this.index));
  }

  /** Called after the candles or the settings changed. */
  show() {
    const { chart } = this.current();
    this.legend ??= new Legend(chart);
    this.candles = chart.candles;
    chart.onLoaded = () => {
      // With new candles everything is redrawn shortly anyway.
      if (chart.candles !== this.candles && chart.candles.length > 0) return;
      this.studies.colour();
      this.studies.refresh();
      this.compared.refresh();
      // The legend uses the same colours.
      if (chart.candles.length > 0) this.look(this.index);
    };
    this.studies.show();
    this.compared.show();
    this.look(this.index ?? chart.edge());
    // Panes get their height in the next frame.
    requestAnimationFrame(() => this.legend.place());
  }

  settling() {
    return this.studies.settling();
  }

  /** Shows the values of one candle. */
  look(index) {
    this.index = index;
    if (index === undefined || !this.legend) return;
    this.compared.follow();
    this.legend.show([...this.studies.legends(index), ...this.compared.legends(index)]);
  }

  open(way) {
    const { view } = this.current();
    if (way === 'studies') openStudies(view, this.set);
    else if (way === 'compare') openCompare(view, this.set, this.search);
    else openSave(this.current(), () => this.words(), nameFor);
  }

  /** The legend texts over the chart with their positions, for a picture. */
  words() {
    return (this.legend?.boxes ?? []).flatMap(({ box, rows }) => rows.map(({ values }, row) => ({ top: Number.parseFloat(box.style.top), row, values })));
  }
}
