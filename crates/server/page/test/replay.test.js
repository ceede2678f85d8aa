import assert from 'node:assert/strict';
import test from 'node:test';

import { Refused } from '../src/api.js';
import { candleOf } from '../src/candles.js';
import { Follow } from '../src/follow.js';
import { formatLink, parseLink } from '../src/link.js';
import { adviceFor } from '../src/refusal.js';
import { freeName, instantOf, offsetIn, startAt, stepOf, wallText } from '../src/replay/time.js';
import { Stream } from '../src/stream.js';
import { NO_WORLD, inWorld, worldHeaders, worldOf } from '../src/world.js';

const MINUTE = { family: 'clock', name: '1m' };
const HOURS = [{ session: 0, start: '09:30', end: '12:00' }, { session: 0, start: '13:00', end: '16:00' }];

test('the address names the world, and an invalid name is not the present', () => {
  for (const [search, name] of [
    ['', undefined],
    ['?world=', undefined],
    ['?symbol=700.HK&world=march', 'march'],
    ['?world=b%C3%B6se', 'b%C3%B6se'],
    ['?world=a b', 'a%20b'],
    [`?world=${'x'.repeat(200)}`, 'x'.repeat(80)],
  ])
    assert.equal(worldOf(search), name, search);
  const { view } = parseLink('?symbol=700.HK&period=1m&world=march');
  assert.equal(view.world, 'march');
  assert.equal(formatLink(view), '/?symbol=700.HK&period=1m&world=march');
  assert.equal(formatLink({ ...view, world: undefined }), '/?symbol=700.HK&period=1m');
});

test('requests about the market enter the world, and those about the account do not', () => {
  const inside = ['/v1/quote/quotes?symbols=700.HK', '/v1/securities/700.HK', '/v1/trade/marks?symbol=x', '/v1/asset/account', '/v1/watchlist/groups', '/v1/coverage'];
  const outside = ['/v1/me', '/v1/worlds', '/v1/worlds/march/step', '/v1/quota', '/v1/connections', '/v1/admin/accounts', '/v1/imports', '/v1/content/topics', '/status'];
  for (const path of inside) assert.deepEqual(worldHeaders(path, 'march'), { 'x-chandler-world': 'march' }, path);
  for (const path of outside) assert.deepEqual(worldHeaders(path, 'march'), {}, path);
  assert.deepEqual(worldHeaders('/v1/quote/quotes', undefined), {});
  assert.equal(inWorld('/portfolio', 'march'), '/portfolio?world=march');
  assert.equal(inWorld('/?symbol=700.HK', 'march'), '/?symbol=700.HK&world=march');
  assert.equal(inWorld('/portfolio', undefined), '/portfolio');
});

test('a start is an instant at the offset of its market', () => {
  assert.equal(instantOf('2026-03-18T09:30', 480), '2026-03-18T09:30:00+08:00');
  assert.equal(instantOf('2026-03-18T09:30:15', -240), '2026-03-18T09:30:15-04:00');
  assert.equal(offsetIn('2026-03-18T09:30:00-04:00'), -240);
  assert.equal(offsetIn('2026-03-18T00:00:00+08:00'), 480);
  assert.equal(wallText(1_773_799_275, 480), '2026-03-18 10:01');
  const candle = { time: '2026-03-18T10:01:00+08:00' };
  assert.equal(startAt(candle, MINUTE, HOURS), '2026-03-18T10:01');
  assert.equal(startAt(candle, { family: 'calendar', name: 'day' }, HOURS), '2026-03-18T09:30');
  assert.equal(startAt(undefined, MINUTE), '');
});

test('a new replay gets a free name', () => {
  assert.equal(freeName('2026-03-18T09:30', []), 'replay-2026-03-18');
  assert.equal(freeName('2026-03-18T09:30', ['replay-2026-03-18', 'replay-2026-03-18-2']), 'replay-2026-03-18-3');
});

