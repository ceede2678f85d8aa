import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import test from 'node:test';

import { periods } from '../parts/periods.js';
import { describeAction, periodFloor, placeActions } from '../src/actions.js';
import { Refused, WouldCharge, ask } from '../src/api.js';
import { commandFor, liftingFor } from '../src/command.js';
import { candleOf, firstIndex, followed, indexOfWall, mergePages } from '../src/candles.js';
import { abbreviated, compared, decimalsOf, grouped, minus, percentChange, plus, signed, times, toMultiple } from '../src/decimal.js';
import { calendarDays, monthSpans, shiftDate } from '../src/dashboard/days.js';
import { hongKongDate } from '../src/dashboard/table.js';
import { Feed } from '../src/feed.js';
import { DEFAULTS, formatLink, parseLink, symbolOf } from '../src/link.js';
import { marketOf, offsetOf, zoneLabel } from '../src/market.js';
import { LANGUAGES } from '../src/phrase.js';
import { phrase as admin } from '../src/phrases/admin.js';
import { phrase as chart } from '../src/phrases/chart.js';
import { phrase as dashboard } from '../src/phrases/dashboard.js';
import { phrase as paper } from '../src/phrases/portfolio.js';
import { phrase as community } from '../src/phrases/topics.js';
import { documents } from '../src/phrases/documents.js';
import { phrase as extras } from '../src/phrases/extras.js';
import { phrase as markets } from '../src/phrases/markets.js';
import { phrase as shared } from '../src/phrases/shared.js';
import { phrase as side } from '../src/phrases/side.js';
import { phrase as units } from '../src/phrases/units.js';
import { phrase as uploads } from '../src/phrases/uploads.js';
import { PERIODS, lastDate, periodNamed, stepPeriod } from '../src/periods.js';
import { nameFor, rank } from '../src/rank.js';
import { readOut } from '../src/readout.js';
import { adviceFor } from '../src/refusal.js';
import { dayBreaks, extendedRuns, pauses, tradingDay } from '../src/shading.js';
import { dated, pointOf, tickText } from '../src/words.js';

/** A candle at a market time; the stamp follows from it. */
const at = (time, session = 0, close = '10.000') =>
  candleOf({
    timestamp: Date.parse(time) / 1000,
    time,
    trade_session: session,
    open: '10.000',
    high: '11.000',
    low: '9.000',
    close,
    volume: 1200,
    turnover: '12000.000',
  });
const stamps = (candles) => candles.map(({ stamp }) => stamp);
const run = (...numbers) => numbers.map((stamp) => ({ stamp }));

test('decimals are exact', () => {
  assert.equal(minus('83.300', '85.360'), '-2.060');
  assert.equal(minus('0.1', '0.3'), '-0.2');
  assert.equal(minus('100000000000000000.001', '0.002'), '99999999999999999.999');
  assert.equal(percentChange('83.300', '85.360'), '-2.41');
  assert.equal(percentChange('1.00005', '1'), '0.01', 'half goes away from zero');
  assert.equal(percentChange('0.99995', '1'), '-0.01');
  assert.equal(percentChange('1', '0.000'), undefined);
  assert.deepEqual(['1.5', '-1.5', '0.000'].map(signed), ['+1.5', '\u22121.5', '0.000']);
  assert.equal(minus('5.000', '5.000'), '0.000');
  assert.equal(grouped('5652193942.777'), '5,652,193,942.777');
  assert.equal(grouped('999'), '999');
  assert.equal(decimalsOf('83.300'), 3);
  assert.deepEqual([12_400_000, 999, 1_250_000_000, 0].map(abbreviated), ['12.4M', '999', '1.3B', '0']);
  assert.equal(plus('99.95', '0.05'), '100.00');
  assert.equal(times('305.2', '1.02'), '311.304');
  assert.deepEqual([compared('1.50', '1.5'), compared('1.49', '1.5'), compared('-1', '-2')], [0, -1, 1]);
  assert.deepEqual([toMultiple('311.304', '0.200', 'up'), toMultiple('311.304', '0.200', 'down'), toMultiple('311.4', '0.200', 'up')], ['311.400', '311.200', '311.400']);
  assert.throws(() => minus('1e3', '1'), RangeError);
});

