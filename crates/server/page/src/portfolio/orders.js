// Open orders, and closed ones, each with its reason.

import { chartLink, hongKongInstant, table } from '../dashboard/table.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { fillSheet, rowButton, sheetOf } from './sheet.js';
import { amount, isOpen, legWords, legsOf, orderWords, statusWords, waitingWords } from './words.js';

/** `on` has the actions on an order: `why`, `change`, `cancel`. */
export function openOrdersSheet(on) {
  const { box, body } = sheetOf('open-orders', phrase('open_orders'));
  const show = ({ openOrders, now }) => {
    const isReadOnly = now.read_only;
    const actions = (order) => [
      whyButton(order, on.why),
      // A main order that is filled stays in the list while an attached order is open.
      ...(isReadOnly || !isOpen(order)
        ? []
        : [
            rowButton(`change ${order.order_id}`, phrase('change'), phrase('change_one', order.order_id), () => on.change(order)),
            rowButton(`cancel ${order.order_id}`, phrase('cancel'), phrase('cancel_one', order.order_id), () => on.cancel(order)),
          ]),
    ];
    const waiting = new Map(now.waiting.map((one) => [one.order_id, one]));
    fillSheet(body, [openOrders, isReadOnly, now.waiting], () => [list(phrase('open_orders'), openOrders, actions, phrase('no_open'), waiting)]);
  };
  return { box, show };
}

/** `onMore` shows more of them. */
export function pastOrdersSheet(on, onMore) {
  const { box, body } = sheetOf('past-orders', phrase('past_orders'));
  const show = ({ pastOrders, ordersShown, hasMoreOrders }) => {
    const rows = pastOrders.slice(0, ordersShown);
    fillSheet(body, [rows, hasMoreOrders], () => {
      const listed = list(phrase('past_orders'), rows, (order) => [whyButton(order, on.why)], phrase('no_past'));
      if (hasMoreOrders) listed.append(el('p', { class: 'row' }, rowButton('more orders', phrase('more'), undefined, onMore)));
      return [listed];
    });
  };
  return { box, show };
}

const whyButton = (order, why) =>
  rowButton(`why ${order.order_id}`, phrase('why'), phrase('why_one', order.order_id), () => why(order.order_id));

/** Attached orders are rows under their main order. */
function list(caption, mainOrders, actions, none, waiting = new Map()) {
  const orders = mainOrders.flatMap((order) => [order, ...legsOf(order)]);
  const columns = [
    { title: phrase('security'), of: security },
    { title: phrase('order'), kind: 'terms', of: (order) => orderWords(order) },
    { title: phrase('filled'), kind: 'number', of: filled },
    { title: phrase('state'), kind: 'terms', of: (order) => state(order, waiting.get(order.order_id)) },
    { title: phrase('submitted'), of: (order) => hongKongInstant(order.submitted_at) },
    { title: phrase('actions'), kind: 'number ways-of', of: (order) => el('span', { class: 'ways' }, actions(order).flatMap((one) => [one, ' '])) },
  ];
  return table(caption, columns, orders, none);
}

function security(order) {
  if (order.attached_type_display) return el('span', { class: 'leg' }, '↳ ', legWords(order));
  return el('span', { class: 'paper' }, chartLink(order.symbol), ' ', el('small', {}, order.stock_name));
}

function filled(order) {
  const share = phrase('filled_of', amount(order.executed_quantity), amount(order.quantity));
  const isAny = /[1-9]/.test(order.executed_quantity);
  return el('span', {}, share, ' ', el('small', {}, isAny ? phrase('at_price', order.executed_price) : ''));
}

/** The reason is next to the state, verbatim from the server. */
function state({ symbol, status, msg, remark, isInactive }, waiting) {
  const isBad = status === 'RejectedStatus';
  return el(
    'span',
    {},
    el('b', { class: isBad ? 'warn' : undefined }, statusWords(status)),
    msg ? ` ${msg}` : '',
    remark ? el('small', {}, ` ${remark}`) : '',
    isInactive ? el('small', {}, ` ${phrase('leg_inactive')}`) : '',
    waiting ? el('small', { class: 'waits' }, ' ', waitingWords(symbol, waiting)) : '',
  );
}
