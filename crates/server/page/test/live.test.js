import assert from 'node:assert/strict';
import test from 'node:test';

import { badgeOf, lastPrice } from '../src/badge.js';
import { candleOf } from '../src/candles.js';
import { isTradingAt, marketNow } from '../src/clock.js';
import { Follow, effectOf, withQuote, withTrades } from '../src/follow.js';
import { Fresh, mayHaveNew } from '../src/fresh.js';
import { Live } from '../src/live.js';
import { marketOf } from '../src/market.js';
import { SecurityPanel } from '../src/side/security-panel.js';
import { Stream, pauseBefore, streamPath } from '../src/stream.js';
import { Trades } from '../src/trades.js';

const OPEN = Date.parse('2026-03-18T09:30:00+08:00') / 1000;
const HOURS = [{ session: 0, start: '09:30', end: '12:00' }, { session: 0, start: '13:00', end: '16:00' }];
const MINUTE = { minutes: 1, session: 'intraday', sessions: HOURS };

const candle = (time, [open, high, low, close], volume = 0, turnover = '0.000') =>
  candleOf({ timestamp: Date.parse(time) / 1000, time, open, high, low, close, volume, turnover });
const first = candle('2026-03-18T09:30:00+08:00', ['300.000', '300.000', '300.000', '300.000']);
const print = (price, volume, second, type = '', session = 0) =>
  ({ price, volume, timestamp: OPEN + second, trade_type: type, direction: 0, trade_session: session });
const trades = (...trade) => ({ symbol: '700.HK', sequence: 1, trade });
const figures = ({ time, text }) => [time, text.open, text.high, text.low, text.close, text.volume, text.turnover];
const quote = (more = {}) => ({
  symbol: '700.HK', last_done: '301.000', open: '300.000', high: '302.000', low: '299.000', timestamp: OPEN + 59,
  volume: 10_000, turnover: '3005000.000', trade_session: 0, tag: 0, ...more,
});

test('trades continue the minute and open the next one', () => {
  const acted = trades(print('299.000', 0, 20), print('302.000', 0, 40), print('300.500', 10_000, 59), print('301.000', 0, 59));
  const after = withTrades([first], acted, MINUTE);
  const minute = ['2026-03-18T09:30:00+08:00', '300.000', '302.000', '299.000', '301.000', '10000', '3005000.000'];
  assert.deepEqual(after.map(figures), [minute]);
  const opened = withTrades(after, trades(print('301.000', 0, 60)), MINUTE);
  const next = ['2026-03-18T09:31:00+08:00', '301.000', '301.000', '301.000', '301.000', '0', '0.000'];
  assert.deepEqual(opened.map(figures), [minute, next]);
  // Several minutes in one push.
  const both = withTrades([first], trades(...acted.trade, print('301.000', 0, 60), print('302.500', 200, 125)), MINUTE);
  assert.deepEqual(both.map(({ time }) => time.slice(11, 16)), ['09:30', '09:31', '09:32']);
  assert.deepEqual(figures(both[0]), minute);
});

test('trades of other sessions and earlier minutes are ignored, and types without price add only volume', () => {
  const list = [first];
  assert.equal(withTrades(list, trades(print('290.000', 5, -1)), MINUTE), list);
  assert.equal(withTrades(list, trades(print('290.000', 5, 3, '', 2)), MINUTE), list);
  const [odd] = withTrades(list, trades(print('290.000', 5, 3, 'M')), MINUTE);
  assert.deepEqual(figures(odd).slice(1), ['300.000', '300.000', '300.000', '300.000', '5', '1450.000']);
});

