// Orders on the chart: the ticket in the side panel, and the lines of open orders, which can be
// dragged and closed.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { PHONE } from './browser.js';
import { drawn, frames } from './chart.js';
import { PASSWORD, stageAt } from './stage.js';

const OPERATOR = 'Otto Lantern';
const DAY = '2026-11-12';
const on = stageAt(`${DAY}T10:00:15+08:00`, [OPERATOR, '--role', 'operator', '--rate', 'unlimited']);
const SYMBOL = '9001.HK';
const CHART = `/?symbol=${SYMBOL}&period=1m`;

async function apiCall(account, method, where, json) {
  const answer = await on.server.ask(method, where, { headers: { authorization: `Bearer ${account.access_token}` }, json });
  assert.equal(answer.status, 200, `${where}: ${answer.text}`);
  return answer.json.data;
}

async function trader(name, cash = 'HKD=500000') {
  const created = await on.person(name, '--cash', cash, '--rate', 'unlimited');
  await apiCall(on.people[OPERATOR], 'POST', '/v1/admin/rates', { rows: [{ currency: 'USD', day: '2026-01-02', rate: '7.8' }] });
  return created;
}

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

/** Last price, lot and tick of the security. */
async function info(account) {
  const { last_done: last, lot_size: lot, bid_sizes: ticks } = await apiCall(account, 'GET', `/v1/orders/info?symbol=${SYMBOL}`);
  const { bid_size: tick } = ticks.find(({ str_proceed: from, end_proceed: to }) => Number(last) > Number(from) && (!to || Number(last) <= Number(to)));
  return { last, lot, tick: Number(tick) };
}

const isMultiple = (price, tick) => Math.abs(price / tick - Math.round(price / tick)) < 1e-6;
const trimmed = (text) => text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
const openOrders = async (account) => (await apiCall(account, 'GET', `/v1/trade/marks?symbol=${SYMBOL}`)).orders;

const submit = async (account, price, more = {}) =>
  (await apiCall(account, 'POST', '/v1/trade/order', {
    symbol: SYMBOL, side: 'Buy', order_type: 'LO', submitted_quantity: '500', submitted_price: price, time_in_force: 'GTC', ...more,
  })).order_id;

/** The last price, less some steps: near enough to be visible. */
async function below(account, steps) {
  const { last, tick } = await info(account);
  return trimmed((Number(last) - steps * tick).toFixed(3));
}

const panel = (page) => page.locator('#side-order');
const value = (page, id) => page.locator(`#ticket-${id}`).inputValue();
const filledIn = (page) => page.waitForFunction(() => document.querySelector('#ticket-price')?.value && document.querySelector('#ticket-quantity').value);
const accepted = (page) => panel(page).locator('.verdict').filter({ hasText: 'Would be accepted' }).waitFor();
const handle = (page, id) => page.locator(`.order-line [data-key="grip ${id} price"]`);
/** The line can be dragged: its price steps are known. */
const movable = (page) => page.locator('.order-lines.movable').waitFor({ state: 'attached' });

const middleOf = async (locator) => {
  const { x, y, width, height } = await locator.boundingBox();
  return { x: x + width / 2, y: y + height / 2 };
};

/** Presses the handle of an order and moves it by some pixels, without releasing it. */
async function dragBy(page, grip, distance) {
  const { x, y } = await middleOf(grip);
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let step = 1; step <= 8; step += 1) await page.mouse.move(x, y + (distance * step) / 8);
  await frames(page);
}

