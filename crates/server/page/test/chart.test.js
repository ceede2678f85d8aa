// The chart page beyond its candles: the window of the library, ranges, the address, comparison,
// new candles, copying.

import assert from 'node:assert/strict';
import test from 'node:test';

import { candleOf, shiftOf } from '../src/candles.js';
import { Compared, aligned, changeAt } from '../src/compare/compared.js';
import { grouped, shortened } from '../src/decimal.js';
import { wantsExtras } from '../src/extra.js';
import { Feed } from '../src/feed.js';
import { hasChanged, mayHaveNew } from '../src/fresh.js';
import { COMPARED_MAX, RANGE_NAMES, comparedOf, formatLink, parseLink } from '../src/link.js';
import { nothingAdvice, periodInstead } from '../src/lost.js';
import { News } from '../src/news.js';
import { PERIODS, bestStored, isStored, periodNamed, stepPeriod } from '../src/periods.js';
import { Ranged } from '../src/ranged.js';
import { RANGES, firstDate, periodOfRange, startOfRange } from '../src/ranges.js';
import { cliOf, curlOf, pythonOf } from '../src/save/commands.js';
import { csvOf, fileName } from '../src/save/csv.js';
import { Lines } from '../src/study/lines.js';
import { visitOf } from '../src/visit.js';
import { WHOLE, covers, isNearEnd, windowOf } from '../src/window.js';

const at = (time, close = '10.000', session = 0) =>
  candleOf({
    time, timestamp: Date.parse(time) / 1000, trade_session: session, open: close, high: close, low: close, close, volume: 100, turnover: '1000.000',
  });
const day = (date, close) => at(`${date}T00:00:00+08:00`, close);
const MINUTES = '1m 2m 3m 5m 10m 15m 20m 30m 45m 60m 120m 180m 240m'.split(' ');
const HALF_HOURS = ['30m', '60m', '120m', '180m', '240m'];
const DAYS = ['day', 'week', 'month', 'quarter', 'year'];
/** The facts of a security, with its daily candles if it has any. */
const has = (periods, first = '2004-06-01') => ({
  periods,
  stored: periods.includes('day') ? [{ period: 'day', first, last: '2026-11-13', version: 3 }] : [],
});

test('the library gets a window of candles around the visible range, and the next before its end is reached', () => {
  assert.deepEqual(windowOf(WHOLE, { from: 10, to: 200 }), { start: 0, end: WHOLE }, 'a few are given whole');
  const count = 50_000;
  for (const from of [-300, 0, 1000, 25_000, 49_000, 49_990, 50_200]) {
    for (const span of [8, 170, 4000]) {
      const range = { from, to: from + span };
      const window = windowOf(count, range);
      assert.ok(0 <= window.start && window.start < window.end && window.end <= count, `${from} ${span}`);
      assert.ok(covers(window, range, count), `${from} ${span}: everything visible is loaded`);
      assert.ok(window.end - window.start <= 4000 + 2 * 2500 + 301, `${from} ${span}: not much more`);
      assert.equal(isNearEnd(window, range, count), false, `${from} ${span}: and not near its end`);
    }
  }
  assert.equal(windowOf(count, undefined).end, count);
  assert.equal(isNearEnd({ start: 10_000, end: 15_000 }, { from: 10_100, to: 10_300 }, count), true);
  assert.equal(isNearEnd({ start: 0, end: 15_000 }, { from: 100, to: 300 }, count), false, 'nothing is before it');
  assert.equal(covers({ start: 10_000, end: 15_000 }, { from: 9_999, to: 10_300 }, count), false);
});

