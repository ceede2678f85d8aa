// One account: its terms, its rights, its sign-in methods, and its revocation. Every change can be
// undone from its status line, except a revocation, which is confirmed first.

import { ask } from '../../api.js';
import { addressOf } from '../../base.js';
import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';
import { refusal } from '../refused.js';
import { count, hongKongDate, instant, table } from '../table.js';
import { UNLIMITED, accountPath, fieldsOf, isSpent, termsChange, undoOf } from './forms.js';
import { showLink } from './link.js';
import { askToRevoke } from './revoke.js';
import { termsForm } from './terms.js';

/** Refusals after which the page no longer matches the server. */
const OUTDATED = [404, 409];

export async function showAccount(reference, who) {
  const said = el('div', { class: 'said outcome', role: 'status', tabindex: -1 });
  const box = el('div', { class: 'sheets' });
  const path = (rest) => accountPath(reference, rest);
  const load = async () => (await ask(path())).data;

  const report = (words, undo) => {
    const button = undo && el('button', { type: 'button', onclick: undo }, phrase('undo'));
    said.replaceChildren(...[words, ' ', button].filter(Boolean));
    // An open dialog retains the focus, and the keys.
    if (!document.querySelector('dialog[open]')) said.focus({ preventScroll: true });
  };
  const again = async () => {
    try {
      const account = await load();
      draw(account);
      return account;
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      box.replaceChildren(refusal(error, again));
      return undefined;
    }
  };
  /**
   * Runs a change and reports its result. `undo` gets the updated account and sends the reverse
   * request.
   */
  const act = async (work, words, undo) => {
    try {
      await work();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      const isOurs = [400, ...OUTDATED].includes(error.status);
      report(isOurs ? el('span', { class: 'warn' }, phrase('not_done', error.message)) : refusal(error, () => act(work, words, undo)));
      if (OUTDATED.includes(error.status)) await again();
      return;
    }
    const account = await again();
    report(words, account && undo && (() => act(() => undo(account), phrase('undone'))));
  };
  const actions = {
    save: (account, fields) => {
      const change = termsChange(fieldsOf(account.terms), fields);
      if (Object.keys(change).length === 0) return report(phrase('nothing_changed'));
      const send = (body, was) => ask(path(), { method: 'POST', body: { ...body, was } });
      return act(
        () => send(change, account.terms.text),
        phrase('saved'),
        (now) => send(undoOf(account.terms, change), now.terms.text),
      );
    },
    lift: (account) => actions.save(account, { ...fieldsOf(account.terms), ...UNLIMITED }),
    /** `former` is the previous state of this right. */
    grant: (right, former) =>
      act(() => grant(right), phrase('granted', plain(right)), () => (former.granted ? grant(former) : withdraw(right))),
    withdraw: (right) => act(() => withdraw(right), phrase('withdrawn', plain(right)), () => grant(right)),
    giveLink: () =>
      act(async () => {
        showLink((await ask(path('/password-link'), { method: 'POST' })).data);
      }, phrase('link_made')),
    withdrawLink: () => act(() => ask(path('/password-link'), { method: 'DELETE' }), phrase('link_withdrawn')),
    revoke: (account) =>
      askToRevoke(account, who.account === account.account, (reason) =>
        act(() => ask(path('/revoke'), { method: 'POST', body: { reason } }), phrase('revoked_now', account.account)),
      ),
  };
  const grant = ({ package: name, from, until }) => ask(path('/rights'), { method: 'POST', body: { package: name, from, until } });
  const withdraw = ({ package: name }) => ask(path(`/rights?package=${encodeURIComponent(name)}`), { method: 'DELETE' });
  const draw = (account) => box.replaceChildren(...sheets(account, actions));

  draw(await load());
  return [el('p', { class: 'row' }, el('a', { href: addressOf('/admin') }, phrase('all_accounts'))), said, box];
}

const plain = ({ package: name }) => name.replace('_', ' ');

function sheets(account, actions) {
  const isOpen = !account.revoked_at;
  return [
    summary(account, actions),
    ...(isOpen ? [termsForm(account, actions.save), rights(account, actions), signingIn(account, actions), ending(account, actions)] : []),
  ];
}

