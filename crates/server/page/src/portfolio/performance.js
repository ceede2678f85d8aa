// Profit of the account and of each security, and its closed trades. All amounts come from the
// server.

import { chartLink, hongKongInstant, table } from '../dashboard/table.js';
import { percentOf, signed } from '../decimal.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { fillSheet, sheetOf } from './sheet.js';
import { amount, directionOf, signedAmount } from './words.js';

const PARTS = { day: 'profit_day', unrealised: 'profit_unrealised', realised: 'profit_realised', total: 'profit_total' };
const SIDES = { long: 'long', short: 'short' };

const coloured = (text) => el('span', { 'data-direction': directionOf(text) }, signedAmount(text));

/** A ratio as a percentage with its sign, or nothing. */
export const percentWords = (ratio) => (ratio === null || ratio === undefined ? '' : `${signed(percentOf(ratio, '1'))} %`);

export function profitSheet() {
  const { box, body } = sheetOf('profit', phrase('profit_and_loss'));
  const show = ({ performance }) =>
    fillSheet(body, performance && [performance.totals, performance.missing, performance.currencies, performance.securities], () =>
      performance ? [figures(performance), securities(performance)] : [],
    );
  return { box, show };
}

function figures({ totals, missing, approximate, securities: held }) {
  if (!totals) return el('div', { class: 'missing' }, el('p', { class: 'warn' }, phrase('no_totals', missing)));
  const notes = { day: phrase('since_close'), realised: phrase('with_all_charges'), total: approximate ? phrase('approximate') : undefined };
  const figure = ([name, title]) =>
    el('div', {}, el('dt', {}, `${phrase(title)} (${totals.currency})`), el('dd', {}, coloured(totals[name]), el('small', {}, (held.length > 0 && notes[name]) || '\u00a0')));
  return el('dl', { class: 'figures' }, Object.entries(PARTS).map(figure));
}

function securities({ securities: rows }) {
  const columns = [
    { title: phrase('security'), of: ({ symbol }) => chartLink(symbol) },
    { title: phrase('quantity'), kind: 'number', of: (row) => amount(row.quantity) },
    { title: phrase('average_cost'), kind: 'number', of: (row) => (row.average_cost === null ? '' : amount(row.average_cost)) },
    ...Object.entries(PARTS).map(([name, title]) => ({ title: phrase(title), kind: 'number', of: (row) => coloured(row[name]) })),
    { title: phrase('currency'), of: (row) => row.currency },
  ];
  return table(phrase('profit_and_loss'), columns, rows, phrase('nothing_traded'));
}

export function tradesSheet() {
  const { box, body } = sheetOf('trades', phrase('closed_trades'));
  const show = ({ performance }) =>
    fillSheet(body, performance && [performance.trades_closed, performance.trades], () =>
      performance ? [...summary(performance), trades(performance)] : [],
    );
  return { box, show };
}

function summary({ trades_closed: closed, trades_won: won, win_rate: rate }) {
  if (closed === 0) return [];
  return [el('p', { class: 'lead' }, phrase('win_rate', `${percentOf(rate, '1')} %`, amount(String(won)), amount(String(closed))))];
}

function trades({ trades: rows }) {
  const priced = (name) => (row) => amount(row[name]);
  const columns = [
    { title: phrase('security'), of: (row) => el('span', {}, chartLink(row.symbol), ' ', el('small', {}, phrase(SIDES[row.side]))) },
    { title: phrase('quantity'), kind: 'number', of: priced('quantity') },
    { title: phrase('result'), kind: 'number', of: result },
    { title: phrase('entry'), kind: 'number', of: priced('entry_price') },
    { title: phrase('exit'), kind: 'number', of: priced('exit_price') },
    { title: phrase('held'), of: (row) => heldWords(row.held_s) },
    { title: phrase('charges'), kind: 'number', of: priced('charges') },
    { title: phrase('income'), kind: 'number', of: priced('income') },
    { title: phrase('opened'), of: (row) => hongKongInstant(row.opened_at) },
    { title: phrase('closed'), of: (row) => hongKongInstant(row.closed_at) },
  ];
  return table(phrase('closed_trades'), columns, rows, phrase('no_trades'));
}

const result = ({ profit, gain, currency }) =>
  el('span', { 'data-direction': directionOf(profit) }, signedAmount(profit), ' ', el('small', {}, `${currency} ${percentWords(gain)}`));

/** A duration with its two largest units. */
export function heldWords(seconds) {
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit));
  if (days > 0) return phrase('held_days', days, hours % 24);
  if (hours > 0) return phrase('held_hours', hours, minutes % 60);
  return minutes > 0 ? phrase('held_minutes', minutes) : phrase('held_seconds', seconds);
}
