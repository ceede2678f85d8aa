// The net worth of the account, and its assets in each currency.

import { table } from '../dashboard/table.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { fillSheet, sheetOf } from './sheet.js';
import { amount } from './words.js';

const RISKS = ['risk_0', 'risk_1', 'risk_2', 'risk_3'];

/** `ways` are buttons next to the title, if any. */
export function assetsSheet(ways) {
  const { box, body } = sheetOf('assets', phrase('assets'), ...(ways ? [ways] : []));
  const show = ({ now }) => fillSheet(body, [now.totals, now.missing, now.approximate, now.currencies], () => [figures(now), balances(now)]);
  return { box, show };
}

function figures({ totals, missing, approximate }) {
  const figure = (title, what, small) => el('div', {}, el('dt', {}, title), el('dd', {}, what, el('small', {}, small)));
  if (!totals) return el('div', { class: 'missing' }, el('p', { class: 'warn' }, phrase('no_totals', missing)));
  const titled = (key) => `${phrase(key)} (${totals.currency})`;
  return el(
    'dl',
    { class: 'figures' },
    figure(titled('net_assets'), amount(totals.net_assets), phrase('risk', phrase(RISKS[totals.risk_level] ?? 'risk_3'))),
    figure(titled('cash'), amount(totals.total_cash), approximate ? phrase('approximate') : '\u00a0'),
    figure(titled('market_value'), amount(totals.market_value), '\u00a0'),
    figure(titled('buy_power'), amount(totals.buy_power), phrase('margins', amount(totals.init_margin), amount(totals.maintenance_margin))),
  );
}

function balances({ currencies }) {
  const number = (key, field) => ({ title: phrase(key), kind: 'number', of: (row) => amount(row[field]) });
  const columns = [
    { title: phrase('currency'), of: (row) => el('b', {}, row.currency) },
    number('cash', 'cash'),
    number('available', 'available_cash'),
    number('frozen', 'frozen_cash'),
    number('settling', 'settling_cash'),
    number('market_value', 'market_value'),
    number('total', 'total'),
  ];
  return table(phrase('per_currency'), columns, currencies, '');
}
