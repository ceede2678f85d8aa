// The numbers of the inspected candle, unchanged from the response. The boxes are in the page from
// the start at their maximum width, so the layout does not shift when they fill.

import { shortAmount } from './amounts.js';
import { SESSION } from './candles.js';
import { grouped, minus, percentChange, signed } from './decimal.js';
import { byId } from './dom.js';
import { phrase } from './phrases/chart.js';
import { fillWords } from './trades.js';
import { dated } from './words.js';

const SESSION_PHRASES = { [SESSION.pre]: 'pre', [SESSION.post]: 'post', [SESSION.overnight]: 'overnight' };
const CELLS = ['time', 'open', 'high', 'low', 'close', 'change', 'volume', 'turnover', 'event'];

/** The texts of a candle, cell by cell. */
export function readOut(candles, index, { period, market, placed, fills = new Map(), triggers = new Map() }) {
  const candle = candles[index];
  const before = candles[index - 1];
  const { text } = candle;
  const change = before ? minus(text.close, before.text.close) : undefined;
  const percent = before ? percentChange(text.close, before.text.close) : undefined;
  const outside = SESSION_PHRASES[candle.session];
  const actions = placed.get(index)?.map((action) => action.full) ?? [];
  const trades = fills.get(index)?.map(fillWords) ?? [];
  const grid = triggers.get(index) ?? [];
  // A file without turnovers is stored with zeros.
  const isUnknown = candle.volume > 0 && !/[1-9]/.test(text.turnover);
  return {
    time: dated(candle, period, market),
    open: text.open,
    high: text.high,
    low: text.low,
    close: text.close,
    change: change === undefined ? '–' : `${signed(change)}${percent === undefined ? '' : ` (${signed(percent)} %)`}`,
    direction: direction(change),
    volume: shortAmount(text.volume),
    turnover: isUnknown ? '–' : shortAmount(text.turnover),
    exact: { volume: grouped(text.volume), turnover: isUnknown ? '' : grouped(text.turnover) },
    event: [outside ? phrase(outside) : '', ...trades, ...grid, ...actions].filter(Boolean).join(' · '),
  };
}

function direction(change) {
  if (change === undefined || !/[1-9]/.test(change)) return 'level';
  return change.startsWith('-') ? 'fall' : 'rise';
}

export function showReadOut(said) {
  for (const name of CELLS) {
    const cell = byId(`ro-${name}`);
    const text = said?.[name] ?? (name === 'event' ? '' : '–');
    if (cell.textContent !== text) cell.textContent = text;
  }
  for (const name of ['volume', 'turnover']) byId(`ro-${name}`).title = said?.exact[name] ?? '';
  byId('ro-event').title = said?.event ?? '';
  byId('readout').dataset.direction = said?.direction ?? 'level';
}

/** The same for screen readers. */
export function spoken(said, isLatest) {
  const { time, open, high, low, close, change, exact, event } = said;
  const start = isLatest ? phrase('latest') : '';
  return start + phrase('spoken', time, open, high, low, close, change, exact.volume) + (event ? phrase('comma') + event : '');
}
