// The mirrors of the store: state, quota, and what a security would cost before it is fetched.

import { addressOf } from '../base.js';
import { el } from '../dom.js';
import { costText, fetchFrom, fetchedText, mirrorsWith } from '../mirrors.js';
import { phrase } from '../phrases/dashboard.js';
import { count, instant, table } from './table.js';

/** The section; undefined if the store has no mirror. */
export async function mirrorsSheet() {
  const mirrors = await mirrorsWith();
  if (mirrors.length === 0) return undefined;
  const columns = [
    { title: phrase('mirror'), of: (row) => el('span', { title: row.server }, row.name) },
    { title: phrase('securities_count'), kind: 'number', of: (row) => count(row.securities) },
    { title: phrase('quota'), kind: 'number', of: quotaText },
    { title: phrase('last_run'), of: lastRun },
    { title: phrase('read_through'), of: (row) => phrase(row.read_through ? 'yes' : 'no') },
    { title: phrase('following'), kind: 'wide', of: followingText },
  ];
  return el('section', { class: 'sheet', id: 'mirrors' }, el('h2', {}, phrase('mirrors')), table(phrase('mirrors'), columns, mirrors, ''), costForm());
}

const quotaText = (row) => phrase('used_of', count(row.quota_used), row.quota_limit === null ? '?' : count(row.quota_limit));

function lastRun(row) {
  if (!row.began_at) return phrase('never');
  if (!row.ended_at) return el('span', {}, phrase('running_since'), ' ', instant(row.began_at));
  if (row.outcome === 'done') return instant(row.ended_at);
  return el('span', { class: 'warn', title: row.outcome ?? '' }, instant(row.ended_at));
}

function followingText({ following, securities }) {
  if (!following?.running) return phrase('no');
  const text = following.connected
    ? phrase('followed', count(following.subscribed), count(securities))
    : el('span', { class: 'warn', title: following.error ?? '' }, phrase('not_connected'));
  return el('span', {}, text, ' ', following.last_push_at ? instant(following.last_push_at) : undefined);
}

/** Shows what a security would cost, and a button that fetches it. */
function costForm() {
  const symbol = el('input', { id: 'fetch-symbol', name: 'symbol', autocomplete: 'off', spellcheck: 'false', placeholder: '700.HK', required: true });
  const found = el('div', { class: 'row' });
  const said = el('p', { class: 'said', role: 'status' });
  const attempt = async (work) => {
    try {
      await work();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = error.message;
    }
  };
  const fetching = (button, mirror, name) =>
    attempt(async () => {
      button.disabled = true;
      const state = await fetchFrom({ mirror, symbol: name }).finally(() => {
        button.disabled = false;
      });
      said.replaceChildren(fetchedText(state, name), ' ');
      if (state === 'stored') said.append(el('a', { href: addressOf(`/?symbol=${encodeURIComponent(name)}`) }, name));
    });
  const offer = (mirror) => {
    const name = mirror.cost.symbol;
    const button = el('button', { type: 'button', class: 'main', onclick: () => fetching(button, mirror.name, name) }, phrase('fetch', name));
    return [el('p', {}, `${mirror.name}: ${costText(mirror)}`), mirror.can_fetch ? button : el('pre', {}, el('code', {}, `chandler mirror plan ${mirror.name} ${name}`))];
  };
  const show = (event) => {
    event.preventDefault();
    said.textContent = '';
    return attempt(async () => found.replaceChildren(...(await mirrorsWith(symbol.value.trim())).flatMap(offer)));
  };
  return el(
    'form',
    { class: 'row', onsubmit: show },
    el('label', { for: 'fetch-symbol' }, phrase('security')),
    symbol,
    el('button', {}, phrase('show_cost')),
    found,
    said,
  );
}
