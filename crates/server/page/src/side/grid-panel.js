// The grids of a security next to its chart: the state of one, its actions, and a form for another.

import { openDialog } from '../dialog.js';
import { grouped, signed, trimmed } from '../decimal.js';
import { hongKongInstant } from '../dashboard/table.js';
import { el } from '../dom.js';
import { marketOf } from '../market.js';
import { phrase } from '../phrases/side.js';
import { gridForm } from './grid-form.js';
import { Grids, stepWords } from './grids.js';
import { isLive, levelsOf, sideOf } from './levels.js';

const STATUSES = { Performing: 'status_performing', Suspended: 'status_suspended', Canceled: 'status_canceled', Expired: 'status_expired' };
const ASLEEP = { price: 'asleep_price', position: 'asleep_position', funds: 'asleep_funds', holdings: 'asleep_holdings', triggers: 'asleep_triggers',
  journal: 'asleep_journal', 'needs one-minute candles': 'asleep_minutes' };
const BECAUSE = { user: 'because_user', 'corporate action': 'because_action' };
const MARKETS = ['HK', 'US'];
const SHOWN_TRIGGERS = 20;

const worded = (table, code) => (table[code] ? phrase(table[code]) : code);
const directionOf = (text) => (!/[1-9]/.test(text) ? 'level' : text.startsWith('-') ? 'fall' : 'rise');

/** `running`, `suspended by you`, `running, waits: …`. */
export function statusWords({ status, sleeping_reason: asleep, suspend_reason: because }) {
  const why = status === 'Suspended' ? because && worded(BECAUSE, because) : status === 'Performing' ? asleep && worded(ASLEEP, asleep) : '';
  return [worded(STATUSES, status), why].filter(Boolean).join(' · ');
}

export class GridPanel {
  /**
   * `onChanged` is called when the marks on the chart change; `onTrading` after a change to the
   * account.
   */
  constructor(ask, { onChanged, onTrading, say }) {
    Object.assign(this, { ask, onTrading, say });
    this.grids = new Grids(ask, () => {
      onChanged();
      this.show();
    });
  }

  mount(box) {
    this.box = box;
    this.said = el('p', { class: 'side-said', role: 'status' });
    this.body = el('div', { class: 'grid-body' });
    box.replaceChildren(this.said, this.body);
  }

  open() {
    this.show();
    this.settle();
  }

  close() {}

  watch(symbol) {
    if (symbol !== this.grids.symbol) this.grids.forget(symbol);
    this.show();
  }

  settle() {
    if (this.box && !this.box.hidden && !this.grids.grids && this.isOffered) this.grids.refresh();
  }

  get isOffered() {
    const { symbol } = this.grids;
    return symbol !== undefined && MARKETS.includes(marketOf(symbol)?.market);
  }

  show() {
    if (!this.box) return;
    const { symbol, grids, chosen, refusal } = this.grids;
    this.said.textContent = refusal ? phrase('lost', refusal.message) : '';
    if (!symbol) return this.body.replaceChildren();
    if (!this.isOffered) return this.body.replaceChildren(el('p', { class: 'lead' }, phrase('grid_elsewhere')));
    if (!grids) return this.body.replaceChildren(el('p', { class: 'lead' }, refusal ? '' : phrase('loading')));
    const focused = this.body.contains(document.activeElement) && document.activeElement.dataset.key;
    const { scrollTop } = this.box;
    const begin = el('button', { type: 'button', 'data-key': 'grid_new', class: chosen ? '' : 'main', onclick: () => this.openForm(undefined) }, phrase('grid_new'));
    this.body.replaceChildren(
      el('div', { class: 'row' }, el('h2', {}, phrase('grid_title')), begin),
      ...(grids.length > 1 || (grids.length === 1 && !chosen) ? [this.which()] : []),
      ...(chosen ? this.about(chosen) : [el('p', { class: 'lead' }, phrase('grid_none', symbol))]),
    );
    this.box.scrollTop = scrollTop;
    if (focused) [...this.body.querySelectorAll('[data-key]')].find((one) => one.dataset.key === focused)?.focus({ preventScroll: true });
    return undefined;
  }

  /** A choice among several grids; the chart shows the lines of the chosen one. */
  which() {
    const { grids, chosen } = this.grids;
    const words = (grid) => `${dayOf(grid.created_at)} · ${worded(STATUSES, grid.status)}`;
    const choice = el(
      'select',
      { 'data-key': 'grid_which', 'aria-label': phrase('grid_which') },
      chosen ? [] : el('option', { value: '' }, '–'),
      grids.map((grid) => el('option', { value: grid.order_id, selected: grid.order_id === chosen?.order_id }, words(grid))),
    );
    choice.addEventListener('change', () => this.grids.choose(choice.value));
    return choice;
  }

