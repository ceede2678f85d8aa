// Account and operator pages: quota, connections, coverage, imports, and the link to the page that
// authorizes devices.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { drawn, drop, signInTo } from './chart.js';
import { Client } from './client.js';
import { environment, within } from './harness.js';
import { PASSWORD, stage } from './stage.js';

const [USER, OPERATOR, PINNED] = ['Una Wick', 'Otto Lantern', 'pinned'];
const on = stage([USER], [OPERATOR, '--role', 'operator'], [PINNED, '--api-date', '2024-08-01']);

const at = (name, where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    await signInTo(on, visitor, name, where);
    await what(visitor.page, visitor);
  });

/** A program with a connection to the server, using the public SDK, until it is stopped. */
async function program(account) {
  const script = `
import sys
from longbridge.openapi import *
quotes = QuoteContext(Config.from_apikey_env())
quotes.trading_session()
print('up', flush=True)
sys.stdin.read()
`;
  const env = environment({ ...account.environment, LONGBRIDGE_PRINT_QUOTE_PACKAGES: 'false', HTTPS_PROXY: 'http://127.0.0.1:9' });
  const child = spawn('timeout', ['--kill-after=5', '120', process.env.CHANDLER_E2E_PYTHON, '-c', script], { env });
  process.on('exit', () => child.kill('SIGTERM'));
  let errors = '';
  child.stderr.on('data', (text) => (errors += text));
  const up = new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    child.once('exit', () => reject(new Error(errors)));
  });
  await within(up, 'the SDK');
  return child;
}

describe('the quota page', () => {
  it('shows the date that an account is pinned to, and is itself in the newest form', async () => {
    await at(PINNED, '/quota', async (page) => {
      await page.getByText('answered as of 2024-08-01').waitFor();
      await page.getByText('Starts again').waitFor();
    });
  });

  it('counts another opened security, and lists it', async () => {
    await at(USER, '/quota', async (page, visitor) => {
      const used = async () => Number(await page.getByRole('meter').getAttribute('aria-valuenow'));
      await page.getByText('Starts again').waitFor();
      await page.getByText('2026-12-01').first().waitFor();
      const before = await used();
      await visitor.open(on.at('/?symbol=9002.HK'));
      await drawn(page);
      await page.getByText(`quota ${before + 1} of 100`).waitFor();
      await visitor.open(on.at('/?symbol=WAX.US'));
      await drawn(page);
      await visitor.open(on.at('/?symbol=WAX.US&period=week'));
      await drawn(page);
      await page.locator('#quota').click();
      await page.getByText('Starts again').waitFor();
      assert.equal(await used(), before + 2, 'a security counts once');
      for (const symbol of ['9002.HK', 'WAX.US']) await page.getByRole('link', { name: symbol, exact: true }).waitFor();
      await visitor.look('dashboard-quota');
    });
  });

  it('shows what a list of securities would cost, and spends nothing', async () => {
    await at(USER, '/quota', async (page, visitor) => {
      await page.getByLabel('Symbols').fill('9003.hk, 9004.HK 700.HK what?');
      const before = await page.getByRole('meter').getAttribute('aria-valuenow');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByText(/Costs 2;/).waitFor();
      await visitor.look('dashboard-preview');
      await page.reload();
      await page.getByText('Starts again').waitFor();
      assert.equal(await page.getByRole('meter').getAttribute('aria-valuenow'), before);
    });
  });
});

