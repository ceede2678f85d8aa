// The form for a new account, and its credentials, which are shown only once.

import { ask } from '../../api.js';
import { BASE, addressOf } from '../../base.js';
import { openDialog } from '../../dialog.js';
import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';
import { ACCOUNT_LIMITS, MARKETS, PACKAGES } from '../../served-accounts.js';
import { refusal } from '../refused.js';
import { UNLIMITED, accountPath, exportsOf, newAccount, referenceOf } from './forms.js';
import { closing, passwordLink } from './link.js';
import { choice, field, tick } from './shell.js';

/** `onCreated` is called once the account exists. */
export function creation(onCreated) {
  const name = el('input', { type: 'text', required: true, maxlength: ACCOUNT_LIMITS.name, autocomplete: 'off', spellcheck: 'false' });
  const role = choice([['user', phrase('user')], ['operator', phrase('operator')]], 'user');
  const region = choice([['ap', 'ap'], ['us', 'us']], 'ap');
  const level = choice(levels(), '');
  const quota = el('input', { type: 'number', min: 0, max: ACCOUNT_LIMITS.quota, step: 1, inputmode: 'numeric' });
  const unlimited = el('input', { type: 'checkbox' });
  const packages = PACKAGES.map((one) => [one, el('input', { type: 'checkbox', checked: MARKETS.includes(one) })]);
  const said = el('div', { class: 'said', role: 'status' });
  const button = el('button', { class: 'main' }, phrase('create'));
  unlimited.addEventListener('change', () => {
    quota.disabled = unlimited.checked;
  });

  const send = async (event) => {
    event.preventDefault();
    button.disabled = true;
    const body = newAccount({
      name: name.value,
      role: role.value,
      region: region.value,
      packages: packages.filter(([, box]) => box.checked).map(([one]) => one),
      level: level.value,
      ...(unlimited.checked ? UNLIMITED : { quota: quota.value }),
    });
    try {
      const { data } = await ask('/v1/admin/accounts', { method: 'POST', body });
      said.replaceChildren();
      name.value = '';
      showCreated(data);
      onCreated();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.replaceChildren(
        [400, 409].includes(error.status) ? el('p', { class: 'warn' }, phrase('not_done', error.message)) : refusal(error, () => send(event)),
      );
    } finally {
      button.disabled = false;
    }
  };
  return el(
    'details',
    { class: 'sheet creation' },
    el('summary', {}, phrase('new_account')),
    el(
      'form',
      { class: 'fields', onsubmit: send },
      field(phrase('name'), name, phrase('name_hint', ACCOUNT_LIMITS.name)),
      field(phrase('role'), role, phrase('role_hint')),
      field(phrase('region'), region),
      field(phrase('level'), level),
      field(phrase('quota'), quota, phrase('quota_hint')),
      tick(phrase('unlimited'), unlimited),
      el('fieldset', { class: 'ticks' }, el('legend', {}, phrase('rights')), packages.map(([one, box]) => tick(one.replace('_', ' '), box))),
      el('p', { class: 'row' }, button),
    ),
    said,
  );
}

export const levels = () => [['', phrase('level_earned')], ...[1, 2, 3, 4, 5, 6].map((level) => [String(level), String(level)])];

/** A modal dialog: the credentials must be read first, and closing it discards them. */
function showCreated(data) {
  const { account } = data;
  const reference = referenceOf(account);
  const place = el('div', { class: 'said', role: 'status' });
  const give = async (event) => {
    event.currentTarget.disabled = true;
    try {
      place.replaceChildren(passwordLink((await ask(accountPath(reference, '/password-link'), { method: 'POST' })).data));
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      place.replaceChildren(refusal(error, () => {}));
    }
  };
  openDialog(
    'created',
    phrase('created', account.account),
    el('p', {}, phrase('store_secret')),
    el('pre', { tabindex: 0, 'aria-label': phrase('credentials') }, el('code', {}, exportsOf(location.origin + BASE, data))),
    place,
    el(
      'div',
      { class: 'choices' },
      el('button', { type: 'button', onclick: give }, phrase('give_link')),
      el('a', { class: 'button', href: addressOf(`/admin?account=${encodeURIComponent(reference)}`) }, phrase('open_account')),
      closing(),
    ),
  );
}
