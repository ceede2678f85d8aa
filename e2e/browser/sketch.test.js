// Drawings and price alerts on the chart: with the pointer and by keys, stored by security, in a
// shared link, and the notice of an alert that has fired.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { PHONE } from './browser.js';
import { drawn, frames, titled } from './chart.js';
import { PASSWORD, stageAt } from './stage.js';

const OPERATOR = 'Otto Lantern';
const DAY = '2026-11-12';
const on = stageAt(`${DAY}T10:00:15+08:00`, [OPERATOR, '--role', 'operator', '--rate', 'unlimited']);
const SYMBOL = '9001.HK';
const CHART = `/?symbol=${SYMBOL}&period=1m`;

async function call(account, method, where, json) {
  const answer = await on.server.ask(method, where, { headers: { authorization: `Bearer ${account.access_token}` }, json });
  assert.equal(answer.status, 200, `${where}: ${answer.text}`);
  return answer.json.data;
}

const person = (name) => on.person(name, '--rate', 'unlimited');
const stored = async (account, symbol = SYMBOL) => (await call(account, 'GET', `/v1/drawings/${symbol}`)).drawings;

const at = (name, where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    const { page } = visitor;
    await visitor.open(on.at(`/signin?next=${encodeURIComponent(where)}`));
    await page.locator('input[autocomplete=username]').fill(name);
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await drawn(page);
    await what(page, visitor);
  });

const tool = (page, name) => page.locator(`.sketch-bar [data-tool=${name}]`);
const own = (page, kind) => page.locator(`.sketch g[data-of=own][data-kind=${kind}]`);

async function openBar(page) {
  await page.locator('#chart').focus();
  await page.keyboard.press('d');
  await tool(page, 'line').waitFor();
}

/** Waits until the server has this number of drawings. */
async function untilStored(account, count) {
  for (;;) {
    const drawings = await stored(account);
    if (drawings.length === count) return drawings;
  }
}

/** A place on the chart, as shares of the width and the height of the candles. */
async function placeAt(page, across, down) {
  const { x, y, width, height } = await page.locator('#chart').boundingBox();
  return { x: x + across * width * 0.85, y: y + down * height * 0.6 };
}

async function clickAt(page, across, down) {
  const { x, y } = await placeAt(page, across, down);
  await page.mouse.click(x, y);
}

describe('drawings', () => {
  it('are made with the pointer, and stay after a reload', async () => {
    const ann = await person('Ann Slate');
    await at('Ann Slate', CHART, async (page, visitor) => {
      await openBar(page);
      await tool(page, 'line').click();
      await clickAt(page, 0.4, 0.6);
      await clickAt(page, 0.7, 0.3);
      await own(page, 'line').waitFor();
      await tool(page, 'level').click();
      await clickAt(page, 0.5, 0.5);
      // A horizontal line has no height.
      await own(page, 'level').waitFor({ state: 'attached' });
      await tool(page, 'measure').click();
      const [from, to] = [await placeAt(page, 0.5, 0.7), await placeAt(page, 0.6, 0.4)];
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.mouse.move(to.x, to.y, { steps: 4 });
      await page.mouse.up();
      await own(page, 'measure').getByText(/^\+[\d.]+ · \+[\d.]+% · \d+ candles$/).waitFor();
      await tool(page, 'note').click();
      await clickAt(page, 0.3, 0.4);
      await page.getByLabel('Text of the note').fill('results');
      await page.keyboard.press('Enter');
      await own(page, 'note').getByText('results').waitFor();
      const drawings = await untilStored(ann, 4);
      assert.deepEqual(drawings.map(({ kind }) => kind), ['line', 'level', 'measure', 'note']);
      await visitor.look('sketch-drawn');
      await page.reload();
      await drawn(page);
      await own(page, 'line').waitFor();
      assert.equal(await page.locator('.sketch g[data-of=own]').count(), 4);
      // Another security has none of them.
      await page.locator('#symbol').fill('WICK.US');
      await page.keyboard.press('Enter');
      await titled(page, 'WICK.US');
      await frames(page);
      assert.equal(await page.locator('.sketch g[data-of=own]').count(), 0);
    });
  });

  it('are made, moved and deleted by keys', async () => {
    const bea = await person('Bea Chalk');
    await at('Bea Chalk', CHART, async (page) => {
      await openBar(page);
      await tool(page, 'line').press('Enter');
      await page.locator('#chart:focus').waitFor();
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Shift+ArrowLeft');
      await page.keyboard.press('Enter');
      await own(page, 'line').waitFor();
      const [{ points: before }] = await untilStored(bea, 1);
      await page.locator('.sketch g[data-kind=line]:focus').waitFor();
      const name = await own(page, 'line').getAttribute('aria-label');
      await page.keyboard.press('ArrowUp');
      await page.waitForFunction((old) => document.activeElement.getAttribute('aria-label') !== old, name);
      let points = before;
      while (JSON.stringify(points) === JSON.stringify(before)) [{ points }] = await stored(bea);
      assert.deepEqual(points.map(({ time }) => time), before.map(({ time }) => time));
      assert.ok(points.every(({ price }, end) => Number(price) > Number(before[end].price)));
      await page.keyboard.press('Delete');
      await untilStored(bea, 0);
      assert.equal(await own(page, 'line').count(), 0);
      // Escape gives up.
      await tool(page, 'level').click();
      await page.keyboard.press('Escape');
      assert.equal(await tool(page, 'level').getAttribute('aria-pressed'), 'false');
    });
  });

  it('are in a shared link, and read-only for another account', async () => {
    const cy = await person('Cy Marker');
    await person('Di Reader');
    const drawings = [
      { kind: 'level', points: [{ time: 0, price: '100' }], text: '' },
      { kind: 'note', points: [{ time: 1, price: '100' }], text: 'a, b' },
    ];
    await call(cy, 'PUT', `/v1/drawings/${SYMBOL}`, { drawings });
    let link;
    await at('Cy Marker', CHART, async (page) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.locator('.sketch g[data-of=own]').first().waitFor({ state: 'attached' });
      await openBar(page);
      await tool(page, 'link').click();
      // The announcement of the copy may already have been replaced by another one.
      await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes('draw='));
      link = await page.evaluate(() => navigator.clipboard.readText());
    });
    assert.match(link, /draw=l:100,n:1:100:/);
    const { pathname, search } = new URL(link);
    await at('Di Reader', pathname + search, async (page) => {
      await page.locator('.sketch g[data-of=shared]').first().waitFor({ state: 'attached' });
      assert.equal(await page.locator('.sketch g[data-of=shared]').count(), 2);
      assert.equal(await page.locator('.sketch g[data-of=own]').count(), 0);
      assert.equal(await page.locator('.sketch g[tabindex]').count(), 0, 'shared drawings cannot be moved');
    });
  });
});

