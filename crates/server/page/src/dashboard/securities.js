// The stored securities, one row each, however many there are. Only the rows in view are in the
// DOM.

import { ask } from '../api.js';
import { addressOf } from '../base.js';
import { inWorld } from '../world.js';
import { el, nextPicture } from '../dom.js';
import { cellsOf, fillCells } from '../list/cells.js';
import { LiveRows } from '../list/live-rows.js';
import { Ticker, isDescendingFirst } from '../list/ticker.js';
import { Live } from '../live.js';
import { pageStream } from '../page-stream.js';
import { phrase } from '../phrases/dashboard.js';
import { nameFor } from '../rank.js';
import { nothingYet } from './empty.js';
import { filterForm, filterOf, pageWith, queryOf } from './filter.js';
import { refusal } from './refused.js';
import { CHUNK, Rows, rowAfterKey, rowsInView, topFor } from './rows.js';
import { chartLink, count } from './table.js';

// As in the stylesheet: on a narrow screen a row has two lines.
const NARROW = matchMedia('(max-width: 760px)');
const rowHeight = () => (NARROW.matches ? 52 : 32);
// The server reads the figures of some more securities at each request for an order.
const COUNTING_MS = 300;
// While the scrollbar is dragged, rows that scroll past are not requested.
const SETTLED_MS = 60;
/** Only polled without a stream. */
const EVERY_MS = 10_000;
/** The server's limit of symbols in a request. */
const LISTED_MAX = 500;

/** Orders of the list, and their names. */
const ORDERS = { '': 'by_symbol', name: 'by_name', last: 'by_last', change: 'by_change', percent: 'by_percent', volume: 'by_volume', worst: 'worst_first' };
const COLUMNS = [
  ['security', 'symbol', ''],
  ['name', 'name', 'name'],
  ['last', 'last number', 'last'],
  ['change', 'change number', 'change'],
  ['percent', 'percent number', 'percent'],
  ['volume', 'volume number', 'volume'],
  ['trend', 'trend'],
  ['stored', 'range'],
  ['gaps', 'gaps', 'worst'],
];

export const securities = { title: phrase('securities_title'), early, fill };

async function fetchPage({ list, ...filter }, offset, limit) {
  if (list?.symbols.length === 0) return { rows: [], total: 0, uncounted: 0, store_is_empty: false };
  const symbols = list?.symbols.slice(0, LISTED_MAX).join(',');
  return (await ask(`/v1/inventory?${queryOf(filter, { offset, limit, symbols })}`)).data;
}

let first;

/** The filter of the address; `list` is the id of a watchlist. */
function asked() {
  const params = new URLSearchParams(location.search);
  const direction = params.get('direction') ?? '';
  return {
    filter: { ...filterOf(location.search, ORDERS), direction: ['asc', 'desc'].includes(direction) ? direction : '' },
    list: params.get('list') ?? '',
  };
}

/** The first rows are requested before the signed-in account is known. */
function early() {
  const { filter, list } = asked();
  if (list) return;
  const answer = fetchPage(filter, 0, CHUNK);
  answer.catch(() => {});
  first = { key: queryOf(filter), answer };
}

function fetcher(filter) {
  return (offset, limit) => {
    const prefetched = first;
    first = undefined;
    const isFirst = !filter.list && prefetched?.key === queryOf(filter) && offset === 0;
    return isFirst ? prefetched.answer : fetchPage(filter, offset, limit);
  };
}

/** The account's watchlists; none if they cannot be requested. */
async function watchlists() {
  try {
    return (await ask('/v1/watchlist/groups')).data.groups;
  } catch (error) {
    if (error.name !== 'Refused') throw error;
    return [];
  }
}

/** The id of the group of all watched securities, the same for every account. */
const WATCHED = '1';

/** The choice of a watchlist. Its width does not depend on the lists, which arrive later. */
function listChoice(chosen, groups, onChange) {
  const choice = el('select', { 'aria-label': phrase('list'), class: 'lists' }, el('option', { value: '' }, phrase('all_stored')));
  choice.addEventListener('change', () => onChange(choice.value));
  groups.then((all) => {
    const name = ({ id, name }) => (id === WATCHED ? phrase('watched') : name);
    choice.append(...all.map((group) => el('option', { value: group.id, selected: group.id === chosen }, name(group))));
    choice.disabled = all.length === 0;
  });
  return choice;
}

