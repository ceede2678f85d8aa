// The stream: the chart and its badge follow a stopped clock that is moved, without a reload; the
// badge knows when markets are open; other clients' changes appear.

import assert from 'node:assert/strict';
import { it } from 'node:test';

import { cellText, drawn, signInTo } from './chart.js';
import { PASSWORD, stageAt } from './stage.js';

const OPERATOR = 'Otto Lantern';
// A Thursday, ten in Hong Kong.
const DAY = '2026-11-12';
const on = stageAt(`${DAY}T10:00:00+08:00`, [OPERATOR, '--role', 'operator', '--rate', 'unlimited']);
const SYMBOL = '9001.HK';

async function ask(method, where, json) {
  const headers = { authorization: `Bearer ${on.people[OPERATOR].access_token}` };
  const answer = await on.server.ask(method, where, { headers, json });
  assert.equal(answer.status, 200, `${where}: ${answer.text}`);
  return answer.json.data;
}

const badge = (page, text) =>
  page.waitForFunction((wanted) => document.getElementById('live').textContent === wanted, text);

it('the last price and the badge follow the clock', () =>
  on.visit({}, async (visitor) => {
    const { page } = visitor;
    await visitor.open(on.at(`/signin?next=${encodeURIComponent(`/?symbol=${SYMBOL}&period=1m`)}`));
    await page.locator('input[autocomplete=username]').fill(OPERATOR);
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await drawn(page);
    await page.evaluate(() => (window.isSamePage = true));
    await badge(page, `replay ${DAY} 10:00`);
    const before = await cellText(page, 'time');
    // From here on, candles come by the stream alone.
    let requests = 0;
    page.on('request', (request) => (requests += Number(/history-candlesticks|quote\/quotes/.test(request.url()))));
    for (const minute of ['10:01', '10:02', '10:03']) {
      await ask('POST', '/v1/admin/clock', { now: `${DAY}T${minute}:00+08:00` });
      await badge(page, `replay ${DAY} ${minute}`);
      const { secu_quote: [{ last_done: last }] } = await ask('GET', `/v1/quote/quotes?symbols=${SYMBOL}`);
      await page.waitForFunction((wanted) => document.getElementById('ro-close').textContent === wanted, last);
    }
    assert.notEqual(await cellText(page, 'time'), before);
    assert.equal(requests, 0, 'the page requested prices');
    assert.equal(await page.evaluate(() => window.isSamePage), true, 'the page was reloaded');
  }));

/** Replaces the stream of a page by events of the test, with the machine's clock. */
function fakeStream() {
  window.EventSource = class extends EventTarget {
    constructor() {
      super();
      window.fake = this;
    }

    send(name, data) {
      this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
    }

    close() {}
  };
}

/** The badge of a page with the fake stream, at a time of the market, after these events. */
async function sent(page, events) {
  await page.waitForFunction(() => window.fake);
  await page.evaluate((all) => all.forEach(([name, data]) => window.fake.send(name, data)), events);
}

for (const where of [`/?symbol=${SYMBOL}&period=1m`, '/portfolio'])
  it(`the badge of ${where} shows late prices in the hours of the market's calendar`, async () => {
    const name = where === '/portfolio' ? 'Una Spark' : 'Uri Spark';
    const trader = await on.person(name, '--cash', 'HKD=500000', '--rate', 'unlimited');
    const call = async (method, path, json) => {
      const answer = await on.server.ask(method, path, { headers: { authorization: `Bearer ${trader.access_token}` }, json });
      assert.equal(answer.status, 200, answer.text);
    };
    // The portfolio needs a position.
    await call('POST', '/v1/trade/order', { symbol: SYMBOL, side: 'Buy', order_type: 'MO', submitted_quantity: '500', time_in_force: 'Day' });
    await ask('POST', '/v1/admin/clock', { now: `${DAY}T${where === '/portfolio' ? '10:20' : '10:10'}:00+08:00` });
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      await page.addInitScript(fakeStream);
      await signInTo(on, visitor, name, where);
      const now = Date.parse(`${DAY}T10:30:00+08:00`);
      const quote = { symbol: SYMBOL, last_done: '300.000', open: '300.000', high: '300.000', low: '300.000', volume: 0, turnover: '0.000', trade_session: 0, tag: 0 };
      const market = (status, since) => ['market', { market: 'HK', trade_status: status, since }];
      await sent(page, [
        ['subscribed', { symbols: [SYMBOL], waiting: [], left_out: [] }],
        ['clock', { kind: 'machine', now: new Date(now).toISOString(), speed: 1 }],
        market(105, `${DAY}T01:30:00Z`),
        ['quote', { ...quote, timestamp: now / 1000 - 25 * 60 }],
      ]);
      await badge(page, 'delayed by 25 min');
      // A half day ends, or a holiday: nothing is late.
      await sent(page, [market(108)]);
      await badge(page, 'live');
      // The next day has begun a minute ago.
      await sent(page, [market(105, new Date(now - 60_000).toISOString())]);
      await badge(page, 'live');
      await sent(page, [['quote', { ...quote, timestamp: now / 1000 - 20 * 60 }], market(105, `${DAY}T01:30:00Z`)]);
      await badge(page, 'delayed by 20 min');
      await sent(page, [['quote', { ...quote, timestamp: now / 1000 }]]);
      await badge(page, 'live');
      await sent(page, [['clock', { kind: 'standing', now: new Date(now).toISOString(), speed: 0 }]]);
      await badge(page, `replay ${DAY} 10:30`);
      await sent(page, [['error']]);
      await badge(page, 'reconnecting…');
    });
  });

it('orders of other clients appear on the chart without polling', async () => {
  const trader = await on.person('Wyn Spark', '--cash', 'HKD=500000', '--rate', 'unlimited');
  await on.visit({}, async (visitor) => {
    const { page } = visitor;
    let requests = 0;
    page.on('request', (request) => (requests += Number(/trade\/marks|watchlist|quote\/quotes/.test(request.url()))));
    await page.clock.install();
    await signInTo(on, visitor, 'Wyn Spark', `/?symbol=${SYMBOL}&period=1m`);
    await drawn(page);
    await page.waitForFunction(() => document.getElementById('live').dataset.kind === 'replay');
    await page.clock.runFor(1000);
    await visitor.settle();
    const before = requests;
    await page.clock.runFor(60_000);
    assert.equal(requests, before, 'the page polls');
    const headers = { authorization: `Bearer ${trader.access_token}` };
    const last = await on.server.ask('GET', `/v1/quote/history-candlesticks?symbol=${SYMBOL}&period=1m&limit=1`, { headers });
    // Too low to be filled, and near enough to be accepted.
    const price = String(Math.ceil(Number(last.json.data.candlesticks[0].close) * 0.7));
    const marks = page.waitForResponse((one) => one.url().includes('/v1/trade/marks'));
    const answer = await on.server.ask('POST', '/v1/trade/order', {
      headers,
      json: { symbol: SYMBOL, side: 'Buy', order_type: 'LO', submitted_quantity: '500', submitted_price: price, time_in_force: 'Day' },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await (await marks).json()).data.orders.length, 1);
  });
});
