// Replay: a world in the browser. Its clock moves by the bar, and everything on the pages follows it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { PHONE } from './browser.js';
import { PRICES, cellText, drawn, expected, frames, readOut, signInTo } from './chart.js';
import { PASSWORD, stage } from './stage.js';

const OPERATOR = 'Otto Lantern';
const TRADER = 'Tess Ledger';
const STRANGER = 'Sid Wick';
// A Thursday.
const DAY = '2026-11-12';
const SYMBOL = '9001.HK';
const CHART = `/?symbol=${SYMBOL}&period=1m`;
const UNLIMITED = ['--rate', 'unlimited'];
const on = stage([OPERATOR, '--role', 'operator', ...UNLIMITED], [TRADER, ...UNLIMITED, '--cash', 'HKD=500000,USD=1000'], [STRANGER, ...UNLIMITED]);

const headers = (name) => ({ authorization: `Bearer ${on.people[name].access_token}` });

async function ask(method, where, json, name = TRADER) {
  const answer = await on.server.ask(method, where, { headers: headers(name), json });
  assert.equal(answer.status, 200, `${where}: ${answer.text}`);
  return answer.json.data;
}

const create = (name, more = {}) => ask('POST', '/v1/worlds', { name, start: `${DAY}T10:00:00+08:00`, markets: ['HK'], ...more });

const badge = (page, text) =>
  page.waitForFunction((wanted) => document.getElementById('live').textContent === wanted, `replay ${text}`);

const state = async (name) => (await ask('GET', `/v1/worlds/${name}`)).state;

/** Signs in and opens an address of a chart. */
const at = (where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    const { page } = visitor;
    // The form is in the language of the browser, so it is found by its fields.
    await visitor.open(on.at(`/signin?next=${encodeURIComponent(where)}`));
    await page.locator('input[autocomplete=username]').fill(TRADER);
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await drawn(page);
    await what(page, visitor);
  });

/** Waits for the bar of a world, whose script is loaded after the chart. */
const ready = (page) => page.getByRole('button', { name: 'Leave' }).waitFor();

/** Candles that the server serves to this page, as of the world's instant. */
const servedTo = (page, world) =>
  page.evaluate(
    async ([symbol, name]) => {
      const path = `/v1/quote/history-candlesticks?symbol=${symbol}&period=1m&adjust=forward&limit=1000`;
      const answer = await fetch(path, { headers: { 'x-chandler-world': name } });
      return (await answer.json()).data.candlesticks;
    },
    [SYMBOL, world],
  );

/** Waits until the read-out has the newest candle that is served, in all its figures. */
async function showsNewest(page, world) {
  const wanted = expected((await servedTo(page, world)).at(-1));
  await page.waitForFunction(
    (close) => document.getElementById('ro-close').textContent === close,
    wanted.close,
  );
  await frames(page);
  assert.deepEqual(await readOut(page), wanted);
}

