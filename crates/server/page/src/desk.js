// Account and operator pages: one document, and a file for each path. Each file exports what it is called and a function that
// fills the sheet; what goes wrong on the way is told here, once.

import { adviceElement } from './advice.js';
import { me } from './api.js';
import { addressOf, pathHere, whereIAm } from './base.js';
import { connections } from './desk/connections.js';
import { coverage } from './desk/coverage.js';
import { imports } from './desk/imports.js';
import { quota } from './desk/quota.js';
import { byId, el } from './dom.js';
import { phrase } from './phrases/desk.js';
import { cycleTheme } from './prefer.js';
import { adviceFor } from './refusal.js';
import { showMe } from './shell.js';

const PAGES = { '/quota': quota, '/connections': connections, '/coverage': coverage, '/imports': imports };

async function start() {
  const page = PAGES[pathHere()];
  const sheet = byId('desk');
  document.title = `${page?.title ?? phrase('not_found')} · Chandler`;
  for (const link of document.querySelectorAll('nav a'))
    if (link.pathname === location.pathname) link.setAttribute('aria-current', 'page');
  const head = el('h1', {}, page?.title ?? phrase('not_found'));
  try {
    const who = await me();
    showMe(who);
    const content = page
      ? await page.fill(who)
      : [el('p', {}, phrase('no_page'), ' ', el('a', { href: addressOf('/') }, phrase('to_chart')))];
    sheet.replaceChildren(head, ...content);
  } catch (error) {
    if (error.name !== 'Refused') throw error;
    if (error.status === 401) showMe(undefined);
    sheet.replaceChildren(head, adviceElement(adviceFor(error, { here: whereIAm() }), start).box);
  }
}

byId('theme').addEventListener('click', cycleTheme);
start();
