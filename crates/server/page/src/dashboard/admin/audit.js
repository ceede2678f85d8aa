// The audit log, latest first, filtered by account, kind and time. The filters are in the address,
// so that a link includes them.

import { ask } from '../../api.js';
import { addressOf } from '../../base.js';
import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';
import { ACCOUNT_LIMITS } from '../../served-accounts.js';
import { instant, table } from '../table.js';
import { auditQuery } from './forms.js';
import { forOperators } from './shell.js';

const PAGE = 100;
/** The suggested kinds; any other can be typed (docs/operating.md lists them all). */
const EVENTS = [
  'account.created', 'account.changed', 'account.revoked', 'right.granted', 'right.withdrawn', 'password.link.issued',
  'password.link.withdrawn', 'password.set', 'password.removed', 'level.changed', 'levels.changed', 'quota.spent', 'login.accepted',
  'login.refused', 'logout', 'link.issued', 'import.begun', 'import.undone', 'token.renewed', 'connection.closed', 'audit.pruned', 'store.restored',
];

export const audit = forOperators('/admin/audit', 'audit', async () => {
  const given = new URLSearchParams(location.search);
  return [el('section', { class: 'sheet' }, filters(given), ...(await rows(given)))];
});

/** The browser itself submits this form, as the query of this page. */
function filters(given) {
  const input = (name, more) => el('input', { id: `audit-${name}`, name, value: given.get(name) ?? '', autocomplete: 'off', spellcheck: 'false', ...more });
  const labelled = (name, label, more) => [el('label', { for: `audit-${name}` }, label), input(name, more)];
  return el(
    'form',
    { class: 'row filters', action: addressOf('/admin/audit'), method: 'get', role: 'search' },
    labelled('account', phrase('account'), { type: 'search', maxlength: ACCOUNT_LIMITS.name }),
    labelled('event', phrase('event'), { type: 'search', maxlength: 64, list: 'events' }),
    el('datalist', { id: 'events' }, EVENTS.map((event) => el('option', { value: event }))),
    labelled('since', phrase('since'), { type: 'date' }),
    el('button', { class: 'main' }, phrase('filter')),
    el('a', { href: addressOf('/admin/audit') }, phrase('all_rows')),
  );
}

async function rows(given) {
  let data;
  try {
    ({ data } = await ask(`/v1/admin/audit?${auditQuery(location.search, PAGE)}`));
  } catch (error) {
    // An invalid filter; any other error replaces the page.
    if (error.name !== 'Refused' || ![400, 404].includes(error.status)) throw error;
    const words = error.status === 404 ? phrase('no_account', given.get('account')) : phrase('not_done', error.message);
    return [el('p', { class: 'warn said', role: 'status' }, words)];
  }
  const way = (change, label) => {
    const query = new URLSearchParams(given);
    query.delete('before');
    for (const [name, value] of Object.entries(change)) query.set(name, value);
    return el('a', { class: 'button', href: addressOf(`/admin/audit?${query}`) }, phrase(label));
  };
  const last = data.rows.at(-1);
  return [
    table(phrase('audit'), COLUMNS, data.rows, phrase('no_results')),
    el(
      'p',
      { class: 'row pages' },
      given.get('before') ? way({}, 'newest') : undefined,
      data.rows.length === PAGE ? way({ before: last.id }, 'earlier') : undefined,
    ),
  ];
}

const accountLink = (name) => el('a', { class: 'name', href: addressOf(`/admin?account=${encodeURIComponent(name)}`) }, name);

const COLUMNS = [
  { title: phrase('time'), of: (row) => instant(row.at) },
  { title: phrase('actor'), of: (row) => (row.actor_account ? accountLink(row.actor_account) : row.actor) },
  { title: phrase('account'), of: (row) => (row.account ? accountLink(row.account) : '') },
  { title: phrase('event'), of: (row) => el('code', {}, row.event) },
  { title: phrase('why'), kind: 'wide', of: (row) => row.reason },
];
