// Watchlists next to the chart, and the star of the security. The star adds to the list that is
// shown. Only the prices of rows in view are live.

import { addressOf } from '../base.js';
import { inWorld } from '../world.js';
import { openDialog } from '../dialog.js';
import { byId, el } from '../dom.js';
import { cellsOf, fillCells } from '../list/cells.js';
import { LiveRows } from '../list/live-rows.js';
import { isDescendingFirst, sorted } from '../list/ticker.js';
import { Live } from '../live.js';
import { remember, remembered } from '../memory.js';
import { phrase } from '../phrases/side.js';
import { NAME_MAX, Watchlists, ordered } from './watchlists.js';

/** Another client may have changed the lists. Only polled without a stream. */
const EVERY_MS = 10_000;
/** Orders of the rows, and their names; `''` is the list's own. */
const NAMES = { '': 'order_own', symbol: 'order_symbol', last: 'order_last', change: 'order_change', percent: 'order_percent', volume: 'order_volume' };
const ORDERS = Object.keys(NAMES);

export class ListsPanel {
  /** `go` opens a security; `say` shows and announces a text; `stream` brings prices. */
  constructor(ask, { go, say, stream }) {
    Object.assign(this, { go, say, stream, symbol: undefined, isEditing: false });
    stream?.listen({
      account: ({ changed }) => changed.includes('watchlists') && this.changed(),
      state: (state) => this.streamed(state),
    });
    this.lists = new Watchlists(ask, () => this.show());
    this.live = new Live(() => this.refresh(), { every: EVERY_MS, onLost: (error) => this.lost(error) });
    this.live.pushed(Boolean(stream?.isOpen));
    const stale = () => {
      this.quoted = undefined;
      this.live.now();
    };
    this.prices = new LiveRows({ stream, part: 'lists', stale });
    this.star = byId('star');
    this.star.addEventListener('click', () => this.press());
  }

  /** Fills its container when the panel is first opened. */
  mount(box) {
    this.box = box;
    this.choice = el('select', { 'aria-label': phrase('group'), onchange: () => this.choose(this.choice.value) });
    const button = (name, what) => el('button', { type: 'button', 'data-key': name, onclick: what }, phrase(name));
    this.tools = {
      create: button('group_new', () => this.askName(undefined)),
      rename: button('group_rename', () => this.askName(this.group)),
      drop: button('group_delete', () => this.confirmDrop(this.group)),
      edit: el('button', { type: 'button', 'data-key': 'edit', 'aria-pressed': 'false', onclick: () => this.edit(!this.isEditing) }, phrase('edit')),
    };
    this.rows = el('ol', { class: 'watched' });
    this.rows.addEventListener('keydown', (event) => this.pressRow(event));
    this.visible = new Set();
    this.seen = new IntersectionObserver((entries) => this.see(entries));
    this.page = el('a', { class: 'button', title: phrase('list_page') }, phrase('list_page'));
    const turn = el('button', { type: 'button', onclick: () => this.sort(this.order) }, '↓');
    const orders = ORDERS.map((order) => el('option', { value: order }, phrase(NAMES[order])));
    this.sorting = { choice: el('select', { 'aria-label': phrase('list_order'), onchange: () => this.sort(this.sorting.choice.value) }, orders), turn };
    this.said = el('p', { class: 'side-said', role: 'status' });
    const { create, rename, drop, edit } = this.tools;
    const tools = el('div', { class: 'row ways list-tools' }, rename, drop, edit, this.sorting.choice, turn, this.page);
    box.replaceChildren(el('div', { class: 'row' }, this.choice, create), tools, this.said, this.rows);
  }

  /** Requests the lists, and the prices of the one that is shown. */
  async refresh() {
    await this.lists.refresh();
    const symbols = this.group?.securities.map(({ symbol }) => symbol).join();
    // While the stream is open, it brings the prices of a list that were requested once.
    if (this.stream?.isOpen && symbols === this.quoted) return;
    await this.lists.quote(this.group);
    this.quoted = symbols;
  }

