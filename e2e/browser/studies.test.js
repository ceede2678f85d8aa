// Chart tools: indicators, ranges, scales, comparison, explained marks, new candles, export.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { counted, drawn, expected, frames, readOut, cellText, served, signInTo, titled, walkTo } from './chart.js';
import { PASSWORD, stage } from './stage.js';

const NAME = 'Stu Study';
const on = stage([NAME, '--overnight', '--rate', 'unlimited']);

const atChart = (where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    await signInTo(on, visitor, NAME, where);
    await drawn(visitor.page);
    await what(visitor.page, visitor);
  });

const legend = (page) => page.locator('#legends').innerText();

/** Waits until the legend contains a text. A failure shows the legend and the inspected candle. */
const says = (page, words) =>
  page.waitForFunction((text) => document.getElementById('legends')?.innerText.includes(text), words).catch(async (error) => {
    throw new Error(`no ${words} at ${await cellText(page, 'time')} in ${await legend(page)}: ${error.message}`);
  });

/** The expected mean of the last closes, in integers of the last decimal. */
function meanOf(candles, length) {
  const closes = candles.slice(-length).map(({ close }) => close);
  const scale = closes[0].split('.')[1].length;
  const sum = closes.reduce((all, close) => all + BigInt(close.replace('.', '')), 0n);
  const digits = String((2n * sum + BigInt(length)) / (2n * BigInt(length))).padStart(scale + 1, '0');
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

async function importOf(symbol, times, cents = '00', traded = '1000,11000') {
  const file = path.join(on.server.store, `${symbol}-${times.length}-${cents}.csv`);
  const rows = times.map((time, at) => `${symbol},${time},${10 + at},${12 + at},${9 + at},${11 + at}.${cents},${traded}`);
  writeFileSync(file, `symbol,time,open,high,low,close,volume,turnover\n${rows.join('\n')}\n`);
  await on.server.command(['import', file]);
}

/** The file name of a saved picture contains its date range. */
async function pictureName(page) {
  await page.keyboard.press('x');
  const [png] = await Promise.all([page.waitForEvent('download'), page.getByRole('dialog').getByRole('button', { name: 'PNG' }).click()]);
  await page.keyboard.press('Escape');
  // The button was above the chart, where the pointer would still inspect a candle.
  await page.mouse.move(0, 0);
  return png.suggestedFilename();
}

describe('volumes', () => {
  it('have no pane for an index, and turnovers that are not known are not zero', async () => {
    const days = Array.from({ length: 20 }, (_, at) => `2026-10-${String(at + 1).padStart(2, '0')}`).filter((day) => ![0, 6].includes(new Date(day).getUTCDay()));
    await importOf('NONE.US', days, '00', '0,0');
    await importOf('SOME.US', days, '00', '1000,0');
    // Panes are the rows of the chart's table, with separators between them, and the time axis.
    const heights = (page) => page.evaluate(() => [...document.querySelectorAll('#chart tr')].map((row) => row.clientHeight).filter((height) => height > 40).length);
    await atChart('/?symbol=NONE.US&rsi=14', async (page, visitor) => {
      await says(page, 'RSI');
      assert.equal(await heights(page), 2, 'prices and the indicator');
      assert.equal(await cellText(page, 'turnover'), '0.000');
      await visitor.look('chart-no-volume');
      await page.locator('#symbol').fill('SOME.US');
      await page.locator('#symbol').press('Enter');
      await titled(page, 'SOME.US');
      assert.equal(await cellText(page, 'turnover'), '–');
      await says(page, 'RSI');
      assert.equal(await heights(page), 3, 'prices, volumes and the indicator');
      await visitor.screenshot('chart-volume');
    });
  });
});

describe('indicators', () => {
  it('are chosen in a dialog, exact, and part of the address', async () => {
    await atChart('/?symbol=9001.HK', async (page, visitor) => {
      await page.keyboard.press('i');
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('checkbox', { name: 'MA, moving average' }).check();
      await page.waitForURL(/ma=5,10,20/);
      await dialog.getByRole('checkbox', { name: 'MACD' }).check();
      await page.waitForURL(/macd=12,26,9/);
      // Invalid parameters are reported, and change nothing.
      await dialog.getByLabel('Numbers of MA, moving average').fill('5,5');
      await page.keyboard.press('Enter');
      await dialog.getByText('Expected: one to five different lengths').waitFor();
      assert.match(page.url(), /ma=5,10,20/);
      await dialog.getByLabel('Numbers of MA, moving average').fill('5, 60');
      await page.keyboard.press('Enter');
      await page.waitForURL(/ma=5,60/);
      await dialog.getByRole('button', { name: 'Done' }).click();
      const { candlesticks } = await served(on, on.people[NAME], { symbol: '9001.HK', period: 'day' });
      await page.keyboard.press('End');
      await says(page, `MA 5 ${meanOf(candlesticks, 5)}`);
      await says(page, `MA 60 ${meanOf(candlesticks, 60)}`);
      const whole = await legend(page);
      assert.match(whole, /DIF -?[\d.]+\s+DEA -?[\d.]+\s+MACD -?[\d.]+/);
      await visitor.look('studies-open');
      await page.reload();
      await drawn(page);
      await page.waitForFunction((text) => document.getElementById('legends')?.innerText === text, whole);
      // An earlier candle has earlier numbers.
      await walkTo(page, candlesticks.at(-2).time.slice(0, 10));
      await says(page, `MA 5 ${meanOf(candlesticks.slice(0, -1), 5)}`);
      await page.goBack();
      await page.waitForFunction(() => !document.getElementById('legends')?.innerText.includes('MA 60'));
    });
  });

  it('are drawn on prices, on volumes and in panes, with a time axis that continues after the newest candle', async () => {
    const all = 'vwap=on&ichimoku=9,26,52,26&supertrend=10,3&vma=5,10&atr=14&obv=on';
    await atChart(`/?symbol=9001.HK&period=5m&${all}`, async (page, visitor) => {
      await says(page, 'OBV ');
      for (const label of ['VWAP', 'Tenkan', 'Kijun', 'Span A', 'Span B', 'Chikou', 'SuperTrend', 'VMA 5', 'VMA 10', 'ATR 14', 'OBV']) {
        assert.match(await legend(page), new RegExp(String.raw`${label} (-?[\d,.]+[KMB]?|–)`));
      }
      // The newest candle has no later close.
      assert.match(await legend(page), /VWAP \d.*Span B \d.*Chikou –.*SuperTrend \d/s);
      await page.waitForFunction(() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/quote/trading-days')).length > 0);
      await frames(page);
      await visitor.look('studies-all-minutes');
      await page.keyboard.press('i');
      const dialog = page.getByRole('dialog');
      await visitor.look('studies-dialog');
      // Indicators without parameters have no field for them.
      assert.equal(await dialog.getByLabel('Numbers of OBV, on-balance volume').count(), 0);
      await dialog.getByRole('checkbox', { name: 'OBV, on-balance volume' }).uncheck();
      await page.waitForURL((url) => !url.search.includes('obv='));
      await page.waitForFunction(() => !document.getElementById('legends').innerText.includes('OBV'));
      await dialog.getByRole('button', { name: 'Done' }).click();
      // Days have no VWAP.
      await page.locator('input[name=period][value=day]').evaluate((one) => one.click());
      await titled(page, '9001.HK D');
      await says(page, 'SuperTrend ');
      assert.doesNotMatch(await legend(page), /VWAP/);
      await frames(page);
      await visitor.look('studies-all-days');
    });
  });

  for (const [locale, scheme, viewport] of [
    ['zh-CN', 'dark', { width: 390, height: 844 }], ['zh-HK', 'light', { width: 844, height: 390 }], ['en-GB', 'dark', { width: 768, height: 1024 }], ['zh-CN', 'light', { width: 1400, height: 900 }],
  ]) {
    it(`fit a screen of ${viewport.width} by ${viewport.height} in ${locale}`, async () => {
      await on.visit({ locale, scheme, viewport }, async (visitor) => {
        const { page } = visitor;
        await visitor.open(on.at('/signin'));
        await page.locator('input[autocomplete=username]').fill(NAME);
        await page.locator('input[type=password]').fill(PASSWORD);
        await page.keyboard.press('Enter');
        await page.locator('input[type=password]').waitFor({ state: 'detached' });
        await visitor.open(on.at('/?symbol=9001.HK&ichimoku=9,26,52,26&supertrend=10,3&vma=5,10&atr=14'));
        await drawn(page);
        await says(page, 'ATR 14 ');
        await frames(page);
        await visitor.look(`studies-${viewport.width}-${viewport.height}`);
        await page.keyboard.press('i');
        await page.getByRole('dialog').waitFor();
        await visitor.look(`studies-dialog-${viewport.width}-${viewport.height}`);
      });
    });
  }

  it('that are invalid in an address are named, and the others shown', async () => {
    await atChart('/?symbol=CNDL.US&rsi=14&kdj=9&boll=20,2', async (page) => {
      await page.getByRole('status').getByText('Invalid in the address: kdj=9').waitFor();
      await says(page, 'RSI 14 ');
      assert.match(await legend(page), /MID [\d.]+\s+UP [\d.]+\s+LOW [\d.]+/);
    });
  });
});

describe('how far back', () => {
  it('is one button, in a suitable period, and Home is the first candle', async () => {
    await atChart('/?symbol=9001.HK', async (page, visitor) => {
      const range = (name) => page.locator(`#ranges [data-range="${name}"]`);
      await range('5d').click();
      await titled(page, '9001.HK 5m');
      assert.equal(await range('5d').getAttribute('aria-pressed'), 'true');
      await visitor.screenshot('range-5d');
      await range('1y').click();
      await titled(page, '9001.HK D');
      assert.match(page.url(), /range=1y/);
      await page.reload();
      await drawn(page);
      await frames(page);
      assert.equal(await range('1y').getAttribute('aria-pressed'), 'true');
      // Rotating the phone does not leave the range; zooming does.
      const shown = await pictureName(page);
      await page.setViewportSize({ width: 700, height: 800 });
      await frames(page);
      assert.equal(await pictureName(page), shown);
      assert.match(page.url(), /range=1y/);
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.keyboard.press('-');
      await page.waitForFunction(() => !location.search.includes('range='));
      assert.equal(await range('1y').getAttribute('aria-pressed'), 'false');
      await page.keyboard.press('Home');
      await page.waitForFunction(() => document.getElementById('count').textContent.includes('history begins 2004-06-01'));
      assert.equal(await cellText(page, 'time'), 'Tue 2004-06-01');
      assert.equal(await counted(page), 1000);
      const { candlesticks: [first] } = await served(on, on.people[NAME], { symbol: '9001.HK', period: 'day', after: '2000-01-01', limit: 1 });
      assert.deepEqual(await readOut(page), expected(first));
      await visitor.screenshot('range-home');
      await page.keyboard.press('End');
      await page.waitForFunction(() => document.getElementById('ro-time').textContent.includes('2026-11-13'));
      await page.keyboard.press('8');
      await titled(page, '9001.HK M');
      await visitor.screenshot('range-all');
    });
  });

  it('is in minutes where there are no days', async () => {
    await importOf('HALF.US', ['10:00', '10:30', '11:00', '11:30', '12:00'].map((clock) => `2026-11-12 ${clock}:00`));
    await atChart('/?symbol=HALF.US', async (page) => {
      await titled(page, 'HALF.US 30m');
      assert.match(page.url(), /period=30m/);
      assert.equal(await counted(page), 5);
    });
  });

  it('has no period without candles, and offers one that has', async () => {
    await importOf('DAYS.US', ['2026-11-10', '2026-11-11', '2026-11-12']);
    await atChart('/?symbol=DAYS.US', async (page, visitor) => {
      await page.waitForFunction(() => document.querySelector('input[value="5m"]').disabled);
      assert.equal(await page.locator('input[name=period]:disabled').count(), 13);
      assert.match(await page.locator('label:has(input[value="5m"])').getAttribute('title'), /nothing is stored/);
      assert.equal(await page.locator('#ranges [data-range="1d"]').isDisabled(), true);
      await visitor.look('periods-none');
      await page.keyboard.press('P');
      await titled(page, 'DAYS.US Y');
      await visitor.open(on.at('/?symbol=DAYS.US&period=5m'));
      await page.getByRole('link', { name: 'Show days' }).click();
      await titled(page, 'DAYS.US D');
    });
  });
});

describe('scale and comparison', () => {
  it('prices are linear, logarithmic or percents, compared with up to four others', async () => {
    await atChart('/?symbol=9001.HK', async (page, visitor) => {
      const linear = await page.locator('#chart').screenshot();
      await page.keyboard.press('L');
      await page.waitForURL(/scale=log/);
      await frames(page);
      assert.notDeepEqual(await page.locator('#chart').screenshot(), linear);
      await page.keyboard.press('m');
      const box = page.getByRole('dialog').getByRole('textbox');
      await box.fill('no such thing');
      await page.keyboard.press('Enter');
      await page.getByText('“no such thing” cannot be compared here.').waitFor();
      await box.fill('candlemaker');
      await page.getByRole('button', { name: /^CNDL\.US / }).click();
      await box.fill('9002.hk');
      await page.keyboard.press('Enter');
      await page.waitForURL(/compare=CNDL\.US,9002\.HK/);
      await page.getByRole('button', { name: 'Done' }).click();
      await page.waitForFunction(() => /9001\.HK [+−][\d.]+ %.*CNDL\.US [+−][\d.]+ %.*9002\.HK [+−][\d.]+ %/s.test(document.getElementById('legends').innerText));
      assert.equal(await page.locator('#scales').evaluate((one) => one.disabled), true);
      await visitor.look('compare');
      await page.reload();
      await drawn(page);
      await says(page, 'CNDL.US');
      await page.keyboard.press('m');
      for (const symbol of ['9003.HK', 'WAX.US', 'WICK.US']) {
        await box.fill(symbol);
        await page.keyboard.press('Enter');
      }
      await page.getByText('At most 4 can be compared.').waitFor();
      assert.match(page.url(), /compare=CNDL\.US,9002\.HK,9003\.HK,WAX\.US&?/);
    });
  });
});

describe('a mark', () => {
  it('has its middle at its candle, and is explained where the pointer rests', async () => {
    await atChart('/?symbol=CNDL.US&before=2014-06-20', async (page, visitor) => {
      // The account's marks are drawn last, and may move the marks of the security.
      await page.waitForFunction(() => performance.getEntriesByType('resource').some(({ name }) => name.includes('/v1/trade/marks')));
      await frames(page);
      await walkTo(page, '2014-06-09');
      const tip = page.locator('#tip');
      await tip.getByText(/ex 2014-06-09: split of 2 for 1/).waitFor();
      await visitor.screenshot('mark-keys');
      const { x, y, width, height } = await tip.boundingBox();
      await page.keyboard.press('Escape');
      await page.mouse.move(x + width / 2 + 60, y - 80);
      await tip.waitFor({ state: 'hidden' });
      await page.mouse.move(x + width / 2, y + height - 12);
      await tip.getByText(/split of 2 for 1/).waitFor();
      assert.match(await cellText(page, 'time'), /2014-06-09/);
    });
  });
});

describe('a chart that stays open', () => {
  it('shows candles that are imported meanwhile', async () => {
    await importOf('NEWS.US', ['2026-11-10', '2026-11-11']);
    await atChart('/?symbol=NEWS.US', async (page) => {
      await page.waitForFunction(() => document.getElementById('name') && document.getElementById('about').textContent !== '');
      assert.match(await cellText(page, 'time'), /2026-11-11/);
      await importOf('NEWS.US', ['2026-11-10', '2026-11-11', '2026-11-12']);
      // As if the user had just returned to the page: then it polls immediately.
      await page.waitForFunction(() => {
        document.dispatchEvent(new Event('visibilitychange'));
        return document.getElementById('ro-time').textContent.includes('2026-11-12');
      }, undefined, { polling: 300 });
      assert.equal(await counted(page), 3);
      // A file that corrects an earlier candle, without a newer one.
      await walkTo(page, '2026-11-11');
      assert.equal(await cellText(page, 'close'), '12.000');
      await importOf('NEWS.US', ['2026-11-10', '2026-11-11', '2026-11-12'], '25');
      await page.waitForFunction(() => {
        document.dispatchEvent(new Event('visibilitychange'));
        return document.getElementById('ro-close').textContent === '12.250';
      }, undefined, { polling: 300 });
      assert.match(await cellText(page, 'time'), /2026-11-11/);
      assert.equal(await counted(page), 3);
    });
  });
});

describe('the current view', () => {
  it('can be copied as a command, and saved as CSV and as a picture', async () => {
    await atChart('/?symbol=9001.HK&period=week', async (page) => {
      await page.keyboard.press('x');
      const dialog = page.getByRole('dialog');
      const command = await dialog.locator('code').first().innerText();
      assert.match(command, /^chandler kline 9001\.HK --period week --adjust forward -n 1000 --server http:/);
      await dialog.getByText('history_candlesticks_by_offset').waitFor();
      const [csv] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('button', { name: 'CSV' }).click()]);
      assert.match(csv.suggestedFilename(), /^9001\.HK-week-adjusted-.*\.csv$/);
      const lines = readFileSync(await csv.path(), 'utf8').trimEnd().split('\n');
      const { candlesticks } = await served(on, on.people[NAME], { symbol: '9001.HK', period: 'week' });
      const last = candlesticks.at(-1);
      assert.equal(lines.length, candlesticks.length + 1);
      assert.equal(lines.at(-1), ['9001.HK', last.time, last.open, last.high, last.low, last.close, last.volume, last.turnover].join(','));
      const [png] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('button', { name: 'PNG' }).click()]);
      assert.deepEqual([...readFileSync(await png.path()).subarray(1, 4)], [...Buffer.from('PNG')]);
      await page.keyboard.press('Escape');
      await page.keyboard.press('F');
      await page.locator('header.top').waitFor({ state: 'hidden' });
      await page.keyboard.press('F');
      await page.locator('header.top').waitFor();
    });
  });

  it('fits a screen of every width, and a phone held sideways', async () => {
    for (const viewport of [{ width: 768, height: 900 }, { width: 860, height: 700 }, { width: 1000, height: 700 }, { width: 1001, height: 700 }, { width: 844, height: 390 }]) {
      await atChart('/?symbol=CNDL.US&ma=5,20', async (page, visitor) => {
        await page.waitForFunction((name) => document.getElementById('account').textContent === name, NAME);
        await visitor.look(`width-${viewport.width}-${viewport.height}`);
        for (const id of ['account', 'theme', 'help-open', 'symbol']) {
          const isHit = await page.evaluate((name) => {
            const { left, top, width, height } = document.getElementById(name).getBoundingClientRect();
            return document.elementFromPoint(left + width / 2, top + height / 2)?.closest(`#${name}`) !== null;
          }, id);
          assert.ok(isHit, `${id} at ${viewport.width}`);
        }
        const share = await page.evaluate(() => document.getElementById('chart').clientHeight / innerHeight);
        assert.ok(share > (viewport.height < 500 ? 0.6 : 0.4), `the chart has ${share} of the height at ${viewport.width}`);
      }, { viewport });
    }
  });

  it('rises in red in Chinese, and in green by choice', async () => {
    await on.visit({ locale: 'zh-CN' }, async ({ page }) => {
      await page.goto(on.at('/signin'));
      const rise = () => page.evaluate(() => {
        const probe = document.createElement('i');
        probe.style.color = 'var(--rise)';
        document.body.append(probe);
        const { color } = getComputedStyle(probe);
        probe.remove();
        return color;
      });
      await page.locator('input[autocomplete=username]').fill(NAME);
      await page.locator('input[type=password]').fill('paraffin and twine');
      await page.keyboard.press('Enter');
      await page.locator('input[type=password]').waitFor({ state: 'detached' });
      await page.goto(on.at('/?symbol=9001.HK'));
      await drawn(page);
      assert.equal(await rise(), 'rgb(184, 57, 46)');
      assert.match(await cellText(page, 'volume'), /万$|亿$/);
      await page.keyboard.press('c');
      assert.equal(await rise(), 'rgb(27, 127, 92)');
      await page.reload();
      await drawn(page);
      assert.equal(await rise(), 'rgb(27, 127, 92)');
    });
  });
});
