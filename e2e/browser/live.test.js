// The stream of quotes: the chart and its badge follow a stopped clock that is moved, without a
// reload.

import assert from 'node:assert/strict';
import { it } from 'node:test';

import { cellText, drawn } from './chart.js';
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