test('a trade type moves the price, adds volume or has no effect, as in the server', () => {
  const types = ['', ...'ABCDEFGHIJKLMNOPQRSTUVWXYZ01234'];
  const of = (market, effect, session) => types.filter((type) => effectOf(market, type, session) === effect).join('');
  assert.deepEqual([of('HK', 'price', 0), of('HK', 'volume', 0)], ['U', 'DMPXY']);
  for (const session of [0, 3]) assert.deepEqual([of('US', 'price', session), of('US', 'volume', session)], ['ABDEFKSX1', 'CGHIVW']);
  for (const session of [1, 2]) assert.deepEqual([of('US', 'price', session), of('US', 'volume', session)], ['ABDEFIKSX1', 'CGHVW']);
  for (const market of ['HK', 'US', 'CN']) assert.equal(effectOf(market, '', 0), 'price');
  assert.equal(of('CN', 'price', 0), types.join(''));
  // Odd lots of regular hours in a candle.
  const us = candleOf({ timestamp: OPEN, time: '2026-03-17T21:30:00-04:00', open: '190.000', high: '190.000', low: '190.000', close: '190.000', volume: 0, turnover: '0.000' });
  const [odd] = withTrades([us], { ...trades(print('250.000', 5, 3, 'I')), symbol: 'AAPL.US' }, MINUTE);
  assert.deepEqual(figures(odd).slice(1), ['190.000', '190.000', '190.000', '190.000', '5', '1250.000']);
});

test('a minute that begins with volume only takes its open from the next price', () => {
  const begun = withTrades([first], trades(print('310.000', 5, 61, 'M')), MINUTE);
  assert.deepEqual(figures(begun[1]).slice(1), ['300.000', '300.000', '300.000', '300.000', '5', '1550.000']);
  const still = withTrades(begun, trades(print('310.000', 5, 62, 'M')), MINUTE);
  const priced = withTrades(still, trades(print('302.000', 10, 63)), MINUTE);
  assert.deepEqual(figures(priced[1]).slice(1), ['302.000', '302.000', '302.000', '302.000', '20', '6120.000']);
  const later = withTrades(priced, trades(print('301.000', 0, 64)), MINUTE);
  assert.deepEqual(figures(later[1]).slice(1, 5), ['302.000', '302.000', '301.000', '301.000']);
  assert.deepEqual(figures(later[0]), figures(first));
});

test('candles of several minutes and of another day are requested', () => {
  const five = { minutes: 5, session: 'intraday' };
  assert.equal(withTrades([first], trades(print('305.000', 1, 299)), five).at(-1).text.close, '305.000');
  assert.equal(withTrades([first], trades(print('305.000', 1, 300)), five), undefined);
  assert.equal(withTrades([first], trades(print('305.000', 1, 86_400)), MINUTE), undefined);
});

test('a closing auction is requested: it belongs to the minute in which the hours end', () => {
  const at = (time) => candle(`2026-03-18T${time}:00+08:00`, ['304.000', '304.600', '304.000', '304.600']);
  const print = (time) => trades({ price: '304.600', volume: 900, timestamp: Date.parse(`2026-03-18T${time}+08:00`) / 1000, trade_type: 'U', trade_session: 0 });
  assert.deepEqual(withTrades([at('15:58')], print('15:59:59'), MINUTE).map(({ time }) => time.slice(11, 16)), ['15:58', '15:59']);
  assert.equal(withTrades([at('15:59')], print('16:08:00'), MINUTE), undefined);
  // A second trade, after the candle was loaded; a half day; hours that could not be loaded.
  assert.equal(withTrades([at('16:00')], print('16:08:30'), MINUTE), undefined);
  assert.equal(withTrades([at('11:59')], print('12:08:00'), MINUTE), undefined);
  assert.equal(withTrades([at('15:58')], print('15:59:59'), { ...MINUTE, sessions: undefined }), undefined);
});

test('a quote sets the daily candle', () => {
  const day = candle('2026-03-18T00:00:00+08:00', ['300.000', '300.000', '300.000', '300.000']);
  const [after] = withQuote([day], quote());
  assert.deepEqual(figures(after).slice(1), ['300.000', '302.000', '299.000', '301.000', '10000', '3005000.000']);
  const list = [day];
  assert.equal(withQuote(list, quote({ trade_session: 1 })), list);
  assert.equal(withQuote(list, quote({ timestamp: OPEN - 86_400 })), list);
  assert.equal(withQuote(list, quote({ timestamp: OPEN + 86_400 })), undefined);
});