test('a period has candles if the server says so', () => {
  const have = (periods) => PERIODS.map(({ name }) => name).filter((name) => isStored(name, periods));
  assert.equal(have(undefined).length, PERIODS.length, 'while nothing is known');
  assert.deepEqual(have([]), []);
  assert.deepEqual(have([...HALF_HOURS, ...DAYS]), [...HALF_HOURS, ...DAYS]);
  assert.deepEqual([bestStored([...MINUTES, ...DAYS]), bestStored(HALF_HOURS), bestStored([])], ['day', '30m', undefined]);
  assert.deepEqual([stepPeriod('year', 1, DAYS), stepPeriod('day', -1, DAYS), stepPeriod('day', 1, [])], ['day', 'year', 'day']);
  assert.deepEqual([stepPeriod('30m', 1, HALF_HOURS), stepPeriod('30m', -1, HALF_HOURS)], ['60m', '240m']);
  const advice = nothingAdvice(parseLink('?symbol=1.HK&period=5m').view, undefined, DAYS);
  assert.deepEqual(advice.links, [{ href: '/?symbol=1.HK', label: 'Show days' }]);
  assert.match(nothingAdvice(parseLink('?symbol=1.HK').view, undefined, []).command, /import/);
});

test('ranges have a period that is stored, and begin where they say', () => {
  assert.deepEqual(Object.keys(RANGES), RANGE_NAMES);
  const periods = (facts) => RANGE_NAMES.map((name) => periodOfRange(name, facts) ?? '-').join(' ');
  assert.equal(periods(has([...MINUTES, ...DAYS])), '1m 5m 30m day day day week month');
  assert.equal(periods(has(DAYS)), '- - day day day day week month');
  assert.equal(periods(has(HALF_HOURS)), '30m 30m 30m 240m 240m 240m - 240m');
  assert.equal(periodOfRange('all', has(DAYS, '2024-01-02')), 'day');
  assert.equal(periodOfRange('all', has(DAYS, '2014-01-02')), 'week');
  assert.deepEqual(['1m', '6m', '1y', 'ytd', '5y'].map((name) => firstDate(name, '2026-11-13')), [
    '2026-10-14', '2026-05-14', '2025-11-14', '2026-01-01', '2021-11-14',
  ]);
  assert.deepEqual([firstDate('1m', '2026-03-31'), firstDate('1m', '2024-03-31')], ['2026-03-01', '2024-03-01'], 'February has no 31st');
  const days = ['2025-12-31', '2026-01-02', '2026-10-13', '2026-10-14', '2026-11-13'].map((date) => day(date));
  assert.deepEqual(['ytd', '1m', 'all', '5y'].map((name) => startOfRange(name, days)), [1, 3, 0, 0]);
  const minutes = ['2026-11-12T09:30', '2026-11-12T16:00', '2026-11-13T09:30', '2026-11-13T16:00'].map((time) => at(`${time}:00+08:00`));
  assert.deepEqual([startOfRange('1d', minutes), startOfRange('5d', minutes), startOfRange('1d', [])], [2, 0, 0]);
  // The night before belongs to the day.
  const night = [at('2026-11-12T15:59:00-05:00'), at('2026-11-12T20:00:00-05:00', '1', 3), at('2026-11-13T09:30:00-05:00')];
  assert.equal(startOfRange('1d', night), 1);
});

test('an address has indicators, scale, range and compared securities', () => {
  const address = '/?symbol=1.HK&scale=log&ma=5,10&boll=20,2.5&macd=12,26,9&compare=2.HK,AAPL.US&range=1y';
  const { view, ignored } = parseLink(address.slice(1));
  assert.deepEqual([formatLink(view), ignored], [address, []]);
  assert.deepEqual([wantsExtras(view), wantsExtras(parseLink('?symbol=1.HK&scale=log').view)], [true, false]);
  // A range chooses its period, unless the address does, or ends elsewhere.
  const periodOf = (search) => parseLink(`?symbol=1.HK&${search}`).view.period;
  assert.deepEqual(['range=1d', 'range=1m', 'range=5y', 'range=all', 'range=1y'].map(periodOf), ['1m', '30m', 'week', 'month', 'day']);
  assert.deepEqual(['range=1d&period=5m', 'range=1d&period=day', 'range=1d&before=2026-01-02', 'range=2d'].map(periodOf), ['5m', 'day', 'day', 'day']);
  const odd = parseLink('?symbol=1.HK&ma=5,x&scale=cubic&range=2y&compare=2.HK,1.HK,nothing,2.HK');
  assert.deepEqual(odd.ignored, ['scale=cubic', 'ma=5,x', 'compare=nothing', 'compare=2.HK', 'range=2y']);
  assert.equal(odd.view.compare, '2.HK');
  assert.equal(parseLink('?symbol=1.HK&compare=1.HK').view.compare, undefined);
  const many = comparedOf(['2.HK', '3.HK', '4.HK', '5.HK', '6.HK'], '1.HK');
  assert.deepEqual([many.compared.split(',').length, many.others], [COMPARED_MAX, ['6.HK']]);
  assert.equal(parseLink('?symbol=1.HK').view.adjust, 'forward', 'adjusted at first');
});

