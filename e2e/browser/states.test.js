// Empty and error states of the pages, and their appearance for different users and screens.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import path from 'node:path';
import { describe, it } from 'node:test';

import { DESKTOP, PHONE, WALL } from './browser.js';
import { drawn, drop, cellText, signInTo, titled } from './chart.js';
import { PATIENCE_MS, Server, openFile } from './harness.js';
import { PASSWORD, stage } from './stage.js';

const on = stage();

/**
 * A proxy in front of a server: under a base path, or sending documents in pieces that are painted
 * one by one.
 */
async function proxied(server, { path = '', slowly = false }) {
  const proxy = createServer((incoming, answer) => {
    if (!incoming.url.startsWith(`${path}/`)) return answer.writeHead(404).end();
    const { hostname, port } = new URL(server().url);
    const headers = { ...incoming.headers, ...(slowly && { 'accept-encoding': 'identity' }) };
    const to = { hostname, port, path: incoming.url.slice(path.length), method: incoming.method, headers };
    const passed = forward(to, (given) => {
      answer.writeHead(given.statusCode, given.headers);
      if (slowly && given.headers['content-type']?.startsWith('text/html')) dribble(given, answer);
      else given.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    return incoming.pipe(passed);
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const close = () => {
    proxy.close();
    proxy.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${proxy.address().port}${path}`, close };
}

async function dribble(given, answer) {
  const [PIECE, PAUSE_MS] = [400, 25];
  const chunks = [];
  for await (const chunk of given) chunks.push(chunk);
  const whole = Buffer.concat(chunks);
  for (let at = 0; at < whole.length; at += PIECE) {
    answer.write(whole.subarray(at, at + PIECE));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  answer.end();
}

describe('the chart page', () => {
  it('requires a visitor to sign in, and then returns to the same address', async () => {
    await on.person('Vic Visitor');
    await on.visit({ complaints: [/status of 401: GET .*\/v1\/(me$|quote\/history-candlesticks)/] }, async (visitor) => {
      const { page } = visitor;
      assert.equal(await visitor.open(on.at('/?symbol=CNDL.US&period=15m')), 200);
      await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
      await visitor.look('state-visitor');
      await page.locator('.advice').getByRole('link', { name: 'Sign in' }).click();
      assert.equal(await visitor.signIn('Vic Visitor', PASSWORD), 200);
      await titled(page, 'CNDL.US 15m');
      assert.equal(new URL(page.url()).search, '?symbol=CNDL.US&period=15m');
    });
  });

  it('shows what to do about a security that is unknown or has no candles', async () => {
    await on.person('Ned Nothing');
    await on.visit({ complaints: [/status of 400: GET .*symbol=700\.HK/, /status of 404: GET .*symbol=9099\.HK/] }, async (visitor) => {
      await signInTo(on, visitor, 'Ned Nothing', '/?symbol=700.HK');
      await visitor.page.getByRole('heading', { name: '700.HK is not known here' }).waitFor();
      await visitor.page.getByText('chandler import candles.csv --symbol 700.HK', { exact: true }).waitFor();
      await visitor.look('state-unknown');
      await visitor.open(on.at('/?symbol=9099.HK'));
      await visitor.page.getByRole('heading', { name: 'No candles of 9099.HK' }).waitFor();
      await visitor.look('state-empty');
      await visitor.open(on.at('/?symbol=9001.HK&before=1990-01-01'));
      await visitor.page.getByRole('heading', { name: 'No candles of 9001.HK before 1990-01-01' }).waitFor();
      await visitor.page.getByRole('link', { name: 'Show the newest' }).click();
      await drawn(visitor.page);
    });
  });

  it('notices that an unknown security was imported, and that the only import of one was undone', async () => {
    await on.person('Nia Notice', '--rate', 'unlimited');
    const file = path.join(on.server.store, 'NEW.US.csv');
    writeFileSync(file, 'date,open,high,low,close,volume\n2026-11-12,10,11,9,10,100\n2026-11-13,10,12,9,11,200\n');
    await on.visit({ complaints: [/status of 40[04]: GET .*NEW\.US/] }, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Nia Notice', '/?symbol=NEW.US');
      await page.getByRole('heading', { name: 'NEW.US is not known here' }).waitFor();
      await on.server.command(['import', file]);
      await titled(page, 'NEW.US');
      await page.waitForFunction(() => document.getElementById('count').textContent.includes('2 candles'));
      await page.evaluate(() => (window.isSamePage = true));
      await on.server.command(['remove', 'NEW.US', '--yes']);
      // As the user returns from another window.
      await page.evaluate(() => dispatchEvent(new Event('focus')));
      await page.getByRole('heading', { name: /NEW\.US is not known here|No candles of NEW\.US/ }).waitFor();
      assert.equal(await page.evaluate(() => window.isSamePage), true, 'the page was reloaded');
    });
  });

  it('takes a dropped file where a security is not known, from an operator', async () => {
    await on.person('Ora Operator', '--role', 'operator', '--rate', 'unlimited');
    await on.visit({ complaints: [/layout shift/, /status of 400: GET .*DROPPED\.US/] }, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Ora Operator', '/?symbol=DROPPED.US');
      await page.getByRole('button', { name: 'Choose a file…' }).waitFor();
      await visitor.look('state-unknown-operator');
      await drop(page, 'DROPPED.US.csv', 'date,open,high,low,close,volume\n2026-11-12,10,11,9,10,100\n2026-11-13,10,12,9,11,200\n');
      const card = page.getByRole('article', { name: 'DROPPED.US.csv' });
      await card.getByText(/^Would add 2,/).waitFor();
      await card.getByRole('button', { name: 'Import', exact: true }).click();
      // The chart follows by itself.
      await titled(page, 'DROPPED.US');
    });
  });

  it('shows no quota to an account without limits', async () => {
    await on.person('Uno Unlimited', '--unlimited');
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Uno Unlimited', '/?symbol=9001.HK');
      await drawn(page);
      await page.waitForFunction(() => document.documentElement.dataset.unlimited === 'known');
      assert.equal(await page.locator('#quota').isVisible(), false);
      await page.reload();
      await drawn(page);
      assert.equal(await page.locator('nav a', { hasText: 'Quota' }).isVisible(), false);
      await visitor.look('state-unlimited');
    });
  });

  it('names the invalid parts of an address, and shows nothing else in their place', async () => {
    await on.person('Ada Address');
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Ada Address', '/?symbol=9001.HK');
      await drawn(page);
      const urls = [];
      page.on('request', (request) => urls.push(request.url()));
      const address = '/?symbol=LAMPLIGHT&period=7m&before=yesterday';
      await visitor.open(on.at(address));
      await page.getByRole('heading', { name: '“LAMPLIGHT” is not a symbol' }).waitFor();
      await page.getByRole('status').getByText('period=7m, before=yesterday').waitFor();
      assert.equal(page.url(), on.at(address));
      assert.deepEqual(urls.filter((url) => url.includes('history-candlesticks')), [], 'nothing is charged');
      await visitor.look('state-lost');
      await page.getByRole('link', { name: /^9001\.HK / }).click();
      await titled(page, '9001.HK D');
      await visitor.open(on.at('/?symbol=9001.HK&period=7m'));
      await page.getByRole('status').getByText('Invalid in the address: period=7m').waitFor();
      await titled(page, '9001.HK D');
      await visitor.look('state-ignored');
      await page.keyboard.press('p');
      await titled(page, '9001.HK W');
      assert.equal(await page.locator('#note').innerText(), '');
    });
  });

  it('links to the sign-in page when the session ends while the user scrolls', async () => {
    await on.person('Eve Ended');
    await on.visit({ complaints: [/status of 401/] }, async (visitor) => {
      const { page, context } = visitor;
      await signInTo(on, visitor, 'Eve Ended', '/?symbol=WAX.US&period=5m');
      // The second page is requested near the end of the first, which this screen does not reach.
      await drawn(page);
      await context.clearCookies();
      await page.keyboard.press('Home');
      const pill = page.locator('#pill');
      await pill.getByText('You are not signed in').waitFor();
      assert.equal(await pill.getByRole('button').count(), 0);
      await pill.getByRole('link', { name: 'Sign in' }).click();
      assert.equal(await visitor.signIn('Eve Ended', PASSWORD), 200);
      await titled(page, 'WAX.US 5m');
    });
  });

  it('waits after a rate limit, and continues automatically', async () => {
    // A slow machine must not let the window pass before `p` is pressed.
    await on.person('Hal Haste', '--rate', '1/30');
    await on.visit({ complaints: [/status of 429: GET .*history-candlesticks/] }, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Hal Haste', '/?symbol=WAX.US&period=5m');
      await drawn(page);
      // The first page of the history exceeds the rate of the account.
      await page.keyboard.press('Home');
      await page.getByText('continuing in').waitFor();
      await visitor.screenshot('state-pace');
      await page.getByText('continuing in').waitFor({ state: 'hidden', timeout: PATIENCE_MS });
      const isAtFirst = () => document.getElementById('count').textContent.includes('history begins');
      await page.waitForFunction(isAtFirst, undefined, { timeout: PATIENCE_MS });
      // The same for a view without any candles yet.
      await page.keyboard.press('p');
      await page.getByRole('heading', { name: 'Too many requests' }).waitFor();
      await visitor.look('state-wait');
      await drawn(page, PATIENCE_MS);
    });
  });

  it('shows how much of the quota is used and when it resets, and to an operator what lifts it', async () => {
    await on.person('Quin Quota', '--quota', '1', '--role', 'operator');
    await on.visit({ complaints: [/status of 403: GET .*history-candlesticks\?symbol=CNDL\.US/] }, async (visitor) => {
      await signInTo(on, visitor, 'Quin Quota', '/?symbol=9001.HK');
      await drawn(visitor.page);
      await visitor.open(on.at('/?symbol=CNDL.US'));
      await visitor.page.getByRole('heading', { name: 'This month’s quota is used up' }).waitFor();
      await visitor.page.locator('.advice').getByText(/1 of 1 securities are used\..*2026-12-01/).waitFor();
      const lifts = `chandler --store sqlite:${on.server.store} account set 'Quin Quota' --unlimited`;
      await visitor.page.getByText(lifts, { exact: true }).waitFor();
      await visitor.look('state-spent');
      await visitor.page.getByRole('link', { name: 'See the quota' }).click();
      await visitor.page.getByText('Starts again').waitFor();
    });
  });

  it('charges nothing for a security that the page has chosen', async () => {
    await on.person('Una Unasked', '--quota', '3');
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Una Unasked', '/');
      await page.getByRole('heading', { name: /is not open yet this month/ }).waitFor();
      await visitor.look('state-unasked');
      // Another visit or a reload does not count as a choice.
      await visitor.open(on.at('/'));
      await page.locator('.advice').getByText('0 of 3 are used').waitFor();
      await page.reload();
      await page.locator('.advice').getByText('0 of 3 are used').waitFor();
      // Nor does another period of the automatically chosen security.
      await page.keyboard.press('p');
      await page.waitForFunction(() => document.title.includes(' W '));
      await page.locator('.advice').getByText('0 of 3 are used').waitFor();
      assert.equal(new URL(page.url()).search, '');
      await page.keyboard.press('P');
      await page.waitForFunction(() => document.title.includes(' D '));
      await page.getByRole('button', { name: /^Show / }).click();
      await drawn(page);
      await page.getByText('quota 1 of 3').waitFor();
      assert.match(page.url(), /symbol=/);
      // It is charged by now, so a visit opens it automatically.
      const { symbol } = Object.fromEntries(new URL(page.url()).searchParams);
      await visitor.open(on.at('/'));
      await titled(page, symbol);
    });
  });

  it('takes a dropped file in an empty store, from an operator only', async () => {
    const server = await Server.startEmpty();
    try {
      const there = { at: (where) => new URL(where, server.url).href };
      await server.account('Ola Operator', PASSWORD, '--role', 'operator');
      await server.account('Una Wick', PASSWORD);
      const rows = 'date,open,high,low,close,volume\n2026-11-12,10,11,9,10,100\n2026-11-13,10,12,9,11,200\n';
      // The result of a file takes space below it; the browser does not count a drag made by a
      // script as user input.
      const dropping = { complaints: [/layout shift/] };
      await on.visit(dropping, async (visitor) => {
        const { page } = visitor;
        await signInTo(there, visitor, 'Una Wick', '/');
        await page.getByRole('heading', { name: 'Nothing has been imported yet' }).waitFor();
        await drop(page, 'LAMP.US.csv', rows);
        await page.getByText('Nothing was sent: importing is for operators.').waitFor();
        await visitor.look('state-empty');
      });
      await on.visit({ viewport: PHONE }, async (visitor) => {
        await signInTo(there, visitor, 'Ola Operator', '/');
        await visitor.page.getByRole('button', { name: 'Choose a file…' }).waitFor();
        await visitor.look('state-empty-phone');
      });
      await on.visit(dropping, async (visitor) => {
        const { page } = visitor;
        await signInTo(there, visitor, 'Ola Operator', '/');
        await page.locator('.advice pre').getByText(`chandler --store sqlite:${server.store} import FILES…`).waitFor();
        await drop(page, 'LAMP.US.csv', rows);
        const card = page.getByRole('article', { name: 'LAMP.US.csv' });
        await card.getByText(/^Would add 2,/).waitFor();
        await visitor.look('state-empty-upload');
        await card.getByRole('button', { name: 'Import', exact: true }).click();
        await card.getByRole('link', { name: 'See the chart of LAMP.US' }).click();
        await titled(page, 'LAMP.US');
      });
    } finally {
      await server.stop();
    }
  });

  it('is opened by a one-time link, for the account of this machine, and names the store in use', async () => {
    const days = ['2026-11-11', '2026-11-12', '2026-11-13'].map((day, at) => `${day},1${at},12${at},9,1${at}.5,1000`);
    const opened = await openFile('CARD.US.csv', `date,open,high,low,close,volume\n${days.join('\n')}\n`);
    try {
      await on.visit({ complaints: [/status of 400: GET .*history-candlesticks\?symbol=700\.HK/] }, async (visitor) => {
        const { page } = visitor;
        await visitor.open(opened.link);
        await titled(page, 'CARD.US');
        assert.equal(new URL(page.url()).search, '?symbol=CARD.US');
        await page.waitForFunction(() => document.getElementById('account').textContent === 'local');
        await visitor.open(new URL('/?symbol=700.HK', opened.link).href);
        await page.locator('code', { hasText: `chandler --store sqlite:${opened.store} import candles.csv --symbol 700.HK` }).waitFor();
        // Used up: in another browser it does not sign in.
        await page.context().clearCookies();
        assert.equal(await visitor.open(opened.link), 403);
        await page.getByRole('heading', { name: 'This sign-in link is not valid' }).waitFor();
        await visitor.look('link-used');
      });
    } finally {
      await opened.stop();
    }
  });

  it('shows when the account has no right to a market', async () => {
    await on.person('Rex Rights', '--markets', 'HK');
    await on.visit({ complaints: [/status of 403: GET .*history-candlesticks\?symbol=CNDL\.US/] }, async (visitor) => {
      await signInTo(on, visitor, 'Rex Rights', '/?symbol=CNDL.US');
      await visitor.page.getByRole('heading', { name: 'Not open to this account' }).waitFor();
      await visitor.look('state-no-right');
    });
  });

  it('shows when the server is unreachable, and continues when it is back', async () => {
    const server = await Server.start();
    await server.account('Sam Storm', PASSWORD);
    const there = { server, at: (path) => new URL(path, server.url).href };
    await on.visit({ complaints: [/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/] }, async (visitor) => {
      const { page } = visitor;
      await signInTo(there, visitor, 'Sam Storm', '/?symbol=9001.HK');
      await drawn(page);
      await page.waitForFunction(() => document.getElementById('name').textContent !== '');
      await server.stop();
      await page.keyboard.press('p');
      await page.getByRole('heading', { name: 'The server does not answer' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 1);
      await visitor.look('state-gone');
      // Automatically, without the button.
      const answer = { symbol: '9001.HK', period: 'week', candlesticks: [], next: null };
      // Without the stream, whose response is not JSON.
      await page.route(/\/v1\/(?!live)/, (route) => route.fulfill({ json: { code: 0, message: 'success', data: answer } }));
      await page.getByRole('heading', { name: 'No candles of 9001.HK' }).waitFor();
    });
  });

  it('can be used from the keyboard alone, and with a screen reader', async () => {
    await on.person('Kay Keys', '--rate', 'unlimited');
    await on.visit({}, async (visitor) => {
      const { page } = visitor;
      await signInTo(on, visitor, 'Kay Keys', '/?symbol=CNDL.US&period=5m');
      await drawn(page);
      await page.keyboard.press('?');
      await page.getByRole('dialog').getByRole('heading', { name: 'Keys' }).waitFor();
      await visitor.screenshot('chart-help');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
      const latest = await cellText(page, 'time');
      await page.locator('#chart').focus();
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      await page.waitForFunction((time) => document.getElementById('ro-time').textContent !== time, latest);
      const moved = await cellText(page, 'time');
      await page.waitForFunction((time) => document.getElementById('speech').textContent.startsWith(`${time}: open `), moved);
      await page.keyboard.press('Escape');
      for (const [key, words] of [['s', 'session=all'], ['a', 'adjust=none'], ['p', 'period=10m']]) {
        await page.keyboard.press(key);
        await page.waitForFunction((part) => location.search.includes(part), words);
        await drawn(page);
      }
      await page.keyboard.press('P');
      await page.waitForFunction(() => location.search.includes('period=5m'));
      // Every control can be reached, in reading order.
      const reached = [];
      await page.locator('.brand').focus();
      for (let tab = 0; tab < 80 && reached.at(-1) !== 'chart'; tab += 1) {
        await page.keyboard.press('Tab');
        reached.push(await page.evaluate(() => document.activeElement.id || document.activeElement.name || document.activeElement.textContent));
      }
      for (const stop of ['symbol', 'Quota', 'theme', 'help-open', 'period', 'adjust', 'session', 'go', 'newest', 'chart']) {
        assert.ok(reached.includes(stop), `${stop} among ${reached}`);
      }
    });
  });
});

describe('every page', () => {
  it('can be read in light and in dark, on a phone, at a desk and on a wall', async () => {
    await on.person('Lou Looks', '--role', 'operator', '--overnight', '--rate', 'unlimited');
    for (const scheme of ['light', 'dark']) {
      for (const [size, viewport] of [['phone', PHONE], ['desktop', DESKTOP], ['wall', WALL]]) {
        await on.visit({ scheme, viewport }, async (visitor) => {
          const { page } = visitor;
          await signInTo(on, visitor, 'Lou Looks', '/?symbol=CNDL.US&period=5m&session=all');
          await drawn(page);
          await page.waitForFunction(() => document.getElementById('about').textContent !== '');
          await visitor.look(`screen-${scheme}-${size}-chart`);
          // Everything is reachable on a narrow screen.
          await page.locator('#newest').click();
          await page.getByRole('link', { name: 'Imports' }).click({ trial: true });
          for (const [where, words] of [['securities', 'CNDL.US'], ['quota', 'Starts again'], ['connections', 'Refresh'], ['coverage', 'complete'], ['imports', 'Ledger']]) {
            await visitor.open(on.at(`/${where}`));
            await page.getByText(words).first().waitFor();
            await visitor.look(`screen-${scheme}-${size}-${where}`);
            if (where !== 'coverage') continue;
            // The newest day is visible, and so is its security.
            for (const part of ['.days i:last-child', '.names .symbol']) {
              const box = await page.locator(part).first().boundingBox();
              assert.ok(box.x >= 0 && box.x + box.width <= viewport.width, `${part} at ${box.x}`);
            }
          }
        });
      }
    }
  });

  it('works under a path of a larger site', async () => {
    // As operators deploy it: the proxy strips the path and passes everything else on.
    let server;
    const proxy = await proxied(() => server, { path: '/candles' });
    const { url } = proxy;
    server = await Server.start('--public-url', url);
    await server.account('Pat Path', PASSWORD);
    await on.visit({ complaints: [/status of 401: GET .*\/v1\/(me$|quote\/history-candlesticks)/] }, async (visitor) => {
      const { page } = visitor;
      await visitor.open(`${url}/?symbol=CNDL.US&period=15m`);
      await page.locator('.advice').getByRole('link', { name: 'Sign in' }).click();
      assert.equal(await visitor.signIn('Pat Path', PASSWORD), 200);
      await titled(page, 'CNDL.US 15m');
      assert.equal(page.url(), `${url}/?symbol=CNDL.US&period=15m`);
      await page.keyboard.press('p');
      await titled(page, 'CNDL.US 20m');
      await page.locator('#quota').click();
      await page.getByText('Starts again').waitFor();
      await page.getByRole('link', { name: 'CNDL.US', exact: true }).click();
      await titled(page, 'CNDL.US');
      assert.ok(page.url().startsWith(`${url}/?`), page.url());
    });
    await server.stop();
    proxy.close();
  });

  it('does not move while it loads slowly, piece by piece', async () => {
    await on.person('Mo Modem', '--role', 'operator', '--rate', 'unlimited');
    const proxy = await proxied(() => on.server, { slowly: true });
    for (const viewport of [PHONE, DESKTOP]) {
      await on.visit({ viewport }, async (visitor) => {
        const { page } = visitor;
        const there = { at: (path) => proxy.url + path };
        await signInTo(there, visitor, 'Mo Modem', '/?symbol=CNDL.US&period=5m&before=2026-11-12T10:00');
        await drawn(page);
        await page.waitForFunction((name) => document.getElementById('account').textContent === name, 'Mo Modem');
        for (const [where, words] of [['quota', 'Starts again'], ['coverage', 'complete']]) {
          await visitor.open(there.at(`/${where}`));
          await page.getByText(words).first().waitFor();
        }
      });
    }
    proxy.close();
  });

  it('remembers the choice of light or dark', async () => {
    await on.person('Tess Theme');
    await on.visit({ scheme: 'light' }, async (visitor) => {
      const { page } = visitor;
      const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await signInTo(on, visitor, 'Tess Theme', '/?symbol=9001.HK');
      await drawn(page);
      const light = await ground();
      await page.keyboard.press('t');
      const dark = await ground();
      assert.notEqual(dark, light);
      await visitor.open(on.at('/quota'));
      assert.equal(await ground(), dark);
      await page.locator('#theme').click();
      assert.equal(await ground(), light);
    });
  });

  it('speaks the language of the browser', async () => {
    await on.person('Lin Lan');
    for (const [locale, lang, chart, resets, reason] of [
      ['zh-CN', 'zh-CN', '图表', '重新计算', '资产与订单均未达到更高等级'],
      ['zh-TW', 'zh-HK', '圖表', '重新計算', '資產與訂單均未達到更高等級'],
      ['fr', 'en', 'Chart', 'Starts again', 'basic level'],
    ]) {
      await on.visit({ locale }, async (visitor) => {
        const { page } = visitor;
        // The sign-in page is in that language too, so it is found by its fields.
        await visitor.open(on.at('/signin?next=%2F%3Fsymbol%3DCNDL.US'));
        await page.locator('input[autocomplete=username]').fill('Lin Lan');
        await page.locator('input[type=password]').fill(PASSWORD);
        await page.keyboard.press('Enter');
        await titled(page, 'CNDL.US');
        assert.equal(await page.evaluate(() => document.documentElement.lang), lang);
        await page.getByRole('link', { name: chart, exact: true }).waitFor();
        await visitor.look(`language-${locale}-chart`);
        await visitor.open(on.at('/quota'));
        await page.getByText(resets).first().waitFor();
        await page.getByText(reason).first().waitFor();
        await visitor.look(`language-${locale}-quota`);
      });
    }
  });
});
