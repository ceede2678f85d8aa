// One uploaded file: its dry run, its import with progress, and the result.

import { UNREACHABLE, ask } from '../api.js';
import { addressOf } from '../base.js';
import { grouped } from '../decimal.js';
import { el } from '../dom.js';
import { phrase as shared } from '../phrases/shared.js';
import { phrase } from '../phrases/uploads.js';
import { table } from './table.js';
import { openUndo } from './undo.js';
import { optionsForm } from './upload-options.js';
import { checkedWords, facts, importedWords, percentDone, plain, sizeWords } from './upload-words.js';

const POLL_MS = 500;

/**
 * The card, and a function that starts the dry run of its file. The callbacks report that stored
 * data changed and that the card was removed.
 */
export function uploadCard(upload, { onChange, onGone }) {
  const path = `/v1/uploads/${encodeURIComponent(upload.upload)}`;
  const body = el('div', { class: 'report' });
  const said = el('p', { class: 'said', role: 'status' });
  const actions = el('p', { class: 'row' });
  const form = optionsForm(upload.upload);
  const box = el(
    'article',
    { class: 'upload', 'aria-label': upload.file, 'data-upload': upload.upload },
    el('h3', {}, upload.file, ' ', el('small', {}, sizeWords(upload.bytes), ' · ', phrase('expires', plainInstant(upload.expires_at)))),
    body,
    said,
    form.box,
    actions,
  );

  /**
   * Shows the buttons of a state. If the focused button disappears, the focus stays in the card.
   */
  const offer = (...buttons) => {
    const hadFocus = actions.contains(document.activeElement);
    actions.replaceChildren(...buttons.filter(Boolean));
    if (hadFocus) actions.querySelector('button')?.focus({ preventScroll: true });
  };
  const button = (label, work, kind) =>
    el('button', { type: 'button', class: kind, onclick: () => attempt(work) }, phrase(label));
  let isReading = false;
  const attempt = async (work) => {
    isReading = false;
    said.textContent = '';
    try {
      await work();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase(isReading ? 'not_checked' : 'not_done', plain(error.message));
      if (error.status === 404) offer();
    }
  };

  const remove = async () => {
    await ask(path, { method: 'DELETE' });
    onGone(box);
  };
  // The import uses the same options as the dry run.
  let options;
  const looking = async (more = {}) => {
    isReading = true;
    said.textContent = phrase('looking');
    const requested = { ...form.values(), ...more };
    const { data } = await ask(`${path}/dry-run`, { method: 'POST', body: requested });
    said.textContent = '';
    options = requested;
    showChecked(data.files);
  };
  const start = async (more = {}) => {
    const { data } = await ask(`${path}/import`, { method: 'POST', body: { ...(options ?? form.values()), ...more } });
    await follow(data.import);
  };
  const stop = async () => {
    await ask(`${path}/stop`, { method: 'POST', body: {} });
    said.textContent = phrase('stopping');
  };

  const showWaiting = () => {
    body.replaceChildren();
    offer(button('look', () => looking(), 'main'), button('remove_file', remove));
  };
  const showChecked = (files) => {
    body.replaceChildren(...files.map(checkedFile));
    const has = (outcome) => files.some((file) => file.outcome === outcome);
    offer(
      has('checked') && button('import_it', () => start(), 'main'),
      has('not_replaced') && button('replace_it', () => start({ replace: true })),
      has('known') && button('look_again', () => looking({ again: true })),
      button('look', () => looking()),
      button('remove_file', remove),
    );
    // Values that the file lacks have to be entered in the form.
    if (has('failed')) form.open();
    form.suggest(files.find((file) => file.suggested_symbol)?.suggested_symbol);
  };
  /**
   * The current state of the import; the previous one while the server does not answer, since it
   * continues or returns soon.
   */
  const newest = async (before) => {
    try {
      const { data } = await ask(path);
      if (said.textContent === shared('gone')) said.textContent = '';
      return data.import;
    } catch (error) {
      if (error.status !== UNREACHABLE) throw error;
      said.textContent = shared('gone');
      return before;
    }
  };
  const follow = async (run) => {
    const bar = el('progress', { max: 100, value: 0, 'aria-label': upload.file });
    const words = el('p', {});
    body.replaceChildren(bar, words);
    offer(button('stop', stop));
    let now = run;
    while (now?.state === 'running') {
      bar.value = percentDone(now);
      words.textContent = phrase('importing', percentDone(now), grouped(now.rows_done));
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (!box.isConnected) return;
      now = await newest(now);
    }
    if (now) showEnded(now);
    else showWaiting();
    onChange();
  };
  /** An undone file can be checked and imported again. */
  const showUndone = (words) => {
    form.box.hidden = false;
    showWaiting();
    onChange(words);
  };
  const showEnded = ({ state, message, files }) => {
    said.textContent = '';
    const parts = message ? [el('p', { class: 'warn' }, phrase('not_done', message))] : files.map((file) => importedFile(file, showUndone));
    body.replaceChildren(...parts);
    form.box.hidden = state === 'done';
    offer(
      state === 'stopped' && button('go_on', () => start(), 'main'),
      state === 'not_replaced' && button('replace_it', () => start({ replace: true })),
      state === 'known' && button('look_again', () => looking({ again: true })),
      state !== 'done' && button('look', () => looking()),
      button('remove_file', remove),
    );
  };

  // Other options make another import: it has to be checked before it can start.
  form.box.addEventListener('input', () => {
    if (options) offer(button('look', () => looking(), 'main'), button('remove_file', remove));
    options = undefined;
  });

  if (!upload.import) showWaiting();
  else if (upload.import.state === 'running') queueMicrotask(() => attempt(() => follow(upload.import)));
  else showEnded(upload.import);
  return { box, look: () => attempt(looking) };
}

