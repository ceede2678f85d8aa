// The pages under attack: other sites, forged forms, names that contain markup.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';

import { PHONE } from './browser.js';
import { Client } from './client.js';
import { CONFIRM, PASSWORD, stage } from './stage.js';

const on = stage();

/**
 * A page of another site, under a name of this machine: `localhost` is another site, another port
 * is not.
 */
async function elsewhere(host, page, what) {
  const http = createServer((request, response) => {
    response.writeHead(request.url === '/' ? 200 : 204, { 'content-type': 'text/html' });
    response.end(request.url === '/' ? `<!doctype html><html lang="en"><title>Elsewhere</title>${page}` : '');
  });
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
  try {
    await what(`${host}:${http.address().port}`);
  } finally {
    http.close();
    http.closeAllConnections();
  }
}

describe('a page of another site', () => {
  for (const host of ['localhost', '127.0.0.1']) {
    it(`cannot decide for the signed-in person, from ${host}`, async () => {
      const name = `Gil of ${host}`;
      await on.person(name);
      const client = await Client.register(on.server, 'Forged');
      const grant = await client.device();
      const fields = { user_code: grant.user_code, client_id: client.id, decision: 'approve', csrf: 'x' };
      const inputs = Object.entries(fields).map(([field, value]) => `<input name="${field}" value="${value}">`);
      const form = `<form method="post" action="${on.at(CONFIRM)}">${inputs.join('')}<button>Win a prize</button></form>`;
      await elsewhere(host, form, async (there) => {
        await on.visit({ hosts: [new URL(on.server.url).host, there] }, async (visitor) => {
          await visitor.open(on.at('/signin'));
          assert.equal(await visitor.signIn(name, PASSWORD), 200);
          await visitor.open(`http://${there}/`);
          assert.equal(await visitor.press('Win a prize'), 403);
        });
      });
      assert.equal((await client.poll(grant)).json.error, 'authorization_pending');
    });
  }

  it('cannot show ours in a frame', async () => {
    await elsewhere('127.0.0.1', `<iframe src="${on.at(CONFIRM)}"></iframe>`, async (there) => {
      const refused = [/Framing|frame-ancestors|X-Frame-Options/i];
      await on.visit({ hosts: [new URL(on.server.url).host, there], complaints: refused }, async (visitor) => {
        await visitor.open(`http://${there}/`);
        const frame = visitor.page.frames().find((one) => one !== visitor.page.mainFrame());
        assert.equal(await frame.getByLabel('Code').count(), 0);
      });
    });
  });

  it('cannot be where a person is sent after signing in', async () => {
    await on.person('Ned Torch');
    for (const next of ['https://example.org/', '//example.org/', '/\\example.org/', 'javascript:alert(1)']) {
      await on.visit({}, async (visitor) => {
        await visitor.open(`${on.at('/signin')}?next=${encodeURIComponent(next)}`);
        await visitor.signIn('Ned Torch', PASSWORD);
        assert.equal(new URL(visitor.page.url()).origin, on.server.url);
      });
    }
  });
});

describe('the pages', () => {
  it('show nothing about codes to a visitor who is not signed in', async () => {
    await on.person('Hal Match');
    await on.visit({ viewport: PHONE }, async (visitor) => {
      await visitor.open(on.at(CONFIRM));
      await visitor.page.getByLabel('Code').fill('BCDF-GHJK');
      // Same as for a code of another device.
      assert.equal(await visitor.press('Continue'), 200);
      assert.equal(await visitor.signIn('Hal Match', PASSWORD), 404);
      await visitor.look('unknown-code');
      assert.equal(await visitor.page.getByRole('button', { name: 'Approve' }).count(), 0);
      await visitor.page.getByLabel('Code').waitFor();
    });
  });

  it('take a decision from their own form only', async () => {
    await on.person('Gil Spark');
    const client = await Client.register(on.server, 'Spoilt');
    const grant = await client.device();
    await on.visit({}, async (visitor) => {
      await visitor.open(grant.verification_uri_complete);
      await visitor.signIn('Gil Spark', PASSWORD);
      // The same form with an invalid CSRF token.
      const spoilt = await visitor.page.evaluate(() => {
        const tokens = [...document.querySelectorAll('form[method=post] input[name=csrf]')];
        for (const token of tokens) token.value = token.value.replace(/./g, 'x');
        return tokens.length;
      });
      assert.ok(spoilt > 0);
      assert.equal(await visitor.press('Approve'), 403);
      await visitor.look('forged');
    });
    assert.equal((await client.poll(grant)).json.error, 'authorization_pending');
  });

  it('show the name of a client as text, whatever it contains, and on a phone however long it is', async () => {
    await on.person('Fay Glow');
    const names = ['<img src=x onerror=alert(1)>"\'&', 'W'.repeat(100)];
    await on.visit({ viewport: PHONE }, async (visitor) => {
      for (const [index, name] of names.entries()) {
        const client = await Client.register(on.server, name);
        const grant = await client.device();
        await visitor.open(grant.verification_uri_complete);
        if (index === 0) await visitor.signIn('Fay Glow', PASSWORD);
        assert.ok((await visitor.text()).includes(name));
        assert.equal(await visitor.page.locator('img').count(), 0);
        await visitor.look(`hostile-name-${index + 1}`);
      }
    });
  });

  it('load nothing from other sites, are not framed and not cached', async () => {
    for (const path of [CONFIRM, '/signin', `${CONFIRM}?user_code=BCDF-GHJK`, '/oauth2/authorize?client_id=none']) {
      await on.visit({}, async (visitor) => {
        await visitor.open(on.at(path));
        const headers = await visitor.answer.allHeaders();
        const policy = headers['content-security-policy'];
        assert.match(policy, /default-src 'none'/);
        assert.match(policy, /frame-ancestors 'none'/);
        assert.match(policy, /base-uri 'none'/);
        assert.doesNotMatch(policy, /unsafe|\*/);
        assert.match(headers['cache-control'], /no-store/);
        assert.equal(headers['x-content-type-options'], 'nosniff');
        assert.equal(headers['referrer-policy'], 'no-referrer');
        assert.equal(await visitor.page.locator('script').count(), 0);
      });
    }
  });

  it('hide their cookies from scripts and from other sites, and delete them at the end', async () => {
    await on.person('Max Torch');
    await on.visit({}, async (visitor) => {
      await visitor.open(on.at('/signin'));
      assert.equal(await visitor.signIn('Max Torch', PASSWORD), 200);
      const cookies = await visitor.context.cookies();
      assert.ok(cookies.length > 0);
      for (const { name, httpOnly, sameSite } of cookies) {
        assert.deepEqual([httpOnly, /Lax|Strict/.test(sameSite)], [true, true], name);
      }
      assert.equal(await visitor.page.evaluate(() => document.cookie), '');
      await visitor.open(on.at('/signin'));
      await visitor.press('Sign out');
      // The old cookie is no longer valid.
      await visitor.context.addCookies(cookies);
      await visitor.open(on.at('/signin'));
      await visitor.page.getByLabel('Password').waitFor();
    });
  });
});
