// Dialogs of one order: a change of its terms, and its cancellation.

import { ask } from '../api.js';
import { trimmed } from '../decimal.js';
import { openDialog as open } from '../dialog.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { PRICE_FIELDS, amount, orderWords, typeOf } from './words.js';

export const closing = (label) => el('form', { method: 'dialog' }, el('button', { class: 'push' }, phrase(label)));

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

/**
 * Asks before an order gets another price, which `name` names. `onClosed` is called also if it does
 * not.
 */
export function confirmPrice(order, name, price, { onDone, onClosed }) {
  const id = order.order_id;
  const said = el('p', { class: 'said warn', role: 'status' });
  let box;
  const change = sending(() => box, said, async () => {
    await ask('/v1/trade/order', { method: 'PUT', body: { order_id: id, quantity: order.quantity, [name]: price } });
    await onDone(phrase('changed', id));
  });
  box = open(
    'sure',
    phrase('price_sure'),
    el('p', {}, el('b', {}, order.symbol), ` ${orderWords(order)}`),
    el('p', { class: 'price-change' }, phrase(PRICE_FIELDS[name]), ' ', el('b', {}, phrase('after', amount(trimmed(order[name])), amount(price)))),
    said,
    el('div', { class: 'choices' }, el('button', { type: 'button', class: 'main', autofocus: true, onclick: change }, phrase('save')), closing('keep_it')),
  );
  box.addEventListener('close', onClosed);
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
