import assert from 'node:assert/strict';
import test from 'node:test';

import { Refused } from '../src/api.js';
import { filterOf, queryOf } from '../src/dashboard/filter.js';
import { CHUNK, Rows, rowAfterKey, rowsInView, topFor } from '../src/dashboard/rows.js';

test('a list filter is parsed from the address', () => {
  assert.deepEqual(filterOf('?query=%20lamp&market=us&order=worst'), { query: 'lamp', market: 'US', order: 'worst' });
  assert.deepEqual(filterOf('?market=SG&order=best'), { query: '', market: '', order: '' });
  assert.equal(filterOf(`?query=${'x'.repeat(99)}`).query.length, 64);
  assert.equal(queryOf({ query: 'a&b', market: '', order: 'worst' }, { offset: 0, limit: 100 }), 'query=a%26b&order=worst&limit=100');
});

test('only the visible rows of a long list are drawn, and keys move between rows', () => {
  const size = { top: 3200, height: 320, rowHeight: 32, total: 20_000 };
  assert.deepEqual(rowsInView(size), [88, 122]);
  assert.deepEqual(rowsInView({ ...size, top: 0 }), [0, 22]);
  assert.deepEqual(rowsInView({ ...size, top: 639_680 }), [19_978, 20_000]);
  assert.deepEqual(rowsInView({ ...size, total: 0 }), [0, 0]);
  assert.deepEqual([99, 100, 109, 110].map((row) => topFor(row, size)), [3168, 3200, 3200, 3232]);
  const after = (key, row) => rowAfterKey(key, row, size);
  assert.deepEqual([after('ArrowDown', -1), after('ArrowDown', 5), after('ArrowUp', 0)], [0, 6, 0]);
  assert.deepEqual([after('PageDown', 5), after('PageUp', 5), after('Home', 9), after('End', -1)], [14, 0, 0, 19_999]);
  assert.deepEqual([after('x', 5), after('toString', 5), rowAfterKey('End', 0, { ...size, total: 0 })], [undefined, undefined, undefined]);
});

test('rows are requested once, a chunk at a time, and a refused chunk again', async () => {
  const requests = [];
  let refused;
  const fetchChunk = async (offset, limit) => {
    requests.push(offset);
    if (refused) throw new Refused({ status: 429, message: 'too fast' });
    return { total: 250, rows: Array.from({ length: Math.min(limit, 250 - offset) }, (_, at) => ({ place: offset + at })) };
  };
  const events = [];
  const rows = new Rows(fetchChunk, { onChange: () => events.push('rows'), onRefused: ({ status }) => events.push(status) });
  await rows.load(0);
  assert.deepEqual([rows.total, rows.at(99).place, rows.at(100)], [250, 99, undefined]);
  rows.need(90, 210);
  rows.need(90, 210);
  await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([requests, rows.at(249).place, CHUNK], [[0, 100, 200], 249, 100]);
  refused = true;
  const other = new Rows(fetchChunk, { onRefused: ({ status }) => events.push(status) });
  await other.load(0);
  assert.deepEqual([events, other.chunks.size], [['rows', 'rows', 'rows', 429], 0]);
  // Responses after `end` are ignored, and loaded rows stay while they are requested again.
  rows.end();
  await rows.load(1);
  assert.deepEqual([events.length, rows.at(100).place], [4, 100]);
});
