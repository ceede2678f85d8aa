// Watchlists next to the chart, and the star of the security. The star adds to the list that is
// shown.

import { addressOf } from '../base.js';
import { inWorld } from '../world.js';
import { SESSION } from '../candles.js';
import { openDialog } from '../dialog.js';
import { byId, el } from '../dom.js';
import { Live } from '../live.js';
import { remember, remembered } from '../memory.js';
import { phrase } from '../phrases/side.js';
import { NAME_MAX, Watchlists, ordered } from './watchlists.js';

/** Another client may have changed the lists. Only polled without a stream. */
const EVERY_MS = 10_000;

export class ListsPanel {
  /** `go` opens a security; `say` shows and announces a text; `stream` brings prices. */
  constructor(ask, { go, say, stream }) {
    Object.assign(this, { go, say, stream, symbol: undefined, isEditing: false });
    stream?.listen({
      quote: (quote) => this.take(quote),
      account: ({ changed }) => changed.includes('watchlists') && this.changed(),
      state: () => this.streamed(),
    });
    this.lists = new Watchlists(ask, () => this.show());
    this.live = new Live(() => this.refresh(), { every: EVERY_MS, onLost: (error) => this.lost(error) });
    this.live.pushed(Boolean(stream?.isOpen));
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
    this.said = el('p', { class: 'side-said', role: 'status' });
    const { create, rename, drop, edit } = this.tools;
    box.replaceChildren(el('div', { class: 'row' }, this.choice, create), el('div', { class: 'row ways' }, rename, drop, edit), this.said, this.rows);
  }

  /** Requests the lists, and the prices of the one that is shown. */
  async refresh() {
    await this.lists.refresh();
    const symbols = this.follow().join();
    // While the stream is open, it brings the prices of a list that were requested once.
    if (this.stream?.isOpen && symbols === this.quoted) return;
    await this.lists.quote(this.group);
    this.quoted = symbols;
  }

  /** Subscribes to the securities of the list that is shown, and returns them. */
  follow() {
    const symbols = this.live.isStopped ? [] : (this.group?.securities.map(({ symbol }) => symbol) ?? []);
    this.stream?.want('lists', symbols);
    return symbols;
  }

  /** The stream was opened or lost. Prices may have been missed while there was no connection. */
  streamed() {
    this.quoted = undefined;
    this.live.pushed(this.stream.isOpen);
    if (this.stream.isOpen && !this.live.isStopped) this.live.now();
  }

  /** Another page has changed the lists, or this one. */
  changed() {
    if (!this.live.isStopped) this.live.soon();
    else if (this.lists.groups) this.attempt(() => this.lists.refresh());
  }

  /** Outside regular hours the last regular price stays, as in a quote that is requested. */
  take({ symbol, last_done: price, trade_session: session }) {
    if (session !== SESSION.intraday || this.live.isStopped || this.lists.prices.get(symbol) === price) return;
    this.lists.prices.set(symbol, price);
    // Many prices may change together.
    this.showing ??= requestAnimationFrame(() => {
      this.showing = undefined;
      this.show();
    });
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
    const securities = ordered(group.securities);
    const focused = document.activeElement?.closest('.watched') && document.activeElement.dataset.key;
    const { scrollTop } = this.rows;
    const none = phrase(group === all ? 'lists_none' : 'group_none');
    this.rows.replaceChildren(...(securities.length > 0 ? securities.map((one, at) => this.row(one, at, securities)) : [el('li', { class: 'lead' }, none)]));
    this.rows.scrollTop = scrollTop;
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
    const last = this.lists.prices.get(symbol);
    const details = [isPinned ? phrase('pinned') : '', last ? phrase('last_price', last) : '', price ? phrase('watched_at', price) : ''];
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
      el('span', {}, name),
      el('small', {}, details.filter(Boolean).join(' · ')),
    );
    return el('li', { 'data-symbol': symbol }, link, this.isEditing ? this.rowTools(security, at, securities) : undefined);
  }

  rowTools({ symbol, is_pinned: isPinned }, at, securities) {
    const { lists, group } = this;
    const canGo = (step) => securities[at + step]?.is_pinned === isPinned;
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