describe('price alerts', () => {
  it('are added in a dialog, and a notice says that one has fired', async () => {
    const eve = await person('Eve Bell');
    await at('Eve Bell', CHART, async (page, visitor) => {
      await page.locator('#live[data-kind]').waitFor({ state: 'attached' });
      await openBar(page);
      await tool(page, 'alert').click();
      const dialog = page.locator('dialog.alerts');
      await dialog.getByLabel('Value').fill('0');
      visitor.complaints.push(/status of 400/);
      await dialog.getByRole('button', { name: 'Add alert' }).click();
      await dialog.getByText(/Not done: price "0" is not a positive number/).waitFor();
      // The price at which the next minutes are certain to have traded.
      const last = Number(await dialog.getByLabel('Value').evaluate(() => document.getElementById('ro-close').textContent));
      await dialog.getByLabel('When').selectOption('price_rise');
      await dialog.getByLabel('Value').fill((last * 2).toFixed(1));
      await dialog.getByLabel('How often').selectOption('every_time');
      await dialog.getByRole('button', { name: 'Add alert' }).click();
      await dialog.getByRole('button', { name: /^Delete alert/ }).waitFor();
      await visitor.look('sketch-alerts');
      await dialog.getByRole('button', { name: /^Turn off/ }).click();
      await dialog.getByText('(off)').waitFor();
      await dialog.getByRole('button', { name: /^Delete alert/ }).click();
      await dialog.getByText('No alerts.').waitFor();
      await page.keyboard.press('Escape');

      const { lists } = await call(eve, 'GET', '/v1/notify/reminders');
      assert.deepEqual(lists, []);
      // The highest and the lowest price of the rest of the day are on either side of one of these.
      for (const [indicator, factor] of [['1', 1.0002], ['2', 0.9998]]) {
        await call(eve, 'POST', '/v1/notify/reminders', { symbol: SYMBOL, indicator_id: indicator, value_map: { price: (last * factor).toFixed(3) }, frequency: 3 });
      }
      await call(on.people[OPERATOR], 'POST', '/v1/admin/clock', { now: `${DAY}T11:30:00+08:00` });
      await page.locator('.alert-toast').getByText(/9001\.HK price (rises|falls) to/).first().waitFor();
      await visitor.look('sketch-fired');
      await page.locator('.alert-toast button').click();
      await page.locator('.alert-toast').waitFor({ state: 'hidden' });
    });
  });
});

describe('the layout of the drawing bar', () => {
  it('fits every screen, in three languages, light and dark', async () => {
    const kit = await person('Kit Ruler');
    const level = { kind: 'note', points: [{ time: 1, price: '100' }], text: 'x' };
    await call(kit, 'PUT', `/v1/drawings/${SYMBOL}`, { drawings: [level] });
    const screens = [
      ['phone', PHONE, 'zh-HK', 'dark'], ['landscape', { width: 844, height: 390 }, 'en-GB', 'light'],
      ['tablet', { width: 768, height: 1024 }, 'zh-CN', 'light'], ['desktop', { width: 1400, height: 900 }, 'en-GB', 'dark'],
    ];
    for (const [size, viewport, locale, scheme] of screens) {
      await at('Kit Ruler', CHART, async (page, visitor) => {
        await openBar(page);
        const [bar, stage] = [await page.locator('.sketch-bar').boundingBox(), await page.locator('.stage').boundingBox()];
        assert.ok(bar.x >= stage.x && bar.x + bar.width <= stage.x + stage.width && bar.y + bar.height <= stage.y + stage.height, size);
        await visitor.look(`sketch-${size}`);
        await tool(page, 'alert').click();
        await page.locator('dialog.alerts').waitFor();
        await visitor.look(`sketch-${size}-alerts`);
      }, { viewport, locale, scheme });
    }
  });
});
