// The replay bar. Without a world it makes one; in a world it moves the clock. Start here.

import { isTradingAt, marketNow } from '../clock.js';
import { el } from '../dom.js';
import { isTyping } from '../keys.js';
import { phrase } from '../phrases/replay.js';
import { CLOCK, GONE, NO_WORLD, WORLD } from '../world.js';
import { openList } from './list.js';
import { freeName, instantOf, offsetIn, startAt, stepOf, wallText } from './time.js';

const SPEEDS = ['1', '10', '60', '600', 'max'];
const TICK_MS = 200;
/** After this the pushes of a clock that has stopped are drawn. */
const SETTLE_MS = 1000;
const HONG_KONG = 480;
/** A notice for after the reload. */
const NOTICE = 'chandler.replay';

/**
 * `on` has `ask`, `stream`, `current` (view, market, feed, period and facts of the chart; nothing on
 * other pages), `moved` (called after a step), `settled` (after a running clock has stopped), `gone` (the world was deleted), `isInspecting`
 * (whether → moves along the candles), `entering` and `outside` (addresses), `close` and `say`.
 * Shared modules with texts are not imported: the page has them already.
 */
export function openBar(box, on) {
  return WORLD ? new Controls(box, on) : new Setup(box, on);
}

const button = (name, title, label, onclick) =>
  el('button', { type: 'button', class: `icon ${name}`, 'aria-label': label ?? title, title, onclick }, el('i', { 'aria-hidden': 'true' }));

/** A request for which the server may have a good reason to refuse; the reason is shown. */
async function tried(said, work) {
  try {
    return await work();
  } catch (error) {
    if (error.name !== 'Refused') throw error;
    said.textContent = error.code === NO_WORLD || error.status === 404 ? phrase('said_gone') : error.message;
    return undefined;
  }
}

/** Leaves a notice for the next document of the tab; without storage it is not shown. */
function leave(notice) {
  try {
    sessionStorage.setItem(NOTICE, notice);
  } catch {
    // See above.
  }
}

function left() {
  try {
    const notice = sessionStorage.getItem(NOTICE);
    sessionStorage.removeItem(NOTICE);
    return notice;
  } catch {
    return undefined;
  }
}

/** Chooses an instant, and makes a world that starts there. */
class Setup {
  constructor(box, on) {
    Object.assign(this, { on });
    const { market, feed, chart, period, facts } = on.current();
    const title = phrase('from_title', market?.place ?? phrase('hkt'));
    this.input = el('input', { type: 'datetime-local', id: 'replay-from', required: true, title, value: startAt(feed?.candles[chart?.cursor] ?? feed?.candles.at(-1), period, facts?.sessions) });
    this.begin = el('button', { class: 'main' }, phrase('start'));
    this.said = el('p', { class: 'said', role: 'status' });
    this.form = el(
      'form',
      { class: 'replay-row', novalidate: true },
      el('label', { for: 'replay-from' }, phrase('from')),
      this.input,
      this.begin,
      el('button', { type: 'button', onclick: () => openList(on, undefined) }, phrase('replays')),
      this.said,
      button('shut', phrase('close'), undefined, () => on.close()),
    );
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.start();
    });
    this.form.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      on.close();
    });
    box.replaceChildren(this.form);
  }

  focus() {
    this.input.focus();
  }

  async start() {
    const { view } = this.on.current();
    const { value, validity } = this.input;
    if (!view.symbol || !value || validity.badInput) {
      this.said.textContent = phrase(view.symbol ? 'no_date' : 'no_symbol');
      return this.input.focus();
    }
    if (this.begin.disabled) return;
    this.said.textContent = '';
    this.begin.disabled = true;
    this.begin.textContent = phrase('starting');
    const name = await tried(this.said, () => this.create(view.symbol, value));
    // The next document shows the world from its first request on.
    if (name) return location.assign(this.on.entering(name));
    this.begin.disabled = false;
    this.begin.textContent = phrase('start');
  }

  /** Returns the name of the new world. */
  async create(symbol, value) {
    const start = instantOf(value, await this.offset(symbol, value.slice(0, 10)));
    const markets = [this.on.current().market.market];
    const { worlds } = (await this.on.ask('/v1/worlds')).data;
    const name = freeName(value, worlds.map(({ name: taken }) => taken));
    await this.on.ask('/v1/worlds', { method: 'POST', body: { name, start, markets } });
    return name;
  }

  /** The offset of the market on that date: that of the last daily candle up to it. */
  async offset(symbol, before) {
    const query = new URLSearchParams({ symbol, period: 'day', before, limit: 1, charge: 'no' });
    const { data } = await this.on.ask(`/v1/quote/history-candlesticks?${query}`);
    const time = data.candlesticks?.[0]?.time;
    if (time) return offsetIn(time);
    return this.on.current().feed?.candles[0]?.offset ?? HONG_KONG;
  }
}

