import assert from 'node:assert/strict';
import test from 'node:test';

import { checkedWords, facts, importedWords, percentDone, plain, sizeWords, unsendable } from '../src/dashboard/upload-words.js';

/** A dry run report. */
const report = (more = {}) => ({
  file: 'AAPL.csv', kind: 'candles', outcome: 'checked', message: null, import: null, rows: 3, symbols: 1, names: ['AAPL.US'],
  first: '2026-11-10T00:00:00-05:00', last: '2026-11-12T00:00:00-05:00', added: 2000, replaced: 1, unchanged: 0, quarantined: 1, unserved: 0,
  understood: {
    source: 'yahoo', symbol_from: 'file_name_without_region', is_symbol_guessed: true, period: 'day', period_guess: null,
    basis: 'split_adjusted', times: 'dates', zone: 'America/New_York', date_order: 'month_first', stamp: null, decimal: 'point', are_columns_guessed: false,
  },
  notes: [], problems: [], first_rows: [], ...more,
});

test('the facts of a file are in a fixed order, and guesses are marked', () => {
  assert.deepEqual(
    facts(report()).map(({ title, value, why, isGuess }) => [title, value, why ?? '', isGuess]),
    [
      ['Symbol', 'AAPL.US', 'the name of the file, which does not say the market', true],
      ['Period', 'daily', '', false],
      ['Range', '2026-11-10 to 2026-11-12', '', false],
      ['Prices', 'adjusted for splits', 'what this source usually has', true],
      ['Times', 'dates of America/New_York', 'dates have the month first', false],
      ['Format', 'yahoo', '', false],
    ],
  );
  const minutes = { ...report().understood, symbol_from: 'column', is_symbol_guessed: false, period: '1m', period_guess: 'few_rows', stamp: 'end', date_order: null };
  const many = report({ names: ['A.US', 'B.US', 'C.US', 'D.US'], symbols: 1200, first: '2026-11-10T09:30:00-05:00', understood: minutes });
  const values = Object.fromEntries(facts(many).map(({ title, value }) => [title, value]));
  assert.equal(values.Symbol, 'A.US, B.US, C.US and 1,197 more');
  assert.equal(values.Range, '2026-11-10 09:30 to 2026-11-12 00:00');
  assert.deepEqual([values.Period, facts(many).find(({ title }) => title === 'Period').isGuess], ['1 min', true]);
  // A table of securities has none of these properties.
  assert.deepEqual(facts(report({ names: [], understood: null, first: null, last: null })), []);
});

test('every outcome has a text, and the flags of the command line become the fields of the form', () => {
  assert.match(checkedWords(report()).text, /^Would add 2,000, replace 1, leave 0 unchanged; refused rows: 1\.$/);
  assert.match(importedWords(report({ outcome: 'imported' })).text, /^Imported\. Added 2,000/);
  assert.match(checkedWords(report({ outcome: 'known', message: '2026-11-15T02:00:00Z' })).text, /on 2026-11-15 02:00 UTC\./);
  const failed = checkedWords(report({ outcome: 'failed', message: 'line 2: pass --region to set the market' }));
  assert.deepEqual([failed.isBad, failed.text], [true, 'This file cannot be imported: line 2: pass “Market” to set the market.']);
  const message = 'no symbol: there is no symbol column, and the file\u2019s name does not name a security; pass --symbol';
  const unnamed = checkedWords(report({ outcome: 'failed', message, needs_symbol: true, suggested_symbol: '700.HK' }));
  assert.deepEqual(
    [unnamed.isBad, unnamed.text],
    [true, 'Enter the symbol, e.g. 700.HK: there is no symbol column, and the file\u2019s name does not name a security.'],
  );
  assert.equal(importedWords(report({ outcome: 'not_replaced', message: 'pass --replace' })).isBad, true);
  assert.equal(importedWords(report({ outcome: 'stopped' })).isBad, false);
  assert.equal(plain('pass --columns, --floors or --scale.'), 'pass “Columns of a file without a header”, --floors or “Factors, as volume=100”');
});

test('a file that the server would refuse is not sent', () => {
  const around = { bytesMax: 2048 * 2 ** 20, who: { role: 'operator', store: 'sqlite:/srv/candles' } };
  const why = (name, size, isFolder = false) => unsendable({ name, size }, isFolder, around);
  assert.equal(why('a.csv', 10), undefined);
  assert.equal(why('a.csv', around.bytesMax), undefined);
  assert.match(why('a.csv', 0), /is empty/);
  assert.match(why('data', 4096, true), /is a folder/);
  // The command names the store of this server, and a name with a space is one word.
  assert.match(why('a b.csv', 10 * 2 ** 30), /has 10,240 MiB; at most 2,048 MiB.*: chandler --store sqlite:\/srv\/candles import 'a b\.csv'$/);
});

test('sizes and progress are round', () => {
  assert.deepEqual([1, 1536, 1.5 * 2 ** 20, 3 * 2 ** 20].map(sizeWords), ['1 KiB', '2 KiB', '1.5 MiB', '3 MiB']);
  assert.deepEqual([[0, 0], [50, 100], [100, 100]].map(([done, bytes]) => percentDone({ bytes_done: done, bytes })), [0, 50, 99]);
});
