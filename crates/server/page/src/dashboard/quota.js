// Quota used by the account this month, its level and the reason, and the next level.

import { lifting } from '../advice.js';
import { ask, me } from '../api.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/dashboard.js';
import { levelReason } from './reason.js';
import { refusal } from './refused.js';
import { chartLink, count, hongKongDate, instant, table } from './table.js';

const PREVIEW_MAX = 3000;

export const quota = { title: phrase('quota'), fill };

async function fill() {
  const [{ data }, who] = await Promise.all([ask('/v1/quota'), me()]);
  // The preview is last because its answer has space below it: nothing moves while it is read.
  return [summary(data, who), securities(data), rights(data), preview()];
}

function summary(data, who) {
  const { level, next_change: next } = data;
  const figure = (title, what, small) => el('div', {}, el('dt', {}, title), el('dd', {}, what, el('small', {}, small)));
  const reason = level.override ? phrase('by_hand') : levelReason(level.because);
  const coming = next
    ? [phrase('next_level', next.level, count(next.limit)), phrase('next_from', next.day, levelReason(next.because))]
    : [phrase('no_change'), phrase('no_change_text', data.next_trading_day)];
  return el(
    'section',
    { class: 'sheet' },
    el(
      'dl',
      { class: 'figures' },
      figure(
        phrase('used', data.month),
        phrase('used_of', count(data.used), count(data.limit)),
        phrase('left', count(data.remaining)),
      ),
      figure(phrase('level'), String(level.number), level.own_quota ? phrase('own_quota', reason) : reason),
      figure(phrase('next'), ...coming),
      figure(phrase('resets'), data.resets, phrase('resets_text')),
    ),
    meter(data),
    // Further securities are refused from here on.
    data.remaining === 0 && who.role === 'operator' ? el('div', { class: 'lift' }, lifting(who)) : undefined,
    // The pages themselves always get responses in the newest form.
    who.api_date ? el('p', { class: 'lead' }, phrase('api_date', who.api_date)) : undefined,
  );
}

function meter({ used, limit }) {
  const share = Math.min(used / Math.max(limit, 1), 1);
  const filled = el('span', {});
  filled.style.width = `${share * 100}%`;
  return el(
    'div',
    {
      class: 'meter',
      role: 'meter',
      'aria-label': phrase('meter'),
      'aria-valuemin': 0,
      'aria-valuemax': limit,
      'aria-valuenow': used,
      'data-full': String(share >= 0.9),
    },
    filled,
  );
}

function securities(data) {
  const title = phrase('securities');
  const columns = [
    { title: phrase('security'), of: (row) => chartLink(row.symbol) },
    { title: phrase('first_request'), of: (row) => instant(row.first_used_at) },
  ];
  const omitted = data.securities_omitted;
  return el(
    'section',
    { class: 'sheet tall' },
    el('h2', {}, title),
    table(title, columns, data.securities, phrase('no_securities')),
    omitted > 0 ? el('p', { class: 'lead' }, phrase('and_more', count(omitted))) : undefined,
  );
}

function rights(data) {
  const describe = ({ package: name, held, granted, from, until }) => {
    const plain = name.replace('_', ' ');
    const state = held ? plain : phrase(granted ? 'right_not_now' : 'right_not_granted', plain);
    const span = [from && phrase('from', hongKongDate(from)), until && phrase('until', hongKongDate(until))];
    return el('li', { 'data-held': String(held) }, [state, ...span].filter(Boolean).join(' '));
  };
  return el('section', { class: 'sheet' }, el('h2', {}, phrase('rights')), el('ul', { class: 'chips' }, data.rights.map(describe)));
}

function preview() {
  const text = el('textarea', { id: 'symbols', spellcheck: 'false', placeholder: '700.HK AAPL.US 600519.SH …' });
  const said = el('div', { class: 'said', role: 'status' });
  const look = async (event) => {
    event.preventDefault();
    const symbols = text.value
      .toUpperCase()
      .split(/[\s,;]+/)
      .filter(Boolean);
    if (symbols.length === 0) return said.replaceChildren(phrase('type_first'));
    if (symbols.length > PREVIEW_MAX)
      return said.replaceChildren(phrase('too_many', count(PREVIEW_MAX), count(symbols.length)));
    try {
      said.replaceChildren(cost((await ask('/v1/quota/preview', { method: 'POST', body: { symbols } })).data));
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.replaceChildren(refusal(error, () => look(event)));
    }
  };
  return el(
    'section',
    { class: 'sheet' },
    el('h2', {}, phrase('cost')),
    el(
      'form',
      { onsubmit: look },
      el('label', { class: 'unseen', for: 'symbols' }, phrase('symbols')),
      text,
      el(
        'p',
        { class: 'row' },
        el('button', { class: 'main' }, phrase('preview')),
        el('span', { class: 'lead' }, phrase('spends_nothing')),
      ),
    ),
    said,
  );
}

function cost(data) {
  const kinds = [
    ['would_charge', data.new],
    ['paid', data.already],
    ['unknown', data.unknown],
    ['no_access', data.no_access],
    ['invalid', data.invalid],
  ];
  const rows = kinds.filter(([, symbols]) => symbols.length > 0);
  const price = count(data.cost);
  const fits = data.fits
    ? el('p', {}, phrase('fits', price, count(data.remaining_after), count(data.limit), data.resets))
    : el('p', { class: 'warn' }, phrase('too_much', price, count(data.remaining), data.resets));
  const columns = [
    { title: phrase('right_kind'), of: ([kind]) => phrase(kind) },
    { title: phrase('how_many'), kind: 'number', of: ([, symbols]) => count(symbols.length) },
    { title: phrase('which'), kind: 'wide', of: ([, symbols]) => symbols.join(' ') },
  ];
  return el('div', {}, fits, table(phrase('preview'), columns, rows, ''));
}
