// Prices in lists: the securities page and the watchlists next to the chart are sorted by each
// column, used by keys, and follow pushes without polling.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { DESKTOP, PHONE } from './browser.js';
import { drawn, signInTo } from './chart.js';
import { stageAt } from './stage.js';

const OPERATOR = 'Otto Lantern';
const SYMBOL = '9001.HK';
const OTHER = '9002.HK';
const DAY = '2026-11-12';
const on = stageAt(`${DAY}T10:00:00+08:00`, [OPERATOR, '--role', 'operator', '--rate', 'unlimited']);

async function ask(account, method, where, json) {
  const headers = { authorization: `Bearer ${account.access_token}` };
  const answer = await on.server.ask(method, where, { headers, json });
  assert.equal(answer.status, 200, `${where}: ${answer.text}`);
  return answer.json.data;
}

let minute = 0;
/** Moves the market's clock by a minute. */
const step = () => {
  minute += 1;
  return ask(on.people[OPERATOR], 'POST', '/v1/admin/clock', { now: `${DAY}T10:${String(minute).padStart(2, '0')}:00+08:00` });
};

const quoteOf = async (symbol) => (await ask(on.people[OPERATOR], 'GET', `/v1/quote/quotes?symbols=${symbol}`)).secu_quote[0];

/** The last prices as shown, without separators. */
const shown = (page, box) => page.locator(`${box} .last`).allInnerTexts().then((all) => all.map((text) => text.replaceAll(',', '')));

/** Moves the clock until the price of a security changes, and waits until a cell shows it. */
async function follows(page, cell, symbol) {
  const before = await cell.innerText();
  let last;
  do {
    await step();
    ({ last_done: last } = await quoteOf(symbol));
  } while (last === before.replaceAll(',', ''));
  await page.waitForFunction(([element, wanted]) => element.textContent.replaceAll(',', '') === wanted, [await cell.elementHandle(), last]);
}

/** The response of the stream that subscribes to a security. */
const streamOf = (page, symbol) =>
  page.waitForResponse((one) => one.url().includes('/v1/live') && new URL(one.url()).searchParams.get('symbols')?.split(',').includes(symbol));

/** Counts requests of figures. */
function counting(page) {
  const counted = { requests: 0 };
  page.on('request', (request) => (counted.requests += Number(/v1\/(inventory|quote)/.test(request.url()))));
  return counted;
}

describe('the securities page', () => {
  it('shows prices that follow the market, and requests nothing meanwhile', async () => {
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      const stream = streamOf(page, SYMBOL);
      await signInTo(on, visitor, OPERATOR, '/securities?market=HK');
      const row = page.getByRole('row').filter({ hasText: SYMBOL });
      const { last_done: last, prev_close: before } = await quoteOf(SYMBOL);
      await row.locator('.last').getByText(last).waitFor();
      const percent = await row.locator('.percent').innerText();
      assert.equal(Math.sign(Number(percent.replace('\u2212', '-').replace(' %', ''))), Math.sign(Number(last) - Number(before)), percent);
      assert.notEqual(await row.locator('polyline').getAttribute('points'), '');
      await stream;
      await visitor.settle();
      const counted = counting(page);
      await follows(page, row.locator('.last'), SYMBOL);
      assert.equal(counted.requests, 0, 'the page requested prices');
    });
  });

  it('is sorted by a click on a column and by keys, in both directions', async () => {
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, OPERATOR, '/securities?market=HK');
      await page.locator('.long-row a').first().waitFor();
      const isSorted = async (sign, column) => {
        const key = (text) => Number(text.replaceAll(',', '').replace('\u2212', '-').replace(' %', '')) * sign;
        const all = (await page.locator(`.long-row .${column}`).allInnerTexts()).filter((text) => text !== '–').map(key);
        return all.length > 1 && all.every((one, at) => at === 0 || all[at - 1] <= one);
      };
      const settled = async (direction, column) => {
        await page.locator(`.long-head [aria-sort=${direction}].${column}`).waitFor();
        await page.getByText(/^\d+ securities$/).waitFor();
        await visitor.settle();
      };
      await page.getByRole('columnheader', { name: 'Last' }).getByRole('button').click();
      await settled('descending', 'last');
      assert.ok(await isSorted(-1, 'last'));
      await page.getByRole('columnheader', { name: 'Last' }).getByRole('button').click();
      await settled('ascending', 'last');
      assert.ok(await isSorted(1, 'last'));
      assert.match(page.url(), /order=last&direction=asc/);
      await page.getByRole('grid', { name: 'Securities' }).focus();
      await page.keyboard.press('s');
      await page.keyboard.press('s');
      await settled('descending', 'percent');
      assert.ok(await isSorted(-1, 'percent'));
      await page.keyboard.press('S');
      await settled('ascending', 'percent');
      assert.ok(await isSorted(1, 'percent'));
      assert.equal(await page.getByLabel('Order').inputValue(), 'percent');
      // Arrow keys reach the list from the page.
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press('ArrowDown');
      const [first] = await page.locator('.long-row .symbol').allInnerTexts();
      await page.keyboard.press('Enter');
      await drawn(page);
      assert.equal(new URL(page.url()).searchParams.get('symbol'), first);
    });
  });

  it('lists a watchlist, and only subscribes to rows in view', async () => {
    const uma = await on.person('Uma Wick', '--rate', 'unlimited');
    const id = (await ask(uma, 'POST', '/v1/watchlist/groups', { name: 'Mine', securities: [OTHER] })).id;
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      const streams = [];
      page.on('request', (request) => request.url().includes('/v1/live') && streams.push(new URL(request.url()).searchParams.get('symbols')));
      const stream = streamOf(page, OTHER);
      await signInTo(on, visitor, 'Uma Wick', `/securities?list=${id}`);
      await page.getByText('1 security').waitFor();
      await stream;
      assert.deepEqual(streams, [OTHER]);
      assert.equal(await page.getByLabel('Watchlist').inputValue(), id);
      await page.getByLabel('Watchlist').selectOption('');
      await page.getByRole('link', { name: SYMBOL, exact: true }).waitFor();
      assert.doesNotMatch(page.url(), /list=/);
    });
  });
});

