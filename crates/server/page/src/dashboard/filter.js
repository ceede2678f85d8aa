// The filter of a list of securities: a search, a market, an order, and on some pages a direction and
// a watchlist. The address of the page contains it.

import { addressOf } from '../base.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/dashboard.js';
import { REGIONS } from '../served-markets.js';

const MARKETS = [...new Set(Object.values(REGIONS).map(({ market }) => market))];
/** Orders of a list by gaps, and their names. */
const ORDERS = { '': 'by_symbol', worst: 'worst_first' };
const PAUSE_MS = 150;
// The maximum that the server accepts.
const QUERY_MAX = 64;

/** The filter of an address; unknown values are left out. */
export function filterOf(search, orders = ORDERS) {
  const params = new URLSearchParams(search);
  const market = (params.get('market') ?? '').toUpperCase();
  const order = params.get('order') ?? '';
  return {
    query: (params.get('query') ?? '').trim().slice(0, QUERY_MAX),
    market: MARKETS.includes(market) ? market : '',
    order: Object.hasOwn(orders, order) ? order : '',
  };
}

/** The filter and more as a query string, without empty values. */
export function queryOf(filter, more = {}) {
  return new URLSearchParams(Object.entries({ ...filter, ...more }).filter(([, value]) => value)).toString();
}

/** The address of a page with a filter. */
export const pageWith = (path, filter, more) => {
  const query = queryOf(filter, more);
  return addressOf(query ? `${path}?${query}` : path);
};

/**
 * The form; `onChange` gets a filter after a pause in typing or after a choice. `form.show` shows
 * another order.
 */
export function filterForm(filter, onChange, orders = ORDERS) {
  const query = el('input', {
    type: 'search',
    name: 'query',
    value: filter.query,
    maxlength: QUERY_MAX,
    placeholder: phrase('find'),
    'aria-label': phrase('find'),
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const choice = (name, label, options) =>
    el(
      'select',
      { name, 'aria-label': phrase(label) },
      options.map(([value, words]) => el('option', { value, selected: value === filter[name] }, words)),
    );
  const market = choice('market', 'market', [['', phrase('all_markets')], ...MARKETS.map((name) => [name, name])]);
  const order = choice('order', 'order', Object.entries(orders).map(([value, key]) => [value, phrase(key)]));
  let timer;
  let before = queryOf(filter);
  const change = () => {
    clearTimeout(timer);
    const now = { query: query.value.trim(), market: market.value, order: order.value };
    if (queryOf(now) === before) return;
    before = queryOf(now);
    onChange(now);
  };
  query.addEventListener('input', (event) => {
    clearTimeout(timer);
    // Text that an input method is still composing is not a search yet.
    if (!event.isComposing) timer = setTimeout(change, PAUSE_MS);
  });
  query.addEventListener('compositionend', change);
  for (const select of [market, order]) select.addEventListener('change', change);
  const form = el('form', { class: 'row filter', role: 'search' }, query, market, order);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    change();
  });
  form.show = (chosen) => {
    order.value = chosen;
    before = queryOf({ query: query.value.trim(), market: market.value, order: chosen });
  };
  return form;
}
