// Files to import, past imports, and the rejected rows.

import { Refused, ask } from '../api.js';
import { addressOf } from '../base.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/dashboard.js';
import { phrase as uploading } from '../phrases/uploads.js';
import { nothingYet } from './empty.js';
import { mirrorsSheet } from './mirrors.js';
import { refusal } from './refused.js';
import { chartLink, count, instant, table } from './table.js';
import { openUndo } from './undo.js';
import { refuseDrops, uploadsSheet } from './uploads.js';

const PAGE = 50;
const KINDS = {
  candles: 'kind candles',
  trades: 'kind trades',
  securities: 'kind securities',
  actions: 'kind actions',
  margins: 'kind margins',
  removal: 'kind removal',
  unknown: 'kind unknown',
};
const STATES = { failed: 'failed', interrupted: 'interrupted' };

export const imports = { title: phrase('imports'), fill };

async function fill(who) {
  // The server would refuse every request of this page.
  if (who.role !== 'operator') return [refusal(new Refused({ status: 403, message: 'this is for operators' })), refuseDrops()];
  const params = new URLSearchParams(location.search);
  const said = el('p', { class: 'said', role: 'status' });
  const sheets = el('div', { class: 'sheets' });
  /** After the first load, an error replaces the tables. */
  const refresh = async (words = '') => {
    said.textContent = words;
    try {
      await show();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      sheets.replaceChildren(refusal(error, () => refresh()));
    }
  };
  const show = async () => sheets.replaceChildren(...(await Promise.all([ledgerSheet(params, who, refresh), quarantineSheet(params)])));
  const [uploads, mirrors] = await Promise.all([uploadsSheet(who, refresh), mirrorsSheet(), show()]);
  return [uploads, mirrors, said, sheets].filter(Boolean);
}

const fileName = (path) => path.split(/[\\/]/).at(-1);

async function ledgerSheet(params, who, refresh) {
  const before = params.get('before');
  const { data } = await ask(`/v1/imports?${new URLSearchParams({ limit: PAGE, ...(before && { before }) })}`);
  const number = (key) => ({ title: phrase(key), kind: 'number', of: (row) => count(row[key]) });
  const refused = (row) =>
    row.quarantined > 0
      ? el('a', { href: addressOf(`/imports?import=${row.import}#quarantine`) }, count(row.quarantined))
      : '0';
  const columns = [
    { title: '#', of: (row) => String(row.import) },
    { title: phrase('file'), of: (row) => el('span', { title: row.file }, fileName(row.file)) },
    { title: phrase('kind'), of: (row) => (KINDS[row.kind] ? phrase(KINDS[row.kind]) : row.kind) },
    { title: phrase('state'), of: state },
    number('rows'),
    number('added'),
    number('replaced'),
    number('unchanged'),
    { title: phrase('refused'), kind: 'number', of: refused },
    { title: phrase('finished'), of: (row) => instant(row.finished_at ?? row.started_at) },
    { title: phrase('actions'), kind: 'number ways-of', of: (row) => undoing(row, refresh) },
  ];
  const older = data.next
    ? el('p', { class: 'row' }, el('a', { href: addressOf(`/imports?before=${data.next}`) }, phrase('earlier_imports')))
    : undefined;
  return el(
    'section',
    { class: 'sheet' },
    el('h2', {}, phrase('ledger')),
    table(phrase('ledger_caption'), columns, data.imports, nothingYet(who)),
    older,
  );
}

/** Only candles can be undone, and only once. */
function undoing({ import: number, kind, state: at }, refresh) {
  if (kind !== 'candles' || at === 'undone' || at === 'running') return undefined;
  const label = uploading('undo_one', number);
  return el('button', { type: 'button', 'aria-label': label, 'data-key': `undo-${number}`, onclick: () => openUndo(number, refresh) }, uploading('undo'));
}

function state(row) {
  if (row.state === 'done') return phrase('done');
  if (row.state === 'undone') return el('span', { title: row.message ?? '' }, phrase('undone'));
  if (row.state === 'running') return `${Math.floor((100 * row.rows_done) / Math.max(row.rows, 1))} %`;
  return el('span', { class: 'warn', title: row.message ?? '' }, STATES[row.state] ? phrase(STATES[row.state]) : row.state);
}

async function quarantineSheet(params) {
  const [which, after] = [params.get('import'), params.get('after')];
  const query = new URLSearchParams({ limit: PAGE, ...(which && { import: which }), ...(after && { after }) });
  const { data } = await ask(`/v1/quarantine?${query}`);
  const columns = [
    { title: phrase('import'), of: (row) => String(row.import) },
    { title: phrase('file_line'), of: (row) => el('span', { title: row.file }, `${fileName(row.file)}:${row.line}`) },
    { title: phrase('security'), of: (row) => (row.is_known ? chartLink(row.symbol) : row.symbol) },
    { title: phrase('why'), kind: 'wide', of: (row) => row.reason },
    { title: phrase('row'), kind: 'wide', of: (row) => el('code', {}, row.text) },
  ];
  const going = new URLSearchParams({ ...(which && { import: which }), after: data.next });
  const all = el('a', { class: 'push', href: addressOf('/imports#quarantine') }, phrase('all_imports'));
  return el(
    'section',
    { class: 'sheet', id: 'quarantine' },
    el('div', { class: 'row' }, el('h2', {}, which ? phrase('refused_of', which) : phrase('refused_rows')), which ? all : undefined),
    table(phrase('refused_rows'), columns, data.rows, phrase('none_refused')),
    data.next
      ? el('p', { class: 'row' }, el('a', { href: addressOf(`/imports?${going}#quarantine`) }, phrase('more')))
      : undefined,
  );
}
