// Dialogs of one order: its history, a change of its terms, and its cancellation.

import { ask } from '../api.js';
import { refusal } from '../dashboard/refused.js';
import { openDialog as open } from '../dialog.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { orderWords } from './orders.js';
import { PRICE_FIELDS, amount, feeWords, typeOf } from './words.js';

const closing = (label) => el('form', { method: 'dialog' }, el('button', { class: 'push' }, phrase(label)));

/** Every event of an order. Sentences come from the server. */
export async function showHistory(id) {
  const body = el('div', { class: 'history-body', tabindex: 0 });
  open('order-history', phrase('order_history', id), body, el('div', { class: 'choices' }, el('span', {}), closing('dismiss')));
  const load = async () => {
    try {
      const { data } = await ask(`/v1/trade/order/why?order_id=${encodeURIComponent(id)}`);
      body.replaceChildren(el('p', { class: 'lead' }, data.symbol), el('ol', { class: 'steps' }, data.steps.map(step)));
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

/** Sends a change: a refusal is shown in the dialog, a success closes it. */
function sending(box, said, send) {
  let isSending = false;
  return async (event) => {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    try {
      await send();
      box().close();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('not_done', error.message);
    } finally {
      isSending = false;
    }
  };
}

/** `onDone` gets a text that describes the change. */
export function confirmCancel(order, onDone) {
  const id = order.order_id;
  const said = el('p', { class: 'said warn', role: 'status' });
  let box;
  const cancel = sending(() => box, said, async () => {
    await ask(`/v1/trade/order?order_id=${encodeURIComponent(id)}`, { method: 'DELETE' });
    onDone(phrase('canceled', id));
  });
  box = open(
    'sure',
    phrase('cancel_sure'),
    el('p', {}, el('b', {}, order.symbol), ` ${orderWords(order)}`),
    said,
    el('div', { class: 'choices' }, el('button', { type: 'button', class: 'main', autofocus: true, onclick: cancel }, phrase('cancel_it')), closing('keep_it')),
  );
}

export function changeOrder(order, onDone) {
  const id = order.order_id;
  const said = el('p', { class: 'said warn', role: 'status' });
  const names = ['quantity', ...(typeOf(order.order_type)?.fields ?? [])];
  const boxes = Object.fromEntries(
    names.map((name) => [name, el('input', { id: `change-${name}`, inputmode: 'decimal', autocomplete: 'off', value: order[name], required: true })]),
  );
  const label = (name) => phrase(name === 'quantity' ? 'quantity' : PRICE_FIELDS[name]);
  let box;
  const change = sending(() => box, said, async () => {
    const terms = Object.fromEntries(names.map((name) => [name, boxes[name].value.trim()]));
    await ask('/v1/trade/order', { method: 'PUT', body: { order_id: id, ...terms } });
    onDone(phrase('changed', id));
  });
  box = open(
    'change',
    phrase('change_one', id),
    el('p', {}, el('b', {}, order.symbol), ` ${orderWords(order)}`),
    el(
      'form',
      { class: 'fields', onsubmit: change },
      names.map((name) => el('p', {}, el('label', { for: `change-${name}` }, label(name)), boxes[name])),
      said,
      el('button', { class: 'main' }, phrase('save')),
    ),
    el('div', { class: 'choices' }, el('span', {}), closing('dismiss')),
  );
  boxes.quantity.select();
}
