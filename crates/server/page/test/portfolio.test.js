import assert from 'node:assert/strict';
import test from 'node:test';

import { Refused } from '../src/api.js';
import { candleOf } from '../src/candles.js';
import { percentOf } from '../src/decimal.js';
import { Live } from '../src/live.js';
import { periodNamed } from '../src/periods.js';
import { drawing, placed, pointsOf } from '../src/portfolio/equity.js';
import { heldWords, percentWords } from '../src/portfolio/performance.js';
import { AccountState, dayOf } from '../src/portfolio/state.js';
import { dashed, listOf, pathOf } from '../src/portfolio/statements.js';
import { directionOf, feeWords, isOpen, priceWords, statusWords, waitingWords } from '../src/portfolio/words.js';
import { Trades, arrowsOf, placeFills } from '../src/trades.js';

const stamp = (time) => Date.parse(time) / 1000;
const candle = (time, session = 0) =>
  candleOf({ timestamp: stamp(time), time, trade_session: session, open: '1', high: '1', low: '1', close: '1', volume: 1, turnover: '1' });
const fill = (time, side = 'Buy', quantity = '200') => ({
  order_id: '1', side, quantity, price: '305.2', candle_at: String(stamp(time)), trading_day: time.slice(0, 10),
});

test('a profit is a share of the cost, long and short', () => {
  assert.equal(percentOf('80.00', '61040.00'), '0.13');
  assert.equal(percentOf('-10', '100'), '-10.00');
  assert.equal(percentOf('10', '-100'), '10.00');
  assert.equal(percentOf('1', '0.00'), undefined);
  assert.deepEqual(['80.00', '-0.01', '0.00', null].map(directionOf), ['rise', 'fall', 'level', 'level']);
});

test('fills are at the candle that gave them, or nowhere', () => {
  const minutes = ['2026-03-18T10:00:00+08:00', '2026-03-18T10:01:00+08:00', '2026-03-18T11:59:00+08:00', '2026-03-18T13:00:00+08:00'].map((time) => candle(time));
  const at = (candles, times, period) => [...placeFills(candles, times.map((time) => fill(time)), periodNamed(period)).keys()];
  assert.deepEqual(at(minutes, ['2026-03-18T10:01:00+08:00'], '1m'), [1]);
  // Not among the shown candles: before them, between them, after them.
  assert.deepEqual(at(minutes, ['2026-03-18T09:30:00+08:00', '2026-03-18T10:02:00+08:00', '2026-03-18T13:01:00+08:00'], '1m'), []);
  assert.deepEqual(at(minutes.slice(0, 1), ['2026-03-18T10:04:00+08:00', '2026-03-18T10:05:00+08:00'], '5m'), [0]);
  const days = ['2026-03-16T00:00:00+08:00', '2026-03-17T00:00:00+08:00', '2026-03-19T00:00:00+08:00'].map((time) => candle(time));
  assert.deepEqual(at(days, ['2026-03-17T10:00:00+08:00', '2026-03-18T10:00:00+08:00', '2026-03-20T10:00:00+08:00'], 'day'), [1]);
  const weeks = [candle('2026-03-16T00:00:00+08:00'), candle('2026-03-23T00:00:00+08:00')];
  assert.deepEqual(at(weeks, ['2026-03-20T10:00:00+08:00', '2026-03-25T10:00:00+08:00', '2026-03-30T10:00:00+08:00'], 'week'), [0, 1]);
  assert.deepEqual(at([], ['2026-03-17T10:00:00+08:00'], 'day'), []);
});

test('the fills of a side at one candle are one arrow', () => {
  const day = [candle('2026-03-18T00:00:00+08:00')];
  const fills = [fill('2026-03-18T10:00:00+08:00'), fill('2026-03-18T10:01:00+08:00', 'Buy', '0.5'), fill('2026-03-18T10:02:00+08:00', 'Sell', '100')];
  const arrows = arrowsOf(day, placeFills(day, fills, periodNamed('day')));
  assert.deepEqual(arrows, [
    { wall: day[0].wall, side: 'Buy', text: '200.5' },
    { wall: day[0].wall, side: 'Sell', text: '100' },
  ]);
});

