// The dialog that explains an order: each of its events with the rule and the charges.

import { ask } from '../api.js';
import { refusal } from '../dashboard/refused.js';
import { openDialog as open } from '../dialog.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { closing } from './dialogs.js';
import { amount, feeWords } from './words.js';

/** Every event of an order. Sentences come from the server. */
export async function showHistory(id) {
  const body = el('div', { class: 'history-body', tabindex: 0 });
  open('order-history', phrase('order_history', id), body, el('div', { class: 'choices' }, el('span', {}), closing('dismiss')));
  const load = async () => {
    try {
      const { data } = await ask(`/v1/trade/order/why?order_id=${encodeURIComponent(id)}`);
      body.replaceChildren(el('p', { class: 'lead' }, phrase('times_in', data.symbol, data.zone)), el('ol', { class: 'steps' }, data.steps.map(step)));
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      body.replaceChildren(refusal(error, load));
    }
  };
  await load();
}

function step({ at, local, words, because, fill, reason }) {
  // Charges have a separate table, in the language of the page.
  const isCharge = (line) => fill?.fees.some(({ code }) => line.startsWith(`${code} `));
  const rules = because.filter((line) => !isCharge(line));
  return el(
    'li',
    {},
    el('p', {}, el('time', { datetime: new Date(Number(at) * 1000).toISOString() }, local), ' ', el('strong', {}, words)),
    rules.length > 0 ? el('ul', {}, rules.map((one) => el('li', {}, one))) : undefined,
    reason ? el('p', { class: 'warn' }, reason.words) : undefined,
    fill ? charges(fill) : undefined,
  );
}

function charges({ quantity, price, amount: value, currency, fees, fee_total: total }) {
  const row = (title, text) => el('div', {}, el('dt', {}, title), el('dd', {}, text));
  return el(
    'dl',
    { class: 'bill' },
    row(phrase('amount'), phrase('fill_amount', amount(quantity), price, amount(value), currency)),
    fees.map(({ code, amount: of }) => row(feeWords(code), amount(of))),
    row(phrase('charges'), amount(total)),
  );
}