test('pages are merged without loss or repetition, and the newer answer wins', () => {
  assert.deepEqual(stamps(mergePages(run(4, 5), run(1, 2))), [1, 2, 4, 5]);
  assert.deepEqual(stamps(mergePages(run(4, 5), run(3, 4))), [3, 4, 5]);
  assert.deepEqual(stamps(mergePages(run(1, 2), run(2, 3))), [1, 2, 3]);
  assert.deepEqual(stamps(mergePages(run(1, 4), run(2, 3))), [1, 2, 3, 4]);
  assert.deepEqual(stamps(mergePages([], run(2))), [2]);
  assert.deepEqual(mergePages([{ stamp: 1, text: 'old' }], [{ stamp: 1, text: 'new' }]), [{ stamp: 1, text: 'new' }]);
  assert.equal(
    firstIndex([1, 3, 5], (one) => one >= 4),
    2,
  );
});

test('the selected candle stays selected after older ones are loaded', () => {
  const [old, middle, young] = [{ wall: 1 }, { wall: 2 }, { wall: 3 }];
  assert.equal(followed([middle, young], 0, [old, middle, young]), 1);
  assert.equal(followed([middle, young], undefined, [old, middle, young]), undefined);
  assert.equal(followed([old], 0, [middle, young]), undefined);
});

test('the feed goes back by cursor and forward by the last candle', async () => {
  const queries = [];
  const served = (time) => ({
    timestamp: Date.parse(time) / 1000,
    time,
    trade_session: 0,
    open: '1',
    high: '1',
    low: '1',
    close: '1',
    volume: 1,
    turnover: '1',
  });
  const answers = [
    { candlesticks: [served('2026-01-06T00:00:00+08:00')], next: 'c1' },
    { candlesticks: [served('2026-01-05T00:00:00+08:00')], next: null },
    { candlesticks: [served('2026-01-06T00:00:00+08:00'), served('2026-01-07T00:00:00+08:00')], next: null },
  ];
  const feed = new Feed(
    { symbol: '1.HK', period: 'day', adjust: 'none', session: 'intraday', before: '2026-01-06' },
    async (path) => {
      queries.push(new URL(path, 'http://x').searchParams);
      return { data: answers.shift() };
    },
  );
  await feed.open();
  assert.ok(feed.hasOlder && feed.hasNewer);
  await feed.older();
  assert.equal(queries[1].get('next'), 'c1');
  assert.equal(queries[1].get('before'), '2026-01-06', 'a cursor belongs to its query');
  await feed.newer();
  assert.equal(queries[2].get('after'), '2026-01-05T16:00:00Z');
  assert.equal(feed.candles.length, 3);
  assert.ok(!feed.hasOlder && !feed.hasNewer && feed.reachesBeginning);
});

test('wall clocks and zones come from the served offset', () => {
  assert.deepEqual(
    ['2026-01-01T00:00:00+08:00', '2026-07-01T09:30:00-04:00', '2026-07-01T00:00:00Z'].map(offsetOf),
    [480, -240, 0],
  );
  assert.throws(() => offsetOf('2026-07-01'), RangeError);
  const us = marketOf('CNDL.US');
  assert.equal(zoneLabel(us, -240, 'clock'), 'New York (EDT)');
  assert.equal(zoneLabel(us, -300, 'clock'), 'New York (EST)');
  assert.equal(zoneLabel(us, -240, 'calendar'), 'New York time');
  assert.equal(zoneLabel(marketOf('600519.SH'), 480, 'clock'), 'Shanghai (CST)');
  assert.equal(zoneLabel(marketOf('X.QQ'), 330, 'clock'), 'UTC+05:30');
  // Two sides of a change of clocks: the days are 71 hours apart and yet three dates (candles, B3).
  const [before, after] = [at('2026-03-06T00:00:00-05:00'), at('2026-03-09T00:00:00-04:00')];
  assert.equal(after.stamp - before.stamp, 71 * 3600);
  assert.equal(after.wall - before.wall, 72 * 3600);
  assert.equal(indexOfWall([before, after], after.wall), 1);
  assert.equal(indexOfWall([before, after], after.wall + 60), -1);
});

