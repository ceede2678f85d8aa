// The operator's dashboard: accounts, audit and status, and the password link that an operator
// gives to a user.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { PHONE } from './browser.js';
import { signInTo } from './chart.js';
import { PASSWORD, stage } from './stage.js';

const [USER, OPERATOR] = ['Una Wick', 'Otto Lantern'];
const LONGEST = 'W'.repeat(64);
const on = stage([USER], [OPERATOR, '--role', 'operator'], [LONGEST]);

const at = (name, where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    await signInTo(on, visitor, name, where);
    await what(visitor.page, visitor);
  });

/** A concurrent change by another operator, over the API. */
async function meanwhile(method, where, json) {
  const headers = { authorization: `Bearer ${on.people[OPERATOR].access_token}` };
  const answer = await on.server.ask(method, where, { headers, json });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data;
}

describe('the operator’s dashboard', () => {
  it('refuses other accounts on a direct visit, and sends no requests for them', async () => {
    for (const where of ['/admin', `/admin?account=${encodeURIComponent(OPERATOR)}`, '/admin/audit', '/admin/status']) {
      await at(USER, where, async (page, visitor) => {
        await page.getByRole('heading', { name: 'For operators' }).waitFor();
        assert.equal(await page.locator('.pages-of').count(), 0);
        if (where === '/admin') await visitor.look('admin-refused');
      });
    }
    await on.visit({ complaints: [/status of 401: GET .*\/v1\/me$/] }, async (visitor) => {
      await visitor.open(on.at('/admin'));
      await visitor.page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
    });
  });

  it('creates an account from the keyboard, and its owner sets the password by a link, once', async () => {
    let link;
    await at(OPERATOR, '/admin', async (page, visitor) => {
      await page.getByText('New account').focus();
      await page.keyboard.press('Enter');
      await page.getByLabel('Name').fill(USER);
      await page.keyboard.press('Enter');
      await page.getByText(/already exists: choose another name/).waitFor();
      await page.getByLabel('Name').fill('Kit Tallow');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Kit Tallow is created' }).waitFor();
      await page.getByText(/export LONGBRIDGE_APP_SECRET='[0-9a-f]{64}'/).waitFor();
      await page.getByRole('button', { name: 'Password link' }).click();
      const field = page.getByRole('textbox', { name: 'Password link' });
      await field.waitFor();
      link = await field.inputValue();
      await visitor.look('admin-created');
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByLabel('Search').fill('tallow');
      await page.getByText('1 of 1').waitFor();
      await page.getByRole('link', { name: 'Kit Tallow' }).click();
      await page.getByText('A password link is valid until').waitFor();
    }, { complaints: [/status of 409: POST .*\/v1\/admin\/accounts$/] });
    await on.visit({ viewport: PHONE }, async (visitor) => {
      const { page } = visitor;
      await visitor.open(link);
      await visitor.look('password-page');
      await page.getByLabel('New password').fill(PASSWORD);
      await page.getByLabel('The same again').fill('something else');
      assert.equal(await visitor.press('Set the password'), 400);
      await page.getByText('The two passwords differ').waitFor();
      await page.getByLabel('New password').fill(PASSWORD);
      await page.getByLabel('The same again').fill(PASSWORD);
      assert.equal(await visitor.press('Set the password'), 200);
      await page.getByRole('link', { name: 'Sign in' }).click();
      assert.equal(await visitor.signIn('Kit Tallow', PASSWORD), 200);
      assert.equal(await visitor.open(link), 410);
      await visitor.shows(/used before/);
    });
  });

  it('changes the limits of an account, undoes that, and does not overwrite changes of another operator', async () => {
    const account = `/v1/admin/accounts/${encodeURIComponent(USER)}`;
    await at(OPERATOR, `/admin?account=${encodeURIComponent(USER)}`, async (page, visitor) => {
      const [quota, save, undo] = [page.getByLabel('Securities a month'), page.getByRole('button', { name: 'Save' }), page.getByRole('button', { name: 'Undo' })];
      await quota.fill('250');
      await save.click();
      await page.getByText('0 / 250').waitFor();
      await undo.click();
      await page.getByText('Undone.').waitFor();
      await page.getByText('0 / 100').waitFor();
      await page.getByLabel('History calls').fill('often');
      await save.click();
      await page.getByText(/Not done: .*60\/30/).waitFor();
      assert.equal(await page.getByLabel('History calls').inputValue(), 'often', 'typed text stays');
      // The form is stale from here on.
      await meanwhile('POST', account, { level: 4 });
      await page.getByLabel('History calls').fill('5/1');
      await save.click();
      await page.getByText(/the account was changed concurrently/).waitFor();
      await page.getByText('0 / 1,000').waitFor();
      assert.equal(await page.getByLabel('History calls').inputValue(), '60/30', 'and the form has the current value');
      await page.getByRole('button', { name: 'Withdraw CN' }).click();
      await page.getByText('CN is withdrawn').waitFor();
      await undo.click();
      await page.getByRole('button', { name: 'Withdraw CN' }).waitFor();
      await visitor.look('admin-account');
    }, { complaints: [/status of 400: POST .*\/accounts\/Una%20Wick$/, /status of 409: POST .*\/accounts\/Una%20Wick$/] });
  });

  it('shows where a quota is used up, with the command and the button that lift it', async () => {
    const account = `/v1/admin/accounts/${encodeURIComponent(OPERATOR)}`;
    await meanwhile('POST', account, { quota: 0 });
    await at(OPERATOR, '/quota', async (page, visitor) => {
      await page.getByText(`account set '${OPERATOR}' --unlimited`).waitFor();
      await visitor.look('quota-spent');
      await page.getByRole('link', { name: 'Or change them here' }).click();
      await page.getByText('Its quota is used up').waitFor();
      await visitor.look('admin-spent');
      await page.getByRole('button', { name: 'Lift all its limits' }).click();
      await page.getByText('0 / 100,000').waitFor();
      assert.equal(await page.getByLabel('History calls').inputValue(), 'unlimited');
      assert.equal(await page.getByText('Its quota is used up').count(), 0);
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('0 / 0').waitFor();
    });
    await meanwhile('POST', account, { quota: null });
  });

  it('revokes an account after its name is typed, and never the last operator', async () => {
    await on.person('Lou Beacon');
    await at(OPERATOR, '/admin?account=Lou%20Beacon', async (page, visitor) => {
      const revoke = page.getByRole('button', { name: 'Revoke' });
      const dialog = page.getByRole('dialog', { name: 'Revoke Lou Beacon?' });
      await revoke.click();
      await dialog.getByLabel('Its name').fill('Lou');
      assert.ok(await dialog.getByRole('button', { name: 'Revoke' }).isDisabled());
      await visitor.look('admin-revoke');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await revoke.click();
      await dialog.getByLabel('Its name').fill('Lou Beacon');
      await dialog.getByLabel('Reason').fill('left us');
      await page.keyboard.press('Enter');
      await page.getByText('Lou Beacon is revoked').waitFor();
      assert.equal(await revoke.count(), 0);
      await page.getByRole('link', { name: 'Its audit log' }).click();
      await page.getByRole('row').filter({ hasText: 'account.revoked' }).filter({ hasText: 'left us' }).filter({ hasText: OPERATOR }).waitFor();
      await visitor.open(on.at(`/admin?account=${encodeURIComponent(OPERATOR)}`));
      await revoke.click();
      await page.getByLabel('Its name').fill(OPERATOR);
      await page.keyboard.press('Enter');
      await page.getByText(/this is the last operator/).waitFor();
    }, { complaints: [/status of 409: POST .*\/revoke$/] });
  });

  it('shows on a phone which page it is', async () => {
    await at(OPERATOR, '/admin', async (page) => {
      await page.getByLabel('Search').waitFor();
      const [here, account] = await Promise.all(['.top nav a[aria-current]', '#account'].map((what) => page.locator(what).boundingBox()));
      assert.ok(here.x >= 0 && here.x + here.width <= account.x, JSON.stringify({ here, account }));
    }, { viewport: PHONE });
  });

  it('filters the audit by its address', async () => {
    await at(OPERATOR, '/admin/audit?event=account.created', async (page, visitor) => {
      await page.getByRole('row').filter({ hasText: USER }).waitFor();
      assert.equal(await page.getByRole('row').filter({ hasText: 'login.accepted' }).count(), 0);
      await visitor.look('admin-audit');
      await page.getByLabel('Account').fill('unknown');
      await page.keyboard.press('Enter');
      await page.getByText('There is no account unknown.').waitFor();
      await page.getByRole('link', { name: 'All', exact: true }).click();
      await page.getByRole('row').filter({ hasText: 'login.accepted' }).first().waitFor();
    }, { complaints: [/status of 404: GET .*\/v1\/admin\/audit\?.*account=unknown/] });
  });

  it('shows the status of the server', async () => {
    await at(OPERATOR, '/admin/status', async (page, visitor) => {
      await page.getByRole('heading', { name: 'Calendars' }).waitFor();
      await page.getByText(/\d MiB/).first().waitFor();
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByRole('heading', { name: 'Open connections' }).waitFor();
      await visitor.look('admin-status');
    });
  });

  it('fits a phone in every language, with the longest name', async () => {
    for (const [locale, title] of [['zh-CN', '账户'], ['zh-HK', '帳戶']]) {
      await on.visit({ locale, viewport: PHONE, scheme: 'dark' }, async (visitor) => {
        await visitor.open(on.at('/signin?next=/admin'));
        await visitor.page.locator('#name').fill(OPERATOR);
        await visitor.page.locator('#password').fill(PASSWORD);
        await Promise.all([visitor.page.waitForEvent('load'), visitor.page.keyboard.press('Enter')]);
        await visitor.page.getByRole('heading', { name: title }).waitFor();
        await visitor.look(`admin-list-${locale}`);
        for (const where of [`/admin?account=${LONGEST}`, '/admin/audit', '/admin/status']) {
          await visitor.open(on.at(where));
          await visitor.page.locator('.pages-of').waitFor();
          await visitor.look(`admin-${locale}-${where.split(/[?=/]/)[2]}`);
        }
      });
    }
  });
});