describe('the order ticket of the chart', () => {
  it('is opened by a key with last price, tick and lot, and sends an order after its cost is shown', async () => {
    const ann = await trader('Ann Ember');
    const { last, lot, tick } = await info(ann);
    await at('Ann Ember', CHART, async (page, visitor) => {
      await page.locator('#chart').focus();
      await page.keyboard.press('o');
      await page.locator('#ticket-quantity:focus').waitFor();
      await filledIn(page);
      assert.deepEqual([await value(page, 'quantity'), await value(page, 'price')], [lot, trimmed(last)]);
      const ticket = panel(page);
      await ticket.getByText(`HKD · lots of ${lot} · tick ${tick} · last ${trimmed(last)}`).waitFor();
      assert.equal(await page.locator('#ticket-symbol').count(), 0, 'the security is that of the chart');
      await accepted(page);
      for (const words of ['Platform fee', 'With all charges', 'Available HKD']) await ticket.getByText(words, { exact: true }).waitFor();
      await visitor.look('orders-ticket');
      // Steps of price and lot by keys.
      await page.keyboard.press('ArrowUp');
      assert.equal(await value(page, 'quantity'), String(2 * Number(lot)));
      await page.locator('#ticket-price').press('ArrowDown');
      assert.equal(Number(await value(page, 'price')).toFixed(3), (Number(last) - tick).toFixed(3));
      await accepted(page);
      await page.locator('#ticket-price').press('Enter');
      await ticket.getByText(/^Order \d+: open$/).waitFor();
      const [order] = await openOrders(ann);
      assert.deepEqual([order.side, order.quantity, Number(order.price)], ['Buy', String(2 * Number(lot)), Number(await value(page, 'price'))]);
      // One key press too many sends nothing.
      let sent = 0;
      page.on('request', (request) => {
        if (request.method() === 'POST' && new URL(request.url()).pathname === '/v1/trade/order') sent += 1;
      });
      await page.keyboard.press('Enter');
      await page.locator('.order-line .grip').waitFor();
      await visitor.settle();
      assert.deepEqual([sent, (await openOrders(ann)).length], [0, 1]);
      assert.match(page.url(), /\/\?symbol=9001\.HK&period=1m/, 'the chart was left');
      // Another security, another price.
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press('/');
      await page.keyboard.type('WICK.US');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.title.includes('WICK.US'));
      await ticket.getByText(/^USD · tick/).waitFor();
      assert.notEqual(Number(await value(page, 'price')), Number(order.price));
      assert.equal(await page.locator('.order-line').count(), 0);
    });
  });

  it('counts in money and in percent of the cash, in whole lots', async () => {
    const bea = await trader('Bea Wick');
    const { lot } = await info(bea);
    await at('Bea Wick', CHART, async (page) => {
      await page.locator('#chart').focus();
      await page.keyboard.press('o');
      await filledIn(page);
      const price = Number(await value(page, 'price'));
      const whole = (money) => Math.floor(money / (price * Number(lot))) * Number(lot);
      const ticket = panel(page);
      await ticket.getByLabel('Counted in').selectOption('amount');
      assert.equal(await value(page, 'quantity'), '');
      const money = price * Number(lot) * 2.5;
      await page.locator('#ticket-quantity').fill(String(Math.round(money)));
      await ticket.getByText(`= ${whole(money).toLocaleString('en')} shares`).waitFor();
      await ticket.getByRole('button', { name: `Buy ${whole(money).toLocaleString('en')} ${SYMBOL}` }).waitFor();
      await ticket.getByLabel('Counted in').selectOption('percent');
      await page.locator('#ticket-quantity').fill('100');
      await accepted(page);
      const most = (await apiCall(bea, 'GET', `/v1/trade/estimate/buy_limit?symbol=${SYMBOL}&side=Buy&order_type=LO&price=${price}`)).cash_max_qty;
      await ticket.getByText(`= ${Number(most).toLocaleString('en')} shares`).waitFor();
      await page.locator('#ticket-quantity').fill('50');
      const half = Math.floor(Number(most) / 2 / Number(lot)) * Number(lot);
      await ticket.getByText(`= ${half.toLocaleString('en')} shares`).waitFor();
      await ticket.getByRole('button', { name: `Buy ${half.toLocaleString('en')} ${SYMBOL}` }).click();
      await ticket.getByText(/^Order \d+: open$/).waitFor();
      assert.equal((await openOrders(bea))[0].quantity, String(half));
      // Without a position there is nothing to sell.
      await ticket.locator('.sells input').check();
      await page.locator('#ticket-quantity').fill('100');
      await ticket.getByText('= 0 shares').waitFor();
      assert.equal(await ticket.getByRole('button', { name: 'Place the order' }).isDisabled(), true);
    });
  });

  it('is opened by the right mouse button and at the crosshair, at that price', async () => {
    const cyd = await trader('Cyd Taper');
    const { tick } = await info(cyd);
    await at('Cyd Taper', CHART, async (page, visitor) => {
      const box = await page.locator('#chart').boundingBox();
      const point = { x: box.x + box.width / 2, y: box.y + box.height * 0.55 };
      await page.mouse.click(point.x, point.y, { button: 'right' });
      await page.locator('#ticket-quantity:focus').waitFor();
      await filledIn(page);
      const first = Number(await value(page, 'price'));
      assert.ok(isMultiple(first, tick), `${first} is not a multiple of ${tick}`);
      // The panel has taken space from the chart; the heights are unchanged. Lower on the chart is cheaper.
      await page.mouse.move(point.x - 100, point.y + 80);
      const here = page.locator('#order-here');
      await here.waitFor();
      await visitor.screenshot('orders-here');
      await here.click();
      await page.waitForFunction((before) => Number(document.querySelector('#ticket-price').value) < before, first);
      assert.ok(isMultiple(Number(await value(page, 'price')), tick));
      await page.locator('#ticket-quantity:focus').waitFor();
      // It is not at the volumes.
      const pane = await page.locator('#chart').boundingBox();
      await page.mouse.move(pane.x + 200, pane.y + pane.height - 60);
      await here.waitFor({ state: 'hidden' });
      // Outside of the prices the browser's menu is shown.
      const isMenu = await page.evaluate(() => {
        const { left, right, bottom } = document.getElementById('chart').getBoundingClientRect();
        const event = (clientX, clientY) => document.querySelector('#chart canvas').dispatchEvent(new MouseEvent('contextmenu', { clientX, clientY, bubbles: true, cancelable: true }));
        return [event((left + right) / 2, bottom - 8), event(right - 8, bottom - 200)];
      });
      assert.deepEqual(isMenu, [true, true]);
    });
  });

  it('is not offered to a read-only account, which sees its lines', async () => {
    const fay = await trader('Fay Glow');
    await submit(fay, await below(fay, 5));
    await apiCall(on.people[OPERATOR], 'POST', `/v1/admin/accounts/${encodeURIComponent('Fay Glow')}`, { read_only: true });
    await at('Fay Glow', CHART, async (page, visitor) => {
      await page.locator('#working li').filter({ hasText: 'Buy 500' }).waitFor({ state: 'attached' });
      await page.locator('#side-open').click();
      await page.locator('#side-lists').waitFor();
      assert.equal(await page.locator('label:has(input[value=order])').isVisible(), false);
      assert.equal(await page.locator('.order-line').count(), 0);
      const box = await page.locator('#chart').boundingBox();
      await page.mouse.click(box.x + 200, box.y + 100, { button: 'right' });
      await page.mouse.move(box.x + 220, box.y + 120);
      await frames(page);
      assert.equal(await page.locator('#order-here').isVisible(), false);
      await visitor.look('orders-read-only');
      await page.locator('#chart').focus();
      await page.keyboard.press('o');
      await page.waitForURL(/\/portfolio\?symbol=/);
      await page.getByText('This account may look at its orders, not change them.').waitFor();
    });
  });

  it('trades in the account of a replay', async () => {
    const gus = await trader('Gus Snuffer');
    await apiCall(gus, 'POST', '/v1/worlds', { name: 'past', start: '2026-11-11T10:00:00+08:00', markets: ['HK'], cash: { HKD: '500000' } });
    await at('Gus Snuffer', `${CHART}&world=past`, async (page) => {
      await page.getByRole('button', { name: 'Leave' }).waitFor();
      await page.locator('#chart').focus();
      await page.keyboard.press('o');
      await filledIn(page);
      const inPage = (path) => page.evaluate(async (where) => (await (await fetch(where, { headers: { 'x-chandler-world': 'past' } })).json()).data, path);
      const { last_done: last } = await inPage(`/v1/orders/info?symbol=${SYMBOL}`);
      assert.equal(await value(page, 'price'), trimmed(last));
      for (let step = 0; step < 20; step += 1) await page.locator('#ticket-price').press('ArrowUp');
      await accepted(page);
      await page.locator('#ticket-price').press('Enter');
      await panel(page).getByText(/^Order \d+: open$/).waitFor();
      const [order] = (await inPage('/v1/trade/order/today')).orders;
      assert.equal(order.symbol, SYMBOL);
      await handle(page, order.order_id).waitFor({ state: 'attached' });
      await page.evaluate(() => document.activeElement.blur());
      for (const time of ['10:01', '10:02']) {
        await page.keyboard.press('ArrowRight');
        await page.waitForFunction((wanted) => document.querySelector('.replay-time').textContent.endsWith(wanted), time);
      }
      // Filled: the line is gone, and the position is listed.
      await handle(page, order.order_id).waitFor({ state: 'detached' });
      await panel(page).getByText(/^500 at \d/).waitFor();
    });
    assert.deepEqual(await openOrders(gus), []);
  });
});

