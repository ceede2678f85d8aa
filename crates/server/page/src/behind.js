// The background of some candles of a view: hours outside the regular session, day breaks, marks,
// the start of the history.

import { dateOf } from './candles.js';
import { phrase } from './phrases/chart.js';
import { dayBreaks, extendedRuns, pauses } from './shading.js';

/**
 * `start` is the number of candles of the view before these; the indexes of `placed` count from the
 * first of the view.
 */
export function behind(candles, start, { placed, isClock, sessions = [], reachesBeginning }) {
  const near = [...placed].map(([index, actions]) => [index - start, actions]).filter(([at]) => at >= 0 && at < candles.length);
  return {
    runs: isClock ? extendedRuns(candles) : [],
    breaks: isClock ? dayBreaks(candles) : [],
    pauses: isClock ? pauses(candles, sessions) : [],
    placed: new Map(near),
    begins: reachesBeginning && start === 0 ? { line: phrase('begins_here'), date: dateOf(candles[0]) } : undefined,
  };
}