async function fill(who) {
  const groups = watchlists();
  const list = new SecurityList(who);
  const { filter, list: id } = asked();
  let chosen = id;
  const show = async (next) => {
    const group = chosen && (await groups).find((one) => one.id === chosen);
    history.replaceState(undefined, '', pageWith('/securities', next, { list: group?.id }));
    await list.show({ ...next, list: group ? { symbols: group.securities.map(({ symbol }) => symbol) } : undefined });
  };
  await show(filter);
  const own = ({ query, market, order, direction }) => ({ query, market, order, direction });
  const form = filterForm(filter, (next) => show({ ...next, direction: next.order === list.filter.order ? list.filter.direction : '' }), ORDERS);
  list.onSort = (order, direction) => {
    form.show(order);
    show({ ...own(list.filter), order, direction });
  };
  const choice = listChoice(id, groups, (next) => {
    chosen = next;
    show(own(list.filter));
  });
  form.append(choice, el('button', { type: 'button', class: 'push', onclick: () => list.show(list.filter) }, phrase('refresh')));
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === '/') {
      event.preventDefault();
      form.elements.query.focus();
    } else if (event.target === document.body && /^Arrow(Up|Down)$/.test(event.key)) {
      list.box.focus({ preventScroll: true });
      list.press(event);
    }
  });
  list.live.start();
  // For the benchmark: the page shows the rows by the next frame.
  nextPicture().then(() => performance.mark('chandler:rows'));
  return [
    el('p', { class: 'lead' }, phrase('stored_means')),
    el('section', { class: 'sheet', 'aria-label': phrase('securities_title') }, form, list.status, list.box),
  ];
}

/** The stored ranges, days first. */
function ranges({ series }) {
  if (series.length === 0) return '–';
  const isDay = ({ period }) => period === 'day';
  const range = (one) => `${isDay(one) ? '' : `${one.period} `}${phrase('range', one.first, one.last)}`;
  // The list of periods may be longer than the column.
  const words = [...series.filter(isDay), ...series.filter((one) => !isDay(one))].map(range).join(', ');
  return el('span', { title: words }, words);
}

const gapsOf = (symbol) => addressOf(`/coverage?${new URLSearchParams({ query: symbol, symbol })}`);

/** Gaps in the newest days; the end of a security's data is reported separately. */
function gaps({ symbol, series, missing, partial, expected, after_last: afterLast }) {
  if (missing + partial + afterLast === 0) return expected > 0 ? phrase('no_gaps') : '–';
  const end = series.map(({ last }) => last).sort().at(-1);
  const words = [
    missing > 0 && phrase('gap_missing', count(missing)),
    partial > 0 && phrase('gap_partial', count(partial)),
    afterLast > 0 && end && phrase('gap_ends', end),
  ]
    .filter(Boolean)
    .join(phrase('comma'));
  if (words === '') return '–';
  return el('a', { href: gapsOf(symbol), class: missing > 0 ? 'warn' : undefined }, words);
}

class SecurityList {
  constructor(who) {
    Object.assign(this, { who, lines: new Map(), onSort: () => {} });
    this.status = el('p', { class: 'said', role: 'status' });
    this.heads = COLUMNS.map(([title, kind, order]) => this.head(title, kind, order));
    this.body = el('div', { class: 'long-rows', role: 'rowgroup' });
    this.box = el(
      'div',
      { class: 'long-list', role: 'grid', tabindex: 0, 'aria-label': phrase('securities_title'), 'aria-readonly': 'true' },
      el('div', { class: 'long-head-box', role: 'rowgroup' }, el('div', { class: 'long-head', role: 'row', 'aria-rowindex': 1 }, this.heads)),
      this.body,
    );
    this.box.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.box.addEventListener('keydown', (event) => this.press(event));
    new ResizeObserver(() => this.draw()).observe(this.box);
    const stream = pageStream();
    const again = () => this.rows.again(...this.inView());
    this.live = new Live(again, { every: EVERY_MS, onLost: (error) => this.refuse(error) });
    this.prices = new LiveRows({ stream, part: 'list', stale: () => this.live.now() });
    let wasLost = false;
    stream.listen({
      state: (state) => {
        this.live.pushed(stream.isOpen);
        wasLost ||= state === 'reconnecting';
        // Prices may have been missed while there was no connection.
        if (!stream.isOpen || !wasLost) return;
        wasLost = false;
        this.live.now();
      },
    });
  }

  head(title, kind, order) {
    const words = phrase(title);
    if (order === undefined) return el('span', { role: 'columnheader', class: kind }, words);
    const label = phrase('sort_by', words);
    // The list is one tab stop; keys sort, too.
    const button = el('button', { type: 'button', tabindex: -1, title: label, onclick: () => this.sort(order) }, words);
    return el('span', { role: 'columnheader', class: kind, 'data-order': order }, button);
  }

  /** Sorts by a column; the second time in the other direction. */
  sort(order) {
    const { order: before, direction } = this.filter;
    const usual = isDescendingFirst(order) ? 'desc' : 'asc';
    const reversed = usual === 'desc' ? 'asc' : 'desc';
    this.onSort(order, order === before && direction !== reversed ? reversed : '');
  }

  /**
   * Restarts with a filter; resolves when the first rows have arrived, rejects with their refusal.
   */
  async show(filter) {
    this.rows?.end();
    clearTimeout(this.timer);
    Object.assign(this, { filter, marked: -1, lines: new Map() });
    const isDescending = filter.direction ? filter.direction === 'desc' : isDescendingFirst(filter.order);
    for (const head of this.heads) {
      if (head.dataset.order === filter.order) head.ariaSort = isDescending ? 'descending' : 'ascending';
      else head.removeAttribute('aria-sort');
    }
    const rows = new Rows(fetcher(filter), { onChange: () => this.draw(), onRefused: (error) => this.refuse(error) });
    this.rows = rows;
    this.box.scrollTop = 0;
    await rows.load(0);
    if (rows === this.rows) this.count();
  }