test('a step is a candle of the chart', () => {
  for (const [period, isTrading, wanted] of [
    [MINUTE, true, { to: 'next' }],
    [{ family: 'clock', name: '5m' }, true, { by: 'PT5M' }],
    [{ family: 'clock', name: '240m' }, true, { by: 'PT240M' }],
    // Outside the hours, a step ends when they begin.
    [{ family: 'clock', name: '5m' }, false, { to: 'next' }],
    [{ family: 'calendar', name: 'day' }, true, { to: 'session', markets: ['HK'] }],
    [{ family: 'calendar', name: 'week' }, false, { to: 'session', markets: ['HK'] }],
    // Pages without a chart.
    [undefined, true, { to: 'next' }],
  ])
    assert.deepEqual(stepOf({ period, market: 'HK', isTrading }), wanted, `${period?.name} ${isTrading}`);
});

test('a world that does not exist has a way out', () => {
  const refused = new Refused({ status: 404, code: NO_WORLD, message: 'there is no such world' });
  const { title, links } = adviceFor(refused, { symbol: '700.HK', here: '/?symbol=700.HK&world=march' });
  assert.equal(title, 'This replay no longer exists');
  assert.deepEqual(links.map(({ href }) => href), ['/?symbol=700.HK']);
  assert.deepEqual(adviceFor(refused, { here: '/portfolio?world=march' }).links.map(({ href }) => href), ['/portfolio']);
});

test('the end of a deleted world is reported, and not retried', () => {
  const sources = [];
  const connect = () => {
    const source = Object.assign(new EventTarget(), { close() {} });
    sources.push(source);
    return source;
  };
  const page = Object.assign(new EventTarget(), { hidden: false });
  const stream = new Stream({ connect, page });
  const ends = [];
  stream.listen({ end: (end) => ends.push(end) });
  stream.wanted.set('clock', ['CLOCK.WORLD']);
  stream.settle();
  const send = (name, data) => sources[0].dispatchEvent(Object.assign(new Event(name), { data: JSON.stringify(data) }));
  send('subscribed', {});
  send('end', { reason: 'the world was deleted', retry: false });
  assert.deepEqual(ends, [{ reason: 'the world was deleted', retry: false }]);
  assert.equal(stream.state, 'closed');
  assert.equal(sources.length, 1);
});

test('in a world, candles that no push continues are requested after the last push of the step', () => {
  const frames = [];
  const day = (date, clock) => Date.parse(`${date}T${clock}+08:00`) / 1000;
  const time = '2026-03-18T15:59:00+08:00';
  const prices = { open: '1.000', high: '1.000', low: '1.000', close: '1.000', volume: 0, turnover: '0.000' };
  const feed = { candles: [candleOf({ timestamp: day('2026-03-18', '15:59:00'), time, ...prices })], reachesNow: true };
  const now = { view: { symbol: '700.HK', period: '1m', session: 'intraday' }, feed, period: MINUTE, facts: { sessions: HOURS } };
  const done = [];
  const follow = new Follow({
    isInWorld: true, current: () => now, redraw: () => done.push('redraw'), pull: () => done.push('pull'), onFrame: (draw) => frames.push(draw),
  });
  const print = (date, clock) => ({ symbol: '700.HK', trade: [{ price: '2.000', volume: 100, timestamp: day(date, clock), trade_type: '', trade_session: 0 }] });
  follow.trades(print('2026-03-18', '15:59:10'));
  follow.trades(print('2026-03-19', '09:30:00'));
  frames.shift()();
  follow.trades(print('2026-03-19', '09:30:01'));
  frames.shift()();
  assert.deepEqual(done, [], 'nothing of an unfinished step is shown or requested');
  assert.equal(feed.candles.at(-1).text.volume, '0');
  follow.quote({ symbol: 'CLOCK.WORLD', timestamp: 0 });
  frames.shift()();
  assert.deepEqual(done, ['pull']);
  follow.trades(print('2026-03-18', '15:59:20'));
  frames.shift()();
  assert.deepEqual(done, ['pull', 'redraw']);
});