describe('a dashboard page that has been open for a while', () => {
  it('works after a new sign-in in another tab, and shows when the session has ended', async () => {
    await at(USER, '/quota', async (page, { context }) => {
      await page.getByText('Starts again').waitFor();
      // The CSRF token belongs to the session, so it has to be requested again after signing in.
      await page.getByLabel('Symbols').fill('9003.HK');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByText(/Costs \d/).waitFor();
      await context.clearCookies();
      const other = await context.newPage();
      await other.goto(on.at('/signin'));
      await other.getByLabel('Account').fill(USER);
      await other.getByLabel('Password').fill(PASSWORD);
      await Promise.all([other.waitForEvent('load'), other.keyboard.press('Enter')]);
      await other.close();
      await page.getByLabel('Symbols').fill('9003.HK 9004.HK 9001.HK');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByText('9001.HK', { exact: false }).and(page.locator('td')).first().waitFor();
      assert.equal(await page.getByRole('heading', { name: 'For operators' }).count(), 0);
    }, { complaints: [/status of 403: POST .*\/v1\/quota\/preview$/] });
    await at(USER, '/connections', async (page, { context }) => {
      const again = page.getByRole('button', { name: 'Refresh' });
      await again.waitFor();
      await context.clearCookies();
      await again.click();
      await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
    }, { complaints: [/status of 401: GET .*\/v1\/connections/] });
  });
});

describe('the connections page', () => {
  it('shows the connections of an account and closes one of them', async () => {
    const child = await program(on.people[USER]);
    await at(USER, '/connections', async (page, visitor) => {
      const close = page.getByRole('button', { name: /^Close connection/ });
      await close.first().waitFor();
      const name = await close.first().getAttribute('aria-label');
      await visitor.look('dashboard-connections');
      await close.first().click();
      await page.getByText(/is closed\./).waitFor();
      // The program may have reconnected by now.
      await page.getByRole('button', { name, exact: true }).waitFor({ state: 'detached' });
    });
    child.kill('SIGTERM');
  });

  it('shows operators the connections of all accounts', async () => {
    const child = await program(on.people[USER]);
    await at(OPERATOR, '/connections', async (page, visitor) => {
      await page.getByText('There are no open connections.').waitFor();
      await page.getByRole('link', { name: 'All accounts' }).click();
      await page.getByRole('cell', { name: USER }).first().waitFor();
      await visitor.look('dashboard-connections-all');
    });
    child.kill('SIGTERM');
  });
});

describe('the coverage page', () => {
  it('is for every account, and finds a searched security', async () => {
    await at(USER, '/coverage?market=HK', async (page) => {
      await page.getByRole('button', { name: '9004.HK', exact: true }).waitFor();
      assert.equal(await page.getByRole('button', { name: /\.US$/ }).count(), 0);
      const legend = await page.locator('.day-states').boundingBox();
      const sheet = await page.locator('.sheet').first().boundingBox();
      assert.ok(legend.x >= sheet.x && legend.y + legend.height <= sheet.y + sheet.height, 'the legend is outside of its sheet');
      // A user who types slowly continues in the same place.
      await page.getByLabel('Code or name').click();
      await page.keyboard.type('900');
      await page.waitForFunction(() => location.search.startsWith('?query=900&'));
      await page.keyboard.type('1');
      await page.getByRole('button', { name: '9004.HK', exact: true }).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: '9001.HK', exact: true }).waitFor();
      await page.getByText('1 security', { exact: true }).waitFor();
      assert.match(page.url(), /query=9001&market=HK$/);
      await page.getByLabel('Code or name').fill('nothing at all');
      await page.getByText('No results').waitFor();
    });
  });
});

// The result of a file takes space below it. The browser counts a drag as user input, but not a
// drag made by a script.
const MAKES_ROOM = { complaints: [/layout shift/] };