function summary(account, actions) {
  const { quota } = account;
  const figure = (title, what, small) => el('div', {}, el('dt', {}, title), el('dd', {}, what, el('small', {}, small ?? '')));
  const state = account.revoked_at ? el('span', { class: 'warn' }, phrase('revoked')) : phrase('active');
  return el(
    'section',
    { class: 'sheet' },
    el('h2', { class: 'name' }, account.account),
    el(
      'dl',
      { class: 'figures' },
      figure(phrase('state'), state, instant(account.revoked_at ?? account.created_at)),
      figure(phrase('role'), phrase(account.role === 'operator' ? 'operator' : 'user'), `#${account.account_id}, ${account.region}`),
      figure(phrase('level'), String(account.level), account.terms.level === null ? phrase('level_earned') : phrase('level_set')),
      figure(phrase('used'), `${count(account.used)} / ${count(account.limit)}`, quota?.month ?? ''),
    ),
    isSpent(account)
      ? el(
          'p',
          { class: 'row' },
          el('span', { class: 'warn' }, phrase('spent')),
          el('button', { type: 'button', onclick: () => actions.lift(account) }, phrase('lift_now')),
        )
      : undefined,
    el(
      'p',
      { class: 'row' },
      el('a', { href: addressOf(`/admin/audit?account=${encodeURIComponent(account.account)}`) }, phrase('audit_of')),
    ),
  );
}

function rights(account, actions) {
  const state = ({ granted, held }) => phrase(held ? 'right_held' : granted ? 'right_later' : 'right_none');
  const times = ({ from, until }) =>
    [from && phrase('from', hongKongDate(from)), until && phrase('until', hongKongDate(until))].filter(Boolean).join(' ');
  const button = (row) =>
    row.granted
      ? el('button', { type: 'button', 'aria-label': phrase('withdraw_one', plain(row)), onclick: () => actions.withdraw(row) }, phrase('withdraw'))
      : el('button', { type: 'button', 'aria-label': phrase('grant_one', plain(row)), onclick: () => actions.grant({ package: row.package }, row) }, phrase('grant'));
  const columns = [
    { title: phrase('package'), of: plain },
    { title: phrase('state'), of: state },
    // Before the times, so that it is visible on a phone.
    { title: phrase('actions'), kind: 'ways-of', of: button },
    { title: phrase('times'), of: times },
  ];
  return el(
    'section',
    { class: 'sheet' },
    el('h2', {}, phrase('rights')),
    table(phrase('rights'), columns, account.rights, ''),
    el('details', {}, el('summary', {}, phrase('with_times')), timesForm(account, actions)),
  );
}

function timesForm(account, actions) {
  const which = el('select', { id: 'times-package' }, account.rights.map((row) => el('option', { value: row.package }, plain(row))));
  const [from, until] = ['times-from', 'times-until'].map((id) => el('input', { type: 'date', id }));
  const send = (event) => {
    event.preventDefault();
    const former = account.rights.find((row) => row.package === which.value);
    actions.grant({ package: which.value, from: from.value || undefined, until: until.value || undefined }, former);
  };
  const labelled = (label, input) => [el('label', { for: input.id }, label), input];
  return el(
    'form',
    { class: 'row', onsubmit: send },
    labelled(phrase('package'), which),
    labelled(phrase('times_from'), from),
    labelled(phrase('times_until'), until),
    el('button', {}, phrase('grant')),
  );
}

function signingIn({ sign_in: how }, actions) {
  const words = [phrase(how.password ? 'has_password' : 'no_password')];
  if (how.link_until) words.push(' ', phrase('link_out'), ' ', instant(how.link_until));
  return el(
    'section',
    { class: 'sheet' },
    el('h2', {}, phrase('signing_in')),
    el('p', {}, ...words),
    el('p', { class: 'lead' }, phrase('link_about')),
    el(
      'p',
      { class: 'row' },
      el('button', { type: 'button', onclick: actions.giveLink }, phrase('give_link')),
      how.link_until ? el('button', { type: 'button', onclick: actions.withdrawLink }, phrase('withdraw_link')) : undefined,
    ),
  );
}

const ending = (account, actions) =>
  el(
    'section',
    { class: 'sheet' },
    el('h2', {}, phrase('ending')),
    el('p', { class: 'lead' }, phrase('ending_about')),
    el('p', { class: 'row' }, el('button', { type: 'button', class: 'danger', 'data-key': 'revoke', onclick: () => actions.revoke(account) }, phrase('revoke'))),
  );