test('large numbers are short, exact ones beside them', () => {
  const english = ['K', 'M', 'B', 'T'].map((letter, index) => ({ zeros: 3 * (index + 1), letter }));
  const chinese = ['万', '亿', '万亿'].map((letter, index) => ({ zeros: 4 * (index + 1), letter }));
  const short = (units) => (text) => shortened(text, units) ?? grouped(text);
  assert.deepEqual(
    ['99999', '99999.99', '100000', '999950', '12139500', '-1234567.89', '1250000000', '123456789012345', '0'].map(short(english)),
    ['99,999', '99,999.99', '100.0K', '1.000M', '12.14M', '-1.235M', '1.250B', '123.5T', '0'],
  );
  assert.deepEqual(['12139500', '713665000.5', '100000', '99999500', '5652000000000'].map(short(chinese)), ['1,214万', '7.137亿', '10.00万', '1.000亿', '5.652万亿']);
});

test('securities are compared where both have a candle, by instant within days and by date else', () => {
  const own = [day('2026-11-11', '10.00'), day('2026-11-12', '11.00'), day('2026-11-13', '12.00')];
  const other = [at('2026-11-11T00:00:00-05:00', '50.00'), at('2026-11-13T00:00:00-05:00', '40.00')];
  const row = aligned(own, other, 'calendar');
  assert.deepEqual(row.map((candle) => candle?.text.close), ['50.00', undefined, '40.00']);
  assert.deepEqual([changeAt(row, 0, 2), changeAt(row, 0, 1), changeAt(row, 2, 2), changeAt(own, -3, 2)], ['\u221220.00 %', '–', '0.00 %', '+20.00 %']);
  const [morning, evening] = [at('2026-11-13T09:30:00+08:00'), at('2026-11-13T09:30:00-05:00')];
  assert.deepEqual(aligned([morning], [evening], 'clock'), [undefined]);
});

test('candles are requested after an import or when the clock has advanced', () => {
  const facts = (now, version = 3, last = '2026-11-13') => ({ now, stored: [{ period: 'day', first: '2004-06-01', last, version }] });
  const before = facts('2026-11-13T10:00:00+08:00');
  assert.equal(mayHaveNew(before, facts('2026-11-13T10:00:50+08:00')), false);
  assert.equal(mayHaveNew(before, facts('2026-11-13T10:00:10+08:00', 4)), true, 'something was imported');
  assert.equal(mayHaveNew(before, facts('2026-11-13T10:01:00+08:00')), true, 'a minute later');
  assert.equal(mayHaveNew(before, facts('2026-11-14T10:01:00+08:00')), false, 'nothing is stored of today');
});