describe('the pages of operators', () => {
  it('show others that they are for operators, and are not linked', async () => {
    for (const where of ['/imports']) {
      await at(USER, where, async (page, visitor) => {
        await page.getByRole('heading', { name: 'For operators' }).waitFor();
        assert.equal(await page.locator('.for-operator').first().isVisible(), false);
        await drop(page, 'DROP.US.csv', 'date,open,high,low,close,volume\n');
        await page.getByText('Nothing was sent: importing is for operators.').waitFor();
        await visitor.look(`dashboard-refused${where.replace('/', '-')}`);
      }, MAKES_ROOM);
    }
  });

  it('show coverage, and the gaps of a day behind it', async () => {
    await at(OPERATOR, '/coverage', async (page, visitor) => {
      const row = page.getByRole('button', { name: '9004.HK', exact: true });
      await row.waitFor();
      assert.ok((await page.locator('.days').first().locator('i').count()) >= 90);
      await visitor.look('dashboard-coverage');
      await page.locator('i[data-date="2026-11-13"][title^="9004.HK"]').click();
      await page.getByRole('heading', { name: '9004.HK 2026-11-13' }).waitFor();
      await page.getByRole('link', { name: '2026-11-13' }).waitFor();
      await page.getByText(/no trades/).first().waitFor();
      await visitor.look('dashboard-coverage-day');
      await row.press('Enter');
      await page.getByRole('heading', { name: /^9004\.HK 2026-\d\d-\d\d to 2026-\d\d-\d\d$/ }).waitFor();
      await page.getByRole('link', { name: 'Earlier' }).click();
      await page.getByRole('link', { name: 'Later' }).waitFor();
      // A Sunday is closed and a trading day is complete.
      assert.equal(await page.locator('i[title^="9001.HK"][data-date="2026-08-09"]').getAttribute('data-state'), '-');
      assert.equal(await page.locator('i[title^="9001.HK"][data-date="2026-08-10"]').getAttribute('data-state'), 'c');
    });
  });

  it('show imports and refused rows, with the reason', async () => {
    const file = path.join(on.server.store, 'crooked.csv');
    writeFileSync(file, 'time,open,high,low,close,volume\n2026-11-12,10,9,11,10,100\n2026-11-13,10,11,9,10,100\n');
    await on.server.command(['import', file, '--symbol', '9099.HK', '--period', '1d']);
    await at(OPERATOR, '/imports', async (page, visitor) => {
      const entry = page.getByRole('row').filter({ hasText: 'crooked.csv' });
      await entry.first().waitFor();
      await visitor.look('dashboard-imports');
      await entry.first().getByRole('link').click();
      await page.getByRole('heading', { name: /^Refused rows of import \d+$/ }).waitFor();
      await page.getByText(/crooked\.csv:2/).waitFor();
      await page.getByText(/low is above/).waitFor();
      await visitor.look('dashboard-quarantine');
      await page.getByRole('link', { name: 'All imports' }).click();
      await page.getByRole('heading', { name: 'Refused rows', exact: true }).waitFor();
    });
  });

  it('take a dropped file: its dry run, its import, and the undo', async () => {
    const rows = 'date,open,high,low,close,volume\n2026-11-11,10,11,9,10,100\n2026-11-12,10,9,11,10,100\n2026-11-13,10,12,9,11,200\n';
    await at(OPERATOR, '/imports', async (page, visitor) => {
      const choose = page.getByRole('button', { name: 'Choose a file…' });
      await choose.waitFor();
      await drop(page, 'DROP.US.csv', rows);
      const card = page.getByRole('article', { name: 'DROP.US.csv' });
      await card.getByText(/^Would add 2, replace 0,.* refused rows: 1\.$/).waitFor();
      await card.getByText('the name of the file', { exact: true }).waitFor();
      await card.getByText('2026-11-11 to 2026-11-13').waitFor();
      await card.getByText('a guess').first().waitFor();
      await card.getByRole('cell', { name: '2026-11-11' }).waitFor();
      await card.getByText(/low is above/).waitFor();
      await visitor.look('dashboard-upload');
      await card.getByRole('button', { name: 'Import', exact: true }).click();
      await card.getByText(/Added 2,/).waitFor();
      await card.getByRole('link', { name: 'See the chart of DROP.US' }).waitFor();
      await page.getByRole('row').filter({ hasText: 'DROP.US.csv' }).getByText('done').waitFor();
      await visitor.look('dashboard-imported');

      // The same file again, with the keyboard, and one that is not a table.
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), choose.press('Enter')]);
      await chooser.setFiles({ name: 'DROP.US.csv', mimeType: 'text/csv', buffer: Buffer.from(rows) });
      await page.getByText(/This file was already imported/).waitFor();
      await drop(page, 'picture.png', '\u0089PNG\r\n\u001a\n\u0000\u0000');
      await page.getByRole('article', { name: 'picture.png' }).getByText(/^This file cannot be imported/).waitFor();

      await page.getByRole('row').filter({ hasText: 'DROP.US.csv' }).getByRole('button', { name: /^Undo import/ }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('2 candles are removed, 0 are restored.').waitFor();
      await visitor.look('dashboard-undo');
      await dialog.getByRole('button', { name: 'Undo', exact: true }).click();
      await page.getByText(/^Import \d+ is undone\.$/).waitFor();
      await page.getByRole('row').filter({ hasText: 'DROP.US.csv' }).getByText('undone').waitFor();
    }, MAKES_ROOM);
  });

  it('import a file after its dry run, and again after its data was removed', async () => {
    const rows = 'date,open,high,low,close,volume\n2026-11-12,10,11,9,10,100\n2026-11-13,10,12,9,11,200\n';
    await at(OPERATOR, '/imports', async (page) => {
      await page.getByRole('button', { name: 'Choose a file…' }).waitFor();
      await drop(page, 'prices.csv', rows);
      const card = page.getByRole('article', { name: 'prices.csv' });
      await card.getByText(/^Enter the symbol, e\.g\. AAPL\.US: /).waitFor();
      const [begin, look] = ['Import', 'Preview'].map((name) => card.getByRole('button', { name, exact: true }));
      await card.getByLabel('Symbol').fill('GONE.US');
      await look.click();
      await begin.waitFor();
      // Other options would make another import, which has to be checked first.
      await card.getByLabel('Symbol').fill('BACK.US');
      await begin.waitFor({ state: 'detached' });
      await look.click();
      await begin.click();
      await card.getByRole('link', { name: 'See the chart of BACK.US' }).waitFor();
      await on.server.command(['remove', 'BACK.US', '--yes']);
      await page.reload();
      await page.getByRole('row').filter({ hasText: 'BACK.US' }).getByText('removal').waitFor();
      await card.getByRole('button', { name: 'Remove the file' }).click();
      await card.waitFor({ state: 'detached' });
      await drop(page, 'prices.csv', rows);
      await card.getByLabel('Symbol').fill('BACK.US');
      await look.click();
      await card.getByText(/unless its data was removed/).waitFor();
      await card.getByRole('button', { name: 'Preview importing it again' }).click();
      await card.getByText(/^Would add 2,/).waitFor();
      await begin.click();
      await card.getByText(/Added 2,/).waitFor();
    }, MAKES_ROOM);
  });
});