const plainInstant = (rfc3339) => `${rfc3339.slice(0, 10)} ${rfc3339.slice(11, 16)} UTC`;

/** The dry run report of one file. */
function checkedFile(report) {
  const { text, isBad } = checkedWords(report);
  return el(
    'div',
    { class: 'report' },
    el('p', { class: isBad ? 'warn' : undefined }, text),
    factList(report),
    noteList(report),
    firstRows(report.first_rows),
    firstTrades(report.first_trades),
    refusedRows(report.problems, phrase('first_refused')),
  );
}

function importedFile(report, onUndone) {
  const { text, isBad } = importedWords(report);
  const { names, kind, import: number, outcome } = report;
  const isThere = outcome === 'imported' && kind === 'candles' && names.length > 0;
  const chart = () =>
    el('a', { class: 'button main', href: addressOf(`/?symbol=${encodeURIComponent(names[0])}`) }, phrase('see_chart', names[0]));
  const undo = () => el('button', { type: 'button', onclick: () => openUndo(number, onUndone) }, phrase('undo'));
  return el(
    'div',
    { class: 'report' },
    el('p', { class: isBad ? 'warn' : undefined }, text),
    isThere ? el('p', { class: 'row' }, chart(), number ? undo() : undefined) : undefined,
    noteList(report),
    refusedRows(report.problems, phrase('were_refused')),
  );
}

function factList(report) {
  const known = facts(report);
  if (known.length === 0) return undefined;
  const one = ({ title, value, why, isGuess }) =>
    el(
      'div',
      {},
      el('dt', {}, title),
      el('dd', {}, value, isGuess ? [' ', el('mark', {}, phrase('guess'))] : undefined, why ? el('small', {}, why) : undefined),
    );
  return el('dl', { class: 'figures understood' }, known.map(one));
}

function noteList({ notes, understood }) {
  const all = [...(understood?.are_columns_guessed ? [phrase('columns_guessed')] : []), ...notes.map(plain)];
  return all.length > 0 ? el('ul', { class: 'notes' }, all.map((note) => el('li', {}, note))) : undefined;
}

function firstRows(rows) {
  if (rows.length === 0) return undefined;
  const number = (title, key) => ({ title: phrase(title), kind: 'number', of: (row) => grouped(row[key]) });
  const columns = [
    { title: phrase('symbol'), of: (row) => row.symbol },
    { title: phrase('time'), of: (row) => row.time.replace('T', ' ') },
    ...[number('open', 'open'), number('high', 'high'), number('low', 'low'), number('close', 'close')],
    ...[number('volume', 'volume'), number('turnover', 'turnover')],
  ];
  return el('div', {}, el('h4', {}, phrase('first_rows')), table(phrase('first_rows'), columns, rows, ''));
}

/** The same for a table of trades. */
function firstTrades(rows = []) {
  if (rows.length === 0) return undefined;
  const columns = [
    { title: phrase('symbol'), of: (row) => row.symbol },
    { title: phrase('time'), of: (row) => row.time.replace('T', ' ') },
    { title: phrase('price'), kind: 'number', of: (row) => grouped(row.price) },
    { title: phrase('volume'), kind: 'number', of: (row) => grouped(row.volume) },
    { title: phrase('direction'), of: (row) => row.direction },
    { title: phrase('trade_type'), of: (row) => row.type },
  ];
  return el('div', {}, el('h4', {}, phrase('first_rows')), table(phrase('first_rows'), columns, rows, ''));
}

function refusedRows(problems, title) {
  if (problems.length === 0) return undefined;
  const columns = [
    { title: phrase('line'), kind: 'number', of: ({ line }) => grouped(line) },
    { title: phrase('reason'), kind: 'wide', of: ({ reason }) => reason },
  ];
  return el('div', {}, el('h4', {}, title), table(title, columns, problems, ''));
}
