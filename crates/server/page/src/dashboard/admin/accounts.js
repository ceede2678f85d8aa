// All accounts, with a search; and a form for a new account.

import { ask } from '../../api.js';
import { addressOf } from '../../base.js';
import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';
import { ACCOUNT_LIMITS } from '../../served-accounts.js';
import { refusal } from '../refused.js';
import { count, instant, table } from '../table.js';
import { showAccount } from './account.js';
import { creation } from './creation.js';
import { isSpent, referenceOf } from './forms.js';
import { forOperators } from './shell.js';

const PAGE = 50;
/** Milliseconds without a key press before the search is sent. */
const TYPING = 200;

export const accounts = forOperators('/admin', 'accounts', (who) => {
  const params = new URLSearchParams(location.search);
  return params.get('account') ? showAccount(params.get('account'), who) : list(params.get('query') ?? '');
});

async function list(query) {
  const search = el('input', {
    type: 'search', id: 'account-search', maxlength: ACCOUNT_LIMITS.name, value: query, autocomplete: 'off', spellcheck: 'false',
    placeholder: phrase('search_hint'),
  });
  const found = el('div', {});
  const counted = el('p', { class: 'lead', role: 'status' });
  let [rows, turn] = [[], 0];

  const draw = ({ total, next }) => {
    counted.textContent = phrase('found', count(rows.length), count(total));
    const more = el('button', { type: 'button', onclick: () => quietly(next) }, phrase('more'));
    found.replaceChildren(table(phrase('accounts'), COLUMNS, rows, phrase('no_results')), next ? el('p', { class: 'row' }, more) : '');
  };
  const load = async (after) => {
    turn += 1;
    const mine = turn;
    const text = search.value.trim();
    const params = new URLSearchParams({ limit: PAGE, ...(text && { query: text }), ...(after && { after }) });
    const { data } = await ask(`/v1/admin/accounts?${params}`);
    // A later request was sent meanwhile.
    if (mine !== turn) return;
    rows = after ? [...rows, ...data.accounts] : data.accounts;
    draw(data);
    history.replaceState(null, '', addressOf(text ? `/admin?query=${encodeURIComponent(text)}` : '/admin'));
  };
  const quietly = (after) =>
    load(after).catch((error) => {
      if (error.name !== 'Refused') throw error;
      found.replaceChildren(refusal(error, () => quietly(after)));
    });

  let waiting;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(quietly, TYPING);
  });
  const now = (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    quietly();
  };
  await load();
  return [
    creation(() => quietly()),
    el(
      'section',
      { class: 'sheet' },
      el(
        'form',
        { class: 'row', role: 'search', onsubmit: now },
        el('label', { for: 'account-search' }, phrase('search')),
        search,
        el('span', { class: 'push' }, counted),
      ),
      found,
    ),
  ];
}

const rightsText = (rights) => rights.filter(({ granted }) => granted).map(({ package: name }) => name.replace('_', ' ')).join(', ');

const COLUMNS = [
  {
    title: phrase('account'),
    of: (row) => el('a', { class: 'name', href: addressOf(`/admin?account=${encodeURIComponent(referenceOf(row))}`) }, row.account),
  },
  { title: '#', kind: 'number', of: (row) => String(row.account_id) },
  { title: phrase('role'), of: (row) => phrase(row.role === 'operator' ? 'operator' : 'user') },
  { title: phrase('level'), kind: 'number', of: (row) => String(row.level) },
  {
    title: phrase('used'),
    kind: 'number',
    of: (row) => el('span', isSpent(row) ? { class: 'warn', title: phrase('spent') } : {}, `${count(row.used)} / ${count(row.limit)}`),
  },
  { title: phrase('rights'), of: (row) => rightsText(row.rights) || phrase('none') },
  {
    title: phrase('state'),
    of: (row) => (row.revoked_at ? el('span', { class: 'warn' }, phrase('revoked'), ' ', instant(row.revoked_at)) : phrase('active')),
  },
];
