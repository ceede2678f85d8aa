// Helpers for the tests of the chart page: signing in, waiting for the chart, reading its texts.

import assert from 'node:assert/strict';

import { PASSWORD } from './stage.js';

/** Fields of a candle that are prices. */
export const PRICES = ['open', 'high', 'low', 'close'];

/** Signs a visitor in on the sign-in page, which then opens an address. */
export async function signInTo(on, visitor, name, where) {
  await visitor.open(on.at(`/signin?next=${encodeURIComponent(where)}`));
  assert.equal(await visitor.signIn(name, PASSWORD), 200);
}

/** Drops a file on the page, as if dragged from another window. */
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

/** Waits until the chart shows the last requested candles. */
export async function drawn(page, timeout) {
  await page.waitForFunction(
    // The next document may just have started loading.
    () => document.getElementById('notice')?.hidden && document.getElementById('ro-close').textContent !== '–',
    undefined,
    { timeout },
  );
}

export async function titled(page, words) {
  await page.waitForFunction((text) => document.title.includes(text), words);
  await drawn(page);
}

/** Waits until requested changes of the chart are drawn, and any that follow. */
export const frames = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));

/** One cell of the read-out. */
export const cellText = (page, name) => page.locator(`#ro-${name}`).innerText();

/**
 * The cells of the read-out as the service writes them: large numbers are short, and exact in the
 * tooltip.
 */
export async function readOut(page) {
  const exact = (name) => page.locator(`#ro-${name}`).getAttribute('title');
  const cells = await Promise.all([
    ...PRICES.map(async (name) => [name, await cellText(page, name)]),
    ...['volume', 'turnover'].map(async (name) => [name, await exact(name)]),
  ]);
  return Object.fromEntries(cells.map(([name, text]) => [name, text.replaceAll(',', '')]));
}

export const expected = (candle) =>
  Object.fromEntries([...PRICES, 'volume', 'turnover'].map((name) => [name, String(candle[name])]));

/** How many candles the page reports as loaded. */
export async function counted(page) {
  const text = await page.locator('#count').innerText();
  return Number(/^[\d,]+/.exec(text)[0].replaceAll(',', ''));
}

/**
 * One page of the HTTP response to the same query; prices are adjusted, as in the chart by default.
 */
export async function served(on, account, question) {
  const query = new URLSearchParams({ limit: 1000, adjust: 'forward', ...question });
  const headers = { authorization: `Bearer ${account.access_token}` };
  const answer = await on.server.ask('GET', `/v1/quote/history-candlesticks?${query}`, { headers });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data;
}

/** The newest candles over HTTP, ascending, up to the requested number. */
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
    // At least one key press: a candle chosen by keys stays, while the newest visible one may
    // change.
    await page.keyboard.press('ArrowLeft');
    if ((await cellText(page, 'time')).includes(time)) return;
  }
  assert.fail(`no candle of ${time} within ${steps} steps; the last was ${await cellText(page, 'time')}`);
}
