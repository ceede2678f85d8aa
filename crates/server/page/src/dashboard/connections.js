// The long connections of an account, and of all accounts for operators; each can be closed.

import { ask } from '../api.js';
import { addressOf } from '../base.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/dashboard.js';
import { refusal } from './refused.js';
import { count, instant, table } from './table.js';

export const connections = { title: phrase('connections'), fill };

async function fill(who) {
  const isAll = who.role === 'operator' && new URLSearchParams(location.search).get('account') === 'all';
  const sheet = el('section', { class: 'sheet' });
  const said = el('p', { class: 'said', role: 'status' });
  const show = async () => sheet.replaceChildren(...(await list(isAll, close)));
  /** After the first load, an error replaces the list. */
  const showAgain = () =>
    show().catch((error) => {
      if (error.name !== 'Refused') throw error;
      sheet.replaceChildren(refusal(error, showAgain));
    });
  const close = async (row, button) => {
    button.disabled = true;
    try {
      await ask(`/v1/connections/${encodeURIComponent(row.id)}`, { method: 'DELETE' });
      said.textContent = phrase('closed', row.id, row.account);
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      // A connection that has ended meanwhile is not an error.
      said.textContent = error.status === 404 ? phrase('had_left', row.id) : phrase('not_closed', error.message);
      button.disabled = false;
    }
    await showAgain();
  };
  await show();
  const again = el('button', { type: 'button', class: 'push', onclick: showAgain }, phrase('refresh'));
  const choice = isAll
    ? el('a', { href: addressOf('/connections') }, phrase('only_mine'))
    : el('a', { href: addressOf('/connections?account=all') }, phrase('of_all'));
  return [
    el('p', { class: 'lead' }, phrase('lines')),
    el('p', { class: 'row' }, who.role === 'operator' ? choice : undefined, again),
    said,
    sheet,
  ];
}

async function list(isAll, close) {
  const { data } = await ask(`/v1/connections${isAll ? '?account=all' : ''}`);
  const closing = (row) =>
    el(
      'button',
      { type: 'button', 'aria-label': phrase('close_one', row.id), onclick: (event) => close(row, event.currentTarget) },
      phrase('close'),
    );
  const columns = [
    ...(isAll ? [{ title: phrase('account'), of: (row) => row.account }] : []),
    { title: phrase('transport'), of: (row) => row.door },
    { title: phrase('address'), of: (row) => row.address },
    { title: phrase('since'), of: (row) => instant(row.since) },
    { title: phrase('id'), of: (row) => el('code', {}, row.id) },
    { title: phrase('actions'), kind: 'number ways-of', of: closing },
  ];
  const online = count(data.online);
  return [
    el('h2', {}, data.limit ? phrase('online_of', online, count(data.limit)) : phrase('online', online)),
    table(phrase('open_lines'), columns, data.connections, phrase('no_connections')),
  ];
}
