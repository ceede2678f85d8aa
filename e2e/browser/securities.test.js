// The securities page: stored securities, in a list of any length.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import { drawn, signInTo } from './chart.js';
import { stage } from './stage.js';

const [USER, LIMITED] = ['Una Wick', 'Hanna Harbour'];
const MANY = 1500;
const on = stage([USER, '--rate', 'unlimited'], [LIMITED, '--markets', 'HK']);

const at = (name, where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    await signInTo(on, visitor, name, where);
    await what(visitor.page, visitor);
  });

const symbols = (page) => page.locator('.long-row .symbol').allInnerTexts();

describe('the securities page', () => {
  before(async () => {
    const rows = Array.from({ length: MANY }, (_, at) => `Z${at + 1}.US,2026-11-12,10,11,9,10.5,100\n`);
    const file = path.join(on.server.store, 'many.csv');
    writeFileSync(file, `symbol,time,open,high,low,close,volume\n${rows.join('')}`);
    await on.server.command(['import', file, '--period', '1d']);
  });

  it('lists everything, and has only the visible rows in the page', async () => {
    await at(USER, '/securities', async (page, visitor) => {
      await page.getByText(/^1,5\d\d securities$/).waitFor();
      const drawnRows = await page.locator('.long-row').count();
      assert.ok(drawnRows > 10 && drawnRows < 80, `${drawnRows} rows`);
      await page.getByRole('row').filter({ hasText: '9001.HK' }).getByText(/\d{4}-\d\d-\d\d to 2026-11-13/).first().waitFor();
      await page.getByRole('row').filter({ hasText: '.CHDL.US' }).getByText(/^\d,\d{3}\.\d+$/).waitFor();
      await visitor.look('securities');
      const list = page.getByRole('grid', { name: 'Securities' });
      await list.focus();
      await page.keyboard.press('End');
      await page.getByRole('link', { name: 'Z999.US', exact: true }).waitFor();
      assert.ok((await page.locator('.long-row').count()) < 80);
      await page.keyboard.press('Home');
      const [first] = await symbols(page);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Enter');
      await drawn(page);
      assert.equal(new URL(page.url()).searchParams.get('symbol'), first);
    });
  });

  it('finds by code, name and market, and has the filter in the address', async () => {
    await at(USER, '/securities?market=HK', async (page) => {
      await page.getByRole('link', { name: '9001.HK', exact: true }).waitFor();
      assert.ok((await symbols(page)).every((symbol) => symbol.endsWith('.HK')));
      await page.keyboard.press('/');
      await page.keyboard.type('9001');
      await page.getByText('1 security').waitFor();
      assert.match(page.url(), /query=9001&market=HK$/);
      await page.reload();
      await page.getByText('1 security').waitFor();
      assert.equal(await page.getByLabel('Code or name').inputValue(), '9001');
      await page.getByLabel('Code or name').fill('nothing at all');
      await page.getByText('No results').waitFor();
      // The gaps of a row are also reachable without a mouse.
      await page.getByLabel('Code or name').fill('9001');
      await page.getByText('1 security').waitFor();
      await page.getByRole('grid', { name: 'Securities' }).focus();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Shift+Enter');
      await page.getByRole('heading', { name: /^9001\.HK 2026/ }).waitFor();
    });
  });

  it('has the worst first once all are compared, and leads to their gaps', async () => {
    await at(USER, '/securities', async (page, visitor) => {
      await page.getByText(/securities$/).waitFor();
      await page.getByLabel('Order').selectOption('worst');
      // Each of the many ends on the 12th. Until all are compared, the page shows how many are.
      const worst = page.locator('.long-row').first();
      await worst.getByText('ends 2026-11-12').waitFor();
      await page.getByText(/^1,5\d\d securities$/).waitFor();
      await visitor.look('securities-worst');
      const [symbol] = await symbols(page);
      await worst.getByRole('link', { name: 'ends 2026-11-12' }).click();
      await page.getByRole('heading', { name: new RegExp(`^${symbol.replace('.', '\\.')} `) }).waitFor();
    });
  });

  it('shows an account its own markets', async () => {
    await at(LIMITED, '/securities', async (page) => {
      await page.getByRole('link', { name: '9001.HK', exact: true }).waitFor();
      assert.ok((await symbols(page)).every((symbol) => symbol.endsWith('.HK')));
      await page.getByLabel('Market').selectOption('US');
      await page.getByText('No results').waitFor();
    });
  });
});