  /** Requests again until the server has read what the order needs. */
  count() {
    const { rows } = this;
    if (!(rows.answer?.uncounted > 0)) return;
    this.timer = setTimeout(async () => {
      if (!document.hidden) await rows.again(...this.inView());
      if (rows === this.rows) this.count();
    }, COUNTING_MS);
  }

  get size() {
    const { scrollTop: top, clientHeight: height } = this.box;
    return { top, height: Math.max(0, height - this.heads[0].parentElement.offsetHeight), rowHeight: rowHeight(), total: this.rows?.total ?? 0 };
  }

  inView() {
    return rowsInView(this.size);
  }

  scrolled() {
    this.draw(false);
    clearTimeout(this.settled);
    this.settled = setTimeout(() => this.draw(), SETTLED_MS);
  }

  draw(asks = true) {
    const { rows } = this;
    if (rows?.total === undefined) return;
    const [from, to] = this.inView();
    if (asks && rows.total > 0) rows.need(from, to);
    this.body.style.height = `${rows.total * rowHeight()}px`;
    this.box.setAttribute('aria-rowcount', rows.total + 1);
    const lines = new Map();
    for (let place = from; place < to; place += 1) lines.set(place, this.lineAt(place));
    const before = [...this.lines.values()];
    this.lines = lines;
    const after = [...lines.values()];
    if (after.length !== before.length || after.some((one, at) => one !== before[at])) this.body.replaceChildren(...after.map(({ line }) => line));
    this.prices.show(new Map(after.filter(({ row }) => row).map(({ row, ticker, cells }) => [row.symbol, { ticker, cells }])));
    this.mark();
    this.say();
  }

  /** The line of a row: the one that is drawn, unless the row has arrived or changed since. */
  lineAt(place) {
    const row = this.rows.at(place);
    const height = rowHeight();
    const drawn = this.lines.get(place);
    return drawn && drawn.row === row && drawn.height === height ? drawn : { row, height, ...this.line(place, row) };
  }

  line(place, row) {
    const cell = (kind, content) => el('span', { role: 'gridcell', class: kind }, content);
    const cells = cellsOf({ role: 'gridcell' });
    const ticker = row && new Ticker(row);
    const { last, change, percent, volume, trend } = cells;
    const line = el(
      'div',
      { role: 'row', id: `row-${place}`, 'aria-rowindex': place + 2, class: 'long-row' },
      cell('symbol', row ? chartLink(row.symbol) : '…'),
      cell('name', row ? nameFor(row) : ''),
      ...[last, change, percent, volume, trend],
      cell('range', row ? ranges(row) : ''),
      cell('gaps', row ? gaps(row) : ''),
    );
    fillCells(cells, ticker);
    line.style.top = `${place * rowHeight()}px`;
    // Enter opens the chart of the marked row, Shift+Enter its gaps.
    for (const link of line.querySelectorAll('a')) link.tabIndex = -1;
    return { line, ticker, cells };
  }

  say() {
    const { total, answer } = this.rows;
    // The hidden list retains its space, so that nothing below moves.
    this.box.classList.toggle('empty', total === 0);
    let words = total === 1 ? phrase('listed_one') : phrase('listed', count(total));
    if (total === 0 && this.filter.list?.symbols.length === 0) words = phrase('list_empty');
    else if (total === 0) words = answer.store_is_empty ? nothingYet(this.who) : phrase('no_results');
    else if (answer.uncounted > 0) words = phrase(this.filter.order === 'worst' ? 'comparing' : 'reading_prices', count(total - answer.uncounted), count(total));
    // Unchanged text is not announced again with each scroll.
    if (this.status.textContent !== words) this.status.textContent = words;
  }

  refuse(error) {
    this.status.replaceChildren(refusal(error, () => this.show(this.filter)));
  }

  press(event) {
    if (event.key === 'Enter' && this.marked >= 0 && event.target === this.box) {
      const row = this.rows.at(this.marked);
      if (row) location.assign(event.shiftKey ? gapsOf(row.symbol) : addressOf(inWorld(`/?symbol=${encodeURIComponent(row.symbol)}`)));
      return;
    }
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 's' || event.key === 'S') {
      event.preventDefault();
      const orders = Object.keys(ORDERS);
      const { order } = this.filter;
      this.sort(event.key === 'S' ? order : orders[(orders.indexOf(order) + 1) % orders.length]);
      return;
    }
    const next = rowAfterKey(event.key, this.marked, this.size);
    if (next === undefined) return;
    event.preventDefault();
    this.marked = next;
    this.box.scrollTop = topFor(next, this.size);
    this.draw();
  }

  mark() {
    for (const row of this.body.children) row.setAttribute('aria-selected', String(row.id === `row-${this.marked}`));
    if (this.marked >= 0) this.box.setAttribute('aria-activedescendant', `row-${this.marked}`);
    else this.box.removeAttribute('aria-activedescendant');
  }
}
