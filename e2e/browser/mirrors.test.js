// Mirrors: their state and costs on the page of imports, and fetching an unknown security from the
// chart.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { drawn, signInTo } from './chart.js';
import { openBrowser, visit } from './browser.js';
import { Server } from './harness.js';
import { PASSWORD } from './stage.js';

const [USER, OPERATOR] = ['Una Wick', 'Otto Lantern'];
const on = { at: (path) => new URL(path, on.server.url).href };
const UNKNOWN = [/status of 400: GET .*symbol=CNDL\.US/];

before(async () => {
  on.source = await Server.start();
  on.server = await Server.mirrorOf(on.source);
  on.people = { [USER]: await on.server.account(USER, PASSWORD), [OPERATOR]: await on.server.account(OPERATOR, PASSWORD, '--role', 'operator') };
  on.browser = await openBrowser();
});

after(async () => {
  await on.browser?.close();
  await on.server?.stop();
  await on.source?.stop();
});

const at = (name, where, complaints, what) =>
  visit(on.browser, { complaints }, async (visitor) => {
    await signInTo(on, visitor, name, where);
    await what(visitor.page, visitor);
  });

describe('an unknown security', () => {
  it('is fetched by an operator, after the cost is shown', async () => {
    await at(USER, '/?symbol=CNDL.US', UNKNOWN, async (page) => {
      await page.getByRole('heading', { name: 'CNDL.US is not known here' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Fetch from up' }).count(), 0, 'it is for operators');
    });
    await at(OPERATOR, '/?symbol=CNDL.US', UNKNOWN, async (page, visitor) => {
      const fetch = page.getByRole('button', { name: 'Fetch from up' });
      await fetch.waitFor();
      await page.getByText(/^[\d,]+ requests, up to [\d,]+ candles\. It counts toward the monthly quota/).waitFor();
      await visitor.look('state-fetch');
      await fetch.click();
      await drawn(page);
    });
    await at(USER, '/?symbol=CNDL.US', [], async (page) => drawn(page));
  });
});

describe('the mirrors', () => {
  it('are listed with their quota, and show what a security would cost', async () => {
    await at(OPERATOR, '/imports', [], async (page, visitor) => {
      const row = page.getByRole('row').filter({ hasText: 'up' });
      await row.getByText(/^\d+ of \d+$/).waitFor();
      await row.getByText('never').waitFor();
      await page.getByLabel('Security', { exact: true }).fill('9002.HK');
      await page.getByRole('button', { name: 'Show the cost' }).click();
      await page.getByText(/^up: [\d,]+ requests, up to/).waitFor();
      await visitor.look('dashboard-mirrors');
      await page.getByRole('button', { name: 'Fetch 9002.HK' }).click();
      await page.getByRole('link', { name: '9002.HK', exact: true }).waitFor();
    });
  });
});
