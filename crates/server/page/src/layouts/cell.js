// A chart beside the focused one: candles, indicators and comparison of its own view. It can be moved
// and zoomed; everything else needs the focus.

import { shortNumber } from '../amounts.js';
import { addressOf } from '../base.js';
import { behind } from '../behind.js';
import { indexOfWall } from '../candles.js';
import { decimalsOf } from '../decimal.js';
import { el, nextPicture } from '../dom.js';
import { wantsExtras } from '../extra.js';
import { Facts } from '../facts.js';
import { Feed } from '../feed.js';
import { Follow } from '../follow.js';
import { marketOf } from '../market.js';
import { periodNamed } from '../periods.js';
import { phrase } from '../phrases/layouts.js';
import { Ranged } from '../ranged.js';
import { panesOf, roomOf } from '../study/settings.js';
import { dated, tickText } from '../words.js';
import { WORLD } from '../world.js';

/** Another page is requested when the user comes this near to the end of the loaded candles. */
const NEAR = 60;
const DECIMALS_USUAL = 3;
/** A press that moves less is a click. */
const CLICK_PIXELS = 5;

export class Cell {
  /** `kit` has `ask` and the class `ChartView`; `onLook` gets the candle under the pointer, `onFocus` a click. */
  constructor(view, kit) {
    Object.assign(this, { view, kit, feed: undefined, chart: undefined, range: undefined, isBusy: false });
    this.facts = new Facts(kit.ask);
    this.said = el('p', { class: 'beside-said' });
    this.box = el('div', { class: 'beside-chart', role: 'img' });
    this.stage = el('div', { class: 'stage beside' }, this.box, this.said);
    this.head = el('button', { type: 'button', class: 'chart-head', onclick: () => kit.onFocus(this) });
    let pressed;
    this.stage.addEventListener('pointerdown', ({ clientX, clientY }) => (pressed = [clientX, clientY]), { capture: true });
    this.stage.addEventListener('click', ({ clientX, clientY }) => {
      if (pressed && Math.hypot(clientX - pressed[0], clientY - pressed[1]) < CLICK_PIXELS) kit.onFocus(this);
    });
    this.ranged = new Ranged(() => this.current(), { older: () => this.page('older') });
    this.follow = new Follow({ isInWorld: WORLD !== undefined, current: () => this.current(), redraw: () => this.redraw(), pull: () => this.newest() });
    this.title();
  }

  get period() {
    return periodNamed(this.view.period);
  }

  current() {
    const { view, feed, chart, period } = this;
    return { view, feed, chart, period, facts: this.facts.of(view.symbol) };
  }

  /** Requests the candles, unless it has some, and draws them. Returns when they are painted. */
  async open() {
    if (this.feed) {
      if (this.feed.candles.length > 0 && !this.chart) this.draw();
      return;
    }
    const feed = new Feed(this.view, this.kit.ask);
    this.feed = feed;
    this.said.textContent = phrase('loading');
    try {
      await feed.open();
    } catch (error) {
      if (this.feed === feed && error.name === 'Refused') this.said.textContent = phrase('refused', error.message);
      if (error.name !== 'Refused' && error.name !== 'AbortError') throw error;
      return;
    }
    if (this.feed !== feed) return;
    this.said.textContent = feed.candles.length > 0 ? '' : phrase('empty');
    if (feed.candles.length === 0) return;
    this.draw();
    if (this.view.range) this.ranged.reach().catch(() => {});
    await nextPicture();
  }

  /** Draws the candles of the feed as another view. */
  draw() {
    const { view, feed } = this;
    if (this.chart) this.chart.clear();
    this.chart ??= this.makeChart();
    this.chart.setPanes(panesOf(view));
    this.chart.setRoom(roomOf(view));
    this.show();
    this.chart.setScale(view.compare ? 'percent' : view.scale);
    if (this.range) this.chart.moveTo(this.range);
    else if (view.range) this.ranged.fit();
    this.range = undefined;
    this.follow.begin();
    this.decorate(feed);
  }

  show() {
    const { candles, reachesBeginning, reachesNow } = this.feed;
    this.chart.show(candles, { decimals: decimalsOf(candles.at(-1)?.text.close ?? '') || DECIMALS_USUAL, isWhole: reachesBeginning && reachesNow });
    this.title();
    this.extras?.show();
  }

