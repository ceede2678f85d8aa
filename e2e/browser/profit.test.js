// What the portfolio says about an account: profit and loss, closed trades, the curve next to a
// benchmark, and orders that wait for candles that do not come.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { PHONE } from './browser.js';
import { PASSWORD, stageAt } from './stage.js';

const OPERATOR = 'Otto Lantern';
const TRADER = 'Una Spark';
const WAITER = 'Vic Ember';
const DAY = '2026-11-12';
const [SYMBOL, OTHER] = ['9001.HK', 'WICK.US'];
const DESK = { width: 1400, height: 900 };
const LOOKS = [['phone-light', PHONE, 'light'], ['phone-dark', PHONE, 'dark'], ['desk-light', DESK, 'light'], ['desk-dark', DESK, 'dark']];
const LANGUAGES = [
  ['en-GB', 'Profit and loss', 'Closed trades', /Newest candle of 9001\.HK is 2026-11-13 16:\d\d HKT/],
  ['zh-CN', '盈亏', '已平仓交易', /9001\.HK 的最新K线为 2026-11-13 16:\d\d HKT/],
  ['zh-HK', '盈虧', '已平倉交易', /9001\.HK 的最新K線為 2026-11-13 16:\d\d HKT/],
];
const options = (name) => [name, '--cash', 'HKD=500000,USD=1000', '--rate', 'unlimited'];
const trading = stageAt(`${DAY}T10:00:15+08:00`, [OPERATOR, '--role', 'operator', '--rate', 'unlimited'], options(TRADER));
// A Monday: the candles of the demo end on the Friday before.
const stopped = stageAt('2026-11-16T10:10:00+08:00', options(WAITER));

/** Signs in by the fields of the form, which is in the language of the browser. */
async function signInTo(on, visitor, name, where) {
  const { page } = visitor;
  await visitor.open(on.at(`/signin?next=${encodeURIComponent(where)}`));
  await page.locator('input[autocomplete=username]').fill(name);
  await page.locator('input[type=password]').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.locator('.portfolio').waitFor();
}

const section = (page, name) => page.locator(`section.${name}`);
const shown = (text) => text.replace('-', '\u2212').replace(/\B(?=(\d{3})+\.)/g, ',');
const signed = (text) => (text.startsWith('-') || /^0\.00$/.test(text) ? shown(text) : `+${shown(text)}`);

async function call(on, name, method, where, json) {
  const headers = { authorization: `Bearer ${on.people[name].access_token}` };
  const answer = await on.server.ask(method, where, { headers, json });
  assert.equal(answer.status, 200, `${where}: ${answer.text}`);
  return answer.json.data;
}

const submit = (on, name, more) =>
  call(on, name, 'POST', '/v1/trade/order', { symbol: SYMBOL, order_type: 'MO', submitted_quantity: '500', time_in_force: 'Day', ...more });

const step = (minutes) => {
  const now = new Date(Date.parse(`${DAY}T00:00:00+08:00`) + minutes * 60_000).toISOString();
  return call(trading, OPERATOR, 'POST', '/v1/admin/clock', { now });
};

