// Stored candles compared with the calendar: a box for each security and day, and the gaps behind a
// box.

import { ask } from '../api.js';
import { addressOf } from '../base.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/dashboard.js';
import { calendarDays, monthSpans, shiftDate } from './days.js';
import { nothingYet } from './empty.js';
import { filterForm, filterOf, pageWith, queryOf } from './filter.js';
import { refusal } from './refused.js';
import { chartLink, count, table } from './table.js';

const DAYS = 91;
const STATES = { c: 'complete', p: 'partial', m: 'missing', '-': 'closed_day', '.': 'outside' };
const KINDS = { full: 'full', half: 'half', closed: 'closed_day' };
const ROWS = 100;
const COUNTING_MS = 300;

export const coverage = { title: phrase('coverage'), fill };

async function fill(who) {
  const params = new URLSearchParams(location.search);
  const view = new CoverageView(who, params.get('end'));
  await view.show(filterOf(location.search), params.get('after'));
  if (params.get('symbol')) await view.drill(params.get('symbol'));
  const form = filterForm(view.filter, (filter) => {
    history.replaceState(undefined, '', pageWith('/coverage', filter, { end: view.end }));
    view.change(filter);
  });
  return [
    el('p', { class: 'lead' }, phrase('complete_means')),
    el('section', { class: 'sheet' }, form, view.status, view.area),
    view.detail,
  ];
}

class CoverageView {
  constructor(who, end) {
    Object.assign(this, { who, end, turn: 0 });
    this.status = el('p', { class: 'said', role: 'status' });
    this.area = el('div', {});
    this.detail = el('section', { class: 'sheet', 'aria-live': 'polite' }, el('p', { class: 'lead' }, phrase('choose')));
  }

  /**
   * Requests the securities of a filter, those after `after` if given; resolves when they are
   * drawn, rejects with the refusal.
   */
  async show(filter, after) {
    clearTimeout(this.timer);
    this.turn += 1;
    Object.assign(this, { filter, after });
    await this.load(this.turn);
  }

  /** The same after the first load: an error replaces the rows. */
  async change(filter) {
    try {
      await this.show(filter);
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.status.textContent = '';
      this.area.replaceChildren(refusal(error, () => this.change(filter)));
    }
  }

  async load(turn) {
    const query = queryOf(this.filter, { days: DAYS, limit: ROWS, end: this.end, after: this.after });
    const { data } = await ask(`/v1/coverage?${query}`);
    // Another filter was chosen meanwhile.
    if (turn !== this.turn) return;
    this.data = data;
    this.draw();
    if (data.uncounted > 0) this.timer = setTimeout(() => this.countOn(turn), COUNTING_MS);
  }

  /**
   * Requests again until the server has compared everything with the calendar, which it does in
   * parts.
   */
  async countOn(turn) {
    if (document.hidden) {
      this.timer = setTimeout(() => this.countOn(turn), COUNTING_MS);
      return;
    }
    try {
      await this.load(turn);
    } catch (error) {
      // The rows stay; a reload shows the error.
      if (error.name !== 'Refused') throw error;
    }
  }

  draw() {
    const { data, filter, area } = this;
    const { total, uncounted } = data;
    const isFiltered = filter.query !== '' || filter.market !== '';
    let words = total === 1 ? phrase('listed_one') : phrase('listed', count(total));
    if (total === 0) words = isFiltered || this.who?.role !== 'operator' ? phrase('no_results') : nothingYet(this.who);
    else if (uncounted > 0) words = phrase('comparing', count(total - uncounted), count(total));
    if (this.status.textContent !== words) this.status.textContent = words;
    // Redrawing the rows while more are compared preserves the focus and the scroll position.
    const had = area.contains(document.activeElement) ? document.activeElement.textContent : undefined;
    const left = area.querySelector('.scroll')?.scrollLeft;
    // The height never shrinks with fewer rows, so that the content below does not move.
    area.style.minHeight = `${area.offsetHeight}px`;
    area.replaceChildren(bar(data, filter), ...(total > 0 ? [heat(data, (symbol, date) => this.drill(symbol, date), left), legend()] : []));
    if (had) [...area.querySelectorAll('.symbol')].find((one) => one.textContent === had)?.focus({ preventScroll: true });
  }

  drill(symbol, date) {
    this.detail.classList.add('drilled');
    return drill(this.detail, symbol, this.data, date);
  }
}

function bar({ start, end, today, next }, filter) {
  const way = (more, label, kind = 'button') => el('a', { class: kind, href: pageWith('/coverage', filter, more) }, phrase(label));
  const later = shiftDate(end, DAYS);
  return el(
    'p',
    { class: 'row' },
    el('strong', {}, phrase('range', start, end)),
    way({ end: shiftDate(start, -1) }, 'earlier', 'button push'),
    end < today ? way({ end: later > today ? today : later }, 'later') : undefined,
    next ? way({ end, after: next }, 'more_securities') : undefined,
  );
}

