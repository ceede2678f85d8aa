// Cash movements, newest first.

import { chartLink, hongKongInstant, table } from '../dashboard/table.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/portfolio.js';
import { fillSheet, rowButton, sheetOf } from './sheet.js';
import { feeWords, flowWords, signedAmount } from './words.js';

export function flowsSheet(onMore) {
  const { box, body } = sheetOf('flows', phrase('cash_flow'));
  const columns = [
    { title: phrase('time'), of: (row) => hongKongInstant(row.business_time) },
    { title: phrase('kind'), of: (row) => flowWords(row.transaction_flow_name) },
    { title: phrase('amount'), kind: 'number', of: (row) => signedAmount(row.balance) },
    { title: phrase('currency'), of: (row) => row.currency },
    { title: phrase('security'), of: (row) => (row.symbol ? chartLink(row.symbol) : '') },
    { title: phrase('about'), of: (row) => (row.transaction_flow_name === 'Fee' ? feeWords(row.description) : row.description) },
  ];
  const show = ({ flows, hasMoreFlows }) =>
    fillSheet(body, [flows, hasMoreFlows], () => {
      const listed = table(phrase('cash_flow'), columns, flows, phrase('no_flows'));
      if (hasMoreFlows) listed.append(el('p', { class: 'row' }, rowButton('more flows', phrase('more'), undefined, onMore)));
      return [listed];
    });
  return { box, show };
}
