// Shared by all pages: the signed-in account, and the links between pages.

import { BASE, addressOf, whereIAm } from './base.js';
import { byId, el } from './dom.js';
import { remember } from './memory.js';
import { phrase } from './phrases/shared.js';
import { inWorld } from './world.js';

/** Pages that follow the clock of a world. */
const IN_WORLDS = ['/', '/securities', '/portfolio'];

/** Marks the link to the current page, and keeps the links of these pages in the world. */
export function showPlace() {
  const isHere = ({ pathname }) => pathname === location.pathname || (!pathname.endsWith('/') && location.pathname.startsWith(`${pathname}/`));
  for (const link of document.querySelectorAll('.top a')) {
    if (IN_WORLDS.includes(link.pathname.slice(BASE.length))) link.search = inWorld('');
  }
  for (const link of document.querySelectorAll('nav a')) if (isHere(link)) link.setAttribute('aria-current', 'page');
}

/**
 * `who` is undefined for a visitor. Links for operators are shown only to operators; the server
 * checks again.
 */
export function showMe(who) {
  document.documentElement.dataset.role = who?.role ?? 'visitor';
  remember('role', who?.role);
  showLimits(Boolean(who?.unlimited));
  const account = byId('account');
  account.textContent = who ? who.account : phrase('sign_in');
  account.title = who ? `${who.account}: ${phrase('account_title')}` : '';
  showSimulated(who?.simulated_speed);
  if (!who) account.href = addressOf(`/signin?next=${encodeURIComponent(whereIAm())}`);
}

/** An account without limits needs no quota in sight. The link to it goes with the next page: it would move others. */
function showLimits(isUnlimited) {
  const { dataset } = document.documentElement;
  if (!isUnlimited) delete dataset.unlimited;
  else dataset.unlimited ??= 'known';
  remember('unlimited', isUnlimited ? 'before' : undefined);
}

/** A line under the header of every page of the demo. */
function showSimulated(speed) {
  if (speed === undefined || byId('simulated')) return;
  document.querySelector('.top').after(el('p', { id: 'simulated', class: 'simulated' }, phrase('simulated', speed)));
}
