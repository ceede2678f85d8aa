// Indicators: published worked examples, values of TA-Lib, and an independent second
// implementation. It computes each value from its definition (an exponential average is a sum with
// powers as weights), in integers of sixty decimals.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { futureWalls } from '../src/study/future.js';
import { bollinger, exponentialAverage, settledAfter } from '../src/study/averages.js';
import { computed, settling } from '../src/study/compute.js';
import { macd, relativeStrength, stochastic } from '../src/study/oscillators.js';
import { STUDIES, STUDY_NAMES, numbersOf, settingOf } from '../src/study/settings.js';
import { textOf, ticksOf } from '../src/study/ticks.js';
import { superTrend } from '../src/study/trends.js';

const ONE = 10n ** 60n;
const big = (number) => BigInt(number) * ONE;
const product = (a, b) => (a * b) / ONE;
const power = (base, times) => (times === 0 ? ONE : product(base, power(base, times - 1)));
/**
 * As text with decimals, half away from zero; a value within a part in 10^50 of a half counts as a
 * half.
 */
function rounded(value, scale) {
  const unit = ONE / 10n ** BigInt(scale);
  const size = value < 0n ? -value : value;
  const digits = String((size + unit / 2n + ONE / 10n ** 50n) / unit).padStart(scale + 1, '0');
  const text = scale ? `${digits.slice(0, -scale)}.${digits.slice(-scale)}` : digits;
  return value < 0n && /[1-9]/.test(text) ? `-${text}` : text;
}
const sum = (values) => values.reduce((all, one) => all + one, 0n);
const mean = (values) => sum(values) / BigInt(values.length);

/**
 * Weight `share` of `whole` for the newest, less by the same ratio for each before it, and the rest
 * for the mean of the first.
 */
function weighted(values, length, share, whole, at) {
  const left = ((whole - share) * ONE) / whole;
  const after = at - (length - 1);
  const newest = values.slice(length, at + 1).reverse();
  const part = newest.map((value, back) => product(product((share * ONE) / whole, power(left, back)), value));
  return product(power(left, after), mean(values.slice(0, length))) + sum(part);
}
const exponential = (values, length, at) => weighted(values, length, 2n, BigInt(length) + 1n, at);

function root(value) {
  let [low, high] = [0n, value * ONE + 1n];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (middle * middle <= value * ONE) low = middle;
    else high = middle - 1n;
  }
  return low;
}

