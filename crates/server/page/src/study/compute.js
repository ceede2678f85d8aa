// Every indicator of a view as columns, one value for each candle: numbers to draw, and texts.

import { shortNumber } from '../amounts.js';
import { periodNamed } from '../periods.js';
import { bollinger, exponentialAverage, movingAverage, settledAfter } from './averages.js';
import { macd, relativeStrength, stochastic } from './oscillators.js';
import { STUDY_NAMES, numbersOf } from './settings.js';
import { textOf, ticksOf } from './ticks.js';
import { averageTrueRange, ichimoku, rangeSettledAfter, superTrend } from './trends.js';
import { onBalance, volumeWeighted, volumesOf } from './volumes.js';

/** Decimals of indicators from 0 to 100. */
const SHARE_SCALE = 2;

const exponential = (length) => settledAfter(2, length + 1) + length;
/** After how many candles the unknown history before the first no longer matters. */
const SETTLES = {
  ma: () => 0,
  ema: (lengths) => Math.max(...lengths.map(exponential)),
  boll: () => 0,
  macd: ([, slow, signal]) => exponential(slow) + exponential(signal),
  rsi: (lengths) => Math.max(...lengths.map((length) => settledAfter(1, length) + length + 1)),
  vwap: () => 0,
  ichimoku: () => 0,
  supertrend: ([length]) => rangeSettledAfter(length),
  vma: () => 0,
  atr: (lengths) => Math.max(...lengths.map(rangeSettledAfter)),
  obv: () => 0,
  kdj: ([length, smoothK, smoothD]) => length + settledAfter(1, smoothK) + settledAfter(1, smoothD),
};

/**
 * Lines of each indicator; `size` is how many of its units make one unit of the scale at the right.
 */
const LINES = {
  ma: ({ close, scale }, lengths) => prices(scale, lengths.map((length) => [`MA ${length}`, movingAverage(close, length)])),
  ema: ({ close, scale }, lengths) => prices(scale, lengths.map((length) => [`EMA ${length}`, exponentialAverage(close, length)])),
  boll: ({ close, scale }, [length, width]) => {
    const { middle, upper, lower } = bollinger(close, length, width);
    return prices(scale, [['MID', middle], ['UP', upper], ['LOW', lower]]);
  },
  macd: ({ close, scale }, numbers) => {
    const { difference, signal, bars } = macd(close, ...numbers);
    const lines = prices(scale, [['DIF', difference], ['DEA', signal], ['MACD', bars]], 1);
    lines[2].isBars = true;
    return lines;
  },
  rsi: ({ close }, lengths) => shares(lengths.map((length) => [`RSI ${length}`, relativeStrength(close, length)])),
  kdj: (ticks, numbers) => {
    const { k, d, j } = stochastic(ticks, ...numbers);
    return shares([['K', k], ['D', d], ['J', j]]);
  },
  // A day has one value, at its end: nothing to draw.
  vwap: (ticks, _, { candles, isClock, reachesBeginning }) => {
    if (!isClock) return [];
    const { values, parts } = volumeWeighted(candles, ticks, reachesBeginning);
    const lines = prices(ticks.scale, [['VWAP', values]]);
    lines[0].parts = parts;
    return lines;
  },
  ichimoku: (ticks, numbers) => {
    const { conversion, base, fast, slow, lagging } = ichimoku(ticks, ...numbers);
    const lines = prices(ticks.scale, [['Tenkan', conversion], ['Kijun', base], ['Span A', fast], ['Span B', slow], ['Chikou', lagging]]);
    lines[2].filledTo = lines[3];
    return lines;
  },
  supertrend: (ticks, [length, width], { reachesBeginning }) => {
    const { values, isDown } = superTrend(ticks, length, width, reachesBeginning);
    const lines = prices(ticks.scale, [['SuperTrend', values]]);
    Object.assign(lines[0], { isDown, parts: isDown });
    return lines;
  },
  vma: (_, lengths, { volumes }) => amounts(lengths.map((length) => [`VMA ${length}`, movingAverage(volumes, length)])),
  atr: (ticks, lengths) => prices(ticks.scale, lengths.map((length) => [`ATR ${length}`, averageTrueRange(ticks, length)]), 1),
  obv: (ticks, _, { volumes }) => amounts([['OBV', onBalance(ticks, volumes)]]),
};

/**
 * In ticks; texts have some more decimals than prices, where differences would vanish otherwise.
 */
const prices = (scale, columns, more = 0) =>
  columns.map(([label, values]) => ({ label, values, size: 10 ** scale, textAt: (at) => textOf(values[at] * 10 ** more, scale + more) }));

const shares = (columns) =>
  columns.map(([label, values]) => ({ label, values, size: 1, textAt: (at) => textOf(values[at] * 10 ** SHARE_SCALE, SHARE_SCALE) }));

const amounts = (columns) => columns.map(([label, values]) => ({ label, values, size: 1, format: shortNumber, textAt: (at) => shortNumber(values[at]) }));

/** How many candles before the first visible one the indicators of the view depend on. */
export function settling(view) {
  const on = STUDY_NAMES.filter((name) => view[name]);
  return Math.max(0, ...on.map((name) => SETTLES[name](numbersOf(view[name]))));
}

/**
 * The indicators of a view. If there is history before the loaded candles, values that depend on it
 * are left out.
 */
export function computed(candles, view, reachesBeginning) {
  const ticks = ticksOf(candles);
  const names = STUDY_NAMES.filter((name) => view[name]);
  const volumes = names.some((name) => ['vma', 'obv'].includes(name)) ? volumesOf(candles) : undefined;
  const isClock = periodNamed(view.period)?.family === 'clock';
  return names.map((name) => {
    const numbers = numbersOf(view[name]);
    const lines = LINES[name](ticks, numbers, { candles, volumes, isClock, reachesBeginning });
    const hidden = reachesBeginning ? 0 : Math.min(SETTLES[name](numbers), candles.length);
    if (hidden > 0) for (const { values } of lines) values.fill(NaN, 0, hidden);
    return { name, setting: view[name], lines };
  });
}
