// The export dialog: commands to copy, a file of candles, a picture.

import { BASE } from '../base.js';
import { dateOf } from '../candles.js';
import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { parseLink } from '../link.js';
import { phrase } from '../phrases/extras.js';
import { cliOf, curlOf, pythonOf } from './commands.js';
import { csvOf, fileName } from './csv.js';
import { pictureOf } from './picture.js';

/** `legends` returns the legend texts of the chart. */
export function openSave({ view, feed, chart, facts, period }, legends, nameOf) {
  const said = el('p', { class: 'said', role: 'status' });
  // The address follows scrolling; the view still has its original point.
  const { before } = parseLink(location.search).view;
  const shown = { ...view, before };
  const server = location.origin + BASE;
  const texts = [['CLI', cliOf(shown, server)], ['curl', curlOf(shown, server)], ['Python', pythonOf(shown)]];
  const blocks = texts.map(([title, text]) => {
    const code = el('pre', { tabindex: 0 }, el('code', {}, text));
    const copy = el('button', { type: 'button', onclick: () => copied(code, text, said), 'aria-label': phrase('copy_as', title) }, phrase('copy'));
    return el('div', { class: 'copy' }, el('h3', {}, title), copy, code);
  });
  const csv = () => {
    save(new Blob([csvOf(view.symbol, feed.candles)], { type: 'text/csv' }), fileName(view, feed.candles, 'csv'));
    said.textContent = phrase('saved', feed.candles.length);
  };
  const png = () => {
    const { from, to } = chart.range();
    const seen = feed.candles.slice(Math.max(Math.ceil(from), 0), Math.floor(to) + 1);
    const title = [view.symbol, facts ? nameOf(facts) : ''].filter(Boolean).join(' ');
    const line = `${period.label} · ${phrase(view.adjust)} · ${dateOf(seen[0])} – ${dateOf(seen.at(-1))} · ${location.host}`;
    pictureOf(chart, { title, line, legends: legends() }).toBlob((blob) => save(blob, fileName(view, seen, 'png')));
  };
  const box = openDialog(
    'save',
    phrase('save'),
    ...blocks,
    said,
    el(
      'p',
      { class: 'choices' },
      el('span', { class: 'row' }, el('button', { type: 'button', onclick: csv }, 'CSV'), el('button', { type: 'button', onclick: png }, 'PNG')),
      el('button', { type: 'button', class: 'main', onclick: () => box.close() }, phrase('done')),
    ),
  );
}

/**
 * The clipboard is available only on localhost and over TLS; elsewhere the text is selected for
 * copying.
 */
async function copied(code, text, said) {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = phrase('copied');
  } catch {
    getSelection().selectAllChildren(code);
    said.textContent = phrase('select');
  }
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = el('a', { href: address, download: name });
  link.click();
  // By then the download has started.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
