// Ranks securities for a few typed letters, best first. The server finds and orders them
// (docs/http.md); the page uses the same order, so that cached results appear immediately and in
// their final place.

import { language } from './phrase.js';

export const RESULTS_MAX = 12;
/** A longer number is not a Hong Kong code, and its zeros are significant. */
const HK_DIGITS_MAX = 5;

const plain = (text) => text.normalize('NFKC').toLowerCase().trim();

/**
 * The typed text, normalised for comparison: `short` is without the leading zeros that Hong Kong
 * codes omit here.
 */
function wantedOf(query) {
  const text = plain(query);
  const short = text.replace(/^0+(?=[1-9])/, '');
  const digits = /^\d*/.exec(text)[0].length;
  return { text, short: short !== text && digits <= HK_DIGITS_MAX ? short : undefined };
}

/**
 * Lower is better; undefined if there is no match. Matches of the text as typed come before those
 * of `short`.
 */
function score(security, { text, short }) {
  const symbol = plain(security.symbol);
  const code = symbol.replace(/\.[a-z]+$/, '');
  const meant = symbol.endsWith('.hk') ? short : undefined;
  const is = (wanted) => wanted !== undefined && (symbol === wanted || code === wanted);
  const begins = (wanted) => wanted !== undefined && symbol.startsWith(wanted);
  const names = [security.name_en, security.name_cn, security.name_hk].filter(Boolean).map(plain);
  const steps = [
    () => is(text),
    () => is(meant),
    () => begins(text),
    () => begins(meant),
    () => names.includes(text),
    () => names.some((name) => name.startsWith(text)),
    () => names.some((name) => name.split(/[\s\-.,&]+/).some((word) => word.startsWith(text))),
    () => names.some((name) => name.includes(text)),
    () => symbol.includes(text),
  ];
  const found = steps.findIndex((holds) => holds());
  return found < 0 ? undefined : found;
}

export function rank(securities, query) {
  const wanted = wantedOf(query);
  if (wanted.text === '') return securities.slice(0, RESULTS_MAX);
  return securities
    .map((security) => ({ security, score: score(security, wanted) }))
    .filter((one) => one.score !== undefined)
    .sort(
      (a, b) =>
        a.score - b.score ||
        a.security.symbol.length - b.security.symbol.length ||
        (a.security.symbol < b.security.symbol ? -1 : 1),
    )
    .slice(0, RESULTS_MAX)
    .map((one) => one.security);
}

const NAMES = {
  en: ['name_en', 'name_cn', 'name_hk'],
  'zh-CN': ['name_cn', 'name_hk', 'name_en'],
  'zh-HK': ['name_hk', 'name_cn', 'name_en'],
};

/** The name to show, in the language of the page. */
export function nameFor(security, shown = language) {
  const key = NAMES[shown].find((one) => security[one]);
  return key ? security[key] : '';
}
