// Shares, per-share figures and ratios for display: the rows, and the text where a number is
// missing.

import { shortAmount } from '../amounts.js';
import { grouped } from '../decimal.js';

const exact = (text) => grouped(text).replace('-', '\u2212');
const percent = (text) => `${exact(text)}%`;
const short = (value) => shortAmount(String(value));

/** By field of the response. A ratio names the amount that it depends on in `to`. */
const ROWS = [
  { field: 'total_market_value', phrase: 'figure_market_value', words: short, to: 'total_shares' },
  { field: 'pe_ttm_ratio', phrase: 'figure_pe', words: exact, to: 'eps_ttm' },
  { field: 'pb_ratio', phrase: 'figure_pb', words: exact, to: 'bps' },
  { field: 'turnover_rate', phrase: 'figure_turnover_rate', words: percent, to: 'circulating_shares' },
  { field: 'eps', phrase: 'figure_eps', words: exact },
  { field: 'eps_ttm', phrase: 'figure_eps_ttm', words: exact },
  { field: 'bps', phrase: 'figure_bps', words: exact },
  { field: 'dividend_yield', phrase: 'figure_dividend', words: exact },
  { field: 'dividend_ratio_ttm', phrase: 'figure_dividend_ratio', words: percent },
  { field: 'total_shares', phrase: 'figure_total_shares', words: short },
  { field: 'circulating_shares', phrase: 'figure_circulating_shares', words: short },
];

export const FIGURE_PHRASES = ROWS.map(({ phrase }) => phrase);

const STORED = ['total_shares', 'circulating_shares', 'hk_shares', 'eps', 'eps_ttm', 'bps', 'dividend_yield'];

/** Whether any figure of a security is stored. */
export const isAnyKnown = (figures) => STORED.some((field) => figures[field] !== null);

/**
 * The content of each row: `words` and the `exact` number if they differ, or the phrase that
 * explains the missing number.
 */
export function figureRows(figures) {
  const isPriced = figures.last_done !== null;
  return ROWS.map(({ field, words, to }) => {
    const value = figures[field];
    if (value === null) return { missing: isPriced && to && figures[to] !== null ? 'figure_no_ratio' : 'figure_unknown' };
    const [shown, whole] = [words(value), exact(String(value))];
    return { words: shown, exact: shown.startsWith(whole) ? undefined : whole };
  });
}
