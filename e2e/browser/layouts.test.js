// Charts side by side, with a common crosshair and one focus, and saved layouts.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { cellText, drawn, frames, signInTo, titled } from './chart.js';
import { PASSWORD, stage } from './stage.js';

const NAME = 'Lay Outs';
const on = stage([NAME, '--overnight', '--rate', 'unlimited']);
const FOUR = '/?symbol=9001.HK&ma=5,20&beside=*!9001.HK;period=5m;vwap=on!CNDL.US;macd=12,26,9!9002.HK;period=week;compare=9003.HK';

const atChart = (where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    await signInTo(on, visitor, NAME, where);
    await drawn(visitor.page);
    await what(visitor.page, visitor);
  });

/** Waits until every chart beside the focused one shows its candles. */
async function besideDrawn(page, count) {
  await page.waitForFunction((all) => {
    const heads = [...document.querySelectorAll('.chart-head:not(.own) span')];
    return heads.length === all && heads.every((one) => one.textContent !== '') && performance.getEntriesByName('chandler:beside').length > 0;
  }, count);
  await frames(page);
}

const heads = (page) => page.locator('.chart-head').evaluateAll((all) =>
  all.sort((a, b) => Number(a.dataset.at ?? document.documentElement.dataset.focus) - Number(b.dataset.at ?? document.documentElement.dataset.focus))
    .map((one) => `${one.querySelector('b').textContent}${one.hasAttribute('aria-current') ? '*' : ''} ${one.childNodes[1].data.trim()}`));

const openForm = async (page) => {
  await page.keyboard.press('y');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  return dialog;
};

describe('charts side by side', () => {
  it('are chosen with the keyboard, exchange the focus, and are part of the address', async () => {
    await atChart('/?symbol=9001.HK&ma=5,20', async (page, visitor) => {
      const dialog = await openForm(page);
      await dialog.getByRole('radio', { name: '2 charts' }).press('Space');
      await page.waitForURL(/beside=\*!9001\.HK;ma=5,20/);
      await page.keyboard.press('Escape');
      await besideDrawn(page, 1);
      assert.deepEqual(await heads(page), ['9001.HK* D', '9001.HK D']);
      await page.keyboard.press(']');
      await page.waitForURL(/beside=9001\.HK;ma=5,20!\*/);
      // The controls apply to the focused chart.
      await page.keyboard.press('p');
      await titled(page, '9001.HK W');
      await page.locator('#symbol').fill('CNDL.US');
      await page.locator('#symbol').press('Enter');
      await titled(page, 'CNDL.US W');
      assert.deepEqual(await heads(page), ['9001.HK D', 'CNDL.US* W']);
      await page.reload();
      await drawn(page);
      await besideDrawn(page, 1);
      assert.deepEqual(await heads(page), ['9001.HK D', 'CNDL.US* W']);
      await visitor.look('layouts-two');
      // A click focuses, too, and the symbol, period and indicators come along.
      const place = await page.locator('.stage.beside').boundingBox();
      await page.mouse.click(place.x + place.width / 2, place.y + place.height / 2);
      await titled(page, '9001.HK D');
      assert.match(page.url(), /symbol=9001\.HK.*ma=5,20.*beside=\*!CNDL\.US;period=week/);
      await page.waitForFunction(() => document.getElementById('legends')?.innerText.includes('MA 20'));
      await page.goBack();
      await titled(page, '9001.HK');
    });
  });

  it('have a common crosshair, also with other periods, and one stream and ticket', async () => {
    const streams = [];
    await on.visit({ viewport: { width: 1400, height: 900 } }, async (visitor) => {
      const { page } = visitor;
      page.on('request', (request) => request.resourceType() === 'eventsource' && streams.push(request.url()));
      await signInTo(on, visitor, NAME, FOUR);
      await drawn(page);
      await besideDrawn(page, 3);
      assert.deepEqual(await heads(page), ['9001.HK* D', '9001.HK 5m', 'CNDL.US D', '9002.HK W']);
      await page.waitForFunction(() => document.querySelectorAll('.legends').length === 4);
      await visitor.look('layouts-four');
      // Over the chart of minutes, the day of that minute is read out.
      const place = await page.locator('.stage.beside[data-at="1"]').boundingBox();
      await page.mouse.move(place.x + 40, place.y + 60);
      await page.waitForFunction(() => !document.getElementById('ro-time').textContent.includes('2026-11-13'));
      const day = await cellText(page, 'time');
      assert.match(day, /2026-11-1[0-2]/);
      await visitor.screenshot('layouts-crosshair');
      assert.equal(await page.locator('#trade').count(), 1);
      await page.waitForFunction(() => document.getElementById('live').textContent !== '');
    });
    const open = streams.filter((url) => url.includes('symbols='));
    assert.ok(open.some((url) => /9001\.HK/.test(url) && /CNDL\.US/.test(url) && /9002\.HK/.test(url)), streams.join(' '));
  });

  for (const [locale, scheme, viewport, isOne] of [
    ['zh-CN', 'dark', { width: 390, height: 844 }, true], ['zh-HK', 'light', { width: 844, height: 390 }, true], ['en-GB', 'dark', { width: 768, height: 1024 }, false],
    ['zh-HK', 'dark', { width: 1400, height: 900 }, false],
  ]) {
    it(`fit a screen of ${viewport.width} by ${viewport.height} in ${locale}`, async () => {
      await on.visit({ locale, scheme, viewport }, async (visitor) => {
        const { page } = visitor;
        await visitor.open(on.at('/signin'));
        await page.locator('input[autocomplete=username]').fill(NAME);
        await page.locator('input[type=password]').fill(PASSWORD);
        await page.keyboard.press('Enter');
        await page.locator('input[type=password]').waitFor({ state: 'detached' });
        const shape = `${viewport.width}-${viewport.height}`;
        for (const [name, address, count] of [['four', FOUR, 3], ['two', '/?symbol=9001.HK&beside=*!CNDL.US', 1]]) {
          await visitor.open(on.at(address));
          await drawn(page);
          if (isOne) await page.locator('.chart-head').nth(count).waitFor();
          else await besideDrawn(page, count);
          assert.equal(await page.locator('.stage:visible').count(), isOne ? 1 : count + 1);
          await visitor.look(`layouts-${name}-${shape}`);
        }
        if (isOne) {
          // The heads are tabs.
          await page.locator('.chart-head:not(.own)').click();
          await titled(page, 'CNDL.US');
          await visitor.look(`layouts-tab-${shape}`);
        }
        await page.keyboard.press('y');
        await page.getByRole('dialog').waitFor();
        await visitor.look(`layouts-dialog-${shape}`);
      });
    });
  }
});