test('an order has a line at each price that it waits for', () => {
  const trades = new Trades(undefined, { onChanged: () => {}, onMoved: () => {} });
  const order = (more) => ({ side: 'Buy', quantity: '200', price: null, trigger_price: null, ...more });
  trades.marks = { orders: [order({ price: '306' }), order({}), order({ price: '311', trigger_price: '310' })], fills: [] };
  assert.deepEqual(
    trades.lines.map(({ words, price }) => [words, price]),
    [['Buy 200', '306'], ['Buy 200 (trigger)', '310'], ['Buy 200', '311']],
  );
});

test('the words of orders', () => {
  const order = { order_type: 'LO', price: '306.000', trigger_price: '', trailing_amount: '', trailing_percent: '' };
  assert.equal(priceWords(order), 'limit 306.000');
  assert.equal(priceWords({ ...order, order_type: 'MO', price: '' }), 'market');
  assert.equal(priceWords({ ...order, order_type: 'LIT', trigger_price: '310' }), 'limit if touched 306.000, once 310 is touched');
  assert.equal(priceWords({ ...order, order_type: 'TSLPPCT', price: '', trailing_percent: '1.5' }), 'trailing, by percent 1.5 %');
  assert.deepEqual([statusWords('FilledStatus'), statusWords('Unheard')], ['filled', 'Unheard']);
  assert.deepEqual([feeWords('STAMP_DUTY'), feeWords('TEA_MONEY')], ['Stamp duty', 'TEA_MONEY']);
  assert.deepEqual(['NewStatus', 'RejectedStatus'].map((status) => isOpen({ status })), [true, false]);
});

test('the line of net assets ends with the current value of the account', () => {
  const equity = { points: [{ date: '2026-03-18', net_assets: '100.00', is_over: true }, { date: '2026-03-19', net_assets: '110.00', is_over: false }] };
  const now = { at: '5', totals: { net_assets: '120.00' } };
  assert.deepEqual(pointsOf(equity, now).map((point) => point.net_assets), ['100.00', '120.00']);
  assert.deepEqual(pointsOf(equity, { at: '5', totals: null }).map((point) => point.net_assets), ['100.00', '110.00']);
  assert.deepEqual(pointsOf(undefined, now), []);
  const { places, top, bottom } = placed(pointsOf(equity, now), 100, 50);
  assert.deepEqual(places.map(({ x }) => x), [0, 100]);
  assert.ok(places[0].y > places[1].y && places[1].y > 0 && places[0].y < 50);
  assert.ok(top > 120 && bottom < 100);
  // Worth the same every day, in the middle.
  assert.deepEqual(placed([{ net_assets: '7' }], 100, 50).places, [{ x: 50, y: 25 }]);
  // A day is over at nine in the morning in Hong Kong.
  assert.equal(dayOf(stamp('2026-03-19T08:59:59+08:00')), dayOf(stamp('2026-03-18T09:00:00+08:00')));
  assert.equal(dayOf(stamp('2026-03-19T09:00:00+08:00')), dayOf(stamp('2026-03-18T09:00:00+08:00')) + 1);
});

