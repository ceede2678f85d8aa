// The paper account: the ticket, orders and their explanations, automatic updates as the clock
// moves, and the account on the chart.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { DESKTOP, PHONE, WALL } from './browser.js';
import { drawn, cellText, signInTo } from './chart.js';
import { PASSWORD, stageAt } from './stage.js';

const OPERATOR = 'Otto Lantern';
// A Thursday, 15 seconds after ten in Hong Kong.
const DAY = '2026-11-12';
const on = stageAt(`${DAY}T10:00:15+08:00`, [OPERATOR, '--role', 'operator', '--rate', 'unlimited']);
const SYMBOL = '9001.HK';

const bearer = (account) => ({ authorization: `Bearer ${account.access_token}` });

/** The HTTP response to an account. */
async function apiCall(account, method, where, json) {
  const answer = await on.server.ask(method, where, { headers: bearer(account), json });
  assert.equal(answer.status, 200, `${where}: ${answer.text}`);
  return answer.json.data;
}

let clock = 600;

/**
 * Moves the market's clock, in minutes since midnight of the first day in Hong Kong; it never moves
 * back.
 */
async function step(minutes) {
  clock = Math.max(clock, minutes);
  const now = new Date(Date.parse(`${DAY}T00:00:00+08:00`) + clock * 60_000).toISOString();
  await apiCall(on.people[OPERATOR], 'POST', '/v1/admin/clock', { now });
}

/** An account with money, and an exchange rate for the other currency. */
async function trader(name, ...options) {
  const created = await on.person(name, '--cash', 'HKD=500000,USD=1000', '--rate', 'unlimited', ...options);
  await apiCall(on.people[OPERATOR], 'POST', '/v1/admin/rates', { rows: [{ currency: 'USD', day: '2026-01-02', rate: '7.8' }] });
  return created;
}

const at = (name, where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    const { page } = visitor;
    // The form is in the language of the browser, so it is found by its fields.
    await visitor.open(on.at(`/signin?next=${encodeURIComponent(where)}`));
    await page.locator('input[autocomplete=username]').fill(name);
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('.portfolio').waitFor();
    // A reload of the page would lose this.
    await page.evaluate(() => (window.isSamePage = true));
    await what(page, visitor);
  });

/** As if the user had returned to the page, which then requests what is not pushed. */
const returned = (page) => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));

const isSame = async (page) => assert.equal(await page.evaluate(() => window.isSamePage), true, 'the page was reloaded');

/** An integer price a little above, or far below, the market price: a multiple of any tick. */
async function priceNear(account, share) {
  const query = new URLSearchParams({ symbol: SYMBOL, period: '1m', limit: 1 });
  const { candlesticks } = await apiCall(account, 'GET', `/v1/quote/history-candlesticks?${query}`);
  return String(Math.ceil(Number(candlesticks[0].close) * share));
}

const section = (page, name) => page.locator(`section.${name}`);

/** Fills in the ticket with the keyboard alone, until its cost is shown. */
async function fillIn(page, { symbol = '9001', quantity, price, verdict = 'Would be accepted' }) {
  // Keys go to the focused box.
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('n');
  await page.locator('#ticket-symbol:focus').waitFor();
  await page.keyboard.type(symbol);
  await page.locator('#ticket-found [role=option]').first().waitFor();
  await page.keyboard.press('Enter');
  await page.locator('#ticket-quantity:focus').waitFor();
  await page.keyboard.type(quantity);
  await page.keyboard.press('Tab');
  await page.locator('#ticket-price:focus').waitFor();
  await page.keyboard.type(price);
  await page.locator('.verdict').filter({ hasText: verdict }).waitFor();
}

