// The chart page: finding a security, every switch, scrolling into the past, exact numbers,
// addresses.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { counted, drawn, expected, frames, readOut, cellText, served, servedBack, signInTo, titled, walkTo } from './chart.js';
import { stage } from './stage.js';

const CANDLES = 5_000;
const NAME = 'Wanda Wick';
const on = stage([NAME, '--overnight', '--rate', 'unlimited', '--quota', '100000']);

/**
 * A signed-in page at an address of the chart. `prepare` is for handlers that must see every
 * request: a busy page may send one more request before interception takes effect.
 */
const atChart = (where, what, { prepare = () => {}, ...options } = {}) =>
  on.visit(options, async (visitor) => {
    await prepare(visitor.page);
    await signInTo(on, visitor, NAME, where);
    await drawn(visitor.page);
    await what(visitor.page, visitor);
  });

/** Lets this many older pages pass, and the others after `release`. */
function holding(pages) {
  let release;
  const held = new Promise((done) => (release = done));
  let left = pages;
  const prepare = (page) =>
    page.route(/history-candlesticks.*next=/, async (route) => {
      left -= 1;
      if (left < 0) await held;
      await route.continue();
    });
  return { release, prepare };
}

describe('the chart', () => {
  it('opens with a security, and shows its name and the signed-in account', async () => {
    await atChart('/', async (page, visitor) => {
      assert.match(page.url(), /\/\?symbol=[A-Z0-9.]+$/);
      await page.waitForFunction(() => document.getElementById('name').textContent.trim() !== '');
      await page.waitForFunction((name) => document.getElementById('account').textContent === name, NAME);
      assert.equal(await counted(page), 1000);
      assert.match(await page.locator('footer').innerText(), /not affiliated/);
      assert.equal(await page.locator('footer a[href*="tradingview.com"]').count(), 1);
      assert.equal(await page.locator('.for-operator').first().isVisible(), false);
      await visitor.look('chart-open');
      // The last security of another server at this address does not exist on this one.
      await page.evaluate(() => localStorage.setItem('chandler.symbol', 'GONE.US'));
      await visitor.open(on.at('/'));
      await page.waitForFunction(() => location.search.startsWith('?symbol='));
      await drawn(page);
      assert.doesNotMatch(page.url(), /GONE/);
    }, { complaints: [/status of 400: GET .*history-candlesticks\?symbol=GONE\.US/] });
  });

  it('finds a security by code and by name in three languages', async () => {
    const names = [['9001', '9001.HK'], ['09001', '9001.HK'], ['lamplight', '9001.HK'], ['灯港', '9001.HK'], ['燈港', '9001.HK'], ['wick', 'WICK.US']];
    await atChart('/?symbol=CNDL.US', async (page, visitor) => {
      for (const [typed, symbol] of names) {
        await page.goto(on.at('/?symbol=CNDL.US'));
        await titled(page, 'CNDL.US');
        await page.keyboard.press('/');
        await page.keyboard.type(typed);
        const first = page.locator('#found [role=option]').first();
        await first.getByText(symbol, { exact: true }).waitFor();
        assert.equal(await page.locator('#symbol').getAttribute('aria-expanded'), 'true');
        if (typed === '燈港') await visitor.screenshot('chart-search');
        await page.keyboard.press('Enter');
        await titled(page, symbol);
        assert.match(page.url(), new RegExp(`symbol=${symbol.replace('.', '\\.')}$`));
        assert.equal(await page.locator('#found').isVisible(), false);
      }
    });
  });

  it('opens a typed mainland code, and no code of Hong Kong', async () => {
    await atChart('/?symbol=9001.HK', async (page) => {
      await page.keyboard.press('/');
      await page.locator('#found [role=option]').first().waitFor();
      await page.keyboard.type('009001');
      // Immediately: cached results must not be used as the answer.
      await page.keyboard.press('Enter');
      await titled(page, '009001.SZ');
    });
  });

  it('ignores keys during input method composition', async () => {
    await atChart('/?symbol=CNDL.US', async (page) => {
      await page.keyboard.press('/');
      await page.keyboard.type('灯港');
      await page.locator('#found [role=option]').first().getByText('9001.HK', { exact: true }).waitFor();
      const press = (key) =>
        page.locator('#symbol').evaluate((box, name) => {
          const event = new KeyboardEvent('keydown', { key: name, isComposing: true, bubbles: true, cancelable: true });
          box.dispatchEvent(event);
          return event.defaultPrevented;
        }, key);
      const marked = await page.locator('#symbol').getAttribute('aria-activedescendant');
      assert.deepEqual([await press('ArrowDown'), await press('Enter')], [false, false]);
      assert.equal(await page.locator('#symbol').getAttribute('aria-activedescendant'), marked);
      assert.match(page.url(), /symbol=CNDL\.US$/);
      await page.keyboard.press('Enter');
      await titled(page, '9001.HK');
    });
  });

  it('requests the name again after a failed request', async () => {
    await atChart('/?symbol=9001.HK', async (page) => {
      await page.keyboard.press('/');
      await page.keyboard.type('CNDL.US');
      const failed = page.waitForEvent('requestfailed');
      await page.keyboard.press('Enter');
      await failed;
      await titled(page, 'CNDL.US');
      assert.equal(await page.locator('#name').innerText(), '');
      await page.unroute('**/v1/securities/CNDL.US*');
      await page.keyboard.press('p');
      await page.waitForFunction(() => document.getElementById('name').textContent !== '');
    }, { complaints: [/ERR_FAILED/], prepare: (page) => page.route('**/v1/securities/CNDL.US*', (route) => route.abort()) });
  });

  it('shows that a search has no results', async () => {
    await atChart('/?symbol=CNDL.US', async (page) => {
      await page.locator('#symbol').click();
      await page.keyboard.type('no such thing');
      await page.getByRole('status').getByText('No results').waitFor();
      assert.equal(await page.locator('#symbol').getAttribute('aria-expanded'), 'false');
      assert.equal(await page.locator('#symbol').getAttribute('aria-activedescendant'), null);
      await page.keyboard.press('Escape');
      assert.equal(await page.locator('#symbol').inputValue(), 'CNDL.US');
    });
  });

  it('shows every period with the numbers of the HTTP API', async () => {
    await atChart('/?symbol=9001.HK', async (page) => {
      const radios = page.locator('input[name=period]');
      const names = await radios.evaluateAll((all) => all.map((one) => one.value));
      assert.equal(names.length, 18);
      for (const period of names) {
        const label = page.locator(`label:has(input[value="${period}"])`);
        await label.click();
        await titled(page, `9001.HK ${await page.evaluate((name) => ({ '60m': '1h', '120m': '2h', '180m': '3h', '240m': '4h', day: 'D', week: 'W', month: 'M', quarter: 'Q', year: 'Y' })[name] ?? name, period)} ·`);
        const data = await served(on, on.people[NAME], { symbol: '9001.HK', period });
        await page.keyboard.press('End');
        assert.deepEqual(await readOut(page), expected(data.candlesticks.at(-1)), period);
        assert.equal(await counted(page), data.candlesticks.length, period);
      }
    });
  });

  it('shows prices as traded and adjusted, and the action between them', async () => {
    await atChart('/?symbol=CNDL.US&before=2014-06-09', async (page, visitor) => {
      await page.waitForFunction(() => document.getElementById('about').textContent !== '');
      for (const [adjust, key] of [['forward', undefined], ['none', 'a']]) {
        if (key) {
          await page.keyboard.press(key);
          await page.waitForURL(/adjust=none/);
          await drawn(page);
        }
        await walkTo(page, '2014-06-09');
        const { candlesticks } = await served(on, on.people[NAME], { symbol: 'CNDL.US', period: 'day', adjust, before: '2014-06-09', limit: 2 });
        assert.deepEqual(await readOut(page), expected(candlesticks.at(-1)), adjust);
        assert.match(await cellText(page, 'event'), /ex 2014-06-09: split of 2 for 1/);
        await visitor.screenshot(`chart-action-${adjust}`);
        await page.keyboard.press('ArrowLeft');
        await page.waitForFunction((close) => document.getElementById('ro-close').textContent === close, candlesticks[0].close);
        await page.keyboard.press('Escape');
      }
    });
  });

  it('shades hours outside the regular ones and names them', async () => {
    await atChart('/?symbol=CNDL.US&period=15m', async (page, visitor) => {
      assert.match(await page.locator('#zone').innerText(), /^New York \(EST\)$/);
      const regular = await page.locator('#chart').screenshot();
      await page.keyboard.press('s');
      await page.waitForURL(/session=all/);
      await drawn(page);
      const { candlesticks } = await served(on, on.people[NAME], { symbol: 'CNDL.US', period: '15m', session: 'all' });
      await page.keyboard.press('End');
      assert.deepEqual(await readOut(page), expected(candlesticks.at(-1)));
      assert.equal(await cellText(page, 'event'), 'post-market');
      assert.match(await cellText(page, 'time'), /^Fri 2026-11-13 19:45 EST$/);
      assert.notDeepEqual(await page.locator('#chart').screenshot(), regular);
      await visitor.screenshot('chart-sessions');
      // A market without extended hours offers none, and says why.
      await page.keyboard.press('/');
      await page.keyboard.type('9001.HK');
      await page.keyboard.press('Enter');
      await titled(page, '9001.HK');
      assert.equal(await page.locator('#sessions').evaluate((one) => one.disabled), true);
      assert.match(await page.locator('#sessions').getAttribute('title'), /US minutes/);
      assert.match(await page.locator('#zone').innerText(), /^Hong Kong \(HKT\)$/);
    });
  });

  it('goes back over five thousand candles without a gap', async () => {
    // As many pages as needed, and no more while they are compared.
    const { release, prepare } = holding(CANDLES / 1000 - 1);
    await atChart('/?symbol=WAX.US&period=5m', async (page, visitor) => {
      const first = new URL(page.url()).searchParams.get('before');
      for (let press = 0; press < 8; press += 1) await page.keyboard.press('-');
      await page.mouse.move(600, 400);
      const pageLoaded = (count) => document.getElementById('pill').hidden || document.getElementById('count').textContent.startsWith(count);
      for (let turn = 0; turn < 400 && (await counted(page)) < CANDLES; turn += 1) {
        await page.mouse.wheel(-600, 0);
        await page.evaluate(() => new Promise(requestAnimationFrame));
        // Turns that wait for a page are not counted. The page after the last one is held back.
        await page.waitForFunction(pageLoaded, CANDLES.toLocaleString('en'));
      }
      assert.equal(await counted(page), CANDLES);
      await page.waitForFunction((before) => new URL(location.href).searchParams.get('before') !== before, first);
      await visitor.screenshot('chart-scrolled');
      // The candles of several pages match those of the HTTP API.
      const all = await servedBack(on, on.people[NAME], { symbol: 'WAX.US', period: '5m' }, CANDLES);
      assert.equal(all.length, CANDLES);
      const seen = new Set();
      for (const x of [40, 300, 600, 900, 1150]) {
        await page.mouse.move(x, 400);
        await frames(page);
        const time = (await cellText(page, 'time')).slice(4, 20).replace(' ', 'T');
        const candle = all.find((one) => one.time.startsWith(time));
        assert.deepEqual(await readOut(page), expected(candle), time);
        seen.add(time);
      }
      assert.equal(seen.size, 5);
      release();
      await page.mouse.wheel(-6000, 0);
      await page.waitForFunction((count) => !document.getElementById('count').textContent.startsWith(count), CANDLES.toLocaleString('en'));
    }, { prepare });
  });

  it('preserves the selected candle when older ones are loaded', async () => {
    const { release, prepare } = holding(0);
    await atChart('/?symbol=WAX.US&period=5m', async (page) => {
      const before = await counted(page);
      // Zoom out far enough that older candles are requested.
      for (let press = 0; press < 9; press += 1) await page.keyboard.press('-');
      await page.locator('#pill').getByText('loading older candles').waitFor();
      await walkTo(page, '2026-', 1);
      await page.keyboard.press('Shift+ArrowLeft');
      const looked = await readOut(page);
      release();
      await page.waitForFunction((count) => !document.getElementById('count').textContent.startsWith(count), before.toLocaleString('en'));
      assert.ok((await counted(page)) > before);
      assert.deepEqual(await readOut(page), looked);
    }, { prepare });
  });

  it('shows where history begins', async () => {
    await atChart('/?symbol=9001.HK&period=month', async (page, visitor) => {
      assert.match(await page.locator('#count').innerText(), /history begins 2004-06-01/);
      // A resting pointer has no effect while keys are used, whatever candle moves under it.
      await page.mouse.move(600, 400);
      await page.keyboard.press('Home');
      await page.waitForFunction(() => document.getElementById('ro-time').textContent === '2004-06');
      await frames(page);
      assert.equal(await cellText(page, 'time'), '2004-06');
      await visitor.screenshot('chart-beginning');
    });
  });

  it('shows the exact numbers of a candle by a deep link, equal to the HTTP API and the command line', async () => {
    const point = '2026-03-02T11:00';
    const { candlesticks: [known] } = await served(on, on.people[NAME], { symbol: '9001.HK', period: '5m', before: point, limit: 1 });
    const printed = JSON.parse(
      await on.server.command(['kline', '9001.HK', '--period', '5m', '--adjust', 'forward', '--before', point, '-n', '1', '--format', 'json']),
    );
    await atChart(`/?symbol=9001.HK&period=5m&before=${point}`, async (page, visitor) => {
      await walkTo(page, '2026-03-02 11:00');
      assert.equal(await cellText(page, 'time'), 'Mon 2026-03-02 11:00 HKT');
      assert.deepEqual(await readOut(page), expected(known));
      assert.deepEqual(await readOut(page), expected(printed.candlesticks[0]));
      await visitor.screenshot('chart-exact');
      await page.reload();
      await drawn(page);
      // The announcement to screen readers comes later than the address update would.
      await page.waitForFunction(() => document.getElementById('speech').textContent.includes('2026-03-02 11:00'));
      assert.match(page.url(), /before=2026-03-02T11:00$/, 'the address does not drift');
      // Newer candles load when the user goes there.
      await page.locator('#newest').click();
      await page.waitForFunction(() => document.getElementById('ro-time').textContent.includes('2026-11-13'));
      assert.doesNotMatch(page.url(), /before/);
    });
  });

  it('has the current view in its address, and the back button undoes a choice', async () => {
    await atChart('/?symbol=9001.HK&period=week', async (page) => {
      await page.keyboard.press('p');
      await titled(page, '9001.HK M');
      await page.keyboard.press('/');
      await page.keyboard.type('CNDL.US');
      await page.keyboard.press('Enter');
      await titled(page, 'CNDL.US M');
      await page.goBack();
      await titled(page, '9001.HK M');
      await page.goBack();
      await titled(page, '9001.HK W');
      assert.equal(new URL(page.url()).search, '?symbol=9001.HK&period=week');
      await page.goForward();
      await titled(page, '9001.HK M');
    });
  });

  it('goes to a picked or typed date, in one step, and shows the candle of that day', async () => {
    await atChart('/?symbol=9001.HK', async (page) => {
      const shows = async (date) => {
        await page.waitForURL(new RegExp(`before=${date}`));
        await page.waitForFunction((text) => document.getElementById('ro-time').textContent.includes(text), date);
        const { candlesticks: [known] } = await served(on, on.people[NAME], { symbol: '9001.HK', period: 'day', before: date, limit: 1 });
        assert.deepEqual(await readOut(page), expected(known));
        await page.waitForFunction((text) => new RegExp(`^\\w+ ${text}: open`).test(document.getElementById('speech').textContent), date);
      };
      await page.waitForFunction(() => document.getElementById('go').value !== '');
      await page.keyboard.press('g');
      await page.locator('#go:focus').fill('2015-07-08');
      await shows('2015-07-08');
      // The browser receives a typed date digit by digit, in the order of its language: day and
      // month are the same number here.
      const steps = await page.evaluate(() => history.length);
      await page.locator('#go').focus();
      await page.keyboard.type('03032021');
      assert.match(page.url(), /before=2015-07-08/);
      await page.keyboard.press('Enter');
      await shows('2021-03-03');
      assert.equal(await page.evaluate(() => history.length), steps + 1);
      // The box follows the view, so that the same date can be chosen again.
      await page.locator('#chart').focus();
      await page.keyboard.press('Home');
      await page.waitForFunction(() => !document.getElementById('go').value.startsWith('2021-03'));
      await page.locator('#go').fill('2021-03-03');
      await shows('2021-03-03');
    });
  });

  it('accepts a date before candles are loaded, and does not overwrite it afterwards', async () => {
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      let release;
      const held = new Promise((done) => (release = done));
      await page.route(/history-candlesticks(?!.*before=2015)/, (route) => held.then(() => route.continue()));
      await signInTo(on, visitor, NAME, '/?symbol=9001.HK');
      await page.keyboard.press('g');
      await page.locator('#go:focus').waitFor();
      await page.keyboard.type('0707');
      release();
      await drawn(page);
      // By now the box would follow the view, if it did not have the focus.
      await page.waitForFunction(() => document.getElementById('speech').textContent.startsWith('latest'));
      await page.keyboard.type('2015');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.getElementById('ro-time').textContent.includes('2015-07-07'));
      // Abandoning a half-typed date restores the visible date.
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('g');
      await page.keyboard.press('Backspace');
      assert.equal(await page.locator('#go').inputValue(), '');
      await page.locator('#chart').focus();
      await page.waitForFunction(() => document.getElementById('go').value === '2015-07-07');
    });
  });

  it('stays in the year when the period changes to days, and offers stored periods where there are no minutes', async () => {
    await atChart('/?symbol=9001.HK&period=year&before=2015-01-01', async (page) => {
      await page.getByRole('radio', { name: 'D', exact: true }).check({ force: true });
      await page.waitForURL(/before=2015-12-31/);
      await drawn(page);
      await page.getByRole('radio', { name: '5m', exact: true }).check({ force: true });
      await page.getByRole('heading', { name: /^No candles of 9001\.HK before 2015-12-31/ }).waitFor();
      assert.equal(await page.locator('#count').innerText(), '');
      const first = page.getByRole('link', { name: /^Show the first, / });
      const [, date] = /, (\S+)$/.exec(await first.innerText());
      await first.click();
      await titled(page, '9001.HK 5m');
      // Newer candles load automatically, and do not move the view.
      await page.waitForFunction(() => /^1,\d{3} /.test(document.getElementById('count').textContent));
      await frames(page);
      assert.equal((await cellText(page, 'time')).slice(4, 20), date.replace('T', ' '));
      assert.equal(new URL(page.url()).searchParams.get('before'), date);
    });
  });
});