describe('layouts', () => {
  it('are saved, opened, renamed and deleted from the keyboard', async () => {
    await atChart(FOUR, async (page, visitor) => {
      await besideDrawn(page, 3);
      const dialog = await openForm(page);
      await dialog.getByText('No saved layouts.').waitFor();
      await dialog.getByRole('textbox', { name: 'Name of this layout' }).fill('four of them');
      await page.keyboard.press('Enter');
      await dialog.getByText('Saved: four of them.').waitFor();
      await dialog.getByRole('button', { name: 'Rename four of them' }).press('Enter');
      await page.keyboard.type('all four');
      await page.keyboard.press('Enter');
      await dialog.getByText('Renamed.').waitFor();
      await visitor.look('layouts-saved');
      await dialog.getByRole('radio', { name: '1 chart' }).press('Space');
      await page.waitForURL((url) => !url.search.includes('beside='));
      await page.keyboard.press('Escape');
      assert.equal(await page.locator('.chart-head').count(), 0);
      // On another page of the same account.
      await visitor.open(on.at('/?symbol=CNDL.US'));
      await drawn(page);
      const again = await openForm(page);
      await again.getByRole('button', { name: 'Open all four' }).press('Enter');
      await page.waitForURL((url) => url.pathname + url.search === FOUR);
      await titled(page, '9001.HK D');
      await besideDrawn(page, 3);
      assert.deepEqual(await heads(page), ['9001.HK* D', '9001.HK 5m', 'CNDL.US D', '9002.HK W']);
      const last = await openForm(page);
      await last.getByRole('button', { name: 'Delete all four' }).press('Enter');
      await last.getByRole('button', { name: 'Delete all four' }).press('Enter');
      await last.getByText('Deleted: all four.').waitFor();
      await last.getByText('No saved layouts.').waitFor();
    });
  });
});