test('a security that the user has not chosen costs nothing', async () => {
  const store = { 'chandler.symbol': '700.HK', 'chandler.studies': 'scale=log&ma=5,10' };
  globalThis.localStorage = { getItem: (name) => store[name] ?? null };
  const visit = visitOf('?period=5m&ma=20');
  assert.deepEqual([visit.chosen, formatLink(visit.view)], [undefined, '/?symbol=700.HK&period=5m&scale=log&ma=20']);
  assert.deepEqual([visitOf('?symbol=1.HK').chosen, formatLink(visitOf('?symbol=1.HK').view)], ['1.HK', '/?symbol=1.HK']);
  assert.deepEqual([visitOf('?symbol=lamp').lost, visitOf('?symbol=lamp').view.symbol], ['lamp', undefined]);
  delete globalThis.localStorage;
  const requests = [];
  const ask = async (path) => {
    requests.push(new URLSearchParams(path.split('?')[1]).get('charge'));
    return { data: { candlesticks: [], next: null } };
  };
  const automatic = new Feed({ ...visit.view, before: '2026-11-13' }, ask, false);
  await automatic.open();
  await automatic.firstAfter();
  // Once its candles are shown, the security has been charged already.
  await automatic.older();
  const wanted = new Feed(visit.view, ask);
  await wanted.open();
  await wanted.newer();
  // By the clock, not by the user.
  await wanted.newer(false);
  assert.deepEqual(requests, ['no', 'no', null, null, null, 'no']);
  // Without candles, because they would be charged: that is not a view without candles.
  const cost = { cost: 1, fits: true, used: 2, limit: 3, resets: '2026-12-01' };
  const withCost = async () => ({ data: { candlesticks: [], next: null, would_charge: cost } });
  await assert.rejects(new Feed(visit.view, withCost, false).open(), { name: 'Refused', fits: true, quota: { used: 2, limit: 3, reset: '2026-12-01' } });
});

test('the view is copied as a command, as Python and as CSV', () => {
  const view = { ...parseLink('?symbol=CNDL.US&period=5m&session=all').view, before: '2026-11-13T15:00' };
  assert.equal(
    cliOf(view, 'http://127.0.0.1:8080'),
    'chandler kline CNDL.US --period 5m --adjust forward --session all --before 2026-11-13T15:00 -n 1000 --server http://127.0.0.1:8080',
  );
  assert.match(cliOf(view, 'http://prices.example/api'), / --insecure-http$/);
  assert.doesNotMatch(cliOf(view, 'https://prices.example'), /insecure/);
  assert.equal(
    curlOf({ ...view, before: undefined }, 'http://127.0.0.1:8080'),
    'curl -H "Authorization: Bearer $CHANDLER_TOKEN" \'http://127.0.0.1:8080/v1/quote/history-candlesticks?symbol=CNDL.US&period=5m&adjust=forward&session=all&limit=1000\'',
  );
  const python = pythonOf(view);
  assert.match(python, /Period\.Min_5, AdjustType\.ForwardAdjust, False, 1000, datetime\.datetime\(2026, 11, 13, 15, 0\)/);
  assert.match(python, /trade_sessions=TradeSessions\.All/);
  assert.match(pythonOf({ ...view, period: 'day', before: '2026-11-13' }), /Period\.Day.*datetime\(2026, 11, 13, 23, 59\)/);
  assert.doesNotMatch(pythonOf({ ...view, before: undefined }), /datetime/);
  const candles = [day('2026-11-12', '10.000'), day('2026-11-13', '9.950')];
  assert.equal(
    csvOf('1.HK', candles.slice(1)),
    'symbol,time,open,high,low,close,volume,turnover\n1.HK,2026-11-13T00:00:00+08:00,9.950,9.950,9.950,9.950,100,1000.000\n',
  );
  assert.equal(fileName({ symbol: '1.HK', period: 'day', adjust: 'forward' }, candles, 'csv'), '1.HK-day-adjusted-2026-11-12-2026-11-13.csv');
});

/** Daily candles from a date on, as in a response. */
const servedDays = (count, close = '10.000') =>
  Array.from({ length: count }, (_, number) => {
    const timestamp = Date.parse('2020-01-01T00:00:00+08:00') / 1000 + number * 86_400;
    const time = new Date((timestamp + 8 * 3600) * 1000).toISOString().replace('.000Z', '+08:00');
    return { time, timestamp, open: close, high: close, low: close, close, volume: 100, turnover: '1000.000' };
  });

/** A server of candles, a thousand per page, that records its requests. */
function serverOf(served) {
  const requests = [];
  const ask = async (path) => {
    const query = Object.fromEntries(new URL(path, 'http://here').searchParams);
    requests.push(query);
    const until = query.next ? Number(query.next) : query.before ? served.findLastIndex(({ time }) => time.slice(0, 10) <= query.before) + 1 : served.length;
    const from = Math.max(until - 1000, 0);
    return { data: { candlesticks: served.slice(from, until), next: from > 0 ? String(from) : undefined } };
  };
  return { ask, requests };
}