describe('the portfolio', () => {
  it('takes an order by keys, and shows its fill without a reload', async () => {
    const ann = await trader('Ann Ember');
    const price = await priceNear(ann, 1.02);
    await at('Ann Ember', '/portfolio', async (page, visitor) => {
      await page.getByText('There are no open orders.').waitFor();
      await section(page, 'assets').getByText('507,800.00').first().waitFor();
      await fillIn(page, { quantity: '500', price });
      // The cost is shown before the order is sent.
      const ticket = section(page, 'ticket');
      for (const words of ['Platform fee', 'Stamp duty', 'With all charges', 'Available HKD', 'Buying power (HKD)', 'Maximum'])
        await ticket.getByText(words, { exact: true }).waitFor();
      await visitor.look('portfolio-ticket');
      const preview = await apiCall(ann, 'POST', '/v1/trade/order/preview', {
        symbol: SYMBOL, side: 'Buy', order_type: 'LO', submitted_quantity: '500', submitted_price: price, time_in_force: 'Day',
      });
      const shown = preview.cost.fee_total.replace(/\B(?=(\d{3})+\.)/g, ',');
      await ticket.getByText(`HKD ${shown}`, { exact: true }).waitFor();
      await page.keyboard.press('Enter');
      await ticket.getByText(/^Order \d+: open$/).waitFor();
      const open = section(page, 'open-orders');
      await open.getByText(`Buy 500 limit ${price}`).waitFor();
      await open.getByText('0 of 500').waitFor();
      // The candle of 10:01 fills it at its end.
      await step(602);
      await section(page, 'past-orders').getByText('500 of 500').waitFor();
      await open.getByText('There are no open orders.').waitFor();
      await section(page, 'positions').getByRole('link', { name: SYMBOL }).waitFor();
      await section(page, 'flows').getByText('Stamp duty').waitFor();
      await isSame(page);
      const [position] = (await apiCall(ann, 'GET', '/v1/asset/portfolio')).positions;
      await section(page, 'positions').getByText(position.cost_price, { exact: true }).first().waitFor();
      await visitor.look('portfolio-filled');
      // Why it was filled, by keys.
      const why = page.getByRole('button', { name: /^Why order/ });
      await why.focus();
      await page.keyboard.press('Enter');
      const explanation = page.getByRole('dialog');
      await explanation.getByText(/filled: 500 at/).waitFor();
      await explanation.getByText('Stamp duty').waitFor();
      await visitor.screenshot('portfolio-why');
      await page.keyboard.press('Escape');
      await explanation.waitFor({ state: 'detached' });
      await page.locator('[data-key^="why "]:focus').waitFor();
    });
  });

  it('changes and cancels orders by keys, after a confirmation', async () => {
    const bea = await trader('Bea Wick');
    const price = await priceNear(bea, 0.7);
    await at('Bea Wick', '/portfolio', async (page, visitor) => {
      await fillIn(page, { quantity: '500', price });
      await page.keyboard.press('Enter');
      const open = section(page, 'open-orders');
      await open.getByText(`Buy 500 limit ${price}`).waitFor();
      await open.getByRole('button', { name: /^Change order/ }).focus();
      await page.keyboard.press('Enter');
      await page.locator('#change-quantity:focus').waitFor();
      await visitor.screenshot('portfolio-change');
      await page.keyboard.type('1000');
      await page.keyboard.press('Enter');
      await open.getByText(`Buy 1,000 limit ${price}`).waitFor();
      // The focus is unchanged, although the rows were recreated.
      await page.locator('[data-key^="change "]:focus').waitFor();
      const cancel = open.getByRole('button', { name: /^Cancel order/ });
      await cancel.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByText('Cancel this order?').waitFor();
      await page.keyboard.press('Escape');
      await open.getByText(`Buy 1,000 limit ${price}`).waitFor();
      await cancel.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Cancel the order' }).waitFor();
      await page.keyboard.press('Enter');
      await section(page, 'past-orders').getByText('cancelled', { exact: true }).waitFor();
      await open.getByText('There are no open orders.').waitFor();
      await isSame(page);
    });
  });

  it('shows a refused change in the server’s words, and stays open', async () => {
    const cyd = await trader('Cyd Taper');
    const price = await priceNear(cyd, 0.7);
    await at('Cyd Taper', '/portfolio', async (page) => {
      await fillIn(page, { quantity: '500', price });
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: /^Change order/ }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Quantity').fill('3');
      await dialog.getByRole('button', { name: 'Change the order' }).click();
      await dialog.getByText(/^Not done: .*lot|^Not done: .*quantity/i).waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await section(page, 'open-orders').getByText(`Buy 500 limit ${price}`).waitFor();
    }, { complaints: [/status of 400: PUT .*\/v1\/trade\/order$/] });
  });

  it('shows why an order is rejected, with the numbers, before and after it is sent', async () => {
    const dot = await trader('Dot Flame');
    const price = await priceNear(dot, 1.02);
    await at('Dot Flame', '/portfolio', async (page, visitor) => {
      await fillIn(page, { quantity: '500', price: `${price}.001`, verdict: 'Cannot be submitted' });
      const ticket = section(page, 'ticket');
      await ticket.getByText(/price must be a multiple of .*check 7/).waitFor();
      assert.equal(await ticket.getByRole('button', { name: 'Buy 500' }).isDisabled(), true);
      await page.locator('#ticket-price').fill(price);
      await page.locator('#ticket-quantity').fill('500000');
      await ticket.getByText(/Would be rejected: insufficient funds: it needs .* and there is/).waitFor();
      await visitor.look('portfolio-rejected');
      await page.locator('#ticket-quantity').press('Enter');
      const past = section(page, 'past-orders');
      await past.getByText('rejected', { exact: true }).waitFor();
      await past.getByText(/insufficient funds/).waitFor();
      await ticket.getByText(/^Order \d+: rejected insufficient funds/).waitFor();
    });
  });

  it('sends an order once, however often the button is pressed, and not again when the answer is lost', async () => {
    const eve = await trader('Eve Candle');
    const price = await priceNear(eve, 0.7);
    const orders = async () => (await apiCall(eve, 'GET', '/v1/trade/order/today')).orders.length;
    await at('Eve Candle', '/portfolio', async (page) => {
      const names = [];
      let isLost = false;
      await page.route('**/v1/trade/order', async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        names.push(route.request().postDataJSON().client_request_id);
        if (!isLost) return route.continue();
        // The request arrives, and the response is lost.
        await route.fetch();
        return route.abort();
      });
      await fillIn(page, { quantity: '500', price });
      await page.getByRole('button', { name: 'Buy 500' }).dblclick();
      await page.getByText(/^Order \d+: open$/).waitFor();
      assert.deepEqual([names.length, await orders()], [1, 1]);
      isLost = true;
      await fillIn(page, { quantity: '1000', price });
      await page.keyboard.press('Enter');
      await page.getByText('Not done: the server does not answer').waitFor();
      isLost = false;
      await page.getByRole('button', { name: 'Buy 1,000' }).click();
      await page.getByText(/^Order \d+: open$/).waitFor();
      assert.equal(names.length, 3);
      assert.equal(names[1], names[2], 'the same order has the same name');
      assert.notEqual(names[0], names[1]);
      assert.equal(await orders(), 2);
    }, { complaints: [/ERR_FAILED/] });
  });

  it('does not move the focus that was moved while an order was in flight', async () => {
    const max = await trader('Max Spill');
    const price = await priceNear(max, 0.7);
    await at('Max Spill', '/portfolio', async (page) => {
      await fillIn(page, { quantity: '500', price });
      let release;
      const held = new Promise((done) => (release = done));
      await page.route('**/v1/asset/portfolio', (route) => held.then(() => route.continue()));
      const sent = page.waitForResponse((answer) => answer.url().endsWith('/v1/trade/order'));
      await page.keyboard.press('Enter');
      await sent;
      await page.locator('#theme').focus();
      release();
      await page.getByText(/^Order \d+: open$/).waitFor();
      await page.locator('#theme:focus').waitFor();
      // If the focus was not moved, the next quantity can be typed.
      await fillIn(page, { quantity: '500', price });
      await page.keyboard.press('Enter');
      await page.locator('#ticket-quantity:focus').waitFor();
      assert.equal(await page.locator('#ticket-quantity').inputValue(), '');
    });
  });

  it('has the fields of each order type, and hours where there are several', async () => {
    const ned = await trader('Ned Lucifer');
    const price = Number(await priceNear(ned, 1.02));
    await at('Ned Lucifer', '/portfolio?symbol=9001.HK', async (page) => {
      const ticket = section(page, 'ticket');
      await page.locator('#ticket-quantity:focus').waitFor();
      const shown = () => ticket.locator('.field label:visible').allInnerTexts();
      assert.deepEqual(await shown(), ['Order type', 'Quantity', 'Limit', 'Valid', 'Hours', 'Remark']);
      assert.equal(await ticket.getByLabel('Hours').isDisabled(), true);
      const down = async (label, steps) => {
        await ticket.getByLabel(label).focus();
        for (let at = 0; at < steps; at += 1) await page.keyboard.press('ArrowDown');
      };
      await down('Order type', 1);
      assert.deepEqual(await shown(), ['Order type', 'Quantity', 'Valid', 'Hours', 'Remark']);
      await down('Order type', 1);
      assert.deepEqual(await shown(), ['Order type', 'Quantity', 'Limit', 'Trigger price', 'Valid', 'Hours', 'Remark']);
      await ticket.getByLabel('Quantity').fill('500');
      await ticket.getByLabel('Limit', { exact: true }).fill(String(price + 6));
      await ticket.getByLabel('Trigger price').fill(String(price + 5));
      await ticket.getByText('Would be accepted').waitFor();
      await ticket.getByRole('button', { name: 'Buy 500' }).click();
      await section(page, 'open-orders').getByText(`limit if touched ${price + 6}`).waitFor();
      await section(page, 'open-orders').getByText('waits for its price').waitFor();
      // A complete symbol counts when the box is left with Tab.
      await page.locator('#ticket-symbol').fill('wick.us');
      await page.keyboard.press('Tab');
      await page.locator('#ticket-quantity:focus').waitFor();
      assert.equal(await page.locator('#ticket-symbol').inputValue(), 'WICK.US');
      assert.equal(await ticket.getByLabel('Hours').isDisabled(), false);
      assert.equal(await ticket.locator('option[value=ELO]').isDisabled(), true);
      await down('Valid', 2);
      await ticket.getByLabel('Last day').waitFor();
    });
  });

  it('has no ticket for a read-only account', async () => {
    const fay = await trader('Fay Glow');
    await apiCall(fay, 'POST', '/v1/trade/order', {
      symbol: SYMBOL, side: 'Buy', order_type: 'LO', submitted_quantity: '500', submitted_price: await priceNear(fay, 0.7), time_in_force: 'GTC',
    });
    await apiCall(on.people[OPERATOR], 'POST', `/v1/admin/accounts/${encodeURIComponent('Fay Glow')}`, { read_only: true });
    await at('Fay Glow', '/portfolio?symbol=9001.HK', async (page, visitor) => {
      await page.getByText('This account may look at its orders, not change them.').waitFor();
      assert.equal(await page.locator('#ticket-quantity').isVisible(), false);
      await page.getByRole('button', { name: /^Why order/ }).waitFor();
      assert.equal(await page.getByRole('button', { name: /^(Cancel|Change) order/ }).count(), 0);
      await visitor.look('portfolio-read-only');
    });
  });

  it('shows when it is not up to date, and when the session has ended', async () => {
    await trader('Gus Snuffer');
    await at('Gus Snuffer', '/portfolio', async (page, { context }) => {
      await page.route('**/v1/asset/portfolio', (route) => route.abort());
      await returned(page);
      await page.getByText(/^Not up to date: the server does not answer/).waitFor();
      await page.unroute('**/v1/asset/portfolio');
      await page.getByText(/^As of 2026-/).waitFor();
      await context.clearCookies();
      await returned(page);
      await page.getByText('You are no longer signed in.').waitFor();
    }, { complaints: [/ERR_FAILED/, /status of 401: GET .*\/v1\/asset\/portfolio$/] });
  });

  it('follows the account by the stream, polls only without one, and says which', async () => {
    const ivo = await trader('Ivo Tinder');
    const price = await priceNear(ivo, 0.7);
    const order = (quantity) =>
      apiCall(ivo, 'POST', '/v1/trade/order', {
        symbol: SYMBOL, side: 'Buy', order_type: 'LO', submitted_quantity: quantity, submitted_price: price, time_in_force: 'GTC',
      });
    const badge = (page, text) => page.waitForFunction((wanted) => document.getElementById('live')?.textContent.startsWith(wanted), text);
    await on.visit({ complaints: [/ERR_FAILED/] }, async (visitor) => {
      const { page } = visitor;
      let requests = 0;
      page.on('request', (request) => (requests += Number(request.url().endsWith('/v1/asset/portfolio'))));
      await page.clock.install();
      await signInTo(on, visitor, 'Ivo Tinder', '/portfolio');
      const open = section(page, 'open-orders');
      await open.getByText('There are no open orders.').waitFor();
      await badge(page, `replay ${DAY} `);
      // The beginning of the stream is followed by a request.
      await page.clock.runFor(1000);
      await visitor.settle();
      const before = requests;
      // A minute of the page's timers.
      await page.clock.runFor(60_000);
      assert.equal(requests, before, 'the page polls');
      // Without positions, too, an order by a program appears.
      await order('500');
      await open.getByText(`Buy 500 limit ${price}`).waitFor();
      // The stream is lost: the page polls, and reconnects.
      let isLost = true;
      await page.route('**/v1/live*', (route) => (isLost ? route.abort() : route.continue()));
      await page.evaluate(() => {
        Object.defineProperty(document, 'hidden', { value: true, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
        delete document.hidden;
        document.dispatchEvent(new Event('visibilitychange'));
      });
      await badge(page, 'reconnecting');
      await order('1000');
      await open.getByText(`Buy 1,000 limit ${price}`).waitFor();
      isLost = false;
      await page.locator('#live[data-kind=replay]').waitFor();
    });
  });

  it('shows that totals at built-in rates are approximate, and names a currency without a rate', async () => {
    await on.person('Hal Sconce', '--cash', 'HKD=1000,CNH=500');
    await at('Hal Sconce', '/portfolio', async (page, visitor) => {
      const assets = section(page, 'assets');
      const approximate = assets.getByText('At approximate exchange rates');
      await assets.getByText('1,550.00').first().waitFor();
      await approximate.waitFor();
      await visitor.look('portfolio-approximate');
      await apiCall(on.people[OPERATOR], 'POST', '/v1/admin/rates', { rows: [{ currency: 'CNH', day: '2026-01-02', rate: '1.2' }] });
      await assets.getByText('1,600.00').first().waitFor();
      await approximate.waitFor({ state: 'detached' });
      await section(page, 'equity').getByText(/\(now\) 1,600\.00/).waitFor();
      await page.route('**/v1/asset/portfolio', async (route) => {
        const response = await route.fetch();
        const json = await response.json();
        Object.assign(json.data, { totals: null, missing: 'no rate for EUR' });
        await route.fulfill({ response, json });
      });
      await returned(page);
      await assets.getByText('No totals: no rate for EUR').waitFor();
      await assets.getByText('500.00').first().waitFor();
      await page.unroute('**/v1/asset/portfolio');
      await returned(page);
      await assets.getByText('1,600.00').first().waitFor();
      await isSame(page);
    });
  });
});

