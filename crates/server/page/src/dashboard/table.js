// Tables of the dashboard pages: each column defines its cells.

import { addressOf } from '../base.js';
import { inWorld } from '../world.js';
import { grouped } from '../decimal.js';
import { el } from '../dom.js';

/**
 * `columns` of `{ title, of, kind }`, kind `number` or `wide`; `none` is the text of an empty
 * table.
 */
export function table(caption, columns, rows, none) {
  if (rows.length === 0) return el('p', { class: 'lead' }, none);
  const head = columns.map(({ title, kind }) => el('th', { scope: 'col', class: kind }, title));
  const cells = (row) => columns.map(({ of, kind }) => el('td', { class: kind }, of(row) ?? ''));
  return el(
    'div',
    { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption },
    el(
      'table',
      {},
      el('caption', { class: 'unseen' }, caption),
      el('thead', {}, el('tr', {}, head)),
      el(
        'tbody',
        {},
        rows.map((row) => el('tr', {}, cells(row))),
      ),
    ),
  );
}

/** `2026-11-15 21:25:24 UTC`, as precise as the response. */
export function instant(rfc3339) {
  if (!rfc3339) return '';
  const [, date, clock, zone] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(rfc3339) ?? [];
  if (!date) return rfc3339;
  return el(
    'time',
    { datetime: rfc3339 },
    `${date} ${clock} `,
    el('small', {}, zone === 'Z' ? 'UTC' : zone === '+08:00' ? 'HKT' : zone),
  );
}

const HONG_KONG_MS = 8 * 3_600_000;

/**
 * `2026-12-01` for midnight in Hong Kong, whose dates apply to accounts; any other instant includes
 * the time.
 */
export function hongKongDate(rfc3339) {
  const text = new Date(Date.parse(rfc3339) + HONG_KONG_MS).toISOString();
  const [date, clock] = [text.slice(0, 10), text.slice(11, 19)];
  return clock === '00:00:00' ? date : `${date} ${clock} HKT`;
}

/** `2026-03-18 10:02:00 HKT` for Unix seconds as text. */
export function hongKongInstant(seconds) {
  const unix = Number(seconds) * 1000;
  const text = new Date(unix + HONG_KONG_MS).toISOString();
  return el('time', { datetime: new Date(unix).toISOString() }, `${text.slice(0, 10)} ${text.slice(11, 19)} `, el('small', {}, 'HKT'));
}

export const chartLink = (symbol) => el('a', { href: addressOf(inWorld(`/?symbol=${encodeURIComponent(symbol)}`)) }, symbol);

export const count = (number) => grouped(number);
