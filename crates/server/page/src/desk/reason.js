// Why an account has its level, in the language of the page.

import { grouped } from '../decimal.js';
import { phrase } from '../phrases/desk.js';

export function levelReason({ kind, hkd, day, count, month, exceeded, level }) {
  if (kind === 'assets') return phrase('level_assets', `HKD ${grouped(hkd)}`, day, level);
  if (kind === 'orders') return phrase('level_orders', count, month, exceeded, level);
  return phrase(kind === 'set' ? 'by_hand' : 'level_opened');
}
