// Account and operator pages: one document, and a file for each path. Each file exports its title
// and a function that fills the page; errors are shown here, in one place.

import { ask, me } from './api.js';
import { addressOf, pathHere } from './base.js';
import { accounts } from './dashboard/admin/accounts.js';
import { audit } from './dashboard/admin/audit.js';
import { status } from './dashboard/admin/status.js';
import { connections } from './dashboard/connections.js';
import { coverage } from './dashboard/coverage.js';
import { imports } from './dashboard/imports.js';
import { portfolio } from './dashboard/portfolio.js';
import { quota } from './dashboard/quota.js';
import { refusal } from './dashboard/refused.js';
import { securities } from './dashboard/securities.js';
import { isTopics, topics } from './dashboard/topics.js';
import { byId, el } from './dom.js';
import { pageStream } from './page-stream.js';
import { cycleTheme } from './prefer.js';
import { Replayer } from './replayer.js';
import { showMe, showPlace } from './shell.js';
import { WORLD, inWorld } from './world.js';

const PAGES = { '/securities': securities, '/portfolio': portfolio, '/quota': quota, '/connections': connections, '/coverage': coverage, '/imports': imports };
const OPERATORS_PAGES = { '/admin': accounts, '/admin/audit': audit, '/admin/status': status };

async function start() {
  const page = isTopics(pathHere()) ? topics : (PAGES[pathHere()] ?? OPERATORS_PAGES[pathHere()]);
  const sheet = byId('dashboard');
  page.early?.();
  document.title = `${page.title} · Chandler`;
  showPlace();
  // On a phone the links to the last pages are off screen; centred, the current link is not covered
  // by the account name.
  document.querySelector('nav a[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  const head = el('h1', {}, page.title);
  try {
    const who = await me();
    showMe(who);
    sheet.replaceChildren(head, ...(await page.fill(who)));
  } catch (error) {
    if (error.name !== 'Refused') throw error;
    if (error.status === 401) showMe(undefined);
    sheet.replaceChildren(head, refusal(error, start));
  }
}

byId('theme').addEventListener('click', cycleTheme);
const ready = start();
// The page shows its part of the world; the bar follows.
if (WORLD)
  ready.finally(
    () =>
      new Replayer({
        ask,
        stream: pageStream(),
        current: () => ({}),
        // The page follows the stream.
        moved: () => {},
        settled: () => {},
        gone: start,
        isInspecting: () => false,
        outside: () => addressOf(pathHere()),
        entering: (world) => addressOf(inWorld(pathHere(), world)),
        say: () => {},
      }),
  );