test('candles that were corrected take the place of the visible ones, and the view stays where it is', async () => {
  const { ask, requests } = serverOf(servedDays(4001, '11.000'));
  const candles = servedDays(4000).map(candleOf);
  const begin = (range) => {
    requests.length = 0;
    const state = { view: { symbol: '700.HK', period: 'day', adjust: 'forward', session: 'intraday' }, period: periodNamed('day'), moved: undefined };
    state.feed = Object.assign(new Feed(state.view, ask), { candles, reachesNow: true });
    const isAtEnd = range.to >= candles.length;
    state.chart = { candles, isAtEnd, range: () => range, moveTo: (to) => (state.moved = to) };
    return state;
  };
  const renew = (state, more = {}) =>
    new News(more.ask ?? ask, { current: () => state, take: (feed) => (state.feed = feed), draw: () => {}, open: () => {}, onRefused: (error) => (state.refused = error) }).again();
  const newest = begin({ from: 2500, to: 4003 });
  await renew(newest);
  assert.deepEqual(requests.map(({ before, next, charge }) => [before, next, charge]), [[undefined, undefined, 'no'], [undefined, '3001', undefined]]);
  assert.deepEqual([newest.feed.candles.length, newest.feed.candles[0].text.close, newest.feed.reachesNow], [2000, '11.000', true]);
  // As many candles are beyond the right edge as before, though fewer are loaded before the left
  // one.
  assert.deepEqual(newest.moved, { from: 500, to: 2003 });
  const old = begin({ from: 1000, to: 1170 });
  await renew(old);
  assert.deepEqual(requests.map(({ before }) => before), [candles[1170].time.slice(0, 10)]);
  assert.deepEqual([old.feed.candles.at(-1).time, old.feed.reachesNow, old.moved], [candles[1170].time, false, undefined]);
  assert.equal(shiftOf(candles, old.feed.candles, 1170), 999 - 1170);
  // Another view that was chosen meanwhile is not touched; a refusal is reported, and changes
  // nothing.
  const left = begin({ from: 3900, to: 4003 });
  const other = new Feed(left.view, ask);
  const coming = renew(left);
  left.feed = other;
  await coming;
  assert.equal(left.feed, other);
  const refused = begin({ from: 3900, to: 4003 });
  const { feed } = refused;
  await renew(refused, { ask: () => Promise.reject(Object.assign(new Error('no'), { name: 'Refused' })) });
  assert.deepEqual([refused.feed, refused.refused.message], [feed, 'no']);
});

test('an import is distinguished from a clock that has advanced', () => {
  const facts = (last, version) => ({ now: '', stored: [{ period: 'day', first: '2020-01-01', last, version }] });
  assert.equal(hasChanged(facts('2026-11-12', 3), facts('2026-11-13', 3)), false, 'a candle stored beyond the clock has become visible');
  assert.equal(hasChanged(facts('2026-11-12', 3), facts('2026-11-12', 4)), true);
  assert.equal(hasChanged(facts('2026-11-12', 3), { now: '', stored: [] }), true, 'removed');
});

test('the shift of a candle when others before it are added or removed', () => {
  const days = servedDays(50).map(candleOf);
  assert.equal(shiftOf(days.slice(20), days, 5), 20);
  assert.equal(shiftOf(days, days.slice(20), 30), -20);
  assert.equal(shiftOf(days.slice(0, 40), days, 60), 0, 'beyond the newest');
});