test('candles are dated by what their period is called', () => {
  const us = marketOf('CNDL.US');
  const minute = at('2026-11-13T15:55:00-05:00');
  assert.equal(dated(minute, periodNamed('5m'), us), 'Fri 2026-11-13 15:55 EST');
  assert.equal(pointOf(minute, periodNamed('5m')), '2026-11-13T15:55');
  const day = at('2026-10-01T00:00:00-04:00');
  assert.deepEqual(
    ['day', 'week', 'month', 'quarter', 'year'].map((name) => dated(day, periodNamed(name), us)),
    ['Thu 2026-10-01', 'week of 2026-10-01', '2026-10', '2026 Q4', '2026'],
  );
  assert.equal(pointOf(day, periodNamed('day')), '2026-10-01');
  assert.deepEqual(
    [0, 1, 2, 3].map((weight) => tickText(minute.wall, weight, 'clock')),
    ['2026', 'Nov', '13 Nov', '15:55'],
  );
  assert.equal(tickText(day.wall, 3, 'calendar'), '1 Oct', 'the only candle');
});

test('hours outside the regular session are runs, and a night belongs to the day it ends in', () => {
  const candles = [
    at('2026-07-14T19:00:00-04:00', 2),
    at('2026-07-14T20:00:00-04:00', 3),
    at('2026-07-15T00:00:00-04:00', 3),
    at('2026-07-15T08:00:00-04:00', 1),
    at('2026-07-15T09:30:00-04:00'),
    at('2026-07-15T16:00:00-04:00', 2),
  ];
  assert.deepEqual(extendedRuns(candles), [
    { from: 0, to: 0, session: 2 },
    { from: 1, to: 2, session: 3 },
    { from: 3, to: 3, session: 1 },
    { from: 5, to: 5, session: 2 },
  ]);
  assert.deepEqual(candles.map(tradingDay), ['2026-07-14', ...Array(5).fill('2026-07-15')]);
  assert.deepEqual(dayBreaks(candles), [1]);
  assert.equal(tradingDay(at('2026-12-31T21:00:00-05:00', 3)), '2027-01-01');
  assert.deepEqual(dayBreaks([]), []);
});

test('a pause within a day is distinguished from the start of a day', () => {
  const hours = [
    { session: 0, start: '09:30', end: '12:00' },
    { session: 0, start: '13:00', end: '16:00' },
  ];
  const clocks = ['2026-03-03T11:55', '2026-03-03T13:10', '2026-03-03T13:15', '2026-03-04T09:30', '2026-03-04T14:00', '2026-03-05T13:00'];
  const candles = clocks.map((clock) => at(`${clock}:00+08:00`));
  assert.deepEqual(pauses(candles, hours), [1, 4]);
  assert.deepEqual(dayBreaks(candles), [3, 5]);
  assert.deepEqual(pauses(candles, hours.slice(0, 1)), []);
});

test('corporate actions are described, and shown on the first candle that is ex', () => {
  const action = { ex_date: '2026-03-04', cash: '0.50', split: '1', bonus: '0.1', rights: '0.2', rights_price: '6.00' };
  const described = describeAction(action, 'HKD');
  assert.equal(described.brief, 'Div 0.50, Bonus 0.1, Rights 0.2 @ 6.00');
  assert.equal(described.full, 'ex 2026-03-04: dividend HKD 0.50, bonus of 0.1 a share, rights of 0.2 a share at HKD 6.00');
  assert.equal(described.letter, 'DBR');
  const none = { ...action, cash: '0', bonus: '0', rights: '0' };
  assert.equal(describeAction({ ...none, split: '4' }).brief, 'Split 4:1');
  assert.equal(describeAction({ ...none, split: '0.1' }).full, 'ex 2026-03-04: 10 shares became 1');
  assert.equal(describeAction({ ...none, split: '1/3' }).full, 'ex 2026-03-04: 3 shares became 1');
  assert.equal(describeAction({ ...none, split: '1/15' }).brief, '15→1');
  assert.equal(describeAction({ ...none, split: '4/3' }).brief, 'Split 1.3333:1');
  assert.deepEqual(['1', '1.0', '1/1'].map((split) => describeAction({ ...none, split }).letter), ['', '', '']);
  assert.deepEqual(
    ['day', 'week', 'month', 'quarter', 'year', '5m'].map((period) => periodFloor('2026-05-20', period)),
    ['2026-05-20', '2026-05-18', '2026-05-01', '2026-04-01', '2026-01-01', '2026-05-20'],
  );
  const days = [at('2026-03-03T00:00:00+08:00'), at('2026-03-05T00:00:00+08:00')];
  assert.deepEqual([...placeActions(days, [described], 'calendar', 'day').keys()], [1], 'suspended on the day itself');
  assert.deepEqual([...placeActions([days[1]], [described], 'calendar', 'day').keys()], [], 'before the loaded candles');
  const evening = [at('2026-03-03T15:00:00-05:00'), at('2026-03-03T20:00:00-05:00', 3), at('2026-03-04T09:30:00-05:00')];
  assert.deepEqual([...placeActions(evening, [described], 'clock', '60m').keys()], [1], 'the eve is ex already');
});

