// The preview of an order before it is sent: the verdict with its reason, each charge, cash and
// buying power before and after.

import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { amount, feeWords } from './words.js';

const VERDICTS = { accepted: 'verdict_accepted', rejected: 'verdict_rejected', refused: 'verdict_refused' };

/** The verdict as text, with the server's reason if it is negative, or the total cost. */
export function verdictWords({ verdict, reason, cost }) {
  const said = phrase(VERDICTS[verdict] ?? 'verdict_refused');
  if (reason) return `${said}: ${reason.words}`;
  return cost ? `${said} · ${phrase('with_charges')}: ${cost.currency} ${amount(cost.total)}` : said;
}

export function bill({ cost, cash_max_qty: cashMax, margin_max_qty: marginMax }) {
  const row = (title, text, kind) => el('div', { class: kind }, el('dt', {}, title), el('dd', {}, text));
  const rows = [];
  if (cost) {
    const { currency, price, amount: value, fees, fee_total: total, available_cash: cash, buy_power: power } = cost;
    const money = (text) => `${currency} ${amount(text)}`;
    const change = ({ before, after }) => phrase('after', amount(before), amount(after));
    rows.push(row(phrase('reckoned_at', amount(price)), money(value)));
    rows.push(...fees.map((fee) => row(feeWords(fee.code), amount(fee.amount), 'part')));
    rows.push(row(phrase('charges'), money(total)), row(phrase('with_charges'), money(cost.total), 'sum'));
    rows.push(row(phrase('available_in', currency), change(cash)));
    if (power) rows.push(row(phrase('buy_power_hkd'), change(power)));
  }
  if (cashMax !== null && marginMax !== null)
    rows.push(row(phrase('at_most'), phrase('at_most_of', amount(cashMax), amount(marginMax))));
  return el('dl', { class: 'bill' }, rows);
}
