import assert from 'node:assert/strict';
import test from 'node:test';

import { parseLink, formatLink } from '../src/link.js';
import { DRAWINGS_MAX, LINK_MAX, drawingsOf, indexOfTime, linked, measured, timeOfIndex } from '../src/sketch/shapes.js';

const MINUTE = 60;
const candlesAt = (...walls) => walls.map((wall) => ({ wall }));

test('a time is at the last candle up to it, also on a longer period', () => {
  const candles = candlesAt(0, 60, 120, 3600, 3660);
  for (const [time, index] of [[0, 0], [59, 0], [60, 1], [1000, 2], [3600, 3]]) assert.equal(indexOfTime(candles, time), index, `${time}`);
  assert.equal(indexOfTime([], 5), undefined);
});

test('positions beyond the candles continue at their usual distance', () => {
  const candles = candlesAt(600, 660, 7200, 7260);
  assert.equal(indexOfTime(candles, 7260 + 3 * MINUTE), 6);
  assert.equal(indexOfTime(candles, 600 - 2 * MINUTE), -2);
  for (const index of [-2, 0, 3, 6]) assert.equal(indexOfTime(candles, timeOfIndex(candles, index)), index);
});

test('a measure has the exact change, its percentage and the number of candles', () => {
  const candles = candlesAt(0, 60, 120, 180);
  const points = (from, to) => [{ time: 0, price: from }, { time: 180, price: to }];
  assert.deepEqual(measured(candles, points('300.00', '301.55'), 2), { change: '+1.55', percent: '+0.52', count: 3 });
  assert.deepEqual(measured(candles, points('0.3', '0.1'), 1), { change: '-0.2', percent: '-66.67', count: 3 });
  assert.deepEqual(measured(candles, points('0', '5'), 0), { change: '+5', percent: undefined, count: 3 });
});

const DRAWINGS = [
  { kind: 'line', points: [{ time: 1773797400, price: '300' }, { time: 1773797460, price: '301.5' }], text: '' },
  { kind: 'level', points: [{ time: 0, price: '305.2' }], text: '' },
  { kind: 'measure', points: [{ time: 60, price: '1' }, { time: -120, price: '2' }], text: '' },
  { kind: 'note', points: [{ time: 60, price: '1' }], text: 'a, b: “c” % 🙂' },
];

test('drawings survive a link', () => {
  assert.deepEqual(drawingsOf(linked(DRAWINGS)), DRAWINGS);
  assert.equal(linked([]), undefined);
  const link = formatLink({ ...parseLink('?symbol=700.HK').view, draw: linked(DRAWINGS) });
  const { view, ignored } = parseLink(link.slice(link.indexOf('?')));
  assert.deepEqual([drawingsOf(view.draw), ignored], [DRAWINGS, []]);
});

test('a link with other drawings shows those that are understood', () => {
  assert.deepEqual(drawingsOf('x:1,l:1.5,l:x,t:1:2,n:1:2,n:1:2:%,l:1:2'), [{ kind: 'level', points: [{ time: 0, price: '1.5' }], text: '' }]);
  assert.deepEqual(drawingsOf('l:1,'.repeat(LINK_MAX)), []);
  assert.deepEqual(drawingsOf(undefined), []);
  assert.deepEqual(parseLink('?symbol=700.HK&draw=<script>').ignored, ['draw=<script>']);
});

test('a link with drawings has a limited length', () => {
  const many = Array.from({ length: DRAWINGS_MAX }, () => ({ ...DRAWINGS[3], text: '字'.repeat(40) }));
  const link = linked(many);
  assert.ok(link.length <= LINK_MAX && drawingsOf(link).length > 0);
});
