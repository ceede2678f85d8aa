// The form with the terms of an account. Unchanged fields are not sent.

import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';
import { ACCOUNT_LIMITS } from '../../served-accounts.js';
import { levels } from './creation.js';
import { UNLIMITED, fieldsOf } from './forms.js';
import { choice, field, tick } from './shell.js';

/** `onSave` gets the account that the form was made for, and the current fields. */
export function termsForm(account, onSave) {
  const fields = fieldsOf(account.terms);
  const text = (value, more) => el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', value, ...more });
  const inputs = {
    level: choice(levels(), fields.level),
    quota: el('input', { type: 'number', min: 0, max: ACCOUNT_LIMITS.quota, step: 1, inputmode: 'numeric', value: fields.quota }),
    rate: text(fields.rate, { maxlength: 40 }),
    connections: el('input', {
      type: 'number', min: 1, max: ACCOUNT_LIMITS.connections, step: 1, inputmode: 'numeric', required: true, value: fields.connections,
    }),
    subscriptions: el('input', {
      type: 'number', min: 0, max: ACCOUNT_LIMITS.subscriptions, step: 1, inputmode: 'numeric', required: true, value: fields.subscriptions,
    }),
    floors: text(fields.floors, { maxlength: 400 }),
    read_only: el('input', { type: 'checkbox', checked: fields.read_only }),
    api_date: el('input', { type: 'date', value: fields.api_date }),
  };
  const read = () =>
    Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.type === 'checkbox' ? input.checked : input.value]));
  const save = (event) => {
    event.preventDefault();
    onSave(account, read());
  };
  const lift = () => {
    for (const [name, value] of Object.entries(UNLIMITED)) inputs[name].value = value;
  };
  return el(
    'section',
    { class: 'sheet' },
    el('h2', {}, phrase('terms')),
    el(
      'form',
      { class: 'fields', onsubmit: save },
      field(phrase('level'), inputs.level),
      field(phrase('quota'), inputs.quota, phrase('quota_hint')),
      field(phrase('rate'), inputs.rate, phrase('rate_hint')),
      field(phrase('connections'), inputs.connections),
      field(phrase('subscriptions'), inputs.subscriptions),
      field(phrase('floors'), inputs.floors, phrase('floors_hint')),
      field(phrase('as_of'), inputs.api_date, phrase('as_of_hint')),
      tick(phrase('read_only'), inputs.read_only),
      el(
        'p',
        { class: 'row' },
        el('button', { class: 'main' }, phrase('save')),
        el('button', { type: 'button', onclick: lift }, phrase('lift')),
        el('span', { class: 'lead' }, phrase('lift_hint')),
      ),
    ),
  );
}
