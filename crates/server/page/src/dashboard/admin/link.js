// A newly issued password link: shown in a dialog, only once.

import { BASE } from '../../base.js';
import { openDialog } from '../../dialog.js';
import { el } from '../../dom.js';
import { phrase } from '../../phrases/admin.js';
import { instant } from '../table.js';
import { copied } from './shell.js';

export const passwordLink = ({ account, path, expires_at: until }) =>
  el(
    'div',
    { class: 'given' },
    el('p', {}, phrase('link_given', account), ' ', instant(until)),
    copied(phrase('link'), location.origin + BASE + path),
  );

export const closing = () => el('form', { method: 'dialog' }, el('button', {}, phrase('close')));

export const showLink = (link) =>
  openDialog('given-link', phrase('link'), passwordLink(link), el('div', { class: 'choices' }, el('span', {}), closing()));