describe('the dashboard', () => {
  it('links to the page that connects a device', async () => {
    const client = await Client.register(on.server, 'Terminal of Una');
    const grant = await client.device();
    await at(USER, '/quota', async (page, visitor) => {
      await page.getByText('Starts again').waitFor();
      await page.getByRole('link', { name: 'Connect a device' }).click();
      await page.getByLabel('Code').fill(grant.user_code);
      assert.equal(await visitor.press('Continue'), 200);
      await visitor.shows(/Terminal of Una/);
      assert.equal(await visitor.press('Approve'), 200);
      assert.equal((await client.poll(grant)).status, 200);
      // It is now among the programs of the account.
      await visitor.open(on.at('/quota'));
      await page.getByText('Starts again').waitFor();
      await page.getByRole('link', { name: 'Programs and signing out' }).click();
      await page.getByText('Terminal of Una').waitFor();
    });
  });

  it('is left by signing out', async () => {
    await at(USER, '/quota', async (page, visitor) => {
      await page.getByText('Starts again').waitFor();
      await page.locator('#account').click();
      await visitor.press('Sign out');
      await visitor.open(on.at('/quota'));
      await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
      await page.getByRole('link', { name: 'Sign in' }).first().waitFor();
    }, { complaints: [/status of 401: GET .*\/v1\/me$/] });
  });
});
