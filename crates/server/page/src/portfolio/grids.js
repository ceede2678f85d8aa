// All grids of the account, the active ones first.

import { chartLink, hongKongInstant, table } from '../dashboard/table.js';
import { trimmed } from '../decimal.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { phrase as gridPhrase } from '../phrases/side.js';
import { stepWords } from '../side/grids.js';
import { baseOf, isLive } from '../side/levels.js';
import { fillSheet, sheetOf } from './sheet.js';
import { amount, directionOf, signedAmount } from './words.js';

const STATES = { Performing: 'status_performing', Suspended: 'status_suspended', Canceled: 'status_canceled', Expired: 'status_expired' };

/** Active grids first; each part in the order of the server, newest first. */
export const sortedGrids = (grids) => [...grids.filter(isLive), ...grids.filter((grid) => !isLive(grid))];

export function gridsSheet() {
  const { box, body } = sheetOf('grids', phrase('grids'));
  const bounds = (grid) => gridPhrase('range', ...[grid.lower_limit_price, grid.upper_limit_price].map((price) => (price ? trimmed(price) : '\u2026')));
  const columns = [
    { title: phrase('security'), of: (grid) => el('span', { class: 'paper' }, chartLink(grid.symbol), ' ', el('small', {}, grid.stock_name)) },
    { title: phrase('state'), of: ({ status }) => el('b', {}, STATES[status] ? gridPhrase(STATES[status]) : status) },
    { title: gridPhrase('profit'), kind: 'number', of: profit },
    { title: gridPhrase('base'), kind: 'number', of: (grid) => trimmed(baseOf(grid)) },
    { title: gridPhrase('steps'), of: stepWords },
    { title: gridPhrase('each'), kind: 'number', of: (grid) => amount(grid.trigger_quantity) },
    { title: gridPhrase('bounds'), of: bounds },
    { title: gridPhrase('triggered'), kind: 'number', of: (grid) => amount(String(grid.trigger_times)) },
    { title: phrase('submitted'), of: (grid) => hongKongInstant(grid.created_at) },
  ];
  const show = ({ grids, hasMoreGrids }) =>
    fillSheet(body, [grids, hasMoreGrids], () => {
      const listed = table(phrase('grids'), columns, sortedGrids(grids), phrase('no_grids'));
      if (hasMoreGrids) listed.append(el('p', { class: 'lead' }, phrase('grids_cut', String(grids.length))));
      return [listed];
    });
  return { box, show };
}

const profit = ({ total_profit_balance: text, settlement_currency: currency }) =>
  el('span', { 'data-direction': directionOf(text) }, signedAmount(text), ' ', el('small', {}, currency));
