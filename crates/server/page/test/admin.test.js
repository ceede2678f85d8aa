import assert from 'node:assert/strict';
import test from 'node:test';

import {
  UNLIMITED, accountPath, auditQuery, bytesText, exportsOf, fieldsOf, isSpent, newAccount, referenceOf, shareText, spanOf, termsChange, undoOf,
} from '../src/dashboard/admin/forms.js';

const TERMS = {
  level: null, quota: null, rate: '60/30', connections: 10, subscriptions: 500, floors: null, read_only: false, api_date: null,
  text: 'level earned, rate 60/30, connections 10, subscriptions 500',
};

test('a form of terms sends changed fields, and emptied ones as null', () => {
  const before = fieldsOf(TERMS);
  assert.deepEqual(termsChange(before, before), {});
  for (const [field, value, expected] of [
    ['level', '4', { level: 4 }],
    ['quota', '0', { quota: 0 }],
    ['quota', ' 250 ', { quota: 250 }],
    ['rate', ' unlimited ', { rate: 'unlimited' }],
    ['rate', '', { rate: null }],
    ['rate', ' 60/30 ', {}],
    ['connections', '3', { connections: 3 }],
    ['connections', '', {}],
    ['subscriptions', '0', { subscriptions: 0 }],
    ['subscriptions', '', {}],
    ['floors', 'none', { floors: 'none' }],
    ['read_only', true, { read_only: true }],
    ['api_date', '2024-08-01', { api_date: '2024-08-01' }],
  ]) assert.deepEqual(termsChange(before, { ...before, [field]: value }), expected, `${field} ${value}`);
  const set = fieldsOf({ ...TERMS, level: 4, quota: 9, floors: 'none', api_date: '2024-08-01' });
  const emptied = { ...set, level: '', quota: '', floors: '', api_date: '' };
  assert.deepEqual(termsChange(set, emptied), { level: null, quota: null, floors: null, api_date: null });
});

test('lifting all limits is one change, and its undo another', () => {
  const before = fieldsOf(TERMS);
  const change = termsChange(before, { ...before, ...UNLIMITED });
  assert.deepEqual(change, { quota: 100000, rate: 'unlimited', connections: 1000, subscriptions: 100000, floors: 'none' });
  assert.deepEqual(undoOf(TERMS, change), { quota: null, rate: '60/30', connections: 10, subscriptions: 500, floors: null });
});

test('a new account sends only values that are not defaults', () => {
  const plain = { name: ' ann ', role: 'user', region: 'ap', packages: ['SG', 'HK', 'US', 'CN'], level: '', quota: '' };
  assert.deepEqual(newAccount(plain), { name: 'ann' });
  assert.deepEqual(newAccount({ ...plain, role: 'operator', region: 'us', packages: [], level: '2', quota: '5' }), {
    name: 'ann', role: 'operator', region: 'us', packages: [], terms: { level: 2, quota: 5 },
  });
  assert.deepEqual(newAccount({ ...plain, packages: ['HK', 'US', 'CN', 'SG', 'US_OVERNIGHT'], ...UNLIMITED }), {
    name: 'ann',
    packages: ['HK', 'US', 'CN', 'SG', 'US_OVERNIGHT'],
    terms: { quota: 100000, rate: 'unlimited', connections: 1000, subscriptions: 100000, floors: 'none' },
  });
});

test('every account name is encoded in an address', () => {
  assert.equal(accountPath(referenceOf({ account: 'a/b ?#%é', account_id: 7 })), '/v1/admin/accounts/a%2Fb%20%3F%23%25%C3%A9');
  for (const dots of ['.', '..']) assert.equal(accountPath(referenceOf({ account: dots, account_id: 7 }), '/revoke'), '/v1/admin/accounts/7/revoke');
  assert.equal(referenceOf({ account: '...', account_id: 7 }), '...');
});

test('credentials are lines for a shell', () => {
  const lines = exportsOf('https://charts.example/base', { app_key: 'k', app_secret: 's', access_token: 'ap_t' }).split('\n');
  assert.equal(lines.length, 17);
  assert.ok(lines.includes("export LONGBRIDGE_APP_SECRET='s'") && lines.includes("export LONGPORT_ACCESS_TOKEN='ap_t'"));
  for (const name of ['QUOTE_WS_URL', 'TRADE_WS_URL', 'QUOTE_URL', 'TRADE_URL'])
    assert.ok(lines.includes(`export LONGBRIDGE_${name}='wss://charts.example/base/v2'`), name);
  assert.equal(lines.at(-1), "export NO_PROXY='charts.example'");
});

test('an account whose quota is used up is marked, unless it is revoked', () => {
  for (const [used, limit, expected] of [[0, 0, true], [99, 100, false], [100, 100, true], [120, 100, true]])
    assert.equal(isSpent({ used, limit, revoked_at: null }), expected, `${used} of ${limit}`);
  assert.equal(isSpent({ used: 3, limit: 3, revoked_at: '2026-11-13T00:00:00Z' }), false);
});

test('empty filters of the audit are not sent', () => {
  const query = (search) => String(auditQuery(search, 100));
  assert.equal(query(''), 'limit=100');
  assert.equal(query('?account=&event=login.refused&since=&x=1'), 'event=login.refused&limit=100');
  assert.equal(query('?account=%20ann%20&before=7&limit=9'), 'account=ann&before=7&limit=100');
});

test('sizes, times and shares are short', () => {
  for (const [bytes, text] of [
    [null, '–'], [undefined, '–'], [0, '0 B'], [1023, '1023 B'], [1024, '1.0 KiB'], [1536, '1.5 KiB'], [157286400, '150 MiB'],
    [3 * 1024 ** 3, '3.0 GiB'], [5000 * 1024 ** 4, '5000 TiB'],
  ]) assert.equal(bytesText(bytes), text);
  for (const [seconds, parts] of [
    [0, [[0, 's']]], [59, [[59, 's']]], [60, [[1, 'min']]], [3661, [[1, 'h'], [1, 'min']]], [90061, [[1, 'd'], [1, 'h']]], [86_405, [[1, 'd'], [5, 's']]],
  ]) assert.deepEqual(spanOf(seconds), parts);
  assert.deepEqual([shareText(1, 3), shareText(0, 0), shareText(0, 5)], ['33.3 %', '–', '0.0 %']);
});