test('pushes of one frame are drawn once, and those of other securities are ignored', () => {
  const frames = [];
  const feed = { reachesNow: true, candles: [first] };
  const done = [];
  const current = () => ({ view: { symbol: '700.HK', period: '1m', session: 'intraday' }, feed, period: { name: '1m', family: 'clock' }, facts: { sessions: HOURS } });
  const follow = new Follow({ current, redraw: () => done.push('draw'), pull: () => done.push('pull'), onFrame: (frame) => frames.push(frame) });
  follow.trades({ ...trades(print('1.000', 1, 1)), symbol: '5.HK' });
  assert.equal(frames.length, 0);
  follow.trades(trades(print('301.000', 0, 10)));
  follow.quote(quote());
  follow.trades(trades(print('302.000', 0, 20)));
  assert.equal(frames.length, 1);
  frames[0]();
  assert.deepEqual([done, feed.candles.at(-1).text.close, follow.last], [['draw'], '302.000', OPEN + 59]);
  follow.trades(trades(print('305.000', 0, 86_400)));
  follow.trades(trades(print('305.000', 0, 86_401)));
  frames[1]();
  assert.deepEqual(done, ['draw', 'pull']);
});

test('longer periods and indices are requested once per minute', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const feed = { reachesNow: true, candles: [first] };
  for (const [name, family, seconds] of [['week', 'calendar', 0], ['1m', 'clock', 60]]) {
    let pulls = 0;
    const current = () => ({ view: { symbol: '700.HK', period: name, session: 'intraday' }, feed, period: { name, family } });
    const follow = new Follow({ current, redraw: () => assert.fail(), pull: () => (pulls += 1), onFrame: (frame) => frame() });
    for (const second of [0, 1, 59, 60]) {
      follow.quote(quote({ timestamp: OPEN + seconds + second }));
      context.mock.timers.tick(2000);
    }
    assert.equal(pulls, 2, name);
  }
});

test('pushes during a pause are followed by one request after it', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let pulls = 0;
  const current = () => ({ view: { symbol: '700.HK', period: '1m', session: 'intraday' }, feed: { reachesNow: true, candles: [first] }, period: { name: '1m', family: 'clock' } });
  const follow = new Follow({ current, redraw: () => assert.fail(), pull: () => (pulls += 1), onFrame: (frame) => frame() });
  for (const second of [0, 1, 2]) follow.trades(trades(print('305.000', 1, 86_400 + second)));
  assert.equal(pulls, 1);
  context.mock.timers.tick(2000);
  assert.equal(pulls, 2);
  context.mock.timers.tick(10_000);
  assert.equal(pulls, 2);
});

test('the badge shows live, delayed, replay, reconnecting or nothing', () => {
  const at = Date.parse('2026-03-18T02:00:00Z');
  const machine = { kind: 'machine', now: '2026-03-18T02:00:00Z', speed: 1, at };
  const of = (more) => badgeOf({ state: 'open', clock: machine, offset: 480, ...more }, at + 60_000);
  const now = at / 1000 + 60;
  assert.deepEqual(of({ last: now - 900 }), { kind: 'live', text: 'live' });
  assert.deepEqual(of({ last: now - 1500 }), { kind: 'delayed', text: 'delayed by 25 min' });
  assert.equal(of({ last: now - 3 * 3600 }).text, 'delayed by 3 h');
  assert.equal(of({ last: undefined }).kind, 'live');
  assert.deepEqual(of({ clock: { ...machine, kind: 'standing', speed: 0 } }), { kind: 'replay', text: 'replay 2026-03-18 10:00' });
  assert.deepEqual(of({ clock: { ...machine, kind: 'running', speed: 10 } }), { kind: 'replay', text: 'replay 2026-03-18 10:10' });
  assert.equal(of({ state: 'reconnecting' }).kind, 'reconnecting');
  assert.deepEqual(of({ state: 'closed' }), { kind: '', text: '' });
  assert.equal(marketNow({ ...machine, speed: 0 }, at + 5000), at / 1000);
  const hours = [{ session: 0, start: '09:30', end: '12:00' }, { session: 1, start: '04:00', end: '09:30' }];
  const open = (text) => isTradingAt(hours, Date.parse(text) / 1000, 480);
  assert.deepEqual(['2026-03-18T09:30+08:00', '2026-03-18T12:00+08:00', '2026-03-18T05:00+08:00', '2026-03-21T10:00+08:00'].map(open), [true, false, false, false]);
});

