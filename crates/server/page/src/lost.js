// Advice of the chart page where there is no chart: no candles at that date, no such security, an
// empty store.

import { formatLink } from './link.js';
import { DEFAULT_PERIOD, bestStored, isStored, periodNamed } from './periods.js';
import { phrase } from './phrases/chart.js';
import { periodOfRange } from './ranges.js';
import { nameFor } from './rank.js';

const OFFERED_MAX = 5;

/**
 * The period to open instead of days, or of that of a range, where a security has none, such as
 * after an import of minutes only. The user has not chosen those; another period without candles
 * stays chosen.
 */
export function periodInstead({ period, range, before }, facts) {
  if (before || isStored(period, facts?.periods)) return undefined;
  if (range) return periodOfRange(range, facts) ?? bestStored(facts.periods);
  return period === DEFAULT_PERIOD ? bestStored(facts.periods) : undefined;
}

/**
 * A view without candles; `first` is the point of the next candle, if there is one, and `periods`
 * those with candles.
 */
export function nothingAdvice(view, first, periods = []) {
  const { symbol, before } = view;
  const way = (point, label) => ({ href: formatLink({ ...view, before: point }), label });
  if (before)
    return {
      title: phrase('none_before', symbol, before),
      text: phrase('none_before_text'),
      links: [...(first ? [way(first, phrase('show_first', first))] : []), way(undefined, phrase('show_newest'))],
    };
  const other = bestStored(periods);
  if (other && other !== view.period)
    return {
      title: phrase('none', symbol),
      text: phrase('none_period_text'),
      links: [{ href: formatLink({ ...view, period: other, range: undefined }), label: other === 'day' ? phrase('show_days') : phrase('show_period', periodNamed(other).label) }],
    };
  return {
    title: phrase('none', symbol),
    text: phrase('none_text'),
    links: [],
    command: `chandler import candles.csv --symbol ${symbol}`,
    takesFiles: true,
  };
}

/**
 * No security to show: the address names an invalid one (`lost`), or there is none that the user
 * may see.
 */
export function lostAdvice(view, lost, { securities, store_is_empty: isEmpty }) {
  const links = securities.slice(0, OFFERED_MAX).map((security) => ({
    href: formatLink({ ...view, symbol: security.symbol }),
    label: `${security.symbol} ${nameFor(security)}`.trim(),
  }));
  if (lost) return { title: phrase('lost', lost), text: phrase('lost_text'), links };
  if (!isEmpty) return { title: phrase('closed'), text: phrase('closed_text'), links };
  return { title: phrase('empty'), text: phrase('empty_text'), links, command: 'chandler import FILES…', takesFiles: true };
}