function heat(data, show, left) {
  const days = calendarDays(data.start, data.end);
  // Two grids with rows of equal height: the days scroll under their months, and the names stay.
  const names = el('div', { class: 'names' }, el('span', {}), el('span', { class: 'lead' }, phrase('complete')));
  const strip = el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': phrase('heat') }, monthRow(days));
  for (const row of data.rows) {
    const expected = [...row.days].filter((state) => 'cpm'.includes(state)).length;
    const complete = [...row.days].filter((state) => state === 'c').length;
    const button = el('button', { type: 'button', class: 'symbol', 'aria-expanded': 'false' }, row.symbol);
    const open = (date) => {
      for (const other of names.querySelectorAll('.symbol')) other.setAttribute('aria-expanded', String(other === button));
      show(row.symbol, date);
    };
    button.addEventListener('click', () => open());
    const tooltip = (date, at) => {
      const words = [phrase(STATES[row.days[at]] ?? 'outside'), ...(row.trades?.[at] === 't' ? [phrase('single_trades')] : [])];
      return `${row.symbol} ${date}: ${words.join(', ')}`;
    };
    const boxes = el(
      'div',
      { class: 'days', 'aria-hidden': 'true' },
      days.map((date, at) =>
        el('i', {
          'data-state': row.days[at] ?? '.',
          'data-date': date,
          title: tooltip(date, at),
        }),
      ),
    );
    boxes.addEventListener('click', (event) => {
      if (event.target.dataset.date) open(event.target.dataset.date);
    });
    const share = `${count(complete)} / ${count(expected)}`;
    names.append(button, el('span', { class: complete < expected ? 'number warn' : 'number' }, share));
    strip.append(boxes);
  }
  // The newest days are at the right end, which is off screen on a phone. The width is known once
  // the strip is in the page.
  requestAnimationFrame(() => {
    strip.scrollLeft = left ?? strip.scrollWidth;
  });
  return el('div', { class: 'heat' }, names, strip);
}

function monthRow(days) {
  const row = el('div', { class: 'months', 'aria-hidden': 'true' });
  for (const { text, from, length } of monthSpans(days)) {
    const label = el('span', {}, text);
    label.style.gridColumn = `${from + 1} / span ${length}`;
    row.append(label);
  }
  return row;
}

const legend = () =>
  el(
    'p',
    { class: 'day-states' },
    Object.entries(STATES)
      .filter(([state]) => state !== '.')
      .map(([state, word]) => el('span', {}, el('i', { 'data-state': state }), phrase(word))),
  );

async function drill(detail, symbol, { start, end }, date) {
  const query = new URLSearchParams({ start: date ?? start, end: date ?? end });
  let data;
  try {
    ({ data } = await ask(`/v1/coverage/${encodeURIComponent(symbol)}?${query}`));
  } catch (error) {
    if (error.name !== 'Refused') throw error;
    const isOfSymbol = error.status === 400 || error.status === 404;
    detail.replaceChildren(
      isOfSymbol
        ? el('p', { class: 'warn' }, phrase('no_details', symbol, error.message))
        : refusal(error, () => drill(detail, symbol, { start, end }, date)),
    );
    return;
  }
  const isQuiet = ({ daily, gaps }) => daily && gaps.length > 0 && gaps.every(({ reason }) => reason === 'no trades');
  const isOpen = ({ daily, gaps }) => !daily || gaps.some(({ reason }) => reason !== 'no trades');
  const rows = date ? data.days : data.days.filter(isOpen);
  const quiet = date ? [] : data.days.filter(isQuiet);
  const columns = [
    {
      title: phrase('day'),
      of: (day) => el('a', { href: addressOf(`/?symbol=${encodeURIComponent(symbol)}&period=1m&before=${day.date}`) }, day.date),
    },
    { title: phrase('session'), of: (day) => (KINDS[day.day] ? phrase(KINDS[day.day]) : day.day) },
    { title: phrase('daily'), of: (day) => daily(day) },
    { title: phrase('minutes'), kind: 'number', of: (day) => `${count(day.minutes)} / ${count(day.expected)}` },
    {
      title: phrase('single_trades'),
      kind: 'number',
      of: (day) => (Number.isInteger(day.trades) ? count(day.trades) : phrase('not_over')),
    },
    { title: phrase('gaps'), kind: 'wide', of: (day) => gaps(day) },
  ];
  const none = date ? phrase('nothing_expected', symbol, date) : phrase('all_complete');
  detail.replaceChildren(
    el('div', { class: 'row' }, el('h2', {}, chartLink(symbol), ` ${date ?? phrase('range', start, end)}`)),
    table(phrase('gaps_of', symbol), columns, rows, none),
    ...(quiet.length === 0
      ? []
      : [
          el(
            'details',
            {},
            el('summary', {}, phrase('quiet', count(quiet.length))),
            table(phrase('quiet', count(quiet.length)), columns, quiet, ''),
          ),
        ]),
  );
  detail.scrollIntoView({ block: 'nearest' });
}

// A thinly traded day has a gap every few minutes; the first ones are enough.
const GAPS_SHOWN = 6;
const REASONS = { 'no trades': 'no trades', 'not loaded': 'not loaded' };

// A daily candle counts as missing only once the day is over.
function daily(day) {
  if (day.daily) return phrase('there');
  return day.daily_missing === null ? phrase('not_over') : el('span', { class: 'warn' }, phrase('missing'));
}

function gaps(day) {
  const listed = day.gaps.slice(0, GAPS_SHOWN).map(({ first, last, minutes, reason }) => {
    const span = minutes === 1 ? first.slice(11, 16) : `${first.slice(11, 16)}–${last.slice(11, 16)}`;
    return el('span', { class: reason === 'no trades' ? undefined : 'warn' }, phrase('gap', span, minutes, phrase(REASONS[reason] ?? 'unknown gap')));
  });
  const parts = listed.flatMap((one, at) => (at > 0 ? [', ', one] : [one]));
  const rest = day.gaps.length - listed.length + (day.gaps_omitted ?? 0);
  return el('span', {}, parts, rest > 0 ? ` ${phrase('and_more', count(rest))}` : '');
}