test('a price is late only while its market is open, on holidays and half days too', () => {
  const at = (text) => Date.parse(text) / 1000;
  const state = (market, status, since) => [market, { market, trade_status: status, since }];
  const open = state('HK', 105, '2026-02-16T01:30:00Z');
  const of = (times, ...markets) => lastPrice(times, new Map(markets), marketOf);
  const price = ['700.HK', at('2026-02-16T11:00:00+08:00')];
  assert.equal(of([price], open), price[1]);
  // A half day has ended; a holiday.
  assert.equal(of([price], state('HK', 107)), undefined);
  assert.equal(of([price], state('HK', 108)), undefined);
  assert.equal(of([price]), undefined);
  // A market that has just opened is not late by a night.
  assert.equal(of([['700.HK', at('2026-02-13T16:08:00+08:00')]], open), at('2026-02-16T09:30:00+08:00'));
  // The newest price of a market counts, and the market that is late.
  const us = state('US', 202, '2026-02-16T00:00:00Z');
  const held = [price, ['5.HK', price[1] - 3600], ['AAPL.US', price[1] - 1800], ['NONE.US', undefined]];
  assert.equal(of(held, open, us), price[1] - 1800);
  assert.equal(of(held, open, state('US', 203)), price[1]);
});

test('while the stream follows the clock, only imports are news', () => {
  const facts = (now, version) => ({ now, stored: [{ period: '1m', last: '2026-03-18', version }] });
  const [before, later] = [facts('2026-03-18T02:00:00Z', 1), facts('2026-03-18T02:05:00Z', 1)];
  assert.deepEqual([mayHaveNew(before, later), mayHaveNew(before, later, true)], [true, false]);
  assert.equal(mayHaveNew(before, facts('2026-03-18T02:05:00Z', 2), true), true);
});

test('nothing is polled while the stream is open', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  globalThis.document = Object.assign(new EventTarget(), { hidden: false });
  context.after(() => delete globalThis.document);
  const facts = { symbol: '700.HK', now: '2026-03-18T02:00:00Z', stored: [] };
  let [calls, isDown] = [0, false];
  const ask = async () => {
    calls += 1;
    if (isDown) throw Object.assign(new Error(), { name: 'Refused', status: 503 });
    return { data: facts };
  };
  const fresh = new Fresh(ask, { onNews: () => assert.fail(), onLost: () => {}, onBack: () => {} }, 1000);
  const pass = async (ms) => {
    context.mock.timers.tick(ms);
    await fresh.live.running;
  };
  fresh.pushed(true);
  fresh.watch(facts);
  await pass(60_000);
  assert.equal(calls, 0);
  // The user returns to the page.
  document.dispatchEvent(new Event('visibilitychange'));
  await fresh.live.running;
  await pass(60_000);
  assert.equal(calls, 1);
  // A failed request is repeated until it is answered.
  isDown = true;
  fresh.check();
  await fresh.live.running;
  isDown = false;
  await pass(2000);
  await pass(60_000);
  assert.equal(calls, 3);
  // The stream is lost.
  fresh.pushed(false);
  await pass(1000);
  await pass(1000);
  assert.equal(calls, 5);
  fresh.stop();
});

function paged(context) {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  globalThis.document = Object.assign(new EventTarget(), { hidden: false });
  context.after(() => delete globalThis.document);
}