test('a range is shown as before on a screen of another size, and ends where the reader moves', () => {
  const candles = servedDays(400).map(candleOf);
  const state = { view: { range: '6m' }, feed: { candles, hasOlder: false }, fits: 0 };
  state.chart = {
    candles, pixels: 1200, seen: { from: 0, to: 403 },
    width: () => state.chart.pixels,
    range: () => state.chart.seen,
    fitFrom: (from) => {
      state.fits += 1;
      state.chart.seen = { from, to: 403 };
    },
  };
  const ranged = new Ranged(() => state, {});
  ranged.fit();
  const { seen } = state.chart;
  // The library preserves the width of the candles, and the right edge.
  state.chart.pixels = 600;
  state.chart.seen = { from: 403 - (403 - seen.from) / 2, to: 403 };
  assert.equal(ranged.isElsewhere(), false);
  ranged.refit();
  assert.deepEqual([state.fits, state.chart.seen], [2, seen]);
  state.chart.seen = { from: seen.from + 20, to: 403 };
  assert.equal(ranged.isElsewhere(), true, 'zoomed');
  ranged.refit();
  assert.equal(state.fits, 2);
  state.chart.seen = { from: seen.from - 20, to: 383 };
  assert.equal(ranged.isElsewhere(), true, 'scrolled');
});

test('minutes alone open as what they are, and a period that was chosen stays chosen', () => {
  const view = { period: 'day' };
  assert.equal(periodInstead(view, has(HALF_HOURS)), '30m');
  assert.equal(periodInstead({ ...view, range: '1y' }, has(HALF_HOURS)), '240m');
  assert.equal(periodInstead({ ...view, range: '5y' }, has(HALF_HOURS)), '30m', 'a range without a period');
  assert.equal(periodInstead({ period: '1m', range: '1d' }, has(HALF_HOURS)), '30m', 'the range has chosen its period');
  assert.equal(periodInstead(view, has([])), undefined);
  assert.equal(periodInstead(view, undefined), undefined);
  assert.equal(periodInstead(view, has(DAYS)), undefined);
  assert.equal(periodInstead({ period: '1m' }, has(DAYS)), undefined);
  assert.equal(periodInstead({ period: 'day', before: '2020-01-01' }, has(HALF_HOURS)), undefined);
});

test('a compared security is requested for the range of the view, also in the past', () => {
  const requests = [];
  const series = { applyOptions: () => {}, setData: () => {} };
  const candles = servedDays(3).map(candleOf);
  const state = { view: { symbol: '700.HK', period: 'day', compare: 'AAPL.US' }, period: periodNamed('day'), feed: { reachesNow: true } };
  state.chart = { candles, start: 0, end: 3, palette: {}, range: () => ({ from: 0, to: 2 }), addLine: () => series, chart: { removeSeries: () => {} } };
  const compared = new Compared((path) => {
    requests.push(new URL(path, 'http://here').searchParams.get('before'));
    return new Promise(() => {});
  }, () => state, () => {});
  compared.show();
  compared.show();
  assert.deepEqual(requests, [null], 'requested once');
  // Home.
  state.feed = { reachesNow: false };
  compared.show();
  assert.deepEqual(requests.splice(1), ['2020-01-03']);
  state.period = periodNamed('5m');
  state.feed = { reachesNow: false };
  compared.show();
  assert.deepEqual(requests.splice(1), ['2020-01-02T16:00:00Z'], 'by the instant: another market has another clock');
});

test('a logarithmic scale leaves out values below zero', () => {
  const lines = new Lines();
  const scale = { mode: 1 };
  const series = { priceScale: () => ({ options: () => scale }), priceToCoordinate: (value) => 100 - value };
  lines.attached({ chart: { timeScale: () => ({}) }, series, requestUpdate: () => {} });
  lines.show({ lines: [{ values: Float64Array.of(NaN, -50, 20, 30), size: 10 }], start: 0, guides: [], colours: {} });
  assert.deepEqual(lines.autoscaleInfo(0, 3).priceRange, { minValue: 2, maxValue: 3 });
  assert.deepEqual([-5, 0, 2].map(lines.heights()), [NaN, NaN, 98]);
  scale.mode = 0;
  assert.deepEqual(lines.autoscaleInfo(0, 3).priceRange, { minValue: -5, maxValue: 3 });
  assert.deepEqual([-5, 2].map(lines.heights()), [105, 98]);
});