describe('the layout of the portfolio', () => {
  const PLACES = [['en-GB', 'Portfolio', 'New order'], ['zh-CN', '投资组合', '下单'], ['zh-HK', '投資組合', '下單']];

  it('speaks three languages, on a phone, at a desk and on a wall, in light and dark', async () => {
    const ida = await trader('Ida Lamp');
    const price = await priceNear(ida, 1.02);
    const submit = (more) =>
      apiCall(ida, 'POST', '/v1/trade/order', { symbol: SYMBOL, side: 'Buy', order_type: 'LO', submitted_quantity: '500', submitted_price: price, time_in_force: 'GTC', ...more });
    await submit({});
    await step(clock + 2);
    await submit({ submitted_price: await priceNear(ida, 0.7), remark: 'for rainy days' });
    await submit({ order_type: 'LIT', trigger_price: String(Number(price) + 5), submitted_price: String(Number(price) + 6) });
    await submit({ submitted_quantity: '500000', submitted_price: price });
    for (const [locale, title, ticket] of PLACES) {
      for (const [size, viewport, scheme] of [['phone', PHONE, 'light'], ['desktop', DESKTOP, 'dark'], ['wall', WALL, 'light']]) {
        await at('Ida Lamp', '/portfolio', async (page, visitor) => {
          await page.getByRole('heading', { name: title, level: 1 }).waitFor();
          await page.getByRole('heading', { name: ticket }).waitFor();
          await section(page, 'positions').getByRole('link', { name: SYMBOL }).waitFor();
          await visitor.look(`portfolio-${locale}-${size}`);
        }, { locale, viewport, scheme });
      }
    }
  });

  it('draws the value of the account, day by day, also for keys', async () => {
    const jo = await trader('Jo Beacon');
    await apiCall(jo, 'POST', '/v1/trade/order', {
      symbol: SYMBOL, side: 'Buy', order_type: 'MO', submitted_quantity: '1000', time_in_force: 'Day',
    });
    await step(clock + 2);
    // Nine in the morning of the next day, a Friday.
    await step(33 * 60);
    await at('Jo Beacon', '/portfolio', async (page, visitor) => {
      const equity = section(page, 'equity');
      await equity.getByText(/^2026-11-13 \(now\)/).waitFor();
      const { points } = await apiCall(jo, 'GET', '/v1/asset/equity');
      assert.deepEqual(points.map(({ date, is_over: isOver }) => [date, isOver]), [['2026-11-12', true], ['2026-11-13', false]]);
      assert.equal(await equity.locator('svg').getAttribute('data-points'), '2');
      await equity.getByRole('application').focus();
      await page.keyboard.press('Home');
      const first = points[0].net_assets.replace(/\B(?=(\d{3})+\.)/g, ',');
      await equity.getByText(`2026-11-12 ${first} the first day`).waitFor();
      await page.keyboard.press('ArrowRight');
      await equity.getByText(/since the day before$/).waitFor();
      await visitor.look('portfolio-equity');
    });
  });

  it('has the statement of a day that is over, as a file in the language of the browser', async () => {
    for (const [locale, name] of [['en-GB', 'Daily statement of 2026-11-12 as PDF'], ['zh-HK', '2026-11-12 日結單 PDF']]) {
      await at('Jo Beacon', '/portfolio', async (page, visitor) => {
        const button = section(page, 'statements').getByRole('button', { name });
        await button.waitFor();
        const [file] = await Promise.all([page.waitForEvent('download'), button.press('Enter')]);
        assert.equal(file.suggestedFilename(), 'statement-daily-20261112.pdf');
        await visitor.look(`portfolio-statements-${locale}`);
        await isSame(page);
      }, { locale });
    }
  });
});