/** Prices that jump, stay and repeat, from a seeded generator; scale 3. */
function walk(count) {
  let [state, price] = [20261117, 91850];
  const next = (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
  return Array.from({ length: count }, (_, at) => {
    price = at % 37 < 4 ? price : Math.max(price + next(1201) - 600, 50);
    const [high, low] = at % 37 < 4 ? [price, price] : [price + next(400), Math.max(price - next(400), 1)];
    const text = Object.fromEntries(Object.entries({ high, low, close: price }).map(([name, ticks]) => [name, textOf(ticks, 3)]));
    return { text, high: Number(text.high), low: Number(text.low), close: Number(text.close) };
  });
}

const CANDLES = walk(160);
const { close, high, low } = ticksOf(CANDLES);
const bigs = (column) => Array.from(column, big);
const THOUSAND = 1000n;
const lines = (setting) => {
  const [{ lines: all }] = computed(CANDLES, setting, true);
  return all.map(({ values, textAt }) => Array.from(values, (value, at) => (Number.isNaN(value) ? undefined : textAt(at))));
};
/** The same by definition, from the first candle that has a value. */
const expected = (first, of) => CANDLES.map((_, at) => (at < first ? undefined : of(at)));
const price = (value, more = 0) => rounded(value / THOUSAND, 3 + more);

test('averages and bands are those of the second implementation, to the last digit', () => {
  const values = bigs(close);
  const [five, ten] = lines({ ma: '5,10' });
  assert.deepEqual(five, expected(4, (at) => price(mean(values.slice(at - 4, at + 1)))));
  assert.deepEqual(ten, expected(9, (at) => price(mean(values.slice(at - 9, at + 1)))));
  const [quick] = lines({ ema: '12' });
  assert.deepEqual(quick, expected(11, (at) => price(exponential(values, 12, at))));
  const [middle, upper, lower] = lines({ boll: '20,2.5' });
  const band = (at) => {
    const window = values.slice(at - 19, at + 1);
    const squares = mean(window.map((value) => product(value, value)));
    return (root(squares - product(mean(window), mean(window))) * 5n) / 2n;
  };
  const middleAt = (at) => mean(values.slice(at - 19, at + 1));
  assert.deepEqual(middle, expected(19, (at) => price(middleAt(at))));
  assert.deepEqual(upper, expected(19, (at) => price(middleAt(at) + band(at))));
  assert.deepEqual(lower, expected(19, (at) => price(middleAt(at) - band(at))));
});

test('MACD, RSI and KDJ are those of the second implementation, to the last digit', () => {
  const values = bigs(close);
  const differences = values.map((_, at) => (at < 25 ? 0n : exponential(values, 12, at) - exponential(values, 26, at))).slice(25);
  const signalAt = (at) => exponential(differences, 9, at - 25);
  const [difference, signal, bars] = lines({ macd: '12,26,9' });
  assert.deepEqual(difference, expected(25, (at) => price(differences[at - 25], 1)));
  assert.deepEqual(signal, expected(33, (at) => price(signalAt(at), 1)));
  assert.deepEqual(bars, expected(33, (at) => price(differences[at - 25] - signalAt(at), 1)));

  const changes = values.slice(1).map((value, at) => value - values[at]);
  const rises = changes.map((change) => (change > 0n ? change : 0n));
  const falls = changes.map((change) => (change < 0n ? -change : 0n));
  const [strength] = lines({ rsi: '14' });
  assert.deepEqual(strength, expected(14, (at) => {
    const [rise, fall] = [rises, falls].map((all) => weighted(all, 14, 1n, 14n, at - 1));
    return rounded((100n * ONE * rise) / (rise + fall), 2);
  }));

  const raw = CANDLES.map((_, at) => {
    if (at < 8) return undefined;
    const top = bigs(high.slice(at - 8, at + 1)).reduce((a, b) => (a > b ? a : b));
    const bottom = bigs(low.slice(at - 8, at + 1)).reduce((a, b) => (a < b ? a : b));
    return (100n * ONE * (values[at] - bottom)) / (top - bottom);
  }).slice(8);
  // 50 before the first: a mean of one value, followed by the first raw one.
  const ks = raw.map((_, at) => weighted([big(50), ...raw], 1, 1n, 3n, at + 1));
  const ds = ks.map((_, at) => weighted([big(50), ...ks], 1, 1n, 3n, at + 1));
  const [k, d, j] = lines({ kdj: '9,3,3' });
  assert.deepEqual(k, expected(8, (at) => rounded(ks[at - 8], 2)));
  assert.deepEqual(d, expected(8, (at) => rounded(ds[at - 8], 2)));
  assert.deepEqual(j, expected(8, (at) => rounded(3n * ks[at - 8] - 2n * ds[at - 8], 2)));
});

/**
 * Worked examples of the articles "Moving Averages", "RSI" and "Bollinger Bands" of StockCharts'
 * ChartSchool.
 */
test('worked examples that were published come out as published', () => {
  const shown = (column) => Array.from(column).filter((value) => !Number.isNaN(value)).map((value) => value.toFixed(2));
  const prices = [22.27, 22.19, 22.08, 22.17, 22.18, 22.13, 22.23, 22.43, 22.24, 22.29, 22.15, 22.39, 22.38, 22.61, 23.36, 24.05, 23.75];
  assert.deepEqual(shown(exponentialAverage(Float64Array.from(prices), 10)), ['22.22', '22.21', '22.24', '22.27', '22.33', '22.52', '22.80', '22.97']);
  const strong = [
    44.3389, 44.0902, 44.1497, 43.6124, 44.3278, 44.8264, 45.0955, 45.4245, 45.8433, 46.0826, 45.8931, 46.0328, 45.614, 46.282, 46.282,
    46.0028, 46.0328, 46.4116, 46.2222, 45.6439,
  ];
  assert.deepEqual(shown(relativeStrength(Float64Array.from(strong), 14)), ['70.53', '66.32', '66.55', '69.41', '66.36', '57.97']);
  const banded = [
    86.16, 89.09, 88.78, 90.32, 89.07, 91.15, 89.44, 89.18, 86.93, 87.68, 86.96, 89.43, 89.32, 88.72, 87.45, 87.26, 89.5, 87.9, 89.13, 90.7,
    92.9,
  ];
  const { middle, upper } = bollinger(Float64Array.from(banded), 20, 2);
  assert.deepEqual([shown(middle), shown(upper)], [['88.71', '89.05'], ['91.29', '91.95']]);
});

test('values are those of TA-Lib', () => {
  const { at, lines: theirs } = JSON.parse(readFileSync(new URL('talib.json', import.meta.url)));
  const view = { ma: '5,60', ema: '12,50', boll: '20,2.5', macd: '12,26,9', rsi: '6,14', kdj: '9,3,3' };
  const ours = computed(CANDLES, view, true).flatMap(({ lines: all }) => all);
  assert.deepEqual(ours.map(({ label }) => label), Object.keys(theirs));
  for (const { label, values, size } of ours) {
    for (const [number, place] of at.entries()) {
      const [own, other] = [values[place] / size, theirs[label][number]];
      assert.ok(other === null ? Number.isNaN(own) : Math.abs(own - other) < 1e-8, `${label} at ${place}: ${own}, TA-Lib ${other}`);
    }
  }
});

test('constant prices have indicators too', () => {
  const still = new Float64Array(30).fill(500);
  assert.equal(relativeStrength(still, 14).at(-1), 50);
  const { k, d, j } = stochastic({ high: still, low: still, close: still }, 9, 3, 3);
  assert.deepEqual([k.at(-1), d.at(-1), j.at(-1)], [50, 50, 50]);
  assert.deepEqual([bollinger(still, 20, 2).upper.at(-1), macd(still, 12, 26, 9).bars.at(-1)], [500, NaN]);
  assert.ok(exponentialAverage(still, 31).every(Number.isNaN), 'fewer candles than it takes');
});

test('values that depend on candles not loaded are left out until they have settled', () => {
  const view = { ema: '12', ma: '5' };
  const after = settling(view);
  const all = computed(CANDLES, view, true).at(-1).lines[0].values;
  const part = computed(CANDLES.slice(40), view, false).at(-1).lines[0].values;
  assert.ok(part.slice(0, after).every(Number.isNaN));
  assert.ok(after < 120 && !Number.isNaN(part[after]));
  assert.equal(textOf(part.at(-1), 3), textOf(all.at(-1), 3));
  assert.equal(settling({ ma: '200' }), 0);
  assert.equal(settledAfter(2, 2), 0);
});

test('settings have one spelling, and invalid ones are rejected', () => {
  assert.deepEqual(
    STUDY_NAMES.map((name) => settingOf(name, STUDIES[name].usual)),
    STUDY_NAMES.map((name) => STUDIES[name].usual),
  );
  assert.equal(settingOf('ma', ' 5， 010 ,20'), '5,10,20');
  assert.equal(settingOf('boll', '20,2.0'), '20,2');
  for (const [name, text] of [
    ['ma', ''], ['ma', '0'], ['ma', '501'], ['ma', '5,5'], ['ma', '1,2,3,4,5,6'], ['ma', '2.5'], ['ma', '-5'], ['ma', '5,'], ['ma', 'five'],
    ['boll', '20'], ['boll', '1,2'], ['boll', '20,0'], ['boll', '20,11'], ['boll', '20,2,1'], ['macd', '26,12,9'], ['macd', '12,26'],
    ['vwap', '1'], ['obv', '14'], ['ichimoku', '9,26,52'], ['ichimoku', '9,26,52,101'], ['supertrend', '10'], ['supertrend', '10,0'], ['vma', '0'], ['atr', '1,2,3,4'],
    ['rsi', '1'], ['rsi', '2,3,4,5'], ['kdj', '9,3'],
  ]) assert.equal(settingOf(name, text), undefined, `${name}=${text}`);
  assert.deepEqual(numbersOf('20,2.5'), [20, 2.5]);
});

test('a SuperTrend of part of the history is that of the whole, or not there', () => {
  const whole = superTrend(ticksOf(CANDLES), 3, 1.5, true);
  let count = 0;
  for (let start = 1; start < 100; start += 1) {
    const part = superTrend(ticksOf(CANDLES.slice(start)), 3, 1.5, false);
    for (const [at, value] of part.values.entries()) {
      if (Number.isNaN(value)) continue;
      count += 1;
      assert.ok(Math.abs(value - whole.values[start + at]) < 0.01 && part.isDown[at] === whole.isDown[start + at], `${at} after ${start}: ${value} ${whole.values[start + at]} ${part.isDown[at]} ${whole.isDown[start + at]}`);
    }
  }
  assert.ok(count > 3000, `${count} values`);
});

/** Candles at wall times, as far as the time axis reads them. */
const candlesAt = (...times) => times.map((time) => ({ time: `${time}:00-05:00`, wall: Date.parse(`${time}Z`) / 1000, session: 0 }));
const texts = (walls) => walls.map((wall) => new Date(wall * 1000).toISOString().slice(0, 16));
const DAYS = { open: new Set(['2026-11-25', '2026-11-27', '2026-11-30']), half: new Set(['2026-11-27']), until: '2026-11-30' };

test('the time axis after the newest candle skips nights, breaks, weekends and holidays, and ends half days early', () => {
  const minutes = { name: '60m', family: 'clock' };
  const seen = candlesAt('2026-11-24T09:30', '2026-11-24T12:30', '2026-11-24T13:30', '2026-11-24T15:30', '2026-11-25T09:30', '2026-11-25T12:30');
  // Thanksgiving is a holiday, and the day after a half day.
  assert.deepEqual(texts(futureWalls(seen, { period: minutes, market: 'US', days: DAYS }, 6)), [
    '2026-11-25T13:30', '2026-11-25T15:30', '2026-11-27T09:30', '2026-11-27T12:30', '2026-11-30T09:30', '2026-11-30T12:30',
  ]);
  const day = { name: 'day', family: 'calendar' };
  const daily = candlesAt('2026-11-25T00:00');
  // After the end of the calendar every weekday counts.
  assert.deepEqual(texts(futureWalls(daily, { period: day, market: 'US', days: DAYS }, 4)).map((text) => text.slice(0, 10)), ['2026-11-27', '2026-11-30', '2026-12-01', '2026-12-02']);
  const next = (name, date) => texts(futureWalls(candlesAt(date), { period: { name, family: 'calendar' }, market: 'US', days: DAYS }, 2)).map((text) => text.slice(0, 10));
  assert.deepEqual(next('week', '2026-12-28T00:00'), ['2027-01-04', '2027-01-11']);
  assert.deepEqual(next('month', '2026-12-01T00:00'), ['2027-01-01', '2027-02-01']);
  assert.deepEqual(next('quarter', '2026-10-01T00:00'), ['2027-01-01', '2027-04-01']);
  assert.deepEqual(next('year', '2026-01-01T00:00'), ['2027-01-01', '2028-01-01']);
  assert.deepEqual(futureWalls([], { period: day, market: 'US', days: DAYS }, 4), []);
});

test('a VWAP begins with each trading day, without a first day that may be incomplete, and a day has none', () => {
  const times = ['2026-11-24T15:58', '2026-11-24T15:59', '2026-11-25T09:30', '2026-11-25T09:31', '2026-11-25T09:32'];
  const candles = candlesAt(...times).map((candle, at) => {
    const text = { high: `${12 + at}.00`, low: `${9 + at}.00`, close: `${11 + at}.00` };
    return { ...candle, text, high: 12 + at, low: 9 + at, close: 11 + at, volume: [10, 30, 0, 100, 300][at] };
  });
  const vwap = (period, isWhole) => {
    const [{ lines: [line] }] = computed(candles, { vwap: 'on', period }, isWhole);
    return line && Array.from(line.values, (value, at) => (Number.isNaN(value) ? '–' : line.textAt(at)));
  };
  assert.deepEqual(vwap('1m', true), ['10.67', '11.42', '–', '13.67', '14.42']);
  assert.deepEqual(vwap('1m', false), ['–', '–', '–', '13.67', '14.42']);
  assert.equal(vwap('day', true), undefined);
});

test('ticks after an older page is prepended are the same as those of the whole list', () => {
  const copy = (candles) => candles.map((candle) => ({ ...candle }));
  const old = CANDLES.slice(60);
  ticksOf(old);
  const grown = ticksOf([...copy(CANDLES.slice(0, 61)), ...old.slice(1)]);
  assert.deepEqual(grown, ticksOf(copy(CANDLES)));
  // A finer price among the older ones makes every tick finer; another newest candle is another
  // list.
  const finer = { ...CANDLES[0], close: 91.85005, text: { ...CANDLES[0].text, close: '91.85005' } };
  ticksOf(old);
  const all = ticksOf([finer, ...CANDLES.slice(1, 61).map((one) => ({ ...one })), ...old.slice(1)]);
  assert.deepEqual([all.scale, all.close[0], all.close.at(-1)], [5, 9185005, grown.close.at(-1) * 100]);
  ticksOf(old);
  const newest = { ...old.at(-1), close: 1, text: { ...old.at(-1).text, close: '1.000' } };
  assert.equal(ticksOf([...old.slice(0, -1), newest]).close.at(-1), 1000);
  assert.deepEqual(ticksOf([]).close.length, 0);
});
