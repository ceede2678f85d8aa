// Files are dropped on the import page, or on the chart page while it is empty, or chosen in a
// dialog, and sent to the server one after the other. Files sent earlier are listed again when the
// page is reopened.

import { UNREACHABLE, ask } from '../api.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/uploads.js';
import { sendFile } from './send-file.js';
import { uploadCard } from './upload-card.js';
import { sizeWords, unsendable } from './upload-words.js';

/** For an operator; `onChange` is called when stored data has changed. */
export async function uploadsSheet(who, onChange = () => {}) {
  const { data } = await ask('/v1/uploads');
  const said = el('p', { class: 'said', role: 'status' });
  const cards = el('div', { class: 'uploads', role: 'group', 'aria-label': phrase('waiting_files') });
  const around = { onChange, onGone: (box) => box.remove() };
  cards.append(...[...data.uploads].reverse().map((upload) => uploadCard(upload, around).box));
  const take = taker({ bytesMax: data.bytes_max, who }, { cards, said, around });
  const input = el('input', { type: 'file', multiple: true, hidden: true, 'aria-label': phrase('choose_file') });
  input.addEventListener('change', () => {
    const chosen = [...input.files].map((file) => ({ file, isFolder: false }));
    input.value = '';
    take(chosen);
  });
  const sheet = el(
    'section',
    { class: 'sheet drop', id: 'import' },
    el('h2', {}, phrase('import_file')),
    el('p', { class: 'lead' }, phrase('drop_here', sizeWords(data.bytes_max))),
    el('p', { class: 'row' }, el('button', { type: 'button', class: 'main', onclick: () => input.click() }, phrase('choose_file')), input),
    said,
    cards,
  );
  takeDrops(sheet, take);
  return sheet;
}

/**
 * For other accounts: a dropped file is neither accepted nor opened by the browser in place of the
 * page.
 */
export function refuseDrops() {
  const said = el('p', { class: 'said', role: 'status' });
  takeDrops(said, () => {
    said.textContent = phrase('operators_only');
  });
  return said;
}

/**
 * Files may be dropped anywhere while the sheet is shown: outside the target the browser would
 * navigate to them.
 */
function takeDrops(sheet, take) {
  const hasFiles = (event) => sheet.isConnected && event.dataTransfer?.types.includes('Files');
  document.addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'copy';
    sheet.dataset.over = 'true';
  });
  document.addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) delete sheet.dataset.over;
  });
  document.addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    delete sheet.dataset.over;
    take(droppedFiles(event.dataTransfer));
  });
}

function droppedFiles({ items, files }) {
  const dropped = [...items].filter(({ kind }) => kind === 'file');
  if (dropped.length === 0) return [...files].map((file) => ({ file, isFolder: false }));
  // Both have to be read before the event ends.
  const one = (item) => ({ file: item.getAsFile(), isFolder: item.webkitGetAsEntry?.()?.isDirectory === true });
  return dropped.map(one).filter(({ file }) => file);
}

/** Accepts files one after the other, also while earlier ones are being sent. */
function taker({ bytesMax, who }, { cards, said, around }) {
  let last = Promise.resolve();
  // Each of several files may have its own reason.
  const report = (words) => {
    said.textContent = [said.textContent, words].filter(Boolean).join('\n');
  };
  const send = async ({ file, isFolder }) => {
    const problem = unsendable(file, isFolder, { bytesMax, who });
    if (problem) {
      report(problem);
      return;
    }
    const way = sendingCard(file);
    cards.prepend(way.box);
    try {
      const upload = await sendFile(`/v1/uploads?name=${encodeURIComponent(file.name)}`, file, way);
      // The server stores a file that is sent again only once.
      for (const earlier of cards.children) if (earlier.dataset.upload === upload.upload) earlier.remove();
      const card = uploadCard(upload, around);
      way.box.replaceWith(card.box);
      await card.look();
    } catch (error) {
      way.box.remove();
      if (error.name === 'AbortError') return;
      if (error.name !== 'Refused') throw error;
      const why = error.status === UNREACHABLE ? phrase('cut') : error.message.replace(/\.$/, '');
      report(phrase('not_sent', file.name, why));
    }
  };
  return (files) => {
    said.textContent = '';
    for (const file of files) last = last.then(() => send(file));
    return last;
  };
}

/** A file being sent: its progress, and a stop button. */
function sendingCard(file) {
  const stop = new AbortController();
  const title = phrase('sending', file.name);
  const bar = el('progress', { max: 1, value: 0, 'aria-label': title });
  const box = el(
    'article',
    { class: 'upload', 'aria-label': file.name },
    el('h3', {}, title, ' ', el('small', {}, sizeWords(file.size))),
    bar,
    el('p', { class: 'row' }, el('button', { type: 'button', onclick: () => stop.abort() }, phrase('cancel'))),
  );
  return {
    box,
    signal: stop.signal,
    onProgress: (part) => {
      bar.value = part;
    },
  };
}