describe('a replay', () => {
  it('is made from the chart, and the chart grows by steps as the market did', () =>
    at(CHART, async (page, visitor) => {
      await page.keyboard.press('R');
      await page.locator('#replay-from:focus').waitFor();
      await visitor.look('replay-setup');
      await page.locator('#replay-from').fill(`${DAY}T10:00`);
      await page.locator('#replay-from').press('Enter');
      await page.waitForURL(/world=replay-2026-11-12/);
      await drawn(page);
      await ready(page);
      const world = new URL(page.url()).searchParams.get('world');
      await badge(page, `${DAY} 10:00`);
      await showsNewest(page, world);
      const before = (await servedTo(page, world)).at(-1);
      await page.evaluate(() => (window.isSamePage = true));
      for (const minute of ['10:01', '10:02', '10:03', '10:04']) {
        await page.keyboard.press('ArrowRight');
        await badge(page, `${DAY} ${minute}`);
        await showsNewest(page, world);
      }
      const candles = await servedTo(page, world);
      assert.deepEqual(candles.at(-5).timestamp, before.timestamp);
      // Pushed candles before the newest one are those that are served, too.
      await page.locator('#chart').focus();
      // The first key selects the newest candle.
      await page.keyboard.press('ArrowLeft');
      for (const back of [1, 2, 3]) {
        await page.keyboard.press('ArrowLeft');
        await frames(page);
        const shown = await readOut(page);
        for (const name of PRICES) assert.equal(shown[name], candles.at(-1 - back)[name], `${name}, ${back} back`);
      }
      // While a candle is selected with the keys, → moves along the candles.
      await page.keyboard.press('ArrowRight');
      await frames(page);
      assert.equal((await ask('GET', `/v1/worlds/${world}`)).step, 4);
      await page.keyboard.press('Escape');
      await page.keyboard.press('Shift+ArrowRight');
      await badge(page, '2026-11-13 09:30');
      await showsNewest(page, world);
      assert.equal(await page.evaluate(() => window.isSamePage), true, 'the page was reloaded');
      await visitor.look('replay-desktop');
    }));

  it('plays and pauses with the space bar, and is paused when it is left', async () => {
    await create('play');
    await at(`${CHART}&world=play`, async (page) => {
      await ready(page);
      await page.getByLabel('Speed').selectOption('600');
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press(' ');
      await page.getByRole('button', { name: 'Pause (space)' }).waitFor();
      const start = (await servedTo(page, 'play')).at(-1).timestamp;
      await page.waitForFunction(() => document.getElementById('live').textContent > 'replay 2026-11-12 10:05');
      await page.getByLabel('Speed').selectOption('60');
      await page.keyboard.press('Tab');
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press(' ');
      await page.getByRole('button', { name: 'Play (space)' }).waitFor();
      assert.equal(await state('play'), 'paused');
      assert.ok(Number((await servedTo(page, 'play')).at(-1).timestamp) > Number(start));
      await showsNewest(page, 'play');
      // Letters in a field are letters.
      await page.locator('#symbol').fill('9 ');
      await page.locator('#symbol').press(' ');
      assert.equal(await state('play'), 'paused');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Play (space)' }).click();
      await page.getByRole('button', { name: 'Pause (space)' }).waitFor();
      await page.getByRole('button', { name: 'Leave' }).click();
      await page.waitForURL((url) => !url.searchParams.has('world'));
      await drawn(page);
      assert.equal(await state('play'), 'paused');
      // The list leads back to it.
      await page.keyboard.press('R');
      await page.getByRole('button', { name: 'Replays' }).click();
      await page.getByRole('link', { name: 'Open play' }).click();
      await page.waitForURL(/world=play/);
      await drawn(page);
      await ready(page);
      await showsNewest(page, 'play');
    });
  });

  it('fills the orders of its own account, on every page', async () => {
    await ask('POST', '/v1/admin/rates', { rows: [{ currency: 'USD', day: '2026-01-02', rate: '7.8' }] }, OPERATOR);
    await create('orders', { cash: { HKD: '500000' } });
    await at(`${CHART}&world=orders`, async (page, visitor) => {
      await ready(page);
      const price = String(Math.ceil(Number((await servedTo(page, 'orders')).at(-1).close) * 1.05));
      await visitor.open(on.at('/portfolio?symbol=9001.HK&world=orders'));
      await page.locator('#ticket-quantity:focus').waitFor();
      await ready(page);
      await page.locator('#ticket-quantity').fill('500');
      await page.locator('#ticket-price').fill(price);
      await visitor.look('replay-portfolio');
      const ticket = page.locator('section.ticket');
      await ticket.getByText('Would be accepted').waitFor();
      await page.locator('#ticket-quantity').press('Enter');
      await ticket.getByText(/^Order \d+: open$/).waitFor();
      await page.evaluate(() => document.activeElement.blur());
      for (let step = 0; step < 3; step += 1) {
        await page.keyboard.press('ArrowRight');
        await page.waitForFunction((wanted) => document.querySelector('.replay-time').textContent.endsWith(wanted), `10:0${step + 1}`);
      }
      await page.locator('section.positions').getByText(SYMBOL).first().waitFor();
      await page.getByRole('button', { name: /^Why/ }).first().click();
      await page.getByRole('dialog').getByText(new RegExp(`${DAY}.*10:0`)).first().waitFor();
      await page.keyboard.press('Escape');
      // The chart has the fill.
      await page.locator('nav').getByRole('link', { name: 'Chart' }).click();
      await page.waitForURL(/world=orders/);
      await drawn(page);
    });
    // The account outside of the replay has no order.
    assert.deepEqual((await ask('GET', '/v1/trade/order/today')).orders, []);
  });

  it('runs apart from another one in a second tab', async () => {
    await Promise.all([create('one'), create('two', { start: `${DAY}T14:00:00+08:00` })]);
    await at(`${CHART}&world=one`, async (page) => {
      await ready(page);
      const other = await page.context().newPage();
      await other.goto(on.at(`${CHART}&world=two`));
      await drawn(other);
      await ready(other);
      await badge(other, `${DAY} 14:00`);
      await other.keyboard.press('ArrowRight');
      await badge(other, `${DAY} 14:01`);
      await page.bringToFront();
      await badge(page, `${DAY} 10:00`);
      // The address has the world: a reload and the back button stay in it.
      await page.locator('label', { hasText: /^5m?$/ }).first().click();
      await page.waitForURL(/period=5m/);
      await drawn(page);
      await page.goBack();
      await drawn(page);
      await page.reload();
      await drawn(page);
      await badge(page, `${DAY} 10:00`);
      assert.match(page.url(), /world=one/);
      await other.close();
    });
  });

  it('shows nothing of after its instant', async () => {
    await create('past', { start: `${DAY}T10:30:00+08:00` });
    await at(CHART, async (page) => {
      // The present is in every cache of the browser.
      const later = [];
      page.on('response', async (response) => {
        if (!/\/v1\/(quote|securities|watchlist|trade|asset|live)/.test(response.url()) || response.url().includes('/v1/live')) return;
        const text = await response.text().catch(() => '');
        for (const [date] of text.matchAll(/2026-11-1[3-9]|2026-1[2]-/g)) later.push(`${response.url()}: ${date}`);
      });
      await page.goto(on.at(`/?symbol=${SYMBOL}&world=past`));
      await drawn(page);
      await ready(page);
      assert.match(await cellText(page, 'time'), new RegExp(DAY));
      await page.keyboard.press('k');
      await page.locator('#side-figures').getByText(/\d/).first().waitFor();
      await page.keyboard.press('l');
      await page.locator('#side-lists').waitFor();
      await page.goto(on.at('/securities?world=past'));
      await page.getByText(SYMBOL).first().waitFor();
      assert.deepEqual(later, []);
    });
  });
});

