// Contents, activity and warnings of the server: `/status` as a page.

import { askDocument } from '../../api.js';
import { addressOf } from '../../base.js';
import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';
import { refusal } from '../refused.js';
import { count, instant, table } from '../table.js';
import { bytesText, shareText, spanOf } from './forms.js';
import { forOperators } from './shell.js';

const UNITS = { d: 'unit_d', h: 'unit_h', min: 'unit_min', s: 'unit_s' };
const spanText = (seconds) => spanOf(seconds).map(([many, unit]) => phrase(UNITS[unit], many)).join(' ');

export const status = forOperators('/admin/status', 'status', async () => {
  const box = el('div', { class: 'sheets' });
  const draw = async () => box.replaceChildren(...sheets(await askDocument('/status')));
  const again = () =>
    draw().catch((error) => {
      if (error.name !== 'Refused') throw error;
      box.replaceChildren(refusal(error, again));
    });
  await draw();
  return [el('p', { class: 'row' }, el('button', { type: 'button', class: 'push', onclick: again }, phrase('refresh'))), box];
});

const figure = (title, what, small) => el('div', {}, el('dt', {}, title), el('dd', {}, what, el('small', {}, small ?? '')));
const sheet = (title, ...parts) => el('section', { class: 'sheet' }, el('h2', {}, title), ...parts);

function sheets(data) {
  return [
    data.warnings.length > 0
      ? sheet(phrase('warnings'), el('ul', { class: 'warnings' }, data.warnings.map((text) => el('li', { class: 'warn' }, text))))
      : undefined,
    server(data),
    store(data.store),
    calendars(data.calendars),
    connections(data),
  ].filter(Boolean);
}

function server({ version, started_at: started, uptime_s: uptime, ready, memory_bytes: memory, requests, cache }) {
  const all = requests.answered + requests.refused;
  return sheet(
    phrase('server'),
    el(
      'dl',
      { class: 'figures' },
      figure(phrase('version'), version, ready ? phrase('ready') : el('span', { class: 'warn' }, phrase('not_ready'))),
      figure(phrase('uptime'), spanText(uptime), instant(started)),
      figure(phrase('memory'), bytesText(memory), phrase('cache_of', bytesText(cache.bytes), bytesText(cache.bytes_max))),
      figure(phrase('requests'), count(all), phrase('refused_of_them', count(requests.refused), shareText(requests.refused, all))),
      figure(phrase('cache'), shareText(cache.hits, cache.hits + cache.misses), phrase('cache_hits')),
    ),
  );
}

function store(data) {
  const last = data.last_import;
  return sheet(
    phrase('store'),
    el(
      'dl',
      { class: 'figures' },
      figure(phrase('candles_file'), bytesText(data.file_bytes), phrase('blocks_of', bytesText(data.block_bytes), count(data.blocks))),
      figure(phrase('accounts_file'), bytesText(data.accounts_file_bytes)),
      figure(phrase('disk_free'), bytesText(data.disk_free_bytes)),
      figure(phrase('candles'), count(data.candles), phrase('series', count(data.series))),
      figure(
        phrase('last_import'),
        last ? el('a', { href: addressOf('/imports') }, `#${last.id}`) : phrase('none'),
        last ? instant(last.finished_at ?? last.started_at) : '',
      ),
    ),
  );
}

function calendars(rows) {
  const columns = [
    { title: phrase('market'), of: (row) => row.market },
    { title: phrase('time'), of: (row) => instant(row.now) },
    { title: phrase('valid_through'), of: (row) => row.valid_through },
  ];
  return sheet(phrase('calendars'), table(phrase('calendars'), columns, rows, ''));
}

function connections({ connections: open, connections_max: most, signed_in: signedIn, tls, listeners }) {
  const rows = Object.entries(open);
  const columns = [
    { title: phrase('kind'), of: ([kind]) => kind },
    { title: phrase('open'), kind: 'number', of: ([, many]) => count(many) },
  ];
  const listening = listeners.map(({ kind, address, region }) => [kind, address, region].filter(Boolean).join(' '));
  return sheet(
    phrase('connections_open'),
    table(phrase('connections_open'), columns, rows, ''),
    el('p', { class: 'lead' }, phrase('signed_in', count(signedIn), count(most))),
    listening.length > 0 ? el('p', { class: 'lead' }, phrase('listens', listening.join(', '))) : undefined,
    tls ? el('p', { class: 'lead' }, phrase('certificate', tls.names.join(', ')), ' ', instant(tls.not_after)) : undefined,
    el('p', { class: 'row' }, el('a', { href: addressOf('/connections?account=all') }, phrase('see_connections'))),
  );
}