test('pushes of a pause are followed by one request, and those during it by another', async (context) => {
  paged(context);
  let calls = 0;
  let release;
  const live = new Live(() => {
    calls += 1;
    return new Promise((done) => (release = done));
  });
  const pass = async (ms) => {
    context.mock.timers.tick(ms);
    await Promise.resolve();
  };
  live.pushed(true);
  live.soon();
  await pass(1000);
  assert.equal(calls, 0, 'it was not started');
  live.start();
  for (let count = 0; count < 100; count += 1) live.soon();
  await pass(499);
  assert.equal(calls, 0);
  await pass(1);
  assert.equal(calls, 1);
  for (let count = 0; count < 100; count += 1) live.soon();
  await pass(60_000);
  assert.equal(calls, 1, 'one request at a time');
  release();
  await live.running;
  await pass(0);
  await pass(500);
  assert.equal(calls, 2);
  release();
  await live.running;
  await pass(60_000);
  assert.equal(calls, 2, 'nothing is polled');
  live.stop();
});

test('orders of the chart are requested when the account has changed', async (context) => {
  paged(context);
  let [calls, entries] = [0, 0];
  const ask = async () => {
    calls += 1;
    return { data: { at: '1', entries, orders: [], fills: [] } };
  };
  const marks = new Trades(ask, { onChanged: () => {}, onMoved: () => {} });
  const pass = async (ms) => {
    context.mock.timers.tick(ms);
    await marks.live.running;
  };
  marks.pushed(true);
  await marks.watch('700.HK');
  marks.moved();
  await pass(60_000);
  assert.equal(calls, 1, 'the account does not trade');
  entries = 2;
  marks.changed();
  await pass(500);
  assert.deepEqual([calls, marks.marks.entries], [2, 2]);
  await pass(60_000);
  assert.equal(calls, 2, 'nothing is polled');
  marks.pushed(false);
  await pass(2000);
  assert.equal(calls, 3);
  marks.stop();
});

test('a panel requests its data after pushes of its security, not more often than it would poll', async (context) => {
  paged(context);
  context.mock.timers.reset();
  context.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const listeners = [];
  const stream = { isOpen: true, listen: (listener) => listeners.push(listener) };
  let calls = 0;
  class Panel extends SecurityPanel {
    clear() {}

    async load() {
      calls += 1;
    }
  }
  const panel = new Panel(undefined, stream);
  panel.said = {};
  const pass = async (ms) => {
    context.mock.timers.tick(ms);
    await panel.live.running;
    await new Promise(setImmediate);
  };
  panel.watch('700.HK');
  panel.open();
  await pass(60_000);
  assert.equal(calls, 1);
  listeners[0].quote({ symbol: '5.HK' });
  await pass(60_000);
  assert.equal(calls, 1, 'another security');
  listeners[0].quote({ symbol: '700.HK' });
  await pass(500);
  assert.equal(calls, 2);
  listeners[0].trades({ symbol: '700.HK' });
  await pass(14_000);
  assert.equal(calls, 2);
  await pass(1000);
  assert.equal(calls, 3);
  stream.isOpen = false;
  listeners[0].state('reconnecting');
  await pass(15_000);
  assert.equal(calls, 4, 'without a stream it polls');
  panel.close();
});

class Source extends EventTarget {
  constructor(path) {
    super();
    Object.assign(this, { path, isClosed: false });
  }

  close() {
    this.isClosed = true;
  }

  send(type, data) {
    this.dispatchEvent(Object.assign(new Event(type), { data: JSON.stringify(data) }));
  }
}

function streamOf(context) {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const sources = [];
  const page = Object.assign(new EventTarget(), { hidden: false });
  const connect = (path) => sources[sources.push(new Source(path)) - 1];
  const stream = new Stream({ connect, page, random: () => 1 });
  const hide = (hidden) => {
    page.hidden = hidden;
    page.dispatchEvent(new Event('visibilitychange'));
  };
  return { stream, sources, hide, pass: (ms) => context.mock.timers.tick(ms) };
}

test('one connection has the securities of all parts of the page', (context) => {
  const { stream, sources, pass } = streamOf(context);
  stream.want('chart', ['700.HK']);
  stream.want('lists', ['AAPL.US', '700.HK']);
  pass(50);
  assert.deepEqual(sources.map(({ path }) => path), [streamPath(['700.HK', 'AAPL.US'])]);
  stream.want('chart', ['AAPL.US']);
  pass(50);
  assert.equal(sources.length, 1, 'the same securities');
  stream.want('lists', []);
  pass(50);
  assert.deepEqual([sources.length, sources[0].isClosed], [2, true]);
  stream.want('chart', []);
  pass(50);
  assert.deepEqual([sources.length, sources[1].isClosed, stream.state], [2, true, 'closed']);
});

