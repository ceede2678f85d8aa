// Import reports as text. No DOM access.

import { commandFor, word } from '../command.js';
import { grouped } from '../decimal.js';
import { phrase } from '../phrases/uploads.js';

const MIB = 1 << 20;
const SYMBOLS_SHOWN = 3;

/** `1.5 MiB`, `12 KiB`, `2,048 MiB`. */
export function sizeWords(bytes) {
  if (bytes < MIB) return `${Math.max(1, Math.round(bytes / 1024))} KiB`;
  const tenths = Math.round((bytes * 10) / MIB);
  return `${grouped(Math.floor(tenths / 10))}${tenths % 10 ? `.${tenths % 10}` : ''} MiB`;
}

/** Why a file is not sent, or undefined. A folder has no type, and its size is meaningless. */
export function unsendable({ name, size }, isFolder, { bytesMax, who }) {
  if (isFolder) return phrase('no_folder', name);
  if (size === 0) return phrase('file_empty', name);
  if (size > bytesMax) return phrase('file_too_large', name, sizeWords(size), sizeWords(bytesMax), commandFor(`chandler import ${word(name)}`, who));
  return undefined;
}

const SYMBOL_FROM = {
  column: 'symbol_column',
  header: 'symbol_header',
  option: 'symbol_option',
  ticker_option: 'symbol_ticker_option',
  file_name: 'symbol_file_name',
  file_name_without_region: 'symbol_file_name_without_region',
  word_of_file_name: 'symbol_word_of_file_name',
};
const PERIOD_GUESSES = { few_rows: 'period_few', steps: 'period_steps', file_name: 'period_file_name' };
const BASES = { as_traded: 'as_traded', split_adjusted: 'split_adjusted', forward_adjusted: 'forward_adjusted' };
const TIMES = { dates: 'dates', utc_midnights: 'utc_midnights', wall_clock: 'wall_clock', instants: 'instants' };
const ORDERS = { month_first: 'month_first', day_first: 'day_first' };

/**
 * The detected properties of a file: `{ title, value, why, isGuess }` each, in the order in which
 * people check them.
 */
export function facts({ names, symbols, first, last, understood }) {
  const facts = [];
  if (names.length > 0) {
    facts.push({
      title: phrase('symbol'),
      value: symbolWords(names, symbols),
      why: understood ? phrase(SYMBOL_FROM[understood.symbol_from]) : undefined,
      isGuess: Boolean(understood?.is_symbol_guessed),
    });
  }
  if (understood) {
    const why = PERIOD_GUESSES[understood.period_guess];
    facts.push({ title: phrase('period'), value: periodWords(understood.period), why: why && phrase(why), isGuess: Boolean(understood.period_guess) });
  }
  if (first && last) {
    const isDaily = understood?.period === 'day';
    facts.push({ title: phrase('range'), value: phrase('range_of', pointWords(first, isDaily), pointWords(last, isDaily)), isGuess: false });
  }
  if (understood) facts.push(...readingFacts(understood));
  return facts;
}

function readingFacts(understood) {
  const { basis, times, zone, stamp, date_order: order, decimal, source } = understood;
  const isTraded = basis === 'as_traded';
  const notes = [
    order && phrase(ORDERS[order]),
    stamp === 'end' && phrase('stamped_end'),
    decimal === 'comma' && phrase('decimal_comma'),
  ].filter(Boolean);
  return [
    { title: phrase('basis'), value: phrase(BASES[basis]), why: phrase(isTraded ? 'basis_none' : 'basis_why'), isGuess: true },
    { title: phrase('times'), value: phrase(TIMES[times], zone ?? ''), why: notes.join('; ') || undefined, isGuess: false },
    { title: phrase('source'), value: source === 'plain' ? phrase('source_plain') : source, isGuess: false },
  ];
}

/** A period as the form names it: `day`, `5m`. */
const periodWords = (period) => (period === 'day' ? phrase('period_day') : phrase('period_minutes', period.replace(/m$/, '')));

function symbolWords(names, symbols) {
  const shown = names.slice(0, SYMBOLS_SHOWN).join(', ');
  const more = symbols - Math.min(names.length, SYMBOLS_SHOWN);
  return more > 0 ? phrase('symbols_many', shown, grouped(more)) : shown;
}

/** `2026-11-13`, or `2026-11-13 09:30` in market time. */
const pointWords = (rfc3339, isDaily) => (isDaily ? rfc3339.slice(0, 10) : `${rfc3339.slice(0, 10)} ${rfc3339.slice(11, 16)}`);

const counts = (key, { added, replaced, unchanged, quarantined }) =>
  phrase(key, grouped(added), grouped(replaced), grouped(unchanged), grouped(quarantined));

/** The dry run result of one file, and whether it is a failure. */
export function checkedWords(report) {
  const { outcome, message } = report;
  if (report.needs_symbol) {
    const reason = plain((message ?? '').replace(/^no symbol: /, '').replace(/; pass --symbol.*$/, ''));
    return { text: `${phrase('needs_symbol', report.suggested_symbol ?? 'AAPL.US')}: ${reason}.`, isBad: true };
  }
  if (outcome === 'known') return { text: phrase('known_file', day(message)), isBad: false };
  if (outcome === 'failed' || outcome === 'stopped') return { text: phrase('cannot', plain(message ?? '')), isBad: true };
  if (outcome === 'not_replaced') return { text: phrase('replaces', plain(message)), isBad: true };
  return { text: counts('would', report), isBad: false };
}

/** The same for an imported file. */
export function importedWords(report) {
  if (report.outcome === 'imported') return { text: `${phrase('imported')} ${counts('did', report)}`, isBad: false };
  if (report.outcome === 'stopped') return { text: phrase('stopped'), isBad: false };
  return checkedWords(report);
}

/** `2026-11-13 10:00 UTC` for an instant in UTC. */
const day = (instant) => `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;

/** Messages name command-line flags; here they are form fields. */
const FIELDS = {
  symbol: 'symbol',
  region: 'market_of',
  period: 'period',
  'time-format': 'date_order',
  decimal: 'decimal',
  stamp: 'stamp',
  columns: 'columns_named',
  map: 'columns_are',
  scale: 'scale_by',
  'estimate-turnover': 'estimate_turnover',
  'build-candles': 'build_candles',
  strict: 'strict',
  replace: 'replace_it',
  again: 'look_again',
};

export const plain = (message) =>
  message.replace(/--([a-z]+(?:-[a-z]+)*)/g, (flag, name) => (FIELDS[name] ? `\u201c${phrase(FIELDS[name])}\u201d` : flag)).replace(/\.$/, '');

/** The percentage read, at most 99 while it runs: the last flush is still to be written. */
export const percentDone = ({ bytes_done: done, bytes }) => Math.min(99, Math.floor((100 * done) / Math.max(bytes, 1)));
