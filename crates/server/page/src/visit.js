// What an address opens. In a file of its own, because early.js asks for the first candles before the page is loaded.

import { formatLink, parseLink } from './link.js';
import { remember, remembered } from './memory.js';
import { STUDY_NAMES } from './study/settings.js';

const KEPT = ['scale', ...STUDY_NAMES];

/** Indicators and scale are those of the next visit too. */
export const rememberStudies = (view) => remember('studies', formatLink(Object.fromEntries(KEPT.map((name) => [name, view[name]]))).split('?')[1]);

/**
 * The view of an address, as `parseLink` reads it. One without a security opens the last that was looked at, with the indicators that were
 * chosen last where it says nothing else. `asked` is the security that the reader has asked for: what the page chooses by itself must
 * cost nothing.
 */
export function visitOf(search) {
  const parsed = parseLink(search);
  const asked = parsed.view.symbol;
  // An address that is not understood does not mean the last security.
  if (asked || parsed.lost) return { ...parsed, asked };
  const settings = new URLSearchParams(remembered('studies') ?? '');
  for (const [name, value] of new URLSearchParams(search)) settings.set(name, value);
  return { ...parsed, view: { ...parseLink(`?${settings}`).view, symbol: remembered('symbol') } };
}
