// The view that an address opens. A separate file, because early.js requests the first candles
// before the page is loaded.

import { formatLink, parseLink } from './link.js';
import { remember, remembered } from './memory.js';
import { STUDY_NAMES } from './study/settings.js';

const REMEMBERED = ['scale', ...STUDY_NAMES];

/** Indicators and scale are remembered for the next visit. */
export const rememberStudies = (view) => remember('studies', formatLink(Object.fromEntries(REMEMBERED.map((name) => [name, view[name]]))).split('?')[1]);

/**
 * The view of an address, as parsed by `parseLink`. Without a security it opens the last one
 * viewed, with the last chosen indicators where the address has none. `chosen` is the security that
 * the user chose: an automatic choice must not be charged.
 */
export function visitOf(search) {
  const parsed = parseLink(search);
  const chosen = parsed.view.symbol;
  // An invalid symbol does not fall back to the last security.
  if (chosen || parsed.lost) return { ...parsed, chosen };
  const settings = new URLSearchParams(remembered('studies') ?? '');
  for (const [name, value] of new URLSearchParams(search)) settings.set(name, value);
  return { ...parsed, view: { ...parseLink(`?${settings}`).view, symbol: remembered('symbol') } };
}
