// Import options that override the detection, as the flags of `chandler import`.

import { el } from '../dom.js';
import { phrase } from '../phrases/uploads.js';

const MINUTES = [1, 5, 15, 30, 60];
const REGIONS = ['HK', 'US', 'SH', 'SZ'];

/**
 * Fields of a request and their labels; `plain` of upload-words.js maps the flags to the same
 * labels.
 */
const fieldsOf = (id) => ({
  symbol: [phrase('symbol'), text('AAPL.US')],
  region: [phrase('market_of'), choice(REGIONS.map((region) => [region, region]))],
  period: [phrase('period'), choice([['1d', phrase('period_day')], ...MINUTES.map((minutes) => [`${minutes}m`, phrase('period_minutes', minutes)])])],
  time_format: [phrase('date_order'), text('mdy', `${id}-formats`)],
  decimal: [phrase('decimal'), choice([['point', phrase('decimal_point')], ['comma', phrase('decimal_by_comma')]])],
  stamp: [phrase('stamp'), choice([['start', phrase('stamp_start')], ['end', phrase('stamp_end')]])],
  columns: [phrase('columns_named'), text('date,open,high,low,close,volume')],
  map: [phrase('columns_are'), text('')],
  scale: [phrase('scale_by'), text('')],
  estimate_turnover: [phrase('estimate_turnover'), tick()],
  build_candles: [phrase('build_candles'), tick()],
  strict: [phrase('strict'), tick()],
});

/** `values` are the non-empty ones; `open` shows the form. */
export function optionsForm(id) {
  const fields = Object.entries(fieldsOf(id));
  const rows = fields.map(([name, [title, field]]) => {
    field.id = `${id}-${name}`;
    return el('p', { class: 'field' }, el('label', { for: field.id }, title), field);
  });
  const formats = [['mdy', phrase('month_first')], ['dmy', phrase('day_first')]].map(([value, label]) => el('option', { value }, label));
  const list = el('datalist', { id: `${id}-formats` }, formats);
  const box = el('details', { class: 'options' }, el('summary', {}, phrase('say_it')), el('div', { class: 'fields' }, rows, list));
  return {
    box,
    open: () => {
      box.open = true;
    },
    /** Fills in a symbol that the file's name suggests, unless one was entered. */
    suggest: (symbol) => {
      const [, field] = fields.find(([name]) => name === 'symbol')[1];
      if (symbol && !field.value) field.value = symbol;
    },
    values: () => {
      const said = fields.map(([name, [, field]]) => [name, field.type === 'checkbox' ? field.checked : field.value.trim()]);
      return Object.fromEntries(said.filter(([, value]) => value));
    },
  };
}

const text = (placeholder, list) => el('input', { type: 'text', placeholder, list, autocomplete: 'off', spellcheck: 'false' });

const tick = () => el('input', { type: 'checkbox' });

const choice = (options) =>
  el('select', {}, el('option', { value: '' }, phrase('by_file')), options.map(([value, label]) => el('option', { value }, label)));