  about(grid) {
    const currency = grid.settlement_currency;
    const { base, sell, buy } = levelsOf(grid, this.grids.ticks);
    const profit = grid.total_profit_balance || '0';
    const row = (title, ...parts) => el('div', {}, el('dt', {}, phrase(title)), el('dd', {}, ...parts));
    const next = isLive(grid) ? [row('next_sell', sell ?? phrase('no_level')), row('next_buy', buy ?? phrase('no_level'))] : [];
    return [
      el('p', { class: 'grid-status', 'data-status': grid.status }, statusWords(grid)),
      el(
        'dl',
        { class: 'bill' },
        row('profit', el('strong', { 'data-direction': directionOf(profit) }, `${currency} ${signed(grouped(profit))}`)),
        row('triggered', grouped(grid.trigger_times ?? 0)),
        row('bought_sold', phrase('of_each', grouped(trimmed(grid.total_buy_quantity || '0')), grouped(trimmed(grid.total_sell_quantity || '0')))),
        row('base', trimmed(base)),
        next,
        row('bounds', phrase('range', trimmed(grid.lower_limit_price), trimmed(grid.upper_limit_price))),
        row('steps', stepWords(grid)),
        row('each', grouped(trimmed(grid.trigger_quantity))),
        row('position', phrase('range', trimmed(grid.lower_limit_quantity), trimmed(grid.upper_limit_quantity))),
      ),
      ...(isLive(grid) ? [this.ways(grid)] : []),
      el('h3', {}, phrase('triggers')),
      this.triggers(),
    ];
  }

  triggers() {
    const rows = this.grids.triggers.slice(0, SHOWN_TRIGGERS);
    if (rows.length === 0) return el('p', { class: 'lead' }, phrase('triggers_none'));
    const words = (trigger) => {
      const side = sideOf(trigger);
      const text = phrase('trigger_row', phrase(side === 'Buy' ? 'buy' : 'sell'), grouped(trigger.quantity), trimmed(trigger.trigger_price));
      return el('li', {}, el('b', { 'data-direction': side === 'Buy' ? 'rise' : 'fall' }, text), el('small', {}, hongKongInstant(trigger.trigger_at)));
    };
    return el('ol', { class: 'triggers' }, rows.map(words));
  }

  ways(grid) {
    const button = (name, what) => el('button', { type: 'button', 'data-key': name, onclick: what }, phrase(name));
    const send = (name) => () => this.send(name, grid);
    return el(
      'div',
      { class: 'row ways' },
      button('grid_change', () => this.openForm(grid)),
      grid.status === 'Suspended' ? button('grid_restart', send('restart')) : button('grid_suspend', send('suspend')),
      button('grid_cancel', () => this.confirmCancel(grid)),
    );
  }

  /** Sends an operation on an existing grid. A refusal stays until another message replaces it. */
  async send(name, { order_id: id }) {
    if (this.isSending) return;
    this.isSending = true;
    try {
      await this.ask(`/v1/gridtrading/${name}`, { method: 'POST', body: { order_id: id } });
      await this.done();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.said.textContent = phrase('not_done', error.message);
      this.say(this.said.textContent);
    } finally {
      this.isSending = false;
    }
  }

  async done() {
    this.onTrading();
    await this.grids.refresh();
  }

  confirmCancel(grid) {
    const cancel = () => {
      dialog.close();
      this.send('cancel', grid);
    };
    const dialog = openDialog(
      'grid-sure',
      phrase('grid_sure'),
      el('p', {}, phrase('grid_sure_text')),
      el(
        'div',
        { class: 'choices' },
        el('button', { type: 'button', class: 'main', autofocus: true, onclick: cancel }, phrase('grid_cancel_it')),
        el('form', { method: 'dialog' }, el('button', {}, phrase('keep_it'))),
      ),
    );
  }

  /** The form, for a new grid or for a change of the rule of one. */
  async openForm(grid) {
    const { symbol } = this.grids;
    try {
      const info = this.grids.info ?? (await this.grids.learn());
      gridForm({ ask: this.ask, symbol, info, grid, onDone: async (id) => {
        if (id) this.grids.wanted = id;
        await this.done();
      } });
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.said.textContent = phrase('not_done', error.message);
    }
  }
}

const dayOf = (seconds) => hongKongInstant(seconds).textContent.slice(0, 16);
