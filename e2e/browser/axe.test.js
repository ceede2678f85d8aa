// Every page by the rules of axe: no serious finding, equal landmarks, or empty table header, in light
// and dark.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, it } from 'node:test';

import { PHONE } from './browser.js';
import { drawn, signInTo } from './chart.js';
import { WORK } from './harness.js';
import { stageAt } from './stage.js';

const AXE = readFileSync(createRequire(path.join(WORK, 'node/package.json')).resolve('axe-core/axe.min.js'), 'utf8');
const OPERATOR = 'Otto Lantern';
const SYMBOL = '9001.HK';
// Hong Kong is open: the account holds a position and an open order.
const on = stageAt('2026-11-12T10:00:00+08:00', [OPERATOR, '--role', 'operator', '--rate', 'unlimited', '--cash', 'HKD=500000']);

const heading = (name) => (page) => page.getByRole('heading', { name, level: 1 }).waitFor();
/** Address, and what is on the page when it is complete. */
const PAGES = [
  ['/?symbol=9001.HK&period=5m', drawn],
  ['/?symbol=700.HK', (page) => page.getByRole('heading', { name: '700.HK is not known here' }).waitFor()],
  ['/?symbol=LAMPLIGHT', (page) => page.getByRole('heading', { name: /is not a symbol/ }).waitFor()],
  ['/securities', (page) => page.locator('.long-row a').first().waitFor()],
  ['/portfolio', (page) => page.locator('.open-orders td').first().waitFor()],
  ['/topics', heading('Topics')],
  ['/quota', heading('Quota')],
  ['/connections', heading('Connections')],
  ['/coverage', (page) => page.locator('.heat').waitFor()],
  ['/imports', (page) => page.locator('td').first().waitFor()],
  ['/admin', (page) => page.locator('td').first().waitFor()],
  [`/admin?account=${encodeURIComponent(OPERATOR)}`, (page) => page.locator('td').first().waitFor()],
  ['/admin/audit', (page) => page.locator('td').first().waitFor()],
  ['/admin/status', heading('Status')],
  ['/signin', (page) => page.locator('h1').waitFor()],
  ['/oauth2/device/authorize/confirm', (page) => page.locator('h1').waitFor()],
];
/** Minor by axe's count, and defects of these pages all the same. */
const ALSO = ['landmark-unique', 'empty-table-header', 'region'];

/** The findings on the page, each with an element. */
async function findings(page) {
  await page.evaluate(`${AXE}; undefined`);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations
    .filter(({ id, impact }) => ['serious', 'critical'].includes(impact) || ALSO.includes(id))
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}

async function trade() {
  const headers = { authorization: `Bearer ${on.people[OPERATOR].access_token}` };
  const send = async (json) => {
    const answer = await on.server.ask('POST', '/v1/trade/order', { headers, json: { symbol: SYMBOL, side: 'Buy', submitted_quantity: '500', time_in_force: 'Day', ...json } });
    assert.equal(answer.status, 200, answer.text);
  };
  const { json } = await on.server.ask('GET', `/v1/quote/quotes?symbols=${SYMBOL}`, { headers });
  await send({ order_type: 'MO' });
  await send({ order_type: 'LO', submitted_price: String(Math.ceil(Number(json.data.secu_quote[0].last_done) * 0.8)) });
}

describe('no page has a serious accessibility problem', () => {
  let traded;
  for (const [scheme, viewport] of [['light', undefined], ['dark', undefined], ['dark', PHONE]])
    it(`in ${scheme}${viewport ? ' on a phone' : ''}`, async () => {
      await (traded ??= trade());
      const refusals = [/status of 400: GET .*symbol=700\.HK/];
      await on.visit({ scheme, viewport, complaints: refusals }, async (visitor) => {
        const { page } = visitor;
        await signInTo(on, visitor, OPERATOR, '/quota');
        const found = {};
        for (const [where, complete] of PAGES) {
          await visitor.open(on.at(where));
          await complete(page);
          // The last text of a page to arrive.
          await page.waitForFunction(() => document.getElementById('account')?.textContent.trim() !== '');
          await visitor.settle();
          const all = await findings(page);
          if (all.length > 0) found[where] = all;
        }
        assert.deepEqual(found, {});
      });
    });
});