test('addresses name views', () => {
  const { view, ignored } = parseLink('?symbol=cndl.us&period=5m&adjust=none&session=all&before=2026-11-13T15:00');
  assert.deepEqual(view, { ...DEFAULTS, symbol: 'CNDL.US', period: '5m', adjust: 'none', session: 'all', before: '2026-11-13T15:00' });
  assert.deepEqual(ignored, []);
  assert.equal(formatLink(view), '/?symbol=CNDL.US&period=5m&adjust=none&session=all&before=2026-11-13T15:00');
  assert.deepEqual(parseLink(formatLink(view).slice(1)).view, view);
  assert.equal(formatLink(parseLink('').view), '/');
  const odd = parseLink('?period=7m&symbol=TENCENT&before=yesterday');
  assert.deepEqual([odd.lost, odd.ignored], ['TENCENT', ['period=7m', 'before=yesterday']]);
  assert.equal(odd.view.symbol, undefined);
  assert.deepEqual(['', '?symbol=', '?symbol=1.HK'].map((search) => parseLink(search).lost), [undefined, undefined, undefined]);
  assert.deepEqual(['00700.hk', '.chdl.us', ' 600519.SH ', '700', 'AAPL.QQ'].map(symbolOf), [
    '700.HK',
    '.CHDL.US',
    '600519.SH',
    undefined,
    undefined,
  ]);
  assert.equal(parseLink('?session=regular').view.session, 'intraday');
});

test('search finds codes before names, in three languages', () => {
  const all = [
    { symbol: '9001.HK', name_en: 'Lamplight Harbour Holdings', name_cn: '灯港控股', name_hk: '燈港控股' },
    { symbol: 'WICK.US', name_en: 'Wick Energy', name_cn: '灯芯能源', name_hk: '燈芯能源' },
    { symbol: 'HARB.US', name_en: 'Sea Works' },
    { symbol: '309001.SZ', name_en: 'Other' },
  ];
  const found = (query) => rank(all, query).map(({ symbol }) => symbol);
  assert.deepEqual(found('9001'), ['9001.HK', '309001.SZ']);
  assert.deepEqual(found('09001'), ['9001.HK', '309001.SZ'], 'with the leading zero that Hong Kong writes');
  assert.deepEqual(found('harb'), ['HARB.US', '9001.HK']);
  assert.deepEqual(found('灯'), ['9001.HK', 'WICK.US']);
  assert.deepEqual(found('燈芯'), ['WICK.US']);
  assert.deepEqual(found('ＷＩＣＫ'), ['WICK.US']);
  assert.deepEqual(found('zzz'), []);
  assert.equal(found('').length, 4);
  assert.deepEqual(
    LANGUAGES.map((language) => nameFor(all[0], language)),
    ['Lamplight Harbour Holdings', '灯港控股', '燈港控股'],
  );
  assert.deepEqual(
    [{}, { name_cn: '灯' }, { name_hk: '燈', name_en: 'Lamp' }].map((security) => nameFor(security, 'zh-CN')),
    ['', '灯', '燈'],
  );
});

