// The stored securities, one row each, however many there are. Only the rows in view are in the
// DOM.

import { ask } from '../api.js';
import { addressOf } from '../base.js';
import { inWorld } from '../world.js';
import { grouped } from '../decimal.js';
import { el, nextPicture } from '../dom.js';
import { phrase } from '../phrases/dashboard.js';
import { nameFor } from '../rank.js';
import { nothingYet } from './empty.js';
import { filterForm, filterOf, pageWith, queryOf } from './filter.js';
import { refusal } from './refused.js';
import { CHUNK, Rows, rowAfterKey, rowsInView, topFor } from './rows.js';
import { chartLink, count } from './table.js';

const ROW_HEIGHT = 32;
// The server compares some more securities with the calendar at each request for the worst.
const COUNTING_MS = 300;
// While the scrollbar is dragged, rows that scroll past are not requested.
const SETTLED_MS = 60;

export const securities = { title: phrase('securities_title'), early, fill };

const fetchPage = async (filter, offset, limit) => (await ask(`/v1/inventory?${queryOf(filter, { offset, limit })}`)).data;

let first;

/** The first rows are requested before the signed-in account is known. */
function early() {
  const filter = filterOf(location.search);
  const answer = fetchPage(filter, 0, CHUNK);
  answer.catch(() => {});
  first = { key: queryOf(filter), answer };
}

function fetcher(filter) {
  return (offset, limit) => {
    const prefetched = first;
    first = undefined;
    return prefetched?.key === queryOf(filter) && offset === 0 ? prefetched.answer : fetchPage(filter, offset, limit);
  };
}

async function fill(who) {
  const list = new SecurityList(who);
  await list.show(filterOf(location.search));
  const form = filterForm(list.filter, (filter) => {
    history.replaceState(undefined, '', pageWith('/securities', filter));
    list.show(filter);
  });
  form.append(el('button', { type: 'button', class: 'push', onclick: () => list.show(list.filter) }, phrase('refresh')));
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    event.preventDefault();
    form.elements.query.focus();
  });
  // For the benchmark: the page shows the rows by the next frame.
  nextPicture().then(() => performance.mark('chandler:rows'));
  return [
    el('p', { class: 'lead' }, phrase('stored_means')),
    el('section', { class: 'sheet' }, form, list.status, list.box),
  ];
}

const COLUMNS = [
  ['security', 'symbol', (row) => chartLink(row.symbol)],
  ['name', 'name', nameFor],
  ['days', 'range', (row) => ranges(row, (period) => period === 'day', false)],
  ['intraday', 'range', (row) => ranges(row, (period) => period !== 'day', true)],
  ['last', 'number', (row) => (row.last === null ? '–' : grouped(row.last))],
  ['gaps', 'gaps', gaps],
];

function ranges(row, isWanted, isNamed) {
  const wanted = row.series.filter(({ period }) => isWanted(period));
  const range = ({ period, first, last }) => `${isNamed ? `${period} ` : ''}${phrase('range', first, last)}`;
  if (wanted.length === 0) return '–';
  // The list of periods may be longer than the column.
  const words = wanted.map(range).join(', ');
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
    this.who = who;
    this.status = el('p', { class: 'said', role: 'status' });
    const heads = COLUMNS.map(([title, kind]) => el('span', { role: 'columnheader', class: kind }, phrase(title)));
    this.body = el('div', { class: 'long-rows', role: 'rowgroup' });
    this.box = el(
      'div',
      { class: 'long-list', role: 'grid', tabindex: 0, 'aria-label': phrase('securities_title'), 'aria-readonly': 'true' },
      el('div', { class: 'long-head', role: 'row', 'aria-rowindex': 1 }, heads),
      this.body,
    );
    this.box.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.box.addEventListener('keydown', (event) => this.press(event));
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  /**
   * Restarts with a filter; resolves when the first rows have arrived, rejects with their refusal.
   */
  async show(filter) {
    this.rows?.end();
    clearTimeout(this.timer);
    Object.assign(this, { filter, marked: -1 });
    const rows = new Rows(fetcher(filter), { onChange: () => this.draw(), onRefused: (error) => this.refuse(error) });
    this.rows = rows;
    this.box.scrollTop = 0;
    await rows.load(0);
    if (rows === this.rows) this.count();
  }

  /** Requests again until the server has compared everything with the calendar. */
  count() {
    const { rows } = this;
    if (!(rows.answer?.uncounted > 0)) return;
    this.timer = setTimeout(async () => {
      if (!document.hidden) await rows.load(Math.floor(this.inView()[0] / CHUNK));
      if (rows === this.rows) this.count();
    }, COUNTING_MS);
  }

  get size() {
    const { scrollTop: top, clientHeight: height } = this.box;
    return { top, height: Math.max(0, height - ROW_HEIGHT), rowHeight: ROW_HEIGHT, total: this.rows?.total ?? 0 };
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
    this.body.style.height = `${rows.total * ROW_HEIGHT}px`;
    this.box.setAttribute('aria-rowcount', rows.total + 1);
    this.body.replaceChildren(...Array.from({ length: to - from }, (_, at) => this.row(from + at)));
    this.mark();
    this.say();
  }

  row(place) {
    const row = this.rows.at(place);
    const cells = COLUMNS.map(([, kind, of]) => el('span', { role: 'gridcell', class: kind }, row ? of(row) : '…'));
    const line = el('div', { role: 'row', id: `row-${place}`, 'aria-rowindex': place + 2, class: 'long-row' }, cells);
    line.style.top = `${place * ROW_HEIGHT}px`;
    // The list is one tab stop; Enter opens the chart of the marked row, Shift+Enter its gaps.
    for (const link of line.querySelectorAll('a')) link.tabIndex = -1;
    return line;
  }

  say() {
    const { total, answer } = this.rows;
    // The hidden list retains its space, so that nothing below moves.
    this.box.classList.toggle('empty', total === 0);
    let words = total === 1 ? phrase('listed_one') : phrase('listed', count(total));
    if (total === 0) words = answer.store_is_empty ? nothingYet(this.who) : phrase('no_results');
    else if (answer.uncounted > 0) words = phrase('comparing', count(total - answer.uncounted), count(total));
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
    const next = rowAfterKey(event.key, this.marked, this.size);
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
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