  /** What the first picture does not need: it must not hold up the other charts. */
  async decorate(feed) {
    if (!this.isPainted) await nextPicture();
    this.isPainted = true;
    if (this.feed !== feed || !this.chart) return;
    if (!wantsExtras(this.view)) this.extras = undefined;
    else if (!this.extras) {
      const loaded = await import(addressOf('/extras.js')).catch(() => undefined);
      if (!loaded || this.feed !== feed || !this.chart) return;
      this.extras = new loaded.Extras({ ask: this.kit.ask, current: () => this.current() });
      this.extras.show();
    }
    await this.facts.load(this.view.symbol);
    if (this.feed !== feed || !this.chart) return;
    this.chart.decorate();
    // The time axis after the newest candle needs the hours of the market.
    this.extras?.show();
  }

  redraw() {
    const { chart, feed } = this;
    if (!chart) return;
    const { isAtEnd } = chart;
    const range = chart.range();
    const added = feed.candles.length - chart.candles.length;
    this.show();
    if (isAtEnd && range && added !== 0) chart.moveTo({ from: range.from + added, to: range.to + added });
  }

  async newest() {
    const { feed } = this;
    if (!feed?.reachesNow || feed.isFull) return;
    await feed.newer(false).catch(ignoreRefused);
    if (this.feed === feed) this.redraw();
  }

  /** Loads a page, one at a time. Returns whether it has come. */
  async page(way) {
    const { feed } = this;
    const isMore = way === 'older' ? feed.hasOlder : feed.hasNewer;
    if (this.isBusy || !isMore) return false;
    this.isBusy = true;
    const hasCome = await feed[way]().then(() => true, ignoreRefused);
    this.isBusy = false;
    if (this.feed !== feed || !hasCome) return false;
    this.show();
    return true;
  }

  /** The view with its candles and its visible range, to be shown elsewhere. */
  state() {
    const { view, feed, chart } = this;
    const hasCandles = feed?.candles.length > 0;
    return { view, feed: hasCandles ? feed.copy() : undefined, range: hasCandles && chart ? chart.range() : this.range };
  }

  /** Shows another view, with its candles if they are known. `isShown` is false where only one chart fits. */
  take({ view, feed, range }, isShown) {
    this.stop();
    Object.assign(this, { view, range, feed: feed?.candles.length > 0 ? feed : undefined });
    if (this.feed) this.feed.view = view;
    this.said.textContent = '';
    this.extras = undefined;
    for (const one of this.stage.querySelectorAll('.legends')) one.remove();
    this.title();
    if (!isShown) return;
    if (this.feed) this.draw();
    else {
      this.chart?.clear();
      this.open();
    }
  }

  title() {
    const { view, period, feed } = this;
    headWords(this.head, view, period, feed);
    this.box.setAttribute('aria-label', `${view.symbol} ${period.label}`);
  }

  stop() {
    this.feed?.close();
    this.follow.begin();
  }

  close() {
    this.stop();
    this.feed = undefined;
    this.stage.remove();
    this.head.remove();
    this.chart?.chart.remove();
    this.chart = undefined;
  }

  makeChart() {
    return new this.kit.ChartView(this.box, {
      tickText: (wall, weight) => tickText(wall, weight, this.period.family),
      crosshairText: (wall) => {
        const at = indexOfWall(this.chart.candles, wall);
        return at < 0 ? '' : dated(this.chart.candles[at], this.period, marketOf(this.view.symbol));
      },
      volumeText: shortNumber,
      backdropOf: (candles, start) =>
        behind(candles, start, {
          placed: new Map(),
          isClock: this.period.family === 'clock',
          sessions: this.facts.of(this.view.symbol)?.sessions,
          reachesBeginning: this.feed.reachesBeginning,
        }),
      onLook: (index) => {
        this.extras?.look(index ?? this.chart.edge());
        this.kit.onLook(this, index);
      },
      onMark: () => {},
      onPoint: () => {},
      onRange: ({ from, to }) => {
        if (from < NEAR) this.page('older');
        if (to > this.feed.candles.length - NEAR) this.page('newer');
      },
      onSize: () => this.chart && this.ranged.refit(),
    });
  }
}

/** The words above a chart: symbol, period and last price. */
export function headWords(head, view, period, feed) {
  const last = feed?.candles.at(-1)?.text.close ?? '';
  head.replaceChildren(el('b', {}, view.symbol ?? '–'), ` ${period.label} `, el('span', {}, last));
  head.title = phrase('focus', `${view.symbol ?? ''} ${period.label}`);
}

function ignoreRefused(error) {
  if (error.name !== 'Refused' && error.name !== 'AbortError') throw error;
  return false;
}