/** A server of an account, which counts its requests. */
function server() {
  const served = { entries: 5, at: stamp('2026-03-18T10:00:00+08:00'), today: [], history: [], isMore: false };
  const requested = [];
  const answers = {
    '/v1/asset/portfolio': () => ({ entries: served.entries, at: String(served.at), totals: served.totals ?? null }),
    '/v1/asset/equity': () => ({ points: [] }),
    '/v1/asset/performance': () => ({ trades: [] }),
    '/v1/gridtrading/list': () => ({ grid_order: [], has_more: false }),
    '/v1/trade/order/today': () => ({ orders: served.today }),
    '/v1/trade/order/history': () => ({ orders: served.history, has_more: served.isMore }),
    '/v1/asset/cashflow': () => ({ list: [] }),
    '/v1/statement/list': () => ({ list: [] }),
  };
  const ask = async (path) => {
    const name = path.split('?')[0];
    requested.push(name.split('/').at(-1));
    return { data: answers[name]() };
  };
  return { served, ask, taken: () => requested.splice(0).sort() };
}
const order = (id, status, at = 100) => ({ order_id: String(id), status, submitted_at: String(at) });
const ids = (orders) => orders.map(({ order_id: id }) => id);

test('a benchmark has a scale in common with the account, and no place before its first close', () => {
  const { places: [own, other], top, bottom } = drawing([[1, 1.5], [undefined, 2]], 100, 50);
  assert.deepEqual([own.map(({ x }) => x), other[0], other[1].x], [[0, 100], undefined, 100]);
  assert.ok(top > 2 && bottom < 1 && other[1].y < own[1].y && own[1].y < own[0].y);
});

test('the words of results, holding times and missing candles', () => {
  assert.deepEqual(['0.0312', '-0.05', '0.0', null].map(percentWords), ['+3.12 %', '\u22125.00 %', '0.00 %', '']);
  assert.deepEqual([45, 3_599, 7_500, 273_600].map(heldWords), ['45 s', '59 min', '2 h 5 min', '3 d 4 h']);
  const words = 'a sentence of the server';
  assert.equal(waitingWords('700.HK', { words, newest_candle: null }), words);
  assert.match(waitingWords('700.HK', { words, newest_candle: '2026-11-13 16:14 EST' }), /^Newest candle of 700\.HK is 2026-11-13 16:14 EST/);
});

test('a refused benchmark leaves the curve without one', async () => {
  const asked = [];
  const state = new AccountState(async (path) => {
    asked.push(path);
    if (path.includes('benchmark')) throw new Refused({ status: asked.length > 2 ? 503 : 400, message: 'not known' });
    return { data: { points: [] } };
  });
  await state.compareWith('9999.HK');
  assert.deepEqual([asked, state.refusal], [['/v1/asset/equity?benchmark=9999.HK', '/v1/asset/equity'], 'not known']);
  // Any other failure is repeated.
  await assert.rejects(state.askEquity(), { name: 'Refused' });
});

test('lists are requested when something has happened; without changes a refresh is one request', async () => {
  const { served, ask, taken } = server();
  const state = new AccountState(ask);
  served.today = [order(2, 'NewStatus', 200)];
  served.history = [order(1, 'FilledStatus')];
  assert.equal(await state.refresh(), true);
  assert.deepEqual(taken(), ['cashflow', 'equity', 'history', 'list', 'list', 'list', 'performance', 'portfolio', 'today']);
  assert.deepEqual([ids(state.openOrders), ids(state.pastOrders)], [['2'], ['1']]);
  served.at += 60;
  assert.equal(await state.refresh(), false);
  assert.deepEqual(taken(), ['portfolio']);
  Object.assign(served, { entries: 6, today: [order(3, 'NewStatus', 300), order(2, 'FilledStatus', 200)] });
  assert.equal(await state.refresh(), true);
  assert.deepEqual(taken(), ['cashflow', 'list', 'performance', 'portfolio', 'today']);
  assert.deepEqual([ids(state.openOrders), ids(state.pastOrders)], [['3'], ['2', '1']]);
  // The next day: one order has ended meanwhile and is no longer among today's; it is in the
  // history.
  Object.assign(served, { at: served.at + 86_400, entries: 7, today: [], history: [order(3, 'ExpiredStatus', 300), order(2, 'FilledStatus', 200)] });
  await state.refresh();
  assert.deepEqual(taken(), ['cashflow', 'equity', 'history', 'list', 'list', 'list', 'performance', 'portfolio', 'today']);
  assert.deepEqual([ids(state.openOrders), ids(state.pastOrders)], [[], ['3', '2', '1']]);
  // An exchange rate has appeared: more days have a value.
  served.totals = { net_assets: '1' };
  await state.refresh();
  assert.deepEqual(taken(), ['equity', 'performance', 'portfolio']);
  // Rewound: the removed entries are forgotten.
  Object.assign(served, { at: served.at - 86_400, entries: 4, history: [] });
  await state.refresh();
  assert.deepEqual(ids(state.orders), []);
});

