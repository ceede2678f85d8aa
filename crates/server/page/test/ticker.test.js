import assert from 'node:assert/strict';
import test from 'node:test';

import { LiveRows } from '../src/list/live-rows.js';
import { Ticker, sorted, sparkline } from '../src/list/ticker.js';

const row = (symbol, more = {}) => ({ symbol, last: '10.50', prev_close: '10.00', volume: 100, closes: ['9.00', '10.50'], ...more });
const quote = (symbol, last, volume, timestamp = 1000, session = 0) => ({ symbol, last_done: last, volume, timestamp, trade_session: session });

test('a ticker has the change of the day as exact text', () => {
  assert.deepEqual(new Ticker(row('1.HK')).change, { change: '+0.50', percent: '+5.00 %', direction: 'rise' });
  assert.deepEqual(new Ticker(row('1.HK', { last: '9.97' })).change, { change: '\u22120.03', percent: '\u22120.30 %', direction: 'fall' });
  assert.deepEqual(new Ticker(row('1.HK', { last: '10.00' })).change, { change: '0.00', percent: '0.00 %', direction: 'level' });
  assert.equal(new Ticker(row('1.HK', { prev_close: null })).change, undefined);
  assert.equal(new Ticker(row('1.HK', { last: null, closes: [] })).change, undefined);
});

test('a pushed quote continues a ticker, and one of another day makes it stale', () => {
  const ticker = new Ticker(row('1.HK'));
  assert.equal(ticker.take(quote('1.HK', '10.50', 100, 1000)), undefined, 'the first push repeats what was loaded');
  assert.equal(ticker.take(quote('1.HK', '10.60', 120, 1060)), 'changed');
  assert.deepEqual([ticker.last, ticker.volume, ticker.closes], ['10.60', 120, [9, 10.6]]);
  assert.equal(ticker.take(quote('1.HK', '11.00', 5, 1120, 1)), undefined, 'before the market opens');
  assert.equal(ticker.take(quote('1.HK', '10.70', 130, 1060 + 3 * 3600)), 'changed', 'after a break');
  assert.equal(ticker.take(quote('1.HK', '10.80', 5, 1060 + 8 * 3600)), 'stale');
  assert.equal(ticker.take(quote('1.HK', '10.80', 5, 1000)), 'stale', 'the clock went back');
});

test('a sparkline ends with the last price', () => {
  assert.deepEqual(new Ticker(row('1.HK', { closes: ['9.00', '9.50'] })).closes, [9, 9.5, 10.5]);
  assert.equal(sparkline([1, 3, 2], 80, 20), '0.0,20.0 40.0,0.0 80.0,10.0');
  assert.equal(sparkline([2, 2], 80, 20), '0.0,10.0 80.0,10.0');
  assert.equal(sparkline([2], 80, 20), '');
});

test('rows are sorted by a column, those without a value last', () => {
  const all = ['1.HK', '2.HK', '3.HK', '4.HK'].map((symbol) => ({ symbol }));
  const tickers = new Map([
    ['1.HK', new Ticker(row('1.HK', { last: '9.00', prev_close: '8.00', volume: 3 }))],
    ['2.HK', new Ticker(row('2.HK', { last: '100.00', prev_close: '102.00', volume: 1 }))],
    ['4.HK', new Ticker(row('4.HK', { last: '20.00', prev_close: '19.00', volume: 2 }))],
  ]);
  const by = (order, direction) => sorted(all, tickers, order, direction).map(({ symbol }) => symbol[0]).join('');
  const cases = [['', '', '1234'], ['symbol', 'desc', '4321'], ['last', '', '2413'], ['last', 'asc', '1423'], ['change', '', '1423'], ['percent', '', '1423'], ['volume', 'asc', '2413']];
  for (const [order, direction, expected] of cases) assert.equal(by(order, direction), expected, `${order} ${direction}`);
});

/** Timers run in the order of their times. */
const settled = () => new Promise((done) => setTimeout(done, 1));

function followed() {
  const stream = { wanted: [], listeners: [], listen: (one) => stream.listeners.push(one), want: (part, symbols) => stream.wanted.push([part, symbols]) };
  const [filled, frames] = [[], []];
  const rows = new LiveRows({ stream, part: 'list', stale: () => filled.push('stale'), settle: 0, onFrame: (draw) => frames.push(draw), fill: (cells, ticker) => filled.push([cells, ticker.last]) });
  return { stream, rows, filled, frames, push: (one) => stream.listeners.forEach((listener) => listener.quote(one)) };
}

const shown = (...symbols) => new Map(symbols.map((symbol) => [symbol, { ticker: new Ticker(row(symbol)), cells: symbol }]));

test('pushed quotes of visible rows are drawn once per frame', () => {
  const { rows, filled, frames, push } = followed();
  rows.show(shown('1.HK', '2.HK'));
  push(quote('1.HK', '10.60', 101));
  push(quote('1.HK', '10.70', 102));
  push(quote('2.HK', '10.80', 103));
  push(quote('9.HK', '10.80', 103));
  assert.deepEqual([frames.length, filled], [1, []]);
  frames.pop()();
  assert.deepEqual(filled, [['1.HK', '10.70'], ['2.HK', '10.80']]);
  push(quote('2.HK', '10.80', 103));
  assert.equal(frames.length, 0, 'nothing has changed');
});

test('only visible rows are subscribed, once scrolling has ended', async () => {
  const { rows, stream } = followed();
  rows.show(shown('1.HK', '2.HK'));
  rows.show(shown('1.HK', '2.HK'));
  assert.deepEqual(stream.wanted, [['list', ['1.HK', '2.HK']]]);
  rows.show(shown('2.HK', '3.HK'));
  rows.show(shown('3.HK', '4.HK'));
  await settled();
  assert.deepEqual(stream.wanted.slice(1), [['list', ['3.HK', '4.HK']]]);
  rows.show(new Map());
  assert.deepEqual(stream.wanted.at(-1), ['list', []]);
});

test('rows that become stale together are requested once', async () => {
  const { rows, filled, push } = followed();
  rows.show(shown('1.HK', '2.HK'));
  for (const symbol of ['1.HK', '2.HK']) push(quote(symbol, '10.50', 100, 1000));
  for (const symbol of ['1.HK', '2.HK']) push(quote(symbol, '10.50', 1, 90_000));
  await settled();
  assert.deepEqual(filled, ['stale']);
});