describe('attached orders', () => {
  it('are rows under their main order, in the portfolio and next to the chart', async () => {
    const lee = await trader('Lee Lantern');
    const price = await below(lee, 5);
    const { tick } = await info(lee);
    const away = (steps) => trimmed((Number(price) + steps * tick).toFixed(3));
    const attached = { attached_order_type: 'BRACKET', profit_taker_price: away(40), stop_loss_price: away(-40), time_in_force: 'GTC' };
    const id = await submit(lee, price, { attached_params: attached });
    await at('Lee Lantern', CHART, async (page) => {
      await page.locator('#chart').focus();
      await page.keyboard.press('o');
      const rows = panel(page).locator('.chart-orders li');
      await rows.nth(2).waitFor();
      assert.deepEqual(await rows.evaluateAll((all) => all.map((one) => one.className)), ['', 'leg', 'leg']);
      await page.goto(on.at('/portfolio'));
      const open = page.locator('.open-orders tbody tr');
      await open.nth(2).waitFor();
      assert.match(await open.nth(0).innerText(), /Buy 500 limit/);
      await open.filter({ hasText: `↳ Take profit` }).getByText(`once ${Number(away(40)).toFixed(3)} is touched`).waitFor();
      await open.filter({ hasText: `↳ Stop loss` }).getByText('once the main order has a fill').waitFor();
      // Each is cancelled by itself.
      await open.filter({ hasText: 'Stop loss' }).getByRole('button', { name: /^Cancel/ }).click();
      await page.getByRole('button', { name: 'Cancel the order' }).click();
      await open.filter({ hasText: 'Stop loss' }).getByText('cancelled').waitFor();
    });
    const [order] = (await apiCall(lee, 'GET', '/v1/trade/order/today')).orders;
    assert.deepEqual([order.order_id, order.attached_orders.map(({ withdrawn }) => withdrawn)], [id, [false, true]]);
  });
});