describe('the watchlist next to the chart', () => {
  it('shows prices that follow the market, sorted by keys', async () => {
    const vera = await on.person('Vera Wick', '--rate', 'unlimited');
    await ask(vera, 'POST', '/v1/watchlist/groups', { name: 'Mine', securities: [SYMBOL, OTHER] });
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Vera Wick', `/?symbol=${SYMBOL}`);
      await drawn(page);
      const stream = streamOf(page, OTHER);
      await page.keyboard.press('l');
      const row = (symbol) => page.locator(`.watched li[data-symbol="${symbol}"]`);
      const { last_done: last } = await quoteOf(OTHER);
      await row(OTHER).locator('.last').getByText(last).waitFor();
      await stream;
      await visitor.settle();
      const counted = counting(page);
      await follows(page, row(OTHER).locator('.last'), OTHER);
      assert.equal(counted.requests, 0, 'the list requested prices');
      await row(SYMBOL).locator('a').focus();
      await page.keyboard.press('s');
      await page.keyboard.press('s');
      assert.equal(await page.locator('#side-lists').getByLabel('Order').inputValue(), 'last');
      const down = (await shown(page, '.watched')).map(Number);
      assert.ok(down[0] >= down[1], String(down));
      await page.keyboard.press('S');
      const up = (await shown(page, '.watched')).map(Number);
      assert.ok(up[0] <= up[1], String(up));
      await page.keyboard.press('End');
      const [symbol] = await page.evaluate(() => [document.activeElement.closest('li').dataset.symbol]);
      await page.keyboard.press('ArrowUp');
      assert.notEqual(await page.evaluate(() => document.activeElement.closest('li').dataset.symbol), symbol);
      await visitor.look('lists-panel');
    });
  });
});

const PLACES = [['en-GB', PHONE, 'light'], ['zh-CN', { width: 844, height: 390 }, 'dark'], ['zh-HK', { width: 768, height: 1024 }, 'light'], ['en-GB', { width: 1400, height: 900 }, 'dark'], ['zh-CN', PHONE, 'dark'], ['zh-HK', DESKTOP, 'light']];

for (const [locale, viewport, scheme] of PLACES)
  it(`prices are in view at ${viewport.width}×${viewport.height} in ${locale}, ${scheme}`, () =>
    on.visit({ locale, viewport, scheme }, async (visitor) => {
      const { page } = visitor;
      await visitor.open(on.at(`/signin?next=${encodeURIComponent('/securities')}`));
      await page.locator('input[autocomplete=username]').fill(OPERATOR);
      await page.locator('input[type=password]').fill('paraffin and twine');
      await page.keyboard.press('Enter');
      const row = page.locator('.long-row').filter({ hasText: SYMBOL });
      await row.locator('.last').filter({ hasText: /\d/ }).waitFor();
      const { x, width } = await row.locator('.last').boundingBox();
      assert.ok(x >= 0 && x + width <= viewport.width, `the price is at ${x}`);
      await visitor.look(`lists-${locale}-${viewport.width}-${scheme}`);
    }));