test('events reach the listeners, but not those of a replaced connection', (context) => {
  const { stream, sources, pass } = streamOf(context);
  const heard = [];
  stream.listen({ quote: ({ symbol }) => heard.push(symbol), state: (state) => heard.push(state), clock: ({ kind }) => heard.push(kind) });
  stream.want('chart', ['700.HK']);
  pass(50);
  sources[0].send('subscribed', {});
  sources[0].send('clock', { kind: 'standing', now: '2026-03-18T02:00:00Z', speed: 0 });
  sources[0].send('quote', { symbol: '700.HK' });
  stream.want('chart', ['5.HK']);
  pass(50);
  sources[0].send('quote', { symbol: '700.HK' });
  assert.deepEqual(heard, ['connecting', 'open', 'standing', '700.HK', 'connecting']);
});

test('a page without securities follows the account and the markets', (context) => {
  const { stream, sources, hide, pass } = streamOf(context);
  const heard = [];
  stream.listen({ account: ({ changed }) => heard.push(changed), market: ({ market }) => heard.push(market) });
  stream.want('positions', []);
  stream.follow();
  stream.follow();
  assert.deepEqual(sources.map(({ path }) => path), ['/v1/live']);
  sources[0].send('market', { market: 'HK', trade_status: 105, since: '2026-03-18T01:30:00Z' });
  sources[0].send('account', { changed: ['trading'] });
  assert.deepEqual([heard, stream.markets.get('HK').trade_status], [['HK', ['trading']], 105]);
  stream.want('positions', ['700.HK']);
  pass(50);
  assert.deepEqual([sources.length, sources[0].isClosed, sources[1].path], [2, true, streamPath(['700.HK'])]);
  stream.want('positions', []);
  pass(50);
  assert.deepEqual([sources.length, sources[2].path], [3, '/v1/live']);
  hide(true);
  assert.deepEqual([stream.state, sources[2].isClosed], ['closed', true]);
  hide(false);
  assert.equal(sources.length, 4);
});

test('a lost connection is retried with increasing pauses', (context) => {
  const { stream, sources, pass } = streamOf(context);
  stream.want('chart', ['700.HK']);
  pass(50);
  sources[0].send('subscribed', {});
  sources[0].send('error');
  assert.deepEqual([stream.state, sources[0].isClosed], ['reconnecting', true]);
  for (const [pause, count] of [[1000, 2], [2000, 3], [4000, 4]]) {
    pass(pause - 1);
    assert.equal(sources.length, count - 1);
    pass(1);
    assert.equal(sources.length, count);
    sources.at(-1).send('error');
  }
  pass(8000);
  sources.at(-1).send('subscribed', {});
  assert.equal(stream.state, 'open');
  sources.at(-1).send('end', { reason: 'the server stops', retry: true });
  pass(1000);
  assert.equal(sources.length, 6, 'the pauses begin again');
  sources.at(-1).send('end', { reason: 'signed out', retry: false });
  pass(60_000);
  assert.deepEqual([sources.length, stream.state], [6, 'closed']);
  assert.deepEqual([pauseBefore(0, () => 0), pauseBefore(20, () => 0), pauseBefore(20, () => 1)], [500, 15_000, 30_000]);
});

test('a hidden page has no connection', (context) => {
  const { stream, sources, hide, pass } = streamOf(context);
  stream.want('chart', ['700.HK']);
  pass(50);
  sources[0].send('subscribed', {});
  hide(true);
  assert.deepEqual([stream.state, sources[0].isClosed], ['closed', true]);
  hide(false);
  assert.deepEqual([stream.state, sources.length], ['connecting', 2]);
  sources[1].send('error');
  hide(true);
  pass(60_000);
  assert.equal(sources.length, 2, 'nothing is retried');
});