test('six digits are a mainland code, and the typed symbol comes before guesses', () => {
  const all = ['1.HK', '9001.HK', '009001.SZ', '000001.SZ', '000001.SH', '900.HK', '00900.SZ'].map((symbol) => ({ symbol }));
  const found = (query) => rank(all, query).map(({ symbol }) => symbol);
  assert.deepEqual(found('009001'), ['009001.SZ']);
  assert.deepEqual(found('000001'), ['000001.SH', '000001.SZ']);
  assert.deepEqual(found('09001'), ['9001.HK', '009001.SZ']);
  assert.deepEqual(found('00001')[0], '1.HK');
  assert.deepEqual(found('00900').slice(0, 2), ['00900.SZ', '900.HK']);
  assert.equal(found('000').includes('1.HK'), false, 'zeros alone mean nothing else');
});

test('periods: eighteen, round the end, and all of them in the page', async () => {
  assert.equal(PERIODS.length, 18);
  assert.equal(stepPeriod('year', 1), '1m');
  assert.equal(stepPeriod('1m', -1), 'year');
  const page = await readFile(new URL('../index.html', import.meta.url), 'utf8');
  assert.ok(page.includes('\n{{> periods}}\n'));
  const offered = [
    ...periods().matchAll(/<label title="\{\{period_(\w+)\}\}"><input type="radio" name="period" value="([^"]+)"><span>([^<]+)</g),
  ].map(([, title, name, label]) => [title, name, label.replace(/\{\{(\w+)\}\}/, (_, key) => documents[key][0])]);
  assert.deepEqual(
    offered,
    PERIODS.map(({ name, label }) => [name, name, label]),
  );
});

test('every phrase exists in three languages, takes the same values in each, and is used', async () => {
  const folder = new URL('..', import.meta.url);
  const names = (await readdir(folder, { recursive: true })).filter((name) => /^(src\/.*\.js|(parts\/)?\w+\.html)$/.test(name));
  const sources = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')));
  const used = [...sources.filter((_, at) => !names[at].startsWith('src/phrases/')), periods()].join('\n');
  const holes = (text) => [...text.matchAll(/\{\d\}/g)].map(([hole]) => hole).sort().join();
  for (const table of [shared.table, chart.table, dashboard.table, paper.table, community.table, side.table, extras.table, markets.table, units.table, uploads.table, admin.table, documents]) {
    for (const [key, texts] of Object.entries(table)) {
      assert.equal(texts.length, LANGUAGES.length, key);
      assert.ok(texts.every((text) => text.trim() !== '' && holes(text) === holes(texts[0])), key);
      // The few keys that are composed of two parts.
      const name = key.replace(/_(brief|rule)$/, '').replace(/^loading_(older|newer)$/, '$1');
      const isUsed = [`'${name}'`, `{{${name}}}`, ` ${name}()`].some((form) => used.includes(form));
      assert.ok(isUsed, `${key} is not used`);
    }
  }
});

test('under a path every address begins with it', () => {
  const script = `
    globalThis.document = { querySelector: () => ({ content: '/candles' }), documentElement: { lang: 'zh-HK' } };
    const { formatLink } = await import('./src/link.js');
    const { adviceFor } = await import('./src/refusal.js');
    const visitor = adviceFor({ status: 401 }, { here: '/candles/?symbol=1.HK' });
    console.log(JSON.stringify([formatLink({ symbol: '1.HK' }), formatLink({}), visitor.links[0]]));
  `;
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: new URL('..', import.meta.url) });
  assert.equal(ran.status, 0, String(ran.stderr));
  assert.deepEqual(JSON.parse(String(ran.stdout)), [
    '/candles/?symbol=1.HK',
    '/candles/',
    { href: '/candles/signin?next=%2Fcandles%2F%3Fsymbol%3D1.HK', label: '登入' },
  ]);
});

test('the read-out shows the served values', () => {
  const candles = [at('2026-11-12T00:00:00+08:00', 0, '10.000'), at('2026-11-13T00:00:00+08:00', 0, '9.950')];
  const about = {
    period: periodNamed('day'),
    market: marketOf('1.HK'),
    placed: new Map([[1, [{ full: 'ex 2026-11-13: dividend HKD 0.050' }]]]),
  };
  const said = readOut(candles, 1, about);
  assert.equal(said.close, '9.950');
  assert.equal(said.change, '\u22120.050 (\u22120.50 %)');
  assert.equal(said.direction, 'fall');
  assert.equal(said.event, 'ex 2026-11-13: dividend HKD 0.050');
  assert.equal(readOut(candles, 0, about).change, '–');
  // Without turnovers in the file, zero is not the turnover; without a trade it is.
  const traded = (volume) => readOut([{ ...candles[0], volume, text: { ...candles[0].text, turnover: '0.000' } }], 0, about).turnover;
  assert.deepEqual([traded(100), traded(0)], ['–', '0.000']);
});

