// Positions with their cost and their value at the current price.

import { chartLink, table } from '../dashboard/table.js';
import { percentOf, signed } from '../decimal.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { fillSheet, rowButton, sheetOf } from './sheet.js';
import { amount, directionOf, signedAmount } from './words.js';

/** `onTrade` gets a symbol and a side. */
export function positionsSheet(onTrade) {
  const { box, body } = sheetOf('positions', phrase('positions'));
  const show = ({ now }) => {
    const { positions, read_only: isReadOnly } = now;
    fillSheet(body, [positions, isReadOnly], () => [list(positions, isReadOnly ? undefined : onTrade)]);
  };
  return { box, show };
}

function list(positions, onTrade) {
  const columns = [
    { title: phrase('security'), of: (row) => el('span', { class: 'paper' }, chartLink(row.symbol), ' ', el('small', {}, row.name)) },
    { title: phrase('quantity'), kind: 'number', of: (row) => withSmall(amount(row.quantity), phrase('can_sell', amount(row.available_quantity))) },
    { title: phrase('cost'), kind: 'number', of: (row) => amount(row.cost_price) },
    { title: phrase('price'), kind: 'number', of: (row) => (row.price === null ? el('small', {}, phrase('no_price')) : amount(row.price)) },
    { title: phrase('market_value'), kind: 'number', of: (row) => withSmall(amount(row.market_value), row.currency) },
    { title: phrase('profit'), kind: 'number', of: profit },
    ...(onTrade ? [{ title: phrase('actions'), kind: 'number ways-of', of: (row) => ways(row, onTrade) }] : []),
  ];
  return table(phrase('positions'), columns, positions, phrase('no_positions'));
}

function profit({ unrealised, cost }) {
  if (unrealised === null) return '';
  const percent = percentOf(unrealised, cost);
  return el(
    'span',
    { 'data-direction': directionOf(unrealised) },
    signedAmount(unrealised),
    ' ',
    el('small', {}, percent === undefined ? '' : `${signed(percent)} %`),
  );
}

const withSmall = (text, small) => el('span', {}, text, ' ', el('small', {}, small));

function ways({ symbol }, onTrade) {
  const way = (side, label, name) => rowButton(`${side} ${symbol}`, phrase(label), phrase(name, symbol), () => onTrade(symbol, side));
  return el('span', { class: 'ways' }, way('Buy', 'buy', 'buy_one'), ' ', way('Sell', 'sell', 'sell_one'));
}
