// The inspected candle: its numbers, its marks as text, and the same for screen readers.

import { byId } from './dom.js';
import { marketOf, zoneLabel } from './market.js';
import { say } from './notices.js';
import { readOut, showReadOut, spoken } from './readout.js';
import { Tip } from './tip.js';

const SPEECH_PAUSE_MS = 350;

export class Looking {
  /** `now` returns view, feed, chart, period, and the marks by candle. */
  constructor(now) {
    Object.assign(this, { now, tip: new Tip(byId('tip')), isNew: true, speech: undefined });
  }

  /** Another view: it is announced once, and pending speech of the previous one is dropped. */
  begin() {
    clearTimeout(this.speech);
    this.tip.hide();
    this.isNew = true;
  }

  /** Shows a candle, or the one that the address names. Returns its index. */
  at(index) {
    const { view, feed, chart, period, placed, fills, triggers } = this.now();
    if (!feed || feed.candles.length === 0) return undefined;
    const { candles } = feed;
    const at = index ?? chart.edge();
    if (!candles[at]) return undefined;
    const market = marketOf(view.symbol);
    const said = readOut(candles, at, { period, market, placed, fills, triggers });
    showReadOut(said);
    if (chart.isByKeys) this.explain(index);
    byId('zone').textContent = zoneLabel(market, candles[at].offset, period.family);
    clearTimeout(this.speech);
    const isLatest = index === undefined && feed.reachesNow && at === candles.length - 1;
    this.speech = setTimeout(() => this.speak(said, isLatest), SPEECH_PAUSE_MS);
    return at;
  }

  /**
   * Moving the pointer only shows the candle under it; keys and a new view are also announced to
   * screen readers.
   */
  speak(said, isLatest) {
    if (!this.isNew && !isLatest && !this.now().chart.isByKeys) return;
    this.isNew = false;
    say(spoken(said, isLatest));
  }

  /** Shows the corporate actions of a candle above their mark. */
  explain(index) {
    const { chart, placed } = this.now();
    const actions = placed.get(index);
    if (actions) this.tip.show(actions.map(({ full }) => full).join(' · '), chart.spot(index));
    else this.tip.hide();
  }
}