test('every refusal says what to do', () => {
  const refused = (status, code, message = 'text', headers = {}) =>
    new Refused({ status, code, message, headers: new Headers(headers) });
  assert.equal(adviceFor(refused(401, 401004), { here: '/?symbol=1.HK' }).links[0].href, '/signin?next=%2F%3Fsymbol%3D1.HK');
  const spent = adviceFor(
    refused(403, 301607, 'spent', { 'x-quota-used': '100', 'x-quota-limit': '100', 'x-quota-reset': '2026-12-01' }),
  );
  assert.match(spent.text, /100 of 100 .* 2026-12-01/);
  assert.equal(spent.links[0].href, '/quota');
  assert.equal(spent.isLimit, true);
  // The server has answered with the cost, and the user decides.
  const costs = adviceFor(new WouldCharge({ fits: true, used: 2, limit: 3, resets: '2026-12-01' }), { symbol: '1.HK' });
  assert.match(costs.text, /2 of 3/);
  assert.deepEqual([costs.costs, costs.label, costs.isLimit], [true, 'Show 1.HK', undefined]);
  assert.deepEqual(adviceFor(new WouldCharge({ fits: false, used: 100, limit: 100, resets: '2026-12-01' })), spent);
  assert.equal(adviceFor(refused(400, 301600, 'out of minute kline begin date')).isLimit, true);
  assert.equal(adviceFor(refused(429, 301606, 'fast', { 'retry-after': '7' })).wait, 7);
  assert.match(adviceFor(refused(404, 301603), { symbol: '1.HK' }).command, /chandler import .*1\.HK/);
  assert.match(adviceFor(refused(400, 301600, '1.HK is not known'), { symbol: '1.HK' }).title, /not known/);
  assert.equal(adviceFor(new Refused({ status: 0, message: 'gone' })).retry, true);
  assert.equal(adviceFor(refused(500, 500000)).retry, true);
});

test('a command names the store if the server sends it', () => {
  const import_ = 'chandler import FILES…';
  assert.equal(commandFor(import_, undefined), import_);
  assert.equal(commandFor(import_, { store: null }), import_);
  assert.equal(commandFor(import_, { store: 'sqlite:/data/own' }), 'chandler --store sqlite:/data/own import FILES…');
  const who = { account: "Ann's own", store: 'sqlite:/a b' };
  assert.equal(liftingFor(who), String.raw`chandler --store 'sqlite:/a b' account set 'Ann'\''s own' --unlimited`);
});

test('a refusal is for operators only where it says so', () => {
  const refused = (message) => new Refused({ status: 403, code: 403008, message, headers: new Headers() });
  assert.equal(adviceFor(refused("this requires the operator role")).title, 'For operators');
  const csrf = adviceFor(refused('the CSRF token is missing or belongs to another session'));
  assert.equal(csrf.title, 'The server cannot answer this');
  assert.match(csrf.text, /CSRF token/);
});

test('a CSRF token of an older session is requested again, once, but not for a missing right', async () => {
  const sent = [];
  const marks = ['old', 'new', 'new'];
  const wrong = { code: 403008, message: 'no' };
  const original = globalThis.fetch;
  globalThis.fetch = async (path, { method, headers }) => {
    sent.push(`${method} ${path} ${headers['x-csrf'] ?? ''}`.trim());
    if (path === '/v1/me') return Response.json({ code: 0, data: { account: 'una', csrf: marks.shift() } });
    const isGood = path === '/v1/quota/preview' && headers['x-csrf'] === 'new';
    return isGood ? Response.json({ code: 0, data: 'done' }) : Response.json(wrong, { status: 403 });
  };
  try {
    assert.equal((await ask('/v1/quota/preview', { method: 'POST', body: {} })).data, 'done');
    assert.deepEqual(sent, ['GET /v1/me', 'POST /v1/quota/preview old', 'GET /v1/me', 'POST /v1/quota/preview new']);
    await assert.rejects(ask('/v1/connections/1', { method: 'DELETE' }), { name: 'Refused', status: 403 });
    assert.deepEqual(sent.slice(4), ['DELETE /v1/connections/1 new', 'GET /v1/me']);
  } finally {
    globalThis.fetch = original;
  }
});