test('statements of dates and months are one list, newest first', () => {
  const row = (dt) => ({ dt, file_key: `/${dt}.json` });
  const all = listOf({ daily: [row(20260401), row(20260331)], monthly: [row(20260331)] });
  assert.deepEqual(all.map(({ dt, kind }) => [dashed(dt), kind]), [['2026-04-01', 'daily'], ['2026-03-31', 'daily'], ['2026-03-31', 'monthly']]);
  assert.equal(pathOf('https://candles.example.com/api/files/statement/1-1-20260318.pdf?sig=x'), '/files/statement/1-1-20260318.pdf?sig=x');
});

test('a failed request is repeated', async () => {
  const { served, ask, taken } = server();
  let isDown = false;
  const state = new AccountState(async (path) => {
    if (isDown && path.includes('today')) throw new Refused({ status: 0, message: 'gone' });
    return ask(path);
  });
  await state.refresh();
  taken();
  Object.assign(served, { entries: 6, today: [order(1, 'NewStatus')] });
  isDown = true;
  await assert.rejects(state.refresh(), { name: 'Refused' });
  isDown = false;
  await state.refresh();
  assert.deepEqual(ids(state.openOrders), ['1']);
});

test('past orders are shown fifty at a time, and requested when not loaded', async () => {
  const { served, ask, taken } = server();
  served.history = Array.from({ length: 60 }, (_, at) => order(at + 1, 'FilledStatus', at));
  served.isMore = true;
  const state = new AccountState(ask);
  await state.refresh();
  assert.deepEqual([state.ordersShown, state.hasMoreOrders], [50, true]);
  taken();
  Object.assign(served, { isMore: false, history: [order(99, 'FilledStatus', 0)] });
  await state.moreOrders();
  assert.deepEqual([taken(), state.pastOrders.length, state.hasMoreOrders], [['history'], 61, false]);
});

test('a page polls one request at a time, less often after failures, and stops when signed out', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const seen = { addEventListener: () => {}, removeEventListener: () => {}, hidden: false };
  globalThis.document = seen;
  context.after(() => delete globalThis.document);
  const results = [];
  const lost = [];
  let calls = 0;
  const refresh = async () => {
    calls += 1;
    const status = results.shift();
    if (status !== undefined) throw new Refused({ status, message: 'no' });
  };
  const live = new Live(refresh, { every: 1000, onLost: ({ status }) => lost.push(status) });
  const settled = () => live.running;
  live.start();
  context.mock.timers.tick(999);
  assert.equal(calls, 0);
  context.mock.timers.tick(1);
  await settled();
  assert.equal(calls, 1);
  results.push(0, 503);
  context.mock.timers.tick(1000);
  await settled();
  context.mock.timers.tick(1999);
  assert.equal(calls, 2);
  context.mock.timers.tick(1);
  await settled();
  context.mock.timers.tick(4000);
  await settled();
  assert.deepEqual([calls, lost], [4, [0, 503]]);
  // Once it answers again, at the normal rate.
  context.mock.timers.tick(1000);
  await settled();
  assert.equal(calls, 5);
  // Two concurrent calls wait for each other.
  await Promise.all([live.now(), live.now()]);
  assert.equal(calls, 7);
  results.push(401);
  await live.now();
  context.mock.timers.tick(60_000);
  await settled();
  assert.deepEqual([calls, lost.at(-1)], [8, 401]);
});
