import assert from 'node:assert/strict';
import test from 'node:test';

import { trimmed, wholes } from '../src/decimal.js';
import { levelsOf, pricesOf } from '../src/orders/lines.js';
import { nextPrice, nextQuantity, quantityFor, shareOf, snapped, tickAt } from '../src/price-steps.js';

/** The steps of Hong Kong around 200, as in `GET /v1/orders/info`. */
const TICKS = [
  { str_proceed: '100.000', end_proceed: '200.000', bid_size: '0.100' },
  { str_proceed: '200.000', end_proceed: '500.000', bid_size: '0.200' },
  { str_proceed: '500.000', end_proceed: '', bid_size: '0.500' },
];

test('a dragged price is the nearest valid one', () => {
  assert.equal(snapped(TICKS, 150.04), '150');
  assert.equal(snapped(TICKS, 150.05), '150.1', 'half goes up');
  assert.equal(snapped(TICKS, 150.0600001), '150.1');
  assert.equal(snapped(TICKS, 300.29), '300.2');
  assert.equal(snapped(TICKS, 300.31), '300.4');
  // Beyond an end of the range, the next range has another step.
  assert.equal(snapped(TICKS, 199.97), '200');
  assert.equal(snapped(TICKS, 200.09), '200');
  assert.equal(snapped(TICKS, 200.11), '200.2');
  assert.equal(snapped(TICKS, 1234.3), '1234.5');
  // Where steps are unknown no price is known to be valid.
  assert.equal(snapped(TICKS, 50), undefined);
  assert.equal(snapped([], 150), undefined);
  // A price is above zero, however far a line is dragged.
  const one = [{ str_proceed: '0', end_proceed: '', bid_size: '0.01' }];
  assert.deepEqual([-5, 0, 0.001].map((price) => snapped(one, price)), ['0.01', '0.01', '0.01']);
});

test('the arrow keys move along the valid prices, across the ends of ranges', () => {
  assert.equal(tickAt(TICKS, '200'), '0.100');
  assert.equal(nextPrice(TICKS, '200', 'up'), '200.2');
  assert.equal(nextPrice(TICKS, '200', 'down'), '199.9');
  assert.equal(nextPrice(TICKS, '200.2', 'down'), '200');
  // A price between two valid ones moves to its neighbour.
  assert.equal(nextPrice(TICKS, '300.3', 'up'), '300.4');
  assert.equal(nextPrice(TICKS, '300.3', 'down'), '300.2');
  assert.equal(nextPrice([{ str_proceed: '0', end_proceed: '', bid_size: '0.01' }], '0.01', 'down'), '0.01');
  assert.equal(nextPrice([], '7', 'up'), '7');
});

test('quantities are whole lots: of an amount, of a share, by keys', () => {
  assert.equal(wholes('100', '33.3'), '3');
  assert.equal(wholes('99.9', '33.3'), '3');
  assert.equal(wholes('99.89', '33.3'), '2');
  assert.equal(wholes('0', '1'), '0');
  assert.equal(quantityFor('100000', '305.2', '100'), '300');
  assert.equal(quantityFor('30519.99', '305.2', '100'), '0');
  assert.equal(quantityFor('30520', '305.2', '100'), '100');
  assert.equal(shareOf('1600', '50', '500'), '500');
  assert.equal(shareOf('1600', '100', '500'), '1500');
  assert.equal(shareOf('1600', '33.3', '1'), '532');
  assert.equal(nextQuantity('0', '500', 'up'), '500');
  assert.equal(nextQuantity('700', '500', 'up'), '1000');
  assert.equal(nextQuantity('700', '500', 'down'), '500');
  assert.equal(nextQuantity('500', '500', 'down'), '500', 'at least one lot');
  assert.equal(trimmed('306.100'), '306.1');
});

test('handles of orders at nearby prices are next to each other, and none is outside the pane', () => {
  assert.deepEqual(levelsOf([10, 100, 200], 300), [0, 0, 0]);
  assert.deepEqual(levelsOf([100, 110, 120], 300), [0, 1, 2]);
  assert.deepEqual(levelsOf([120, 100, 126], 300), [1, 0, 0]);
  // A crowd overlaps.
  assert.deepEqual(levelsOf([100, 101, 102, 103], 300), [0, 1, 2, 0]);
  assert.deepEqual(levelsOf([-1, undefined, 301, 5], 300), [undefined, undefined, undefined, 0]);
});

test('an order can be moved at each price that it waits for', () => {
  assert.deepEqual(pricesOf({ price: '306', trigger_price: null }), [{ name: 'price', price: '306' }]);
  assert.deepEqual(pricesOf({ price: '311', trigger_price: '310' }).map(({ name }) => name), ['trigger_price', 'price']);
  assert.deepEqual(pricesOf({ price: null, trigger_price: null }), []);
});
