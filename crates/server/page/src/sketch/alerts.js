// Price alerts: their dialog, their levels on the chart, and a notice when one has fired. The server
// compares prices; the page only shows its answers.

import { trimmed } from '../decimal.js';
import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/sketch.js';

const REMINDERS = '/v1/notify/reminders';
const CONDITIONS = { price_rise: '1', price_fall: '2', percent_rise: '3', percent_fall: '4' };
const FREQUENCIES = { once: 3, daily: 1, every_time: 2 };
const SHOWN_MAX = 20;

const isPercent = (condition) => condition.startsWith('percent');
const wordsOf = ({ condition, value }) => `${phrase(condition)} ${value}`;
const timeOf = (instant) => instant.replace('T', ' ').replace('Z', ' UTC');

export class Alerts {
  /** `onChanged` is called when the alerts have changed. */
  constructor(on, onChanged) {
    Object.assign(this, { on, onChanged, list: [], fired: [], known: undefined, box: undefined });
    this.toast = el('div', { class: 'alert-toast', role: 'status', hidden: true });
    document.querySelector('.stage').append(this.toast);
  }

  /**
   * Requests the alerts, and shows the firings since the last request. With `hasFired`, the newest
   * one is also shown if there was no request yet.
   */
  async refresh(hasFired = false) {
    let data;
    try {
      ({ data } = await this.on.ask('/v1/alerts'));
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      return;
    }
    const newest = data.fired[0]?.number ?? 0;
    const before = this.known ?? (hasFired ? newest - 1 : newest);
    this.known = newest;
    Object.assign(this, { list: data.alerts, fired: data.fired });
    this.notify(data.fired.filter(({ number }) => number > before));
    this.onChanged();
    if (this.box?.open) this.fill();
  }

  notify(news) {
    if (news.length === 0) return;
    const line = (firing) => phrase('has_fired', firing.symbol, phrase(firing.condition), firing.value, firing.price);
    this.toast.replaceChildren(
      el('ul', {}, news.slice(0, 5).map((firing) => el('li', {}, line(firing), ' ', el('small', {}, timeOf(firing.at))))),
      el('button', { type: 'button', 'aria-label': phrase('close'), onclick: () => (this.toast.hidden = true) }, '✕'),
    );
    this.toast.hidden = false;
  }

  /** Enabled alerts of a security that wait for a price, as levels. */
  levels(symbol) {
    const mine = this.list.filter((one) => one.symbol === symbol && one.enabled && !isPercent(one.condition));
    return mine.map((one) => ({ kind: 'level', points: [{ time: 0, price: one.value }], text: wordsOf(one) }));
  }

  open(symbol) {
    this.symbol = symbol;
    const last = this.on.chart()?.candles.at(-1)?.text.close ?? '';
    const select = (name, of) => el('select', { id: `alert-${name}`, name }, Object.keys(of).map((one) => el('option', { value: one }, phrase(one))));
    const condition = select('condition', CONDITIONS);
    const frequency = select('frequency', FREQUENCIES);
    const value = el('input', { id: 'alert-value', inputmode: 'decimal', autocomplete: 'off', required: true, value: trimmed(last) });
    this.said = el('p', { class: 'said warn', role: 'status' });
    const field = (name, control) => el('div', {}, el('label', { for: control.id }, phrase(name)), control);
    const form = el('form', { class: 'alert-form' }, field('condition', condition), field('value', value), field('frequency', frequency), el('button', { class: 'main' }, phrase('add')));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const key = isPercent(condition.value) ? 'chg' : 'price';
      const body = { symbol, indicator_id: CONDITIONS[condition.value], value_map: { [key]: value.value.trim() }, frequency: FREQUENCIES[frequency.value], enabled: true };
      this.send('POST', body);
    });
    condition.addEventListener('change', () => (value.value = isPercent(condition.value) ? '5' : trimmed(last)));
    this.rows = el('div', { class: 'alert-rows', tabindex: '0', role: 'region', 'aria-label': phrase('alert') });
    const close = el('form', { method: 'dialog' }, el('button', { class: 'push' }, phrase('close')));
    this.box = openDialog('alerts', phrase('alerts_of', symbol), form, el('p', { class: 'hint' }, phrase('hint')), this.said, this.rows, el('div', { class: 'choices' }, close));
    this.fill();
    this.refresh();
  }

  fill() {
    const row = (one) => {
      const words = `${one.symbol} ${wordsOf(one)}, ${phrase(one.frequency)}${one.enabled ? '' : ` (${phrase('off')})`}`;
      const turn = phrase(one.enabled ? 'disable' : 'enable');
      return el('li', {}, el('span', {}, words), el('span', { class: 'ways' },
        el('button', { type: 'button', 'aria-label': phrase('switch_one', turn, words), onclick: () => this.send('POST', { id: one.id, enabled: !one.enabled }) }, turn),
        el('button', { type: 'button', 'aria-label': phrase('delete_one', words), onclick: () => this.send('DELETE', { ids: [one.id] }) }, phrase('delete'))));
    };
    const past = (one) => el('li', {}, el('span', {}, `${one.symbol} ${wordsOf(one)}: ${one.price}`), el('small', {}, timeOf(one.at)));
    const listed = (title, rows, none) => [el('h3', {}, phrase(title)), rows.length > 0 ? el('ul', {}, rows) : el('p', { class: 'lead' }, phrase(none))];
    const hadFocus = this.rows.contains(document.activeElement);
    this.rows.replaceChildren(...listed('pending', this.list.map(row), 'no_alerts'), ...listed('fired', this.fired.slice(0, SHOWN_MAX).map(past), 'none_fired'));
    // Outside the dialog, its keys would be those of the page.
    if (hadFocus) this.rows.focus({ preventScroll: true });
  }

  async send(method, body) {
    this.said.textContent = '';
    try {
      await this.on.ask(REMINDERS, { method, body });
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.said.textContent = phrase('not_done', error.message);
      return;
    }
    await this.refresh();
  }
}