describe('a replay that is no longer there', () => {
  it('has a notice and a way out, also for another account', async () => {
    await create('secret');
    for (const [name, world] of [[TRADER, 'never'], [STRANGER, 'secret']]) {
      await on.visit({ complaints: [/^status of 404: GET .*\/v1\//] }, async (visitor) => {
        const { page } = visitor;
        await signInTo(on, visitor, name, `${CHART}&world=${world}`);
        await page.getByRole('heading', { name: 'This replay no longer exists' }).waitFor();
        await page.getByRole('link', { name: 'Leave the replay' }).click();
        await page.waitForURL((url) => !url.searchParams.has('world'));
        await drawn(page);
      });
    }
  });

  it('is reported when it is deleted or set back elsewhere', async () => {
    await create('brief');
    await at(
      `${CHART}&world=brief`,
      async (page) => {
        await ready(page);
        await page.keyboard.press('ArrowRight');
        await badge(page, `${DAY} 10:01`);
        await ask('POST', '/v1/worlds/brief/reset');
        await page.getByText('The replay was set back.').waitFor();
        await drawn(page);
        await badge(page, `${DAY} 10:00`);
        await ask('DELETE', '/v1/worlds/brief');
        await page.getByRole('heading', { name: 'This replay no longer exists' }).waitFor();
        await page.getByRole('link', { name: 'Leave the replay' }).click();
        await page.waitForURL((url) => !url.searchParams.has('world'));
        await drawn(page);
      },
      { complaints: [/^status of 404: GET .*\/v1\//] },
    );
  });

  it('is ended and deleted from the list', async () => {
    await create('done');
    await at(`${CHART}&world=done`, async (page, visitor) => {
      await ready(page);
      await page.keyboard.press('ArrowRight');
      await badge(page, `${DAY} 10:01`);
      await page.getByRole('button', { name: 'Replays' }).click();
      const list = page.getByRole('dialog', { name: 'Replays' });
      await list.getByRole('button', { name: 'End done' }).click();
      await list.getByRole('button', { name: 'Delete done' }).waitFor();
      await visitor.look('replay-list');
      await page.getByText('The replay has ended: orders are refused.').waitFor();
      await list.getByRole('button', { name: 'Delete done' }).click();
      await list.getByRole('button', { name: 'Delete with its orders?' }).click();
      await page.waitForURL((url) => !url.searchParams.has('world'));
      await drawn(page);
      assert.equal((await ask('GET', '/v1/worlds')).worlds.some(({ name }) => name === 'done'), false);
    });
  });
});

describe('the replay bar', () => {
  it('is opened and closed with the keyboard, and says why an instant is refused', () =>
    at(
      CHART,
      async (page, visitor) => {
        await page.getByRole('button', { name: 'Replay', exact: true }).click();
        await page.locator('#replay-from:focus').waitFor();
        await visitor.look('replay-setup-phone');
        await page.keyboard.press('Escape');
        await page.locator('#replay-open:focus').waitFor();
        assert.equal(await page.locator('#replay').isVisible(), false);
        await page.keyboard.press('R');
        await page.locator('#replay-from:focus').waitFor();
        // Until the bar is in a replay, the arrows move along the candles.
        await page.locator('#chart').focus();
        await page.keyboard.press('ArrowLeft');
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press(' ');
        await page.locator('#replay-from').fill('2031-01-02T10:00');
        await page.getByRole('button', { name: 'Start' }).click();
        await page.getByText(/the stored candles end at/).waitFor();
        await page.getByRole('button', { name: 'Close' }).click();
        assert.equal(await page.locator('#replay').isVisible(), false);
        assert.deepEqual((await ask('GET', '/v1/worlds', undefined, TRADER)).worlds.filter(({ start }) => start > '2031'), []);
      },
      { viewport: PHONE, complaints: [/^status of 400: POST .*\/v1\/worlds/] },
    ));

  it('fits every screen, in every language, light and dark', async () => {
    await create('looks');
    const screens = [
      ['phone', PHONE, 'zh-HK', 'dark'], ['landscape', { width: 844, height: 390 }, 'en-GB', 'light'],
      ['tablet', { width: 768, height: 1024 }, 'zh-CN', 'light'], ['desktop', { width: 1400, height: 900 }, 'en-GB', 'dark'],
    ];
    for (const [size, viewport, locale, scheme] of screens) {
      await at(
        `${CHART}&world=looks`,
        async (page, visitor) => {
          await page.locator('.replay .session').waitFor();
          await page.waitForFunction(() => document.querySelector('.replay-time').textContent.includes('10:00'));
          await visitor.look(`replay-${size}`);
          const boxes = await page.evaluate(() => [...document.querySelectorAll('.replay-row > *')].map((one) => one.getBoundingClientRect().right));
          assert.ok(Math.max(...boxes) <= viewport.width, `${size}: beyond the right edge`);
        },
        { viewport, locale, scheme },
      );
    }
  });
});