test('the reason for a level is in the language of the page', () => {
  const script = `
    globalThis.document = { querySelector: () => null, documentElement: { lang: process.argv[1] } };
    const { levelReason } = await import('./src/dashboard/reason.js');
    console.log(JSON.stringify(JSON.parse(process.argv[2]).map(levelReason)));
  `;
  const reasons = [
    { kind: 'opened' },
    { kind: 'assets', hkd: '1000000.00', day: '2026-11-12', level: 4 },
    { kind: 'orders', count: 161, month: '2026-10', exceeded: 160, level: 3 },
    { kind: 'assets', hkd: '80000.00', paper_hkd: '80000.00', day: '2026-11-12', level: 3 },
    { kind: 'orders', count: 161, paper: 161, month: '2026-10', exceeded: 160, level: 4 },
    { kind: 'set' },
  ];
  const reasonsIn = (lang) => {
    const words = ['--input-type=module', '-e', script, lang, JSON.stringify(reasons)];
    const ran = spawnSync(process.execPath, words, { cwd: new URL('..', import.meta.url) });
    assert.equal(ran.status, 0, String(ran.stderr));
    return JSON.parse(String(ran.stdout));
  };
  assert.deepEqual(reasonsIn('en'), [
    'basic level',
    'assets HKD 1,000,000.00 on 2026-11-12 reach level 4',
    '161 completed orders in 2026-10 are more than the 160 of level 3',
    'assets HKD 80,000.00 of the paper account on 2026-11-12 reach level 3',
    '161 completed orders of the paper account in 2026-10 are more than the 160 of level 4',
    'set by hand',
  ]);
  assert.deepEqual(reasonsIn('zh-CN'), [
    '资产与订单均未达到更高等级',
    '2026-11-12 资产 HKD 1,000,000.00，达到等级 4',
    '2026-10 完成 161 笔订单，超过等级 3 要求的 160 笔',
    '2026-11-12 模拟账户资产 HKD 80,000.00，达到等级 3',
    '2026-10 模拟账户完成 161 笔订单，超过等级 4 要求的 160 笔',
    '由管理员设定',
  ]);
});

test('dates of rights are those of Hong Kong', () => {
  assert.equal(hongKongDate('2026-11-30T16:00:00Z'), '2026-12-01');
  assert.equal(hongKongDate('2026-12-01T01:30:00Z'), '2026-12-01 09:30:00 HKT');
});

test('spans begin and end where the service has them begin and end', async () => {
  const rows = JSON.parse(await readFile(new URL('./served-spans.json', import.meta.url), 'utf8'));
  assert.ok(rows.length > 0);
  for (const [date, period, first, last] of rows) {
    assert.equal(periodFloor(date, period), first, `${date} ${period}`);
    assert.equal(lastDate(date, period), last, `${date} ${period}`);
  }
});

test('the candle of a long period lies at its last date', () => {
  assert.deepEqual(
    ['week', 'month', 'quarter', 'year', 'day', '5m'].map((period) => lastDate('2024-02-13', period)),
    ['2024-02-18', '2024-02-29', '2024-03-31', '2024-12-31', '2024-02-13', '2024-02-13'],
  );
  assert.equal(lastDate('2026-11-15', 'week'), '2026-11-15', 'a Sunday ends its week');
  assert.equal(lastDate('2026-11-13T15:00', '5m'), '2026-11-13T15:00');
});

test('days of the heat map', () => {
  assert.equal(shiftDate('2026-03-01', -1), '2026-02-28');
  const days = calendarDays('2026-01-29', '2026-03-01');
  assert.equal(days.length, 32);
  assert.deepEqual(monthSpans(days), [
    { from: 0, length: 3, text: '' },
    { from: 3, length: 28, text: 'Feb 2026' },
    { from: 31, length: 1, text: '' },
  ]);
});
