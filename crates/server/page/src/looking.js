// The candle that is looked at: its numbers, its marks in words, and the same for screen readers.

import { byId } from './dom.js';
import { marketOf, zoneLabel } from './market.js';
import { say } from './notices.js';
import { readOut, showReadOut, spoken } from './readout.js';
import { Tip } from './tip.js';

const SPEECH_PAUSE_MS = 350;

export class Looking {
  /** `now` tells view, feed, chart, period, and what is marked at which candle. */
  constructor(now) {
    Object.assign(this, { now, tip: new Tip(byId('tip')), isNew: true, speech: undefined });
  }

  /** Another view: it still has to be announced, and nothing of the former one may be. */
  begin() {
    clearTimeout(this.speech);
    this.tip.hide();
    this.isNew = true;
  }

  /** A candle, or the one that the address names. Returns which. */
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

  /** Moving the pointer shows what is under it; only keys and a new view are announced to screen readers. */
  speak(said, isLatest) {
    if (!this.isNew && !isLatest && !this.now().chart.isByKeys) return;
    this.isNew = false;
    say(spoken(said, isLatest));
  }

  /** The corporate actions of a candle, above their mark. */
  explain(index) {
    const { chart, placed } = this.now();
    const actions = placed.get(index);
    if (actions) this.tip.show(actions.map(({ full }) => full).join(' · '), chart.spot(index));
    else this.tip.hide();
  }
}
