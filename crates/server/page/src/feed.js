// The candles of one view, a page at a time: older ones without limit, and newer ones where a view
// starts in the past.

import { WouldCharge } from './api.js';
import { candleOf, mergePages } from './candles.js';
import { candlesPath, firstPoint, keepingQuota } from './question.js';

// A longer chart draws too slowly to be readable; choosing another date is faster.
export const CANDLES_MAX = 60_000;
/** Before any candle of the service. */
const EARLIEST = '1900-01-01';

export class Feed {
  /** `isChosen` is whether the user chose the security, not the page. */
  constructor(view, ask, isChosen = true) {
    this.view = view;
    this.ask = ask;
    this.isChosen = isChosen;
    this.candles = [];
    this.cursor = undefined;
    this.reachesBeginning = false;
    this.reachesNow = view.before === undefined;
    this.abort = new AbortController();
  }

  /** The first page, which ends at the point of the view or now. */
  async open() {
    this.takeOlder(await this.page({ ...firstPoint(this.view), ...keepingQuota(this.isChosen) }));
  }

  /** The first page of the history. */
  async openFirst() {
    const data = await this.page({ after: EARLIEST });
    this.candles = data.candlesticks.map(candleOf);
    this.reachesBeginning = true;
    this.reachesNow = !data.next;
  }

  get hasOlder() {
    return !this.reachesBeginning && this.candles.length < CANDLES_MAX;
  }

  get isFull() {
    return !this.reachesBeginning && this.candles.length >= CANDLES_MAX;
  }

  get hasNewer() {
    return !this.reachesNow && this.candles.length < CANDLES_MAX;
  }

  async older() {
    this.takeOlder(await this.page({ ...firstPoint(this.view), next: this.cursor }));
  }

  /**
   * `isRequested` is whether the user requested them; if not, they are not loaded if they would cost
   * quota.
   */
  async newer(isRequested = true) {
    const last = this.candles.at(-1);
    // The point is included, so adjacent pages share one candle and none can be lost between them.
    const point = last ? { after: new Date(last.stamp * 1000).toISOString().replace('.000', '') } : {};
    const data = await this.page({ ...point, ...keepingQuota(isRequested) });
    this.candles = mergePages(this.candles, data.candlesticks.map(candleOf));
    this.reachesNow = !data.next;
  }

  /** The first candle at or after the point of the view, for a view that has none before it. */
  async firstAfter() {
    const { candlesticks } = await this.page({ after: this.view.before, limit: 1, ...keepingQuota(this.isChosen) });
    return candlesticks.map(candleOf).at(0);
  }

  /** The same candles, for another chart: closing the one does not close the other. */
  copy() {
    const { candles, cursor, reachesBeginning, reachesNow, quota } = this;
    return Object.assign(new Feed(this.view, this.ask, this.isChosen), { candles, cursor, reachesBeginning, reachesNow, quota });
  }

  close() {
    this.abort.abort();
  }

  takeOlder(data) {
    this.candles = mergePages(this.candles, data.candlesticks.map(candleOf));
    this.cursor = data.next ?? undefined;
    this.reachesBeginning = !data.next;
  }

  async page(point) {
    const { data, quota } = await this.ask(candlesPath(this.view, point), { signal: this.abort.signal });
    this.quota = quota ?? this.quota;
    if (data.would_charge) throw new WouldCharge(data.would_charge);
    return data;
  }
}
