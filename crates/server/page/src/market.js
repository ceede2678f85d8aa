// Markets by the region of a symbol, and the names of their clocks. The offset is never computed
// here: every candle of a response carries the offset of its instant, so no zone table in the
// browser can disagree with the server's.

import { phrase } from './phrases/markets.js';
import { REGIONS } from './served-markets.js';

/** The clock names of a market, by offset in minutes. */
const CLOCKS = {
  HK: { place: phrase('hong_kong'), names: { 480: 'HKT' } },
  CN: { place: phrase('shanghai'), names: { 480: 'CST' } },
  US: { place: phrase('new_york'), names: { [-300]: 'EST', [-240]: 'EDT' } },
};
const BY_REGION = Object.fromEntries(
  Object.entries(REGIONS).map(([name, region]) => [name, { ...region, ...CLOCKS[region.market] }]),
);

/** The market of a symbol such as `700.HK`; undefined for an unknown region. */
export function marketOf(symbol) {
  return BY_REGION[symbol.slice(symbol.lastIndexOf('.') + 1)];
}

/** `EDT`, or `UTC+08:00` where the offset has no name in that market. */
export function zoneName(market, offsetMinutes) {
  return market?.names[offsetMinutes] ?? `UTC${offsetText(offsetMinutes)}`;
}

/**
 * `New York (EDT)` for times of day; dates carry only the place, since they do not depend on the
 * clock offset.
 */
export function zoneLabel(market, offsetMinutes, family) {
  if (!market) return zoneName(market, offsetMinutes);
  return family === 'clock' ? `${market.place} (${zoneName(market, offsetMinutes)})` : phrase('dates', market.place);
}

/** Minutes east of Greenwich, from the end of an RFC 3339 time. */
export function offsetOf(rfc3339) {
  if (rfc3339.endsWith('Z')) return 0;
  const found = /([+-])(\d\d):(\d\d)$/.exec(rfc3339);
  if (!found) throw new RangeError(`no offset in ${rfc3339}`);
  const size = Number(found[2]) * 60 + Number(found[3]);
  return found[1] === '-' ? -size : size;
}

function offsetText(minutes) {
  const size = Math.abs(minutes);
  const two = (number) => String(number).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
