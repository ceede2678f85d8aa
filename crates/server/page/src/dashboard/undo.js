// Undoes an import, after a dry run and a confirmation.

import { ask } from '../api.js';
import { grouped } from '../decimal.js';
import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/uploads.js';
import { plain } from './upload-words.js';

const SERIES_SHOWN = 8;

/** `onDone` is called when the import has been undone. */
export async function openUndo(number, onDone) {
  const path = `/v1/imports/${number}/undo`;
  const about = el('div', { class: 'report' }, el('p', {}, phrase('looking')));
  const said = el('p', { class: 'said', role: 'status' });
  const undo = el('button', { type: 'button', class: 'main', disabled: true, onclick: () => confirm() }, phrase('undo'));
  const dismiss = el('form', { method: 'dialog' }, el('button', {}, phrase('keep_it')));
  const box = openDialog('undo', phrase('undo_one', number), about, said, el('div', { class: 'choices' }, dismiss, undo));
  const attempt = async (work) => {
    try {
      await work();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('not_done', plain(error.message));
      undo.disabled = true;
    }
  };
  const confirm = () =>
    attempt(async () => {
      undo.disabled = true;
      await ask(path, { method: 'POST', body: {} });
      box.close();
      onDone(phrase('undone', number));
    });
  await attempt(async () => {
    const { data } = await ask(path, { method: 'POST', body: { dry_run: true } });
    about.replaceChildren(...planWords(data));
    undo.disabled = false;
  });
}

const SOURCES = { same: 'source_same', changed: 'source_changed', absent: 'source_absent' };

function planWords({ import: number, file, removed, restored, series, source }) {
  const name = file.split(/[\\/]/).at(-1);
  const day = (rfc3339) => rfc3339.slice(0, 10);
  const one = ({ symbol, period, first, last }) => el('li', {}, `${symbol} ${period} `, el('small', {}, phrase('range_of', day(first), day(last))));
  const more = series.length - SERIES_SHOWN;
  return [
    el('p', {}, phrase('undo_of', number, name)),
    el('p', {}, el('strong', {}, phrase('undo_would', grouped(removed), grouped(restored)))),
    el('p', { class: 'lead' }, phrase(SOURCES[source])),
    el('ul', { class: 'notes' }, series.slice(0, SERIES_SHOWN).map(one), more > 0 ? el('li', {}, phrase('undo_more', grouped(more))) : undefined),
  ];
}
