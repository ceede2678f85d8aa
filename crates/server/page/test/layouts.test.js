// Charts side by side: their address, and the common crosshair.

import assert from 'node:assert/strict';
import test from 'node:test';

import { linkedIndex } from '../src/layouts/linked.js';
import { besideOf, cellText, formatLink, layoutQuery, parseLink } from '../src/link.js';

test('an address holds the charts beside the focused one, with their settings', () => {
  const address = '/?symbol=9001.HK&ma=5,10&beside=CNDL.US;period=5m;session=all;rsi=14!*!00700.hk;compare=1.HK,2.HK!9002.HK;range=1y';
  const { view, ignored } = parseLink(address.slice(1));
  assert.deepEqual(ignored, []);
  const charts = besideOf(view.beside);
  assert.deepEqual(charts.map((one) => one?.symbol), ['CNDL.US', undefined, '700.HK', '9002.HK']);
  const [first, , third, last] = charts;
  assert.deepEqual([first.period, first.session, first.rsi, first.ma], ['5m', 'all', '14', undefined]);
  assert.deepEqual([third.compare, last.range, last.period], ['1.HK,2.HK', '1y', 'day']);
  assert.equal(formatLink(view), address.replace('00700.hk', '700.HK'));
  assert.deepEqual(parseLink(formatLink(view).slice(1)).view, view);
  // The focused chart is the first unless the list says where it is.
  assert.equal(parseLink('?symbol=1.HK&beside=2.HK').view.beside, '*!2.HK');
  // A layout opens at the newest candles, in any world.
  const moved = { ...view, before: '2026-11-13', world: 'one' };
  assert.equal(layoutQuery(moved), formatLink(view).slice(2));
  assert.equal(cellText({ ...parseLink('?symbol=1.HK&period=5m').view, before: '2026-11-13', beside: '*!2.HK' }), '1.HK;period=5m');
});

test('invalid charts in an address are named, and nothing in them changes the page', () => {
  for (const beside of ['', 'nothing', '2.HK!3.HK', '*', '*!*', '*!2.HK!*', '1.HK!2.HK!3.HK!4.HK', '2.HK!', `2.HK;${'ma=5;'.repeat(400)}`]) {
    const { view, ignored } = parseLink(`?symbol=1.HK&beside=${encodeURIComponent(beside)}`);
    assert.equal(view.beside, undefined, beside);
    assert.deepEqual(ignored.length, beside === '' ? 0 : 1, beside);
  }
  const { view } = parseLink('?symbol=1.HK&beside=2.HK;world=other;before=2026-11-13;symbol=3.HK;period=never;beside=4.HK');
  assert.equal(view.beside, '*!2.HK');
  assert.equal(view.world, undefined);
});

test('the crosshair is at the same instant, or on the same date where a chart has days', () => {
  const candle = (time, offset) => {
    const wall = Date.parse(`${time}Z`) / 1000;
    return { wall, stamp: wall - offset * 3600 };
  };
  const ny = (...times) => times.map((time) => candle(time, -5));
  const hk = (...times) => times.map((time) => candle(time, 8));
  const minutes = ny('2026-11-12T15:59', '2026-11-13T09:30', '2026-11-13T09:31', '2026-11-13T09:35');
  const fives = ny('2026-11-12T15:55', '2026-11-13T09:30', '2026-11-13T09:35');
  const at = (list, from, to) => (one) => linkedIndex(list, one, from, to);
  assert.deepEqual(minutes.map(at(fives, 'clock', 'clock')), [0, 1, 1, 2]);
  assert.deepEqual(fives.map(at(minutes, 'clock', 'clock')), [undefined, 1, 3]);
  // A day of Hong Kong begins before that of New York, but has its date.
  const [days, theirs] = [ny('2026-11-11T00:00', '2026-11-12T00:00', '2026-11-13T00:00'), hk('2026-11-12T00:00', '2026-11-13T00:00')];
  assert.deepEqual(theirs.map(at(days, 'calendar', 'calendar')), [1, 2]);
  assert.deepEqual(days.map(at(theirs, 'calendar', 'calendar')), [undefined, 0, 1]);
  assert.deepEqual(minutes.map(at(theirs, 'clock', 'calendar')), [0, 1, 1, 1]);
  assert.deepEqual(days.map(at(minutes, 'calendar', 'clock')), [0, 0, 1]);
  assert.equal(at(minutes, 'calendar', 'clock')(candle('2026-11-14T00:00', -5)), undefined);
});