/** Moves the clock of the world. */
class Controls {
  constructor(box, on) {
    Object.assign(this, { on, state: undefined, shown: '', isResumed: true, isLost: false, pending: 0, done: Promise.resolve() });
    this.time = el('strong', { class: 'replay-time', title: WORLD }, '–');
    this.play = button('play', phrase('play'), undefined, () => this.toggle());
    this.onward = button('step', phrase('step'), undefined, () => this.step());
    this.jump = button('session', phrase('session'), undefined, () => this.session());
    this.speed = el(
      'select',
      { 'aria-label': phrase('speed'), title: phrase('speed') },
      SPEEDS.map((speed) => el('option', { value: speed, selected: speed === '60' }, speed === 'max' ? phrase('speed_max') : phrase('speed_times', speed))),
    );
    this.speed.addEventListener('change', () => this.isRunning && this.act(() => this.run()));
    this.said = el('p', { class: 'said', role: 'status' });
    box.replaceChildren(
      el(
        'div',
        { class: 'replay-row', role: 'group', 'aria-label': phrase('replay') },
        el('span', { class: 'replay-badge' }, phrase('replay')),
        this.time,
        this.play,
        this.onward,
        this.jump,
        this.speed,
        this.said,
        el('button', { type: 'button', class: 'replay-list', title: phrase('replays'), onclick: () => openList(on, WORLD) }, phrase('replays')),
        el('button', { type: 'button', title: phrase('leave_title'), onclick: () => this.leave() }, phrase('leave')),
      ),
    );
    const notice = left();
    if (notice) this.said.textContent = phrase(notice);
    on.stream.listen({
      clock: (clock) => this.follow(clock),
      end: (end) => this.ended(end),
      state: (is) => (this.isResumed ||= is !== 'open'),
    });
    addEventListener(GONE, () => this.lost());
    if (on.stream.clock) this.follow(on.stream.clock);
    on.stream.want('clock', [CLOCK]);
    // Before the shortcuts of the page, which have other meanings for the arrows.
    document.addEventListener('keydown', (event) => this.key(event), { capture: true });
    setInterval(() => this.show(), TICK_MS);
    this.load();
  }

  get isRunning() {
    return this.state === 'running';
  }

  focus() {
    this.play.focus();
  }

  /** The world as the server has it: its state, and the speed at which it last ran. */
  async load() {
    const find = () => this.on.ask(`/v1/worlds/${WORLD}`).catch((error) => (error.status === 404 ? this.lost() : Promise.reject(error)));
    const answer = await tried(this.said, find);
    if (!answer) return;
    const speed = String(answer.data.speed);
    if (SPEEDS.includes(speed)) this.speed.value = speed;
    this.take(answer.data);
  }

  take(world) {
    this.clock ??= { now: world.now, speed: 0, at: Date.now() };
    this.become(world.state);
    this.show();
  }

  /**
   * A new stream whose clock is behind shows that the world was reset: everything on the page is too
   * new. A reset ends the streams.
   */
  follow(clock) {
    const [before, isFirst] = [this.clock, this.isResumed];
    this.clock = clock;
    this.isResumed = false;
    if (isFirst && before && Date.parse(clock.now) < Date.parse(before.now)) {
      leave('said_set_back');
      location.reload();
      return;
    }
    if (clock.state && !this.isSwitching) this.become(clock.state);
    this.show();
  }

  /** The stream of a deleted world ends for good. */
  ended({ reason }) {
    if (reason === 'the world was deleted') this.lost();
  }

