// What all pages have in common: who is signed in, and the links between pages.

import { addressOf, whereIAm } from './base.js';
import { byId } from './dom.js';
import { remember } from './memory.js';
import { phrase } from './phrases/shared.js';

/** The link to where one is, marked. */
export function showPlace() {
  const isHere = ({ pathname }) => pathname === location.pathname || (!pathname.endsWith('/') && location.pathname.startsWith(`${pathname}/`));
  for (const link of document.querySelectorAll('nav a')) if (isHere(link)) link.setAttribute('aria-current', 'page');
}

/** `who` is nothing for a visitor. Links for operators are shown to operators alone; the server checks again. */
export function showMe(who) {
  document.documentElement.dataset.role = who?.role ?? 'visitor';
  remember('role', who?.role);
  const account = byId('account');
  account.textContent = who ? who.account : phrase('sign_in');
  account.title = who ? `${who.account}: ${phrase('account_title')}` : '';
  if (!who) account.href = addressOf(`/signin?next=${encodeURIComponent(whereIAm())}`);
}
