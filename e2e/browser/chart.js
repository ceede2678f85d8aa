// What the tests of the chart page have in common: signing in, waiting for a picture, reading what it says.

import assert from 'node:assert/strict';

import { PASSWORD } from './stage.js';

/** Fields of a candle that are prices. */
export const PRICES = ['open', 'high', 'low', 'close'];

/** Signs a visitor in by the page for that, on the way to an address. */
export async function signInTo(on, visitor, name, where) {
  await visitor.open(on.at(`/signin?next=${encodeURIComponent(where)}`));
  assert.equal(await visitor.signIn(name, PASSWORD), 200);
}

/** Drops a file on the page, as a person does with one of another window. */
export async function drop(page, name, content) {
  const transfer = await page.evaluateHandle(
    ([name, bytes]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(bytes)], name));
      return transfer;
    },
    [name, [...Buffer.from(content)]],
  );
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}

/** Waits until the chart shows the candles that were asked for last. */
export async function drawn(page, timeout) {
  await page.waitForFunction(
    // The next document may just have begun.
    () => document.getElementById('notice')?.hidden && document.getElementById('ro-close').textContent !== '–',
    undefined,
    { timeout },
  );
}

export async function titled(page, words) {
  await page.waitForFunction((text) => document.title.includes(text), words);
  await drawn(page);
}

/** Until what was asked of the chart has been drawn, and whatever that has set off. */
export const frames = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));

/** One cell of the read-out. */
export const said = (page, name) => page.locator(`#ro-${name}`).innerText();

/** The cells of the read-out as the service writes them: large numbers are short, and exact where the pointer rests. */
export async function readOut(page) {
  const exact = (name) => page.locator(`#ro-${name}`).getAttribute('title');
  const cells = await Promise.all([
    ...PRICES.map(async (name) => [name, await said(page, name)]),
    ...['volume', 'turnover'].map(async (name) => [name, await exact(name)]),
  ]);
  return Object.fromEntries(cells.map(([name, text]) => [name, text.replaceAll(',', '')]));
}

export const expected = (candle) =>
  Object.fromEntries([...PRICES, 'volume', 'turnover'].map((name) => [name, String(candle[name])]));

/** How many candles the page says it holds. */
export async function counted(page) {
  const text = await page.locator('#count').innerText();
  return Number(/^[\d,]+/.exec(text)[0].replaceAll(',', ''));
}

/** What the HTTP door answers to the same question, a page; prices are adjusted, as the chart has them at first. */
export async function served(on, account, question) {
  const query = new URLSearchParams({ limit: 1000, adjust: 'forward', ...question });
  const headers = { authorization: `Bearer ${account.access_token}` };
  const answer = await on.server.ask('GET', `/v1/quote/history-candlesticks?${query}`, { headers });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data;
}

/** The newest candles by the HTTP door, ascending, until there are as many as are wanted. */
export async function servedBack(on, account, question, count) {
  let candles = [];
  let next;
  do {
    const data = await served(on, account, { ...question, ...(next && { next }) });
    candles = [...data.candlesticks, ...candles];
    next = data.next;
  } while (next && candles.length < count);
  return candles.slice(-count);
}

/** Moves along the candles by keys until the read-out is at a time. */
export async function walkTo(page, time, steps = 40) {
  await page.locator('#chart').focus();
  for (let step = 0; step < steps; step += 1) {
    // At least once: a candle that keys have gone to stays, while the newest in sight may become another.
    await page.keyboard.press('ArrowLeft');
    if ((await said(page, 'time')).includes(time)) return;
  }
  assert.fail(`no candle of ${time} within ${steps} steps; the last was ${await said(page, 'time')}`);
}
