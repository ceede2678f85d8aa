// Reset and copy of the paper account, for operators. Each asks first, and says what goes.

import { ask } from '../api.js';
import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { isLive } from '../side/levels.js';

const closing = () => el('form', { method: 'dialog' }, el('button', { class: 'push' }, phrase('keep_all')));
const pathOf = (who, action) => `/v1/admin/paper/${encodeURIComponent(who.account)}/${action}`;

/** The buttons, or nothing for an account that may not. `onDone` gets a text about the change. */
export function renewalButtons(who, state, onDone) {
  if (who?.role !== 'operator') return undefined;
  const button = (label, open) => el('button', { type: 'button', onclick: open }, phrase(label));
  return el('span', { class: 'renewal' }, button('reset_open', () => confirmReset(who, state, onDone)), ' ', button('fork_open', () => confirmFork(who, onDone)));
}

/** Sends one request at a time; a refusal is shown in the dialog. */
function sending(said, send) {
  let isSending = false;
  return async (event) => {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    try {
      await send();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('not_done', error.message);
    } finally {
      isSending = false;
    }
  };
}

const saidIn = () => el('p', { class: 'said warn', role: 'status' });

/** What a reset removes, one line for each kind. */
export const removed = ({ openOrders, pastOrders, now, grids, hasEarlier, hasMoreGrids }) => [
  phrase(hasEarlier ? 'reset_orders_from' : 'reset_orders', String(openOrders.length), String(pastOrders.length)),
  phrase('reset_positions', now.positions.map(({ symbol, quantity }) => `${quantity} ${symbol}`).join(', ') || '0'),
  phrase('reset_grids', `${grids.filter(isLive).length}${hasMoreGrids ? '+' : ''}`),
  phrase('reset_entries', String(now.entries)),
];

function confirmReset(who, state, onDone) {
  const said = saidIn();
  let box;
  const reset = sending(said, async () => {
    await ask(pathOf(who, 'reset'), { method: 'POST', body: {} });
    box.close();
    await onDone(phrase('reset_done'));
  });
  box = openDialog(
    'sure',
    phrase('reset_sure', who.account),
    el('p', {}, phrase('reset_goes')),
    el('ul', {}, removed(state).map((line) => el('li', {}, line))),
    el('p', {}, phrase('reset_stays')),
    said,
    el('div', { class: 'choices' }, el('button', { type: 'button', class: 'main', onclick: reset }, phrase('reset_it')), closing()),
  );
}

function confirmFork(who, onDone) {
  const said = saidIn();
  const target = el('input', { id: 'fork-to', type: 'text', autocomplete: 'off', spellcheck: 'false', required: true });
  let box;
  const fork = sending(said, async () => {
    const account = target.value.trim();
    await ask(pathOf(who, 'fork'), { method: 'POST', body: { account } });
    box.close();
    await onDone(phrase('fork_done', account));
  });
  box = openDialog(
    'sure',
    phrase('fork_sure', who.account),
    el('p', {}, phrase('fork_text')),
    el(
      'form',
      { class: 'fields', onsubmit: fork },
      el('p', {}, el('label', { for: 'fork-to' }, phrase('fork_to')), target),
      said,
      el('button', { class: 'main' }, phrase('fork_it')),
    ),
    el('div', { class: 'choices' }, el('span', {}), closing()),
  );
  target.focus();
}
