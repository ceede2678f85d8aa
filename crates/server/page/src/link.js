// The address of a view: `/?symbol=700.HK&period=5m&adjust=forward&session=all&before=2026-11-13T15:00`. What is at its
// default is left out, so that addresses stay short enough to be read aloud.

import { addressOf } from './base.js';
import { DEFAULT_PERIOD, periodNamed } from './periods.js';
import { REGIONS } from './served-markets.js';

const SYMBOL = new RegExp(String.raw`^\.?[A-Z0-9][A-Z0-9.\-]{0,20}\.(${Object.keys(REGIONS).join('|')})$`);
const BEFORE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d)?$/;
const SESSION_WORDS = { intraday: 'intraday', regular: 'intraday', extended: 'all', all: 'all' };

export const DEFAULTS = Object.freeze({
  symbol: undefined,
  period: DEFAULT_PERIOD,
  adjust: 'none',
  session: 'intraday',
  before: undefined,
});

const SHOWN_MAX = 40;

/**
 * The view that an address names. Parameters that are not understood are left at their default and listed; `lost` is a symbol that is
 * not one, for which there is no default.
 */
export function parseLink(search) {
  const given = new URLSearchParams(search);
  const view = { ...DEFAULTS };
  const ignored = [];
  const take = (name, understand) => {
    const text = given.get(name);
    if (text === null || text === '') return;
    const value = understand(text);
    if (value === undefined) ignored.push(`${name}=${text.slice(0, SHOWN_MAX)}`);
    else view[name] = value;
  };
  take('period', (text) => periodNamed(text)?.name);
  take('adjust', (text) => (['none', 'forward'].includes(text) ? text : undefined));
  take('session', (text) => SESSION_WORDS[text]);
  take('before', (text) => (BEFORE.test(text) ? text : undefined));
  const named = given.get('symbol')?.trim() ?? '';
  view.symbol = symbolOf(named);
  return { view, ignored, lost: view.symbol ? undefined : named.slice(0, SHOWN_MAX) || undefined };
}

export function formatLink(view) {
  const said = Object.keys(DEFAULTS).filter((name) => view[name] !== undefined && view[name] !== DEFAULTS[name]);
  // Colons are legal in a query and keep times readable; URLSearchParams would escape them.
  const pairs = said.map((name) => `${name}=${encodeURIComponent(view[name]).replaceAll('%3A', ':')}`);
  return addressOf(pairs.length > 0 ? `/?${pairs.join('&')}` : '/');
}

/** A symbol as the service spells it, from what was typed; nothing if it cannot be one. */
export function symbolOf(text) {
  const upper = text.trim().normalize('NFKC').toUpperCase();
  const found = SYMBOL.exec(upper);
  if (!found) return undefined;
  // Hong Kong codes are written with leading zeros in places; the service spells them without.
  return found[1] === 'HK' ? upper.replace(/^0+(?=\d)/, '') : upper;
}
