// The address of a view:
// `/?symbol=700.HK&period=5m&adjust=none&session=all&ma=5,10&before=2026-11-13T15:00`. Defaults are
// left out, so that addresses stay short enough to be read aloud.

import { addressOf } from './base.js';
import { DEFAULT_PERIOD, periodNamed } from './periods.js';
import { REGIONS } from './served-markets.js';
import { STUDY_NAMES, settingOf } from './study/settings.js';
import { worldOf } from './world.js';

const SYMBOL = new RegExp(String.raw`^\.?[A-Z0-9][A-Z0-9.\-]{0,20}\.(${Object.keys(REGIONS).join('|')})$`);
const BEFORE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d)?$/;
const SESSION_WORDS = { intraday: 'intraday', regular: 'intraday', extended: 'all', all: 'all' };
/** Drawings, which the script that shows them parses (`sketch/shapes.js`). */
const DRAWN = /^[lmnt]:[\w.:,%~!*'()-]{1,1500}$/;
const SCALES = ['linear', 'log', 'percent'];
/**
 * The ranges, each with its periods in order of preference; the first stored one is used. Here and
 * not in ranges.js: this file is also part of the script that runs before the page.
 */
export const RANGE_PERIODS = {
  '1d': ['1m', '2m', '5m', '10m', '15m', '30m', '60m'],
  '5d': ['5m', '10m', '15m', '30m', '60m'],
  '1m': ['30m', '60m', 'day'],
  '6m': ['day', '240m', '60m'],
  ytd: ['day', '240m', '60m'],
  '1y': ['day', '240m'],
  '5y': ['week', 'day'],
  all: ['month', 'week', 'day', '240m'],
};
export const RANGE_NAMES = Object.keys(RANGE_PERIODS);
export const COMPARED_MAX = 4;

export const DEFAULTS = Object.freeze({
  symbol: undefined,
  period: DEFAULT_PERIOD,
  adjust: 'forward',
  session: 'intraday',
  scale: 'linear',
  ...Object.fromEntries(STUDY_NAMES.map((name) => [name, undefined])),
  compare: undefined,
  draw: undefined,
  range: undefined,
  before: undefined,
  beside: undefined,
  world: undefined,
});

/** The place of the focused chart among the charts of a page. */
export const FOCUS = '*';
/** How many other charts there may be: two or four in all. */
const BESIDE_COUNTS = [1, 3];
const BESIDE_MAX = 1500;
/** What the address has once for the page, and a layout does not have. */
const OF_PAGE = ['beside', 'before', 'world'];

const SHOWN_MAX = 40;

/**
 * Parses an address into a view. Parameters that are not understood get their default and are
 * listed; `lost` is an invalid symbol, for which there is no default.
 */
export function parseLink(search) {
  const given = new URLSearchParams(search);
  const view = { ...DEFAULTS };
  const ignored = [];
  const skip = (name, text) => ignored.push(`${name}=${text.slice(0, SHOWN_MAX)}`);
  const take = (name, understand) => {
    const text = given.get(name);
    if (text === null || text === '') return;
    const value = understand(text);
    if (value === undefined) skip(name, text);
    else view[name] = value;
  };
  const named = given.get('symbol')?.trim() ?? '';
  view.symbol = symbolOf(named);
  take('period', (text) => periodNamed(text)?.name);
  take('adjust', (text) => (['none', 'forward'].includes(text) ? text : undefined));
  take('session', (text) => SESSION_WORDS[text]);
  take('scale', (text) => SCALES.find((scale) => scale === text));
  for (const name of STUDY_NAMES) take(name, (text) => settingOf(name, text));
  take('compare', (text) => {
    const { compared, others } = comparedOf(text.split(','), view.symbol);
    // Valid securities are compared; the whole parameter is reported only if none is valid.
    if (compared) others.forEach((other) => skip('compare', other));
    return compared;
  });
  take('draw', (text) => (DRAWN.test(text) ? text : undefined));
  take('range', (text) => RANGE_NAMES.find((range) => range === text));
  take('beside', (text) => besideOf(text)?.map((one) => (one ? cellText(one) : FOCUS)).join('!'));
  take('before', (text) => (BEFORE.test(text) ? text : undefined));
  // A range without a period chooses it. What is stored is not known yet.
  if (view.range && !view.before && !given.get('period')) [view.period] = RANGE_PERIODS[view.range];
  view.world = worldOf(search);
  return { view, ignored, lost: view.symbol ? undefined : named.slice(0, SHOWN_MAX) || undefined };
}

/** The securities to compare with one, as listed in an address, and the invalid ones. */
export function comparedOf(texts, symbol) {
  const [taken, others] = [[], []];
  for (const text of texts) {
    const found = symbolOf(text);
    if (found && found !== symbol && !taken.includes(found) && taken.length < COMPARED_MAX) taken.push(found);
    else if (found !== symbol || !found) others.push(text);
  }
  return { compared: taken.length > 0 ? taken.join(',') : undefined, others };
}

/** The parameters of a view that differ from the defaults. */
const said = (view) => Object.keys(DEFAULTS).filter((name) => view[name] !== undefined && view[name] !== DEFAULTS[name]);

// Some punctuation is legal in a query and keeps times and lists readable; URLSearchParams would
// escape it.
const LEGAL = { '%3A': ':', '%2C': ',', '%3B': ';', '%3D': '=' };
const queryOf = (view, names) => names.map((name) => `${name}=${encodeURIComponent(view[name]).replace(/%(?:3A|2C|3B|3D)/g, (code) => LEGAL[code])}`).join('&');

export function formatLink(view) {
  const query = queryOf(view, said(view));
  return addressOf(query ? `/?${query}` : '/');
}

/** The query of a layout: it opens at the newest candles. */
export const layoutQuery = (view) => queryOf(view, said(view).filter((name) => name === 'beside' || !OF_PAGE.includes(name)));

/**
 * The charts of a page, as listed in an address: `*!CNDL.US;period=5m` is the focused chart and one to
 * its right. Views, and undefined for the focused one; undefined if the list is invalid.
 */
export function besideOf(text) {
  const parts = text.slice(0, BESIDE_MAX + 1).split('!');
  const others = parts.filter((part) => part !== FOCUS);
  if (!BESIDE_COUNTS.includes(others.length) || text.length > BESIDE_MAX || parts.length > others.length + 1) return undefined;
  const all = parts.length > others.length ? parts : [FOCUS, ...parts];
  const views = all.map((part) => (part === FOCUS ? FOCUS : viewOf(part)));
  return views.includes(undefined) ? undefined : views.map((view) => (view === FOCUS ? undefined : view));
}

function viewOf(part) {
  const [symbol, ...settings] = part.split(';');
  const given = new URLSearchParams(settings.join('&'));
  for (const name of OF_PAGE) given.delete(name);
  given.set('symbol', symbol);
  const { view } = parseLink(`?${given}`);
  return view.symbol ? view : undefined;
}

/** A chart in the list of an address. */
export function cellText(view) {
  const names = said(view).filter((name) => name !== 'symbol' && !OF_PAGE.includes(name));
  return [view.symbol, ...names.map((name) => `${name}=${view[name]}`)].join(';');
}

/** A typed symbol in the spelling of the service; undefined if it is invalid. */
export function symbolOf(text) {
  const upper = text.trim().normalize('NFKC').toUpperCase();
  const found = SYMBOL.exec(upper);
  if (!found) return undefined;
  // Hong Kong codes are sometimes written with leading zeros; the service omits them.
  return found[1] === 'HK' ? upper.replace(/^0+(?=\d)/, '') : upper;
}
