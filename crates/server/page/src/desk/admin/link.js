// A password link that was just given out.

import { BASE } from '../../base.js';
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
