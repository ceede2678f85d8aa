// Why an account has its level, in the language of the page.

import { grouped } from '../decimal.js';
import { phrase } from '../phrases/dashboard.js';

export function levelReason({ kind, hkd, paper_hkd: paperHkd, day, count, paper, month, exceeded, level }) {
  if (kind === 'assets') {
    return phrase(paperHkd ? 'level_assets_paper' : 'level_assets', `HKD ${grouped(hkd)}`, day, level);
  }
  if (kind === 'orders') {
    return phrase(paper ? 'level_orders_paper' : 'level_orders', count, month, exceeded, level);
  }
  return phrase(kind === 'set' ? 'by_hand' : 'level_opened');
}
