// Appearance of the pages: in every language, in light and dark, on a phone, with the keyboard
// alone.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { DESKTOP, PHONE } from './browser.js';
import { Client } from './client.js';
import { CONFIRM, PASSWORD, stage } from './stage.js';

const on = stage();

describe('the pages', () => {
  it('speak the language of the browser', async () => {
    const headings = [['zh-CN', '连接设备'], ['zh-HK', '連接裝置'], ['zh-TW', '連接裝置'], ['de', 'Connect a device']];
    for (const [locale, heading] of headings) {
      await on.visit({ locale, viewport: PHONE }, async (visitor) => {
        await visitor.open(on.at(CONFIRM));
        await visitor.look(`language-${locale}`);
        await visitor.page.getByRole('heading', { name: heading }).waitFor();
      });
    }
  });

  it('can be read in light and in dark, at a desk and on the smallest phone', async () => {
    await on.person('Kit Tallow');
    const client = await Client.register(on.server, 'Chart on the wall');
    for (const scheme of ['light', 'dark']) {
      for (const [size, viewport] of [['desktop', DESKTOP], ['small', { width: 320, height: 568 }]]) {
        const grant = await client.device();
        const name = (page) => `${scheme}-${size}-${page}`;
        await on.visit({ scheme, viewport }, async (visitor) => {
          await visitor.open(on.at(CONFIRM));
          await visitor.look(name('code'));
          await visitor.open(grant.verification_uri_complete);
          await visitor.signIn('Kit Tallow', 'a wrong one');
          await visitor.look(name('slip'));
          await visitor.signIn('Kit Tallow', PASSWORD);
          await visitor.look(name('decide'));
          await visitor.press('Deny');
          await visitor.look(name('done'));
          await visitor.open(on.at('/signin'));
          await visitor.look(name('signed-in'));
        });
      }
    }
  });

  it('can be used from the keyboard alone', async () => {
    await on.person('Lou Beacon');
    const client = await Client.register(on.server, 'Keys');
    const grant = await client.device();
    await on.visit({}, async (visitor) => {
      const { keyboard } = visitor.page;
      const field = (id) => visitor.page.locator(`#${id}:focus`).waitFor();
      await visitor.open(on.at(CONFIRM));
      // The first field to fill in has the focus.
      await field('code');
      await keyboard.type(grant.user_code);
      await keyboard.press('Enter');
      await field('name');
      await keyboard.type('Lou Beacon');
      await keyboard.press('Tab');
      await keyboard.type(PASSWORD);
      await keyboard.press('Enter');
      await visitor.page.getByRole('button', { name: 'Approve' }).focus();
      await keyboard.press('Tab');
      await keyboard.press('Enter');
      await visitor.page.getByRole('heading', { name: 'Denied' }).waitFor();
    });
    assert.equal((await client.poll(grant)).json.error, 'access_denied');
  });

  it('let a password manager do its work', async () => {
    await on.visit({}, async (visitor) => {
      await visitor.open(on.at('/signin'));
      const autocomplete = (label) => visitor.page.getByLabel(label).getAttribute('autocomplete');
      assert.equal(await autocomplete('Account'), 'username');
      assert.equal(await autocomplete('Password'), 'current-password');
    });
  });
});