describe('profit and loss', () => {
  it('is shown for each security and in total, as the API computes it', async () => {
    await submit(trading, TRADER, { side: 'Buy', submitted_quantity: '1000' });
    await step(602);
    await submit(trading, TRADER, { side: 'Sell' });
    await step(604);
    await trading.visit({ viewport: DESK }, async (visitor) => {
      const { page } = visitor;
      await signInTo(trading, visitor, TRADER, '/portfolio');
      const profit = section(page, 'profit');
      const check = async () => {
        const { totals, securities: [held] } = await call(trading, TRADER, 'GET', '/v1/asset/performance');
        for (const name of ['day', 'unrealised', 'realised', 'total']) {
          await profit.locator('.figures dd').getByText(signed(totals[name])).first().waitFor();
          await profit.locator('tbody td').getByText(signed(held[name]), { exact: true }).first().waitFor();
        }
        return held;
      };
      assert.equal((await check()).quantity, '500');
      await section(page, 'trades').getByText('No trade is closed yet.').waitFor();
      // The rest is sold, and the page follows.
      await submit(trading, TRADER, { side: 'Sell' });
      await step(606);
      await section(page, 'trades').getByText(/^Win rate/).waitFor();
      assert.equal((await check()).quantity, '0');
      const { trades: [trade] } = await call(trading, TRADER, 'GET', '/v1/asset/performance');
      const row = section(page, 'trades').locator('tbody tr');
      for (const text of [signed(trade.profit), trade.entry_price, trade.exit_price, '4 min'])
        await row.getByText(text).first().waitFor();
    });
  });

  it('is next to a benchmark that the user has chosen, also on the next visit', async () => {
    await trading.visit({ complaints: [/status of 400: GET .*benchmark=9999\.HK/] }, async (visitor) => {
      const { page } = visitor;
      await signInTo(trading, visitor, TRADER, '/portfolio');
      const equity = section(page, 'equity');
      const choose = async (text) => {
        await equity.getByLabel('Compare with').fill(text);
        await page.keyboard.press('Enter');
      };
      await choose('9999.hk');
      await equity.getByText(/^Not compared: 9999\.HK is not known/).waitFor();
      await choose('abc');
      await equity.getByText('Not compared: enter a symbol, such as 2800.HK').waitFor();
      await choose(OTHER.toLowerCase());
      await equity.locator('svg[data-compared=true]').waitFor();
      await equity.getByText(new RegExp(`${OTHER.replace('.', '\\.')} [+\u2212]?\\d+\\.\\d\\d %`)).waitFor();
      await page.getByRole('link', { name: 'Coverage' }).click();
      await page.getByRole('heading', { name: 'Coverage', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Portfolio' }).click();
      await equity.locator('svg[data-compared=true]').waitFor();
      await choose('');
      await equity.locator('svg[data-compared=false]').waitFor();
    });
  });

  it('speaks three languages, on a phone and at a desk, in light and dark', async () => {
    for (const [at, [size, viewport, scheme]] of LOOKS.entries()) {
      const [locale, title, closed] = LANGUAGES[at % LANGUAGES.length];
      await trading.visit({ viewport, scheme, locale }, async (visitor) => {
        const { page } = visitor;
        await page.addInitScript(() => localStorage.setItem('chandler.benchmark', '9001.HK'));
        await signInTo(trading, visitor, TRADER, '/portfolio');
        await page.getByRole('heading', { name: title, exact: true }).waitFor();
        await page.getByRole('heading', { name: closed }).waitFor();
        await section(page, 'trades').locator('tbody tr').waitFor();
        await section(page, 'equity').locator('svg[data-compared=true]').waitFor();
        const top = async (name) => (await section(page, name).boundingBox()).y;
        if (viewport === PHONE) {
          const order = await Promise.all(['assets', 'profit', 'positions', 'ticket', 'open-orders'].map(top));
          assert.deepEqual(order, [...order].sort((a, b) => a - b), 'assets come first, and the ticket before the orders');
          assert.ok(order[0] < viewport.height / 2, 'assets are on the first screen');
        }
        await visitor.look(`profit-${locale}-${size}`);
      });
    }
  });

  it('leads to the ticket on a phone', async () => {
    await trading.visit({ viewport: PHONE }, async (visitor) => {
      const { page } = visitor;
      await signInTo(trading, visitor, TRADER, '/portfolio');
      await page.getByRole('button', { name: 'New order' }).click();
      await page.locator('#ticket-symbol:focus').waitFor();
    });
  });
});

describe('an order that waits for candles', () => {
  it('says so in the ticket, in the list and in its explanation', async () => {
    await submit(stopped, WAITER, { side: 'Buy', order_type: 'LO', submitted_price: '50', time_in_force: 'GTC' });
    for (const [at, [size, viewport, scheme]] of LOOKS.entries()) {
      const [locale, , , words] = LANGUAGES[at % LANGUAGES.length];
      await stopped.visit({ viewport, scheme, locale }, async (visitor) => {
        const { page } = visitor;
        await signInTo(stopped, visitor, WAITER, `/portfolio?symbol=${SYMBOL}&side=Buy`);
        await section(page, 'open-orders').getByText(words).waitFor();
        await page.locator('#ticket-quantity').fill('500');
        await page.locator('#ticket-price').fill('50');
        await section(page, 'ticket').getByText(words).waitFor();
        await visitor.look(`waiting-${locale}-${size}`);
        await page.locator('[data-key^="why "]').click();
        const explanation = page.getByRole('dialog');
        await explanation.getByText(/newest candle of 9001\.HK is 2026-11-13 16:\d\d HKT; this order can fill once later/).waitFor();
        await explanation.getByText('Asia/Hong_Kong').waitFor();
        await visitor.screenshot(`waiting-why-${locale}-${size}`);
      });
    }
  });
});

describe('an account of an operator', () => {
  const rule = (more) => ({ submitted_base_price: '92', lower_limit_price: '85', upper_limit_price: '99', trigger_price_type: 1, trigger_spread_up: '0.5', trigger_spread_down: '0.5', trigger_quantity: '500', lower_limit_quantity: '500', upper_limit_quantity: '5000', grid_order_type_up: 'GMO', grid_order_type_down: 'GMO', upper_limit_event: 1, lower_limit_event: 1, time_in_force: 1, rth: 0, ...more });
  const submitGrid = (more) => call(trading, OPERATOR, 'POST', '/v1/gridtrading/submit', { symbol: SYMBOL, grid_trading_rule: rule(more) });

  it('lists all grids, the active ones first', async () => {
    const first = await submitGrid({ trigger_spread_up: '1' });
    const second = await submitGrid({});
    await call(trading, OPERATOR, 'POST', '/v1/gridtrading/cancel', { order_id: second.order_id });
    await trading.visit({ viewport: DESK }, async (visitor) => {
      const { page } = visitor;
      await signInTo(trading, visitor, OPERATOR, '/portfolio');
      const rows = section(page, 'grids').locator('tbody tr');
      await rows.filter({ hasText: 'cancelled' }).waitFor();
      const states = await rows.locator('b').allInnerTexts();
      assert.deepEqual(states, ['running', 'cancelled'], `${first.order_id} is active`);
      await rows.first().getByText('+1 / \u22120.5').waitFor();
      await visitor.look('grids-en-GB-desk-light');
    });
  });

  it('can be copied and reset, after a confirmation that names what goes', async () => {
    trading.people['Wim Copy'] = await trading.person('Wim Copy');
    await submit(trading, OPERATOR, { side: 'Buy' });
    await step(610);
    for (const [at, [size, viewport, scheme]] of LOOKS.entries()) {
      const [locale] = LANGUAGES[at % LANGUAGES.length];
      await trading.visit({ viewport, scheme, locale }, async (visitor) => {
        const { page } = visitor;
        await signInTo(trading, visitor, OPERATOR, '/portfolio');
        await page.locator('.renewal button').first().click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText(`500 ${SYMBOL}`).waitFor();
        await visitor.screenshot(`reset-${locale}-${size}`);
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      });
    }
    await trading.visit({ viewport: DESK, complaints: [/status of 400: POST .*\/fork$/] }, async (visitor) => {
      const { page } = visitor;
      await signInTo(trading, visitor, OPERATOR, '/portfolio');
      const dialog = page.getByRole('dialog');
      await page.getByRole('button', { name: 'Copy…' }).click();
      await page.locator('#fork-to').fill(OPERATOR);
      await page.keyboard.press('Enter');
      await dialog.getByText(/^Not done: /).waitFor();
      await page.locator('#fork-to').fill('Wim Copy');
      await page.keyboard.press('Enter');
      await page.getByText('The account is copied to Wim Copy.').waitFor();
      const copy = await call(trading, 'Wim Copy', 'GET', '/v1/asset/portfolio');
      assert.deepEqual(copy.positions.map(({ symbol, quantity }) => [symbol, quantity]), [[SYMBOL, '500']]);
      await page.getByRole('button', { name: 'Reset…' }).click();
      await dialog.getByRole('button', { name: 'Keep everything' }).click();
      await section(page, 'positions').getByRole('link', { name: SYMBOL }).waitFor();
      await page.getByRole('button', { name: 'Reset…' }).click();
      await dialog.getByText('Active grids: 1').waitFor();
      await dialog.getByRole('button', { name: 'Reset the account' }).click();
      await page.getByText('The account is reset.').waitFor();
      await section(page, 'positions').getByText('There are no positions.').waitFor();
      await section(page, 'grids').getByText('There are no grids.').waitFor();
      const { positions } = await call(trading, OPERATOR, 'GET', '/v1/asset/portfolio');
      assert.deepEqual(positions, []);
    });
  });
});