  /** Rows have come into view or left it: only their prices are followed. */
  see(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.visible.add(target);
      else this.visible.delete(target);
    }
    this.follow();
  }

  /** Subscribes to the securities of the visible rows. */
  follow() {
    const rows = this.live.isStopped ? [] : [...this.visible].filter((line) => line.isConnected).map((line) => [line.dataset.symbol, this.shown.get(line.dataset.symbol)]);
    this.prices.show(new Map(rows.filter(([, row]) => row)));
  }

  /** The stream was opened or lost. Prices may have been missed while there was no connection. */
  streamed(state) {
    this.live.pushed(this.stream.isOpen);
    // Another subscription begins with the last quotes.
    if (state === 'reconnecting') this.quoted = undefined;
    if (this.stream.isOpen && !this.live.isStopped) this.live.now();
  }

  /** Another page has changed the lists, or this one. */
  changed() {
    if (!this.live.isStopped) this.live.soon();
    else if (this.lists.groups) this.attempt(() => this.lists.refresh());
  }

  open() {
    this.live.start();
    this.show();
    this.live.now();
  }

  close() {
    this.live.stop();
    this.follow();
  }

  /**
   * The security of the chart, once it is shown. The star is requested once; while the lists are
   * visible they are kept up to date.
   */
  async watch(symbol) {
    this.symbol = symbol;
    this.show();
    if (!symbol || this.lists.groups) return;
    try {
      await this.lists.refresh();
    } catch (error) {
      // The chart works without a star; the next view retries.
      if (error.name !== 'Refused') throw error;
    }
  }

  get group() {
    return this.lists.group(remembered('list'));
  }

  get isAll() {
    return this.group === this.lists.all;
  }

  choose(id) {
    remember('list', id === this.lists.all?.id ? undefined : id);
    this.show();
    this.live.now();
  }

  /** The chosen order of the rows; `''` is the order of the list itself. */
  get order() {
    const order = remembered('list-order') ?? '';
    return ORDERS.includes(order) ? order : '';
  }

  get isDescending() {
    return isDescendingFirst(this.order) !== Boolean(remembered('list-turned'));
  }

  /** Sorts by a column; the second time in the other direction. Pushes do not move rows. */
  sort(order) {
    const isTurned = order === this.order && order !== '' && !remembered('list-turned');
    remember('list-order', order);
    remember('list-turned', isTurned ? '1' : undefined);
    this.show();
  }

  /** Arrow keys move between the rows; `s` sorts by the next column, `S` in the other direction. */
  pressRow(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const links = [...this.rows.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (event.key === 's') this.sort(ORDERS[(ORDERS.indexOf(this.order) + 1) % ORDERS.length]);
    else if (event.key === 'S') this.sort(this.order);
    else if (to === undefined) return;
    else links[Math.max(0, Math.min(to, links.length - 1))]?.focus();
    event.preventDefault();
    // These keys have another meaning on the chart.
    event.stopPropagation();
  }

  nameOf(group) {
    return group === this.lists.all ? phrase('all') : group.name;
  }

  lost(error) {
    if (this.said) this.said.textContent = error.status === 401 ? phrase('sign_in') : phrase('lost', error.message);
  }

  /** Runs an action that may be refused, and reports the refusal. */
  async attempt(work) {
    try {
      await work();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.say(phrase('not_done', error.message));
      if (this.said) this.said.textContent = phrase('not_done', error.message);
    }
  }

  // The star.

  press() {
    const { symbol, lists, group } = this;
    if (!symbol || !group) return;
    if (lists.watched(symbol)) {
      this.chooseLists(symbol);
      return;
    }
    this.attempt(async () => {
      await lists.add(group.id, symbol);
      this.say(phrase('watched_now', symbol, this.nameOf(group)));
    });
  }

  /**
   * The lists that contain a security. Unwatching it has a separate button, since that removes it
   * from all lists.
   */
  chooseLists(symbol) {
    const { lists } = this;
    const said = el('p', { class: 'said warn', role: 'status' });
    const box = (label, isChecked, change) => {
      const input = el('input', { type: 'checkbox', checked: isChecked });
      input.addEventListener('change', async () => {
        try {
          said.textContent = '';
          await change(input.checked);
        } catch (error) {
          if (error.name !== 'Refused') throw error;
          input.checked = !input.checked;
          said.textContent = phrase('not_done', error.message);
        }
      });
      return el('label', { class: 'tick' }, input, el('span', {}, label));
    };
    const others = lists.groups.filter((group) => group !== lists.all);
    const ticks = others.map((group) =>
      box(group.name, lists.isIn(group, symbol), (isIn) => (isIn ? lists.add(group.id, symbol) : lists.remove(group.id, symbol))),
    );
    const unwatch = el('button', { type: 'button', onclick: async () => {
      dialog.close();
      await this.attempt(() => lists.remove(lists.all.id, symbol));
    } }, phrase('unwatch'));
    const dialog = openDialog(
      'lists-of',
      phrase('lists_of', symbol),
      el('div', { class: 'ticks' }, ticks, box(phrase('pin'), lists.watched(symbol).is_pinned, (isPinned) => lists.pin(symbol, isPinned))),
      said,
      el('div', { class: 'choices' }, unwatch, el('form', { method: 'dialog' }, el('button', { class: 'main', autofocus: true }, phrase('dismiss')))),
    );
  }

  // The lists.

  show() {
    this.showStar();
    if (!this.box) return;
    const { groups, all } = this.lists;
    for (const button of Object.values(this.tools)) button.disabled = !groups;
    if (!groups) {
      this.rows.replaceChildren(el('li', { class: 'lead' }, phrase('loading')));
      return;
    }
    const { group } = this;
    this.said.textContent = '';
    this.choice.replaceChildren(...groups.map((one) => el('option', { value: one.id, selected: one === group }, `${this.nameOf(one)} (${one.securities.length})`)));
    this.choice.value = group.id;
    // The list of all securities cannot be renamed or deleted.
    this.tools.rename.disabled = this.tools.drop.disabled = group === all;
    const { order, isDescending } = this;
    const securities = ordered(sorted(group.securities, this.lists.tickers, order, isDescending ? 'desc' : 'asc'));
    this.sorting.choice.value = order;
    this.sorting.turn.disabled = order === '';
    this.sorting.turn.textContent = isDescending ? '↓' : '↑';
    this.sorting.turn.ariaLabel = phrase(isDescending ? 'descending' : 'ascending');
    this.page.href = addressOf(inWorld(`/securities?list=${encodeURIComponent(group.id)}`));
    const focused = document.activeElement?.closest('.watched') && document.activeElement.dataset.key;
    const { scrollTop } = this.rows;
    const none = phrase(group === all ? 'lists_none' : 'group_none');
    this.shown = new Map();
    this.seen.disconnect();
    this.visible.clear();
    this.rows.replaceChildren(...(securities.length > 0 ? securities.map((one, at) => this.row(one, at, securities)) : [el('li', { class: 'lead' }, none)]));
    this.rows.scrollTop = scrollTop;
    for (const line of this.rows.querySelectorAll('[data-symbol]')) this.seen.observe(line);
    // The row is recreated after a key press, and the next key press is for it too.
    if (focused) [...this.rows.querySelectorAll('[data-key]')].find((one) => one.dataset.key === focused)?.focus({ preventScroll: true });
  }

  showStar() {
    const { symbol, star, lists } = this;
    const watched = symbol && lists.watched(symbol);
    star.disabled = !symbol || !lists.groups;
    star.textContent = watched ? '★' : '☆';
    star.setAttribute('aria-pressed', String(Boolean(watched)));
    const words = symbol ? phrase(watched ? 'starred' : 'star', symbol) : '';
    star.setAttribute('aria-label', words);
    star.title = words && `${words} (w)`;
  }

  row(security, at, securities) {
    const { symbol, name, watched_price: price, watched_at: since, is_pinned: isPinned } = security;
    const details = [isPinned ? phrase('pinned') : '', price ? phrase('watched_at', price) : ''];
    const ticker = this.lists.tickers.get(symbol);
    const cells = cellsOf();
    fillCells(cells, ticker);
    this.shown.set(symbol, { ticker, cells });
    const { last, change, percent, volume, trend } = cells;
    const link = el(
      'a',
      {
        href: addressOf(inWorld(`/?symbol=${encodeURIComponent(symbol)}`)),
        'data-key': `open ${symbol}`,
        'aria-current': symbol === this.symbol ? 'true' : undefined,
        title: phrase('watched_since', new Date(Number(since) * 1000).toISOString().slice(0, 10)),
        onclick: (event) => {
          // With a modifier the browser opens another tab.
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          this.go(symbol);
        },
      },
      el('b', {}, symbol),
      trend,
      last,
      el('span', { class: 'name' }, name),
      el('span', { class: 'day' }, change, ' ', percent),
      el('small', {}, details.filter(Boolean).join(' · ')),
      volume,
    );
    return el('li', { 'data-symbol': symbol }, link, this.isEditing ? this.rowTools(security, at, securities) : undefined);
  }

  rowTools({ symbol, is_pinned: isPinned }, at, securities) {
    const { lists, group } = this;
    // A sorted list has no order of its own to change.
    const canGo = (step) => this.order === '' && securities[at + step]?.is_pinned === isPinned;
    const button = (name, sign, what, more = {}) =>
      el('button', { type: 'button', 'data-key': `${name} ${symbol}`, 'aria-label': phrase(name, symbol), title: phrase(name, symbol), onclick: () => this.attempt(what), ...more }, sign);
    return el(
      'span',
      { class: 'ways' },
      button('row_up', '↑', () => lists.move(group.id, symbol, -1), { disabled: !canGo(-1) }),
      button('row_down', '↓', () => lists.move(group.id, symbol, 1), { disabled: !canGo(1) }),
      button('row_pin', '⤒', () => lists.pin(symbol, !isPinned), { 'aria-pressed': String(isPinned) }),
      button(this.isAll ? 'row_unwatch' : 'row_remove', '✕', () => lists.remove(group.id, symbol)),
    );
  }

  edit(isEditing) {
    this.isEditing = isEditing;
    this.tools.edit.textContent = phrase(isEditing ? 'edit_done' : 'edit');
    this.tools.edit.setAttribute('aria-pressed', String(isEditing));
    this.show();
  }

  /** For a new list, or to rename one. */
  askName(group) {
    const name = el('input', { id: 'group-name', type: 'text', maxlength: NAME_MAX, autocomplete: 'off', required: true, value: group?.name ?? '' });
    const said = el('p', { class: 'said warn', role: 'status' });
    const send = async (event) => {
      event.preventDefault();
      const text = name.value.trim();
      if (!text) return;
      try {
        if (group) await this.lists.rename(group.id, text);
        else this.choose(await this.lists.create(text));
        dialog.close();
      } catch (error) {
        if (error.name !== 'Refused') throw error;
        said.textContent = phrase('not_done', error.message);
      }
    };
    const dialog = openDialog(
      'group-name',
      phrase(group ? 'group_rename' : 'group_new'),
      el(
        'form',
        { class: 'fields', onsubmit: send },
        el('p', {}, el('label', { for: 'group-name' }, phrase('group_name')), name),
        said,
        el('div', { class: 'choices' }, el('button', { class: 'main' }, phrase(group ? 'group_save' : 'group_create')), el('button', { type: 'button', onclick: () => dialog.close() }, phrase('dismiss'))),
      ),
    );
    name.select();
  }

  confirmDrop(group) {
    const drop = async () => {
      dialog.close();
      await this.attempt(async () => {
        await this.lists.drop(group.id);
        this.choose(undefined);
      });
    };
    const dialog = openDialog(
      'group-sure',
      phrase('group_sure', group.name),
      el('p', {}, phrase('group_stays')),
      el(
        'div',
        { class: 'choices' },
        el('button', { type: 'button', class: 'main', autofocus: true, onclick: drop }, phrase('group_delete_it')),
        el('form', { method: 'dialog' }, el('button', {}, phrase('keep_it'))),
      ),
    );
  }
}
