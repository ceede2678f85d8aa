// Why an account has its level, in the language of the page.

import { grouped } from '../decimal.js';
import { phrase } from '../phrases/desk.js';

export function levelReason({ kind, hkd, paper_hkd: paperHkd, day, count, paper, month, exceeded, level }) {
  if (kind === 'assets') {
    const reason = phrase('level_assets', `HKD ${grouped(hkd)}`, day, level);
    return paperHkd ? phrase('level_assets_paper', reason, `HKD ${grouped(paperHkd)}`) : reason;
  }
  if (kind === 'orders') {
    const reason = phrase('level_orders', count, month, exceeded, level);
    return paper ? phrase('level_orders_paper', reason, paper) : reason;
  }
  return phrase(kind === 'set' ? 'by_hand' : 'level_opened');
}