describe('the chart of an account that trades', () => {
  it('draws open orders and fills, and follows the clock', async () => {
    const kay = await trader('Kay Torch');
    await step(34 * 60);
    const price = await priceNear(kay, 1.02);
    const far = await priceNear(kay, 0.9);
    const submit = (more) =>
      apiCall(kay, 'POST', '/v1/trade/order', { symbol: SYMBOL, side: 'Buy', order_type: 'LO', submitted_quantity: '500', time_in_force: 'Day', ...more });
    await submit({ submitted_price: far });
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Kay Torch', `/?symbol=${SYMBOL}&period=1m`);
      await drawn(page);
      await page.evaluate(() => (window.isSamePage = true));
      const working = page.locator('#working li');
      await working.filter({ hasText: `Buy 500 @ ${far}` }).waitFor({ state: 'attached' });
      const before = await cellText(page, 'time');
      await submit({ submitted_price: price });
      await page.waitForFunction(() => document.querySelectorAll('#working li').length === 2);
      await step(clock + 2);
      await page.waitForFunction(() => document.querySelectorAll('#working li').length === 1);
      // The new candle is shown, with its fill.
      await page.waitForFunction((time) => document.getElementById('ro-time').textContent !== time, before);
      await page.locator('#chart').focus();
      for (let steps = 0; !(await cellText(page, 'event')).includes('bought 500 at') && steps < 5; steps += 1) await page.keyboard.press('ArrowLeft');
      assert.match(await cellText(page, 'event'), /bought 500 at \d/);
      await isSame(page);
      await visitor.look('chart-trades');
      // The same fill at its daily candle.
      await visitor.open(on.at(`/?symbol=${SYMBOL}`));
      await drawn(page);
      await page.waitForFunction(() => document.getElementById('ro-event').textContent.includes('bought 500'));
      await visitor.screenshot('chart-trades-day');
      // And from here to an order.
      await page.locator('#chart').focus();
      await page.keyboard.press('o');
      await page.locator('#ticket-quantity:focus').waitFor();
      assert.match(page.url(), /\/\?symbol=/, 'the chart was left');
    });
  });

  it('requests marks once for an account that does not trade', async () => {
    await on.person('Lew Match');
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      let marks = 0;
      page.on('request', (request) => (marks += request.url().includes('/v1/trade/marks') ? 1 : 0));
      const answered = page.waitForResponse((answer) => answer.url().includes('/v1/trade/marks'));
      await page.clock.install();
      await signInTo(on, visitor, 'Lew Match', `/?symbol=${SYMBOL}`);
      await drawn(page);
      await answered;
      // A minute of the page's timers.
      await page.clock.runFor(60_000);
      assert.equal(marks, 1);
    });
    const state = await apiCall(on.people[OPERATOR], 'GET', `/v1/admin/paper/${encodeURIComponent('Lew Match')}`);
    assert.equal(state.horizon, null, 'a look at a chart begins no account');
  });
});
