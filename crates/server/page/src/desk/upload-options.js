// What a person knows better than the file, as the flags of `chandler import`.

import { el } from '../dom.js';
import { phrase } from '../phrases/uploads.js';

const MINUTES = [1, 5, 15, 30, 60];
const REGIONS = ['HK', 'US', 'SH', 'SZ'];

/** `values` are those that say something; `open` shows the form. */
export function optionsForm(id) {
  const fields = {
    symbol: text('AAPL.US'),
    region: choice(REGIONS.map((region) => [region, region])),
    period: choice([['1d', phrase('period_day')], ...MINUTES.map((minutes) => [`${minutes}m`, phrase('period_minutes', minutes)])]),
    time_format: choice([['mdy', phrase('month_first')], ['dmy', phrase('day_first')]]),
    stamp: choice([['start', phrase('stamp_start')], ['end', phrase('stamp_end')]]),
    map: text(''),
    scale: text(''),
  };
  const titles = {
    symbol: phrase('symbol'),
    region: phrase('market_of'),
    period: phrase('period'),
    time_format: phrase('date_order'),
    stamp: phrase('stamp'),
    map: phrase('columns_are'),
    scale: phrase('scale_by'),
  };
  const rows = Object.entries(fields).map(([name, field]) => {
    field.id = `${id}-${name}`;
    return el('p', { class: 'field' }, el('label', { for: field.id }, titles[name]), field);
  });
  const box = el('details', { class: 'options' }, el('summary', {}, phrase('say_it')), el('div', { class: 'fields' }, rows));
  return {
    box,
    open: () => {
      box.open = true;
    },
    values: () => {
      const said = Object.entries(fields).map(([name, field]) => [name, field.value.trim()]);
      return Object.fromEntries(said.filter(([, value]) => value !== ''));
    },
  };
}

const text = (placeholder) => el('input', { type: 'text', placeholder, autocomplete: 'off', spellcheck: 'false' });

const choice = (options) =>
  el('select', {}, el('option', { value: '' }, phrase('by_file')), options.map(([value, label]) => el('option', { value }, label)));