describe('the lines of orders', () => {
  it('are dragged to another price, without requests and redrawing, and sent after a confirmation', async () => {
    const dot = await trader('Dot Flame');
    const price = await below(dot, 5);
    const id = await submit(dot, price);
    const { tick } = await info(dot);
    await at('Dot Flame', CHART, async (page, visitor) => {
      await movable(page);
      // The first event of the stream is followed by a request.
      await page.waitForFunction(() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/trade/marks')).length > 1);
      await visitor.settle();
      const grip = handle(page, id);
      const before = await middleOf(grip);
      const requests = [];
      page.on('request', (request) => requests.push(request.url()));
      await page.evaluate(() => {
        window.strokes = 0;
        const { drawImage, fillRect, stroke } = CanvasRenderingContext2D.prototype;
        const counted = (name, what) => (CanvasRenderingContext2D.prototype[name] = function (...words) {
          window.strokes += 1;
          return what.apply(this, words);
        });
        counted('fillRect', fillRect);
        counted('stroke', stroke);
        counted('drawImage', drawImage);
      });
      const { x, y } = before;
      await page.mouse.move(x, y);
      await page.mouse.down();
      await frames(page);
      await page.evaluate(() => (window.strokes = 0));
      for (let step = 1; step <= 40; step += 1) await page.mouse.move(x - step, y + step);
      await frames(page);
      assert.equal(await page.evaluate(() => window.strokes), 0, 'the chart was redrawn');
      assert.deepEqual(requests, []);
      const words = await grip.innerText();
      const moved = Number(words.split('·')[1]);
      assert.ok(moved < Number(price), words);
      assert.ok(isMultiple(moved, tick), 'on a step');
      await visitor.screenshot('orders-drag');
      // Escape takes it back, and nothing is asked.
      await page.keyboard.press('Escape');
      await frames(page);
      assert.ok(Math.abs((await middleOf(grip)).y - y) < 1.5);
      await page.mouse.up();
      assert.equal(await page.getByRole('dialog').count(), 0);
      // Released, it is asked for; Escape takes it back.
      await dragBy(page, grip, 40);
      await page.mouse.up();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Change the price of this order?').waitFor();
      await dialog.getByText(`${price} → ${moved}`, { exact: false }).waitFor();
      await visitor.look('orders-confirm');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      assert.ok(Math.abs((await middleOf(grip)).y - y) < 1.5);
      assert.equal(Number((await openOrders(dot))[0].price), Number(price));
      // Enter confirms it.
      await dragBy(page, grip, 40);
      await page.mouse.up();
      await dialog.waitFor();
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      const [order] = await openOrders(dot);
      assert.deepEqual([order.order_id, Number(order.price), order.quantity], [id, moved, '500']);
      await page.locator('#working li').filter({ hasText: `@ ${order.price}` }).waitFor({ state: 'attached' });
      assert.ok((await middleOf(grip)).y > y + 20);
      // A program moves it back: the line follows the stream.
      await apiCall(dot, 'PUT', '/v1/trade/order', { order_id: id, quantity: '500', price });
      await page.waitForFunction(([wanted, old]) => Math.abs(document.querySelector('.order-line .grip').getBoundingClientRect().y - wanted) < old, [y - 13, 3]);
    });
  });

  it('are dragged with a finger, at every scale', async () => {
    const max = await trader('Max Spill');
    const price = await below(max, 4);
    const id = await submit(max, price);
    await at('Max Spill', `${CHART}&scale=percent`, async (page) => {
      await movable(page);
      const grip = handle(page, id);
      const { x, y } = await middleOf(grip);
      const cdp = await page.context().newCDPSession(page);
      const touch = (type, ...touchPoints) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
      await touch('touchStart', { x, y });
      for (let step = 1; step <= 6; step += 1) await touch('touchMove', { x, y: y + step * 12 });
      await touch('touchEnd');
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Change the price of this order?').waitFor();
      // The browser ignores a tap right after a touch.
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      assert.ok(Number((await openOrders(max))[0].price) < Number(price));
    }, { viewport: PHONE });
  });

  it('return when the server refuses the price', async () => {
    // The cash suffices for the order's price, but not for much more.
    const low = await below(on.people[OPERATOR], 8);
    const eve = await trader('Eve Candle', `HKD=${Math.round(Number(low) * 5000 * 1.003)}`);
    const id = await submit(eve, low, { submitted_quantity: '5000' });
    assert.equal((await openOrders(eve)).length, 1);
    await at('Eve Candle', CHART, async (page, visitor) => {
      await movable(page);
      const grip = handle(page, id);
      const { y } = await middleOf(grip);
      const box = await page.locator('#chart').boundingBox();
      await dragBy(page, grip, box.y + 4 - y);
      await page.mouse.up();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Change the order' }).click();
      await dialog.getByText(/^Not done: /).waitFor();
      await visitor.look('orders-refused');
      await dialog.getByRole('button', { name: 'Keep it' }).click();
      await frames(page);
      assert.ok(Math.abs((await middleOf(grip)).y - y) < 1.5);
      assert.equal(Number((await openOrders(eve))[0].price), Number(low));
    }, { complaints: [/status of 400: PUT .*\/v1\/trade\/order$/] });
  });

  it('are closed by their button, and changed and cancelled by keys in the list', async () => {
    const ida = await trader('Ida Lamp');
    const [one, two] = [await submit(ida, await below(ida, 4)), await submit(ida, await below(ida, 9), { submitted_quantity: '1000' })];
    await at('Ida Lamp', CHART, async (page, visitor) => {
      await movable(page);
      await visitor.look('orders-lines');
      await page.locator(`[data-key="close ${one} price"]`).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Cancel this order?').waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      assert.equal((await openOrders(ida)).length, 2);
      await page.locator(`[data-key="close ${one} price"]`).click();
      await dialog.getByRole('button', { name: 'Cancel the order' }).waitFor();
      await page.keyboard.press('Enter');
      await handle(page, one).waitFor({ state: 'detached' });
      assert.deepEqual((await openOrders(ida)).map(({ order_id: id }) => id), [two]);
      // A click without a movement shows all terms.
      await handle(page, two).click();
      await page.locator('#change-quantity:focus').waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      // The list has the same for keys.
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press('o');
      await page.locator('#ticket-quantity:focus').waitFor();
      const change = panel(page).getByRole('button', { name: `Change order ${two}` });
      await change.focus();
      await page.keyboard.press('Enter');
      await page.locator('#change-quantity:focus').waitFor();
      await page.keyboard.type('1500');
      await page.keyboard.press('Enter');
      await panel(page).getByText(/^Buy 1,500 limit/).waitFor();
      await page.locator(`[data-key="change ${two}"]:focus`).waitFor();
      await panel(page).getByRole('button', { name: `Cancel order ${two}` }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Cancel the order' }).waitFor();
      await page.keyboard.press('Enter');
      await panel(page).getByText('There are no open orders.').waitFor();
      assert.equal(await page.locator('.order-line').count(), 0);
    });
  });
});

describe('the layout of orders on the chart', () => {
  it('has the button on every screen, in three languages, light and dark', async () => {
    const kit = await trader('Kit Beacon');
    await submit(kit, await below(kit, 5));
    const screens = [
      ['phone', PHONE, 'zh-HK', 'dark'], ['landscape', { width: 844, height: 390 }, 'en-GB', 'light'],
      ['tablet', { width: 768, height: 1024 }, 'zh-CN', 'light'], ['desktop', { width: 1400, height: 900 }, 'en-GB', 'dark'],
    ];
    for (const [size, viewport, locale, scheme] of screens) {
      await at('Kit Beacon', CHART, async (page, visitor) => {
        await movable(page);
        await visitor.look(`orders-${size}-lines`);
        await page.locator('#side-open').click();
        await page.locator('label:has(input[value=order])').click();
        await filledIn(page);
        await page.locator('#side-order .bill dt').first().waitFor();
        const button = page.locator('#side-order button.place');
        const isVisible = () => button.evaluate((one) => {
          const { left, top, width, height } = one.getBoundingClientRect();
          return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        });
        assert.ok(await isVisible(), `${size}: the button is hidden`);
        await visitor.look(`orders-${size}`);
        await page.locator('#side-order').evaluate((one) => (one.scrollTop = one.scrollHeight));
        assert.ok(await isVisible(), `${size}: the button is hidden at the end`);
        await visitor.look(`orders-${size}-end`);
        await page.goto(on.at('/portfolio?symbol=9001.HK'));
        await page.locator('.bill dt').first().waitFor();
        const placed = await page.locator('button.place').boundingBox();
        assert.ok(placed.y + placed.height <= viewport.height, `${size}: the button of the portfolio is below the fold`);
        await visitor.screenshot(`orders-${size}-portfolio`);
      }, { viewport, locale, scheme });
    }
  });
});
