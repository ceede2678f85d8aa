// The form of a grid: the main fields of its rule. Invalid values are reported next to the field
// before anything is sent.

import { grouped } from '../decimal.js';
import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { marketOf } from '../market.js';
import { phrase } from '../phrases/side.js';
import { BY_PERCENT, BY_SPREAD, UNTIL_DATE, changedRule, fieldsOf, ruleOf, startOf } from './levels.js';

const NUMBERS = {
  base: 'form_base', lower: 'form_lower', upper: 'form_upper', up: 'form_up', down: 'form_down',
  quantity: 'form_quantity', least: 'form_least', most: 'form_most',
};
const PAUSE_MS = 250;

const choices = {
  kind: ['form_kind', [[BY_PERCENT, 'kind_percent'], [BY_SPREAD, 'kind_spread']]],
  orderType: ['form_type', [['GMO', 'type_GMO'], ['GLO', 'type_GLO'], ['GTG', 'type_GTG']]],
  atBound: ['form_bound', [[1, 'bound_wait'], [2, 'bound_close']]],
  force: ['form_force', [[0, 'force_day'], [1, 'force_gtc']]],
  rth: ['form_hours', [[1, 'hours_regular'], [2, 'hours_more']]],
};

/**
 * `grid` is the one to change; undefined creates a new one. `onDone` gets the number of a new grid.
 */
export function gridForm({ ask, symbol, info, grid, onDone }) {
  const start = grid ? fieldsOf(grid) : startOf(info);
  const offered = { ...choices };
  // Other markets have no extended hours.
  if (marketOf(symbol)?.market !== 'US') delete offered.rth;
  // The form has no date field; a grid with an expiry date retains it.
  if (start.force === UNTIL_DATE) offered.force = ['form_force', [...choices.force[1], [UNTIL_DATE, 'force_gtd']]];
  const id = (name) => `grid-${name}`;
  const numbers = Object.fromEntries(
    Object.keys(NUMBERS).map((name) => [name, el('input', { id: id(name), type: 'text', inputmode: 'decimal', autocomplete: 'off', value: start[name] })]),
  );
  const selects = Object.fromEntries(
    Object.entries(offered).map(([name, [, options]]) => {
      const box = el('select', { id: id(name) }, options.map(([value, label]) => el('option', { value }, phrase(label))));
      box.value = String(start[name] || options[0][0]);
      return [name, box];
    }),
  );
  if (start.force === 0) selects.force.value = '0';
  const multiple = el('input', { type: 'checkbox', checked: start.isMultiple });
  // An operator may require this consent; it is given once, for all grids.
  const agree = grid || info.channel_infos?.strategy_granted ? undefined : el('input', { type: 'checkbox' });
  const said = el('p', { class: 'said warn', role: 'status' });
  const field = (name, label, box) => el('p', { class: 'field' }, el('label', { for: id(name) }, phrase(label)), box);
  const number = (name) => field(name, NUMBERS[name], numbers[name]);
  const select = (name) => (selects[name] ? field(name, offered[name][0], selects[name]) : undefined);

  const read = () => ({
    ...Object.fromEntries(Object.entries(numbers).map(([name, box]) => [name, box.value.trim()])),
    kind: Number(selects.kind.value),
    orderType: selects.orderType.value,
    atBound: Number(selects.atBound.value),
    force: Number(selects.force.value),
    rth: Number(selects.rth?.value ?? 0),
    isMultiple: multiple.checked,
  });
  const bodyOf = (rule) => ({ symbol, settlement_currency: info.channel_infos?.settlement_currency?.[0], grid_trading_rule: rule });
  const verdict = el('p', { class: 'verdict', role: 'status' });
  const preview = grid ? () => {} : previewing(ask, verdict, () => {
    const { rule } = ruleOf(read());
    return rule && bodyOf(rule);
  });
  let isSending = false;
  const send = async (event) => {
    event.preventDefault();
    const { rule, wrong, because } = ruleOf(read());
    for (const [name, box] of Object.entries(numbers)) box.setAttribute('aria-invalid', String(name === wrong));
    said.textContent = wrong ? phrase(because) : '';
    if (wrong) return numbers[wrong].select();
    if (isSending) return undefined;
    isSending = true;
    try {
      if (agree?.checked) await ask('/v1/record/questionnaire', { method: 'POST', body: { type: 'strategy', items: { agree: 'true' } } });
      const body = grid ? { order_id: grid.order_id, grid_trading_rule: changedRule(grid, rule) } : bodyOf(rule);
      const { data } = await ask(`/v1/gridtrading/${grid ? 'replace' : 'submit'}`, { method: 'POST', body });
      dialog.close();
      await onDone(data?.order_id);
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('not_done', error.message);
    } finally {
      isSending = false;
    }
    return undefined;
  };
  const dialog = openDialog(
    'grid-form',
    phrase(grid ? 'form_change' : 'form_title', symbol),
    el(
      'form',
      { class: 'fields', onsubmit: send, oninput: preview, novalidate: true },
      ['base', 'lower', 'upper'].map(number),
      select('kind'),
      ['up', 'down', 'quantity', 'least', 'most'].map(number),
      ['orderType', 'atBound', 'force', 'rth'].map(select),
      el('label', { class: 'tick' }, multiple, el('span', {}, phrase('form_multiple'))),
      agree && el('label', { class: 'tick' }, agree, el('span', {}, phrase('form_agree'))),
      grid ? undefined : verdict,
      said,
      el(
        'div',
        { class: 'choices' },
        el('button', { class: 'main' }, phrase(grid ? 'form_save' : 'form_start')),
        el('button', { type: 'button', onclick: () => dialog.close() }, phrase('dismiss')),
      ),
    ),
  );
  numbers.base.select();
  preview();
}

/** Requests a preview from the server, a moment after the last key press. */
function previewing(ask, verdict, bodyOf) {
  let timer;
  let latest;
  const showPreview = async (mine, body) => {
    try {
      const { data } = await ask('/v1/gridtrading/preview', { method: 'POST', body });
      if (latest !== mine) return;
      verdict.textContent = previewWords(data);
      verdict.dataset.verdict = data.verdict;
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      if (latest !== mine) return;
      verdict.textContent = phrase('preview_refused', error.message);
      verdict.dataset.verdict = 'refused';
    }
  };
  return () => {
    clearTimeout(timer);
    const mine = {};
    latest = mine;
    const body = bodyOf();
    verdict.textContent = '';
    if (body) timer = setTimeout(() => showPreview(mine, body), PAUSE_MS);
  };
}

/** How many trades are possible up to its bounds, and the cash that buying all the way needs. */
export function previewWords({ verdict, reason, sales, purchases, currency, available_cash: cash }) {
  if (verdict === 'refused') return phrase('preview_refused', reason?.words ?? '');
  const spent = `${currency} ${grouped(purchases.amount)}`;
  return phrase('preview_taken', sales.trade_count, purchases.trade_count, spent, grouped(cash));
}
