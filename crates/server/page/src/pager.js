// Requests the next page when the user comes near an end of the loaded candles, one request at a
// time, and shows the progress in a small pill. A refusal must not remove the chart: the loaded
// candles stay valid.

import { countDown } from './advice.js';
import { el } from './dom.js';
import { phrase } from './phrases/chart.js';
import { phrase as shared } from './phrases/shared.js';

// Distance in candles to the end at which the next page is requested: about a screen, so that a
// steady scroll meets no edge.
const NEAR = 150;

export class Pager {
  /** `room` is how many candles beyond a screen are wanted past the left edge. */
  constructor({ pill, onPage, onRefused }) {
    Object.assign(this, { pill, onPage, onRefused, isBusy: false, isStopped: false, room: 0, stopWaiting: () => {} });
  }

  watch(feed, room = 0) {
    this.stopWaiting();
    this.feed = feed;
    this.isStopped = false;
    this.room = room;
    this.say(undefined);
  }

  /** Reports the visible range, as candle positions. */
  seen(range) {
    this.range = range;
    if (!this.feed || !range || this.isBusy || this.isStopped) return;
    if (range.from < NEAR + this.room && this.feed.hasOlder) this.turning = this.turn('older');
    else if (range.to > this.feed.candles.length - NEAR / 3 && this.feed.hasNewer) this.turning = this.turn('newer');
  }

  /** Loads one older page, or waits for the one being loaded. Returns whether it arrived. */
  async older() {
    const { feed } = this;
    if (!feed || this.isStopped) return false;
    if (!this.isBusy) this.turning = this.turn('older');
    await this.turning;
    return this.feed === feed && !this.isStopped;
  }

  /** Resumes after the server was unreachable. */
  resume() {
    if (!this.isStopped) return;
    this.stopWaiting();
    this.isStopped = false;
    this.say(undefined);
    this.seen(this.range);
  }

  async turn(way) {
    const { feed } = this;
    this.isBusy = true;
    this.say(phrase(`loading_${way}`));
    try {
      await feed[way]();
    } catch (error) {
      this.isBusy = false;
      if (this.feed === feed) this.refuse(error);
      else this.seen(this.range);
      return;
    }
    this.isBusy = false;
    if (this.feed !== feed) {
      // Another feed is watched meanwhile, and its first request was skipped because this one was
      // running.
      this.seen(this.range);
      return;
    }
    this.say(undefined);
    this.onPage();
    // Older candles shift every position, and the chart reports the new range itself; newer candles
    // shift none.
    if (way === 'newer') this.seen(this.range);
  }

  /** `then` repeats the refused request. */
  refuse(error, then = () => this.seen(this.range)) {
    if (error.name === 'AbortError') return;
    if (error.name !== 'Refused') throw error;
    this.isStopped = true;
    const { title, wait, links } = this.onRefused(error);
    const again = () => {
      this.isStopped = false;
      this.say(undefined);
      then();
    };
    if (!wait) {
      // If the advice has a link, a retry would not help.
      const ways = links.map(({ href, label }) => el('a', { href }, label));
      const button = el('button', { type: 'button', onclick: again }, shared('try_again'));
      this.say(el('span', {}, `${title}. `, ...(ways.length > 0 ? ways : [button])));
      return;
    }
    const left = el('strong', {}, `${wait} s`);
    const tick = (seconds) => {
      left.textContent = `${seconds} s`;
    };
    this.say(el('span', {}, phrase('going_on', title), ' ', left));
    this.stopWaiting = countDown(wait, tick, again);
  }

  say(what) {
    this.pill.hidden = what === undefined;
    this.pill.replaceChildren(...(what === undefined ? [] : [what]));
  }
}