  /** The world was deleted; a request may notice that first. */
  lost() {
    if (this.isLost) return;
    this.isLost = true;
    this.on.stream.stop();
    this.become('ended');
    this.said.textContent = phrase('said_gone');
    this.on.gone();
  }

  become(state) {
    if (state === this.state) return;
    const before = this.state;
    this.state = state;
    const isOver = state === 'ended';
    for (const one of [this.play, this.onward, this.jump, this.speed]) one.disabled = isOver;
    this.play.classList.toggle('is-running', this.isRunning);
    this.play.ariaLabel = this.play.title = phrase(this.isRunning ? 'pause' : 'play');
    if (isOver) this.said.textContent = phrase('said_ended');
    // The chart requests candles while the clock runs, and some of their trades are pushed later.
    if (before === 'running') setTimeout(() => this.isRunning || this.on.settled(), SETTLE_MS);
    // The clock itself is not announced: it changes every minute.
    if (before && !isOver) this.on.say(`${phrase('replay')}: ${phrase(`state_${state}`)}`);
  }

  show() {
    if (!this.clock) return;
    const { market, feed } = this.on.current();
    const offset = feed?.candles.at(-1)?.offset ?? HONG_KONG;
    const text = wallText(marketNow(this.clock), offset);
    if (text === this.shown) return;
    this.shown = text;
    const [date, clock] = text.split(' ');
    this.time.replaceChildren(el('span', {}, date), ' ', el('span', {}, clock));
    this.time.title = `${WORLD}, ${market?.place ?? phrase('hkt')}`;
  }

  /** Runs one request after the other. */
  act(work) {
    this.pending += 1;
    this.done = this.done.then(async () => {
      if (this.state !== 'ended') {
        this.said.textContent = '';
        await tried(this.said, work);
      }
      this.pending -= 1;
    });
    return this.done;
  }

  post(verb, body) {
    return this.on.ask(`/v1/worlds/${WORLD}/${verb}`, { method: 'POST', body: body ?? {} });
  }

  toggle() {
    return this.act(() => (this.isRunning ? this.pause() : this.run()));
  }

  /** Starts the clock, or changes its speed. */
  async run() {
    const speed = this.speed.value;
    // The bar does not show the stop in between.
    this.isSwitching = this.isRunning;
    if (this.isRunning) await this.post('pause');
    this.isSwitching = false;
    const { data } = await this.post('run', { speed: speed === 'max' ? speed : Number(speed) });
    this.take(data);
  }

  async pause() {
    const { data } = await this.post('pause');
    this.take(data);
  }

  step() {
    const { market, feed, period, facts } = this.on.current();
    const offset = feed?.candles.at(-1)?.offset ?? HONG_KONG;
    const isTrading = isTradingAt(facts?.sessions ?? [], marketNow(this.clock ?? { now: 0, speed: 0, at: 0 }), offset);
    return this.moveBy(stepOf({ period, market: market?.market, isTrading }));
  }

  session() {
    const { market } = this.on.current();
    return this.moveBy({ to: 'session', ...(market && { markets: [market.market] }) });
  }

  moveBy(body) {
    return this.act(async () => {
      if (this.isRunning) await this.pause();
      const { data } = await this.post('step', body);
      if (Date.parse(data.now) >= Date.parse(this.clock?.now ?? 0)) this.clock = { now: data.now, speed: 0, at: Date.now() };
      this.become(data.state);
      this.show();
      this.on.moved();
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event)) return;
    const { target, key, shiftKey } = event;
    // A focused button, link or tab has its own meaning of these keys.
    if (key === ' ' && target.closest('button, a, summary, label, [role=option]')) return;
    if (key === 'ArrowRight' && (target.closest('[role=listbox], [role=grid], [role=tablist]') || (!shiftKey && this.on.isInspecting()))) return;
    const what = { ' ': () => this.toggle(), ArrowRight: () => (shiftKey ? this.session() : this.step()) }[key];
    if (!what) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    // A key that is held down does not run ahead of the server.
    if (!event.repeat || this.pending === 0) what();
  }

  /** The world stays as it is, paused, so that it can be continued. */
  async leave() {
    if (this.isRunning) await tried(this.said, () => this.pause());
    location.assign(this.on.outside());
  }
}
