// Statements of dates and months, newest first, as files: PDF for people, JSON for programs.

import { Refused, ask } from '../api.js';
import { addressOf } from '../base.js';
import { table } from '../dashboard/table.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { fillSheet, rowButton, sheetOf } from './sheet.js';

/** `20260318` as `2026-03-18`. */
export const dashed = (dt) => String(dt).replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');

/** Dates and months in one list, newest first; a month comes after its last date. */
export function listOf({ daily, monthly }) {
  const rows = [...monthly.map((row) => ({ ...row, kind: 'monthly' })), ...daily.map((row) => ({ ...row, kind: 'daily' }))];
  return rows.sort((a, b) => b.dt - a.dt || a.kind.localeCompare(b.kind));
}

/**
 * The path of a file on this server: the URL itself may be a public one with another host than this
 * page.
 */
export const pathOf = (url) => url.slice(url.indexOf('/files/statement/'));

export function statementsSheet() {
  const { box, body } = sheetOf('statements', phrase('statements'));
  const said = el('p', { class: 'said', role: 'status' });
  box.append(said);
  const save = async (row, format) => {
    said.textContent = '';
    try {
      await download(row.file_key.replace(/\.json$/, `.${format}`));
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('statement_failed', error.message);
    }
  };
  const ways = (row) => {
    const way = (format) => {
      const name = phrase('statement_as', phrase(row.kind), dashed(row.dt), format.toUpperCase());
      return rowButton(`${format} ${row.kind} ${row.dt}`, format.toUpperCase(), name, () => save(row, format));
    };
    return el('span', { class: 'ways' }, way('pdf'), ' ', way('json'));
  };
  const columns = [
    { title: phrase('date'), of: (row) => dashed(row.dt) },
    { title: phrase('kind'), of: (row) => phrase(row.kind) },
    { title: phrase('file'), kind: 'number', of: ways },
  ];
  const show = ({ statements }) =>
    fillSheet(body, statements, () => [table(phrase('statements'), columns, listOf(statements), phrase('no_statements'))]);
  return { box, show };
}

async function download(key) {
  const { url } = (await ask(`/v1/statement/download?file_key=${encodeURIComponent(key)}`)).data;
  const href = addressOf(pathOf(url));
  // Fetched first: following a refused link would replace the page with the error.
  const answer = await fetch(href).catch(() => undefined);
  if (!answer?.ok) {
    const { message = 'the server does not answer' } = (await answer?.json().catch(() => undefined)) ?? {};
    throw new Refused({ status: answer?.status ?? 0, message });
  }
  await answer.arrayBuffer();
  const link = el('a', { href, download: '', hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}
