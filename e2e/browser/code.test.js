// The authorization-code flow: a local program sends a person to the server and listens for the
// redirect.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { PHONE } from './browser.js';
import { Client, Listener } from './client.js';
import { PASSWORD, stage } from './stage.js';

const on = stage(['Ana Lamp']);

/** A client, its listener, and a person sent to the server by it. */
async function sent({ viewport, ...words }, what) {
  const listener = await Listener.open();
  try {
    const client = await Client.register(on.server, 'Chart on the desk', [listener.url]);
    const begun = client.begin(listener, words);
    const hosts = [new URL(on.server.url).host, listener.host];
    await on.visit({ viewport, hosts }, (visitor) => what({ listener, client, visitor, ...begun }));
  } finally {
    listener.close();
  }
}

async function whoIs(token) {
  const answer = await on.server.ask('GET', '/v1/quota', { headers: { authorization: `Bearer ${token}` } });
  return [answer.status, answer.json?.code];
}

describe('the authorization page', () => {
  it('returns a code that is exchanged for a token, as the SDK requests it: no challenge, no scope', async () => {
    await sent({}, async ({ url, state, visitor, listener, client }) => {
      assert.equal(await visitor.open(url), 200);
      await visitor.look('code-1-sign-in');
      await visitor.signIn('Ana Lamp', PASSWORD);
      await visitor.look('code-2-decide');
      await visitor.shows(/Chart on the desk/);
      await visitor.shows(/Ana Lamp/);
      await visitor.press('Approve');
      const back = await listener.answer();
      assert.equal(back.state, state);
      assert.equal(back.error, undefined);
      assert.equal(back.from, undefined);
      const token = await client.exchange(listener, back.code);
      assert.equal(token.status, 200, token.text);
      assert.equal(token.json.token_type.toLowerCase(), 'bearer');
      assert.match(token.json.access_token, /^ap_/);
      assert.deepEqual(await whoIs(token.json.access_token), [200, 0]);
      // A code yields one token; using it again revokes that token.
      const again = await client.exchange(listener, back.code);
      assert.deepEqual([again.status, again.json.error], [400, 'invalid_grant']);
      assert.deepEqual(await whoIs(token.json.access_token), [401, 401004]);
    });
  });

  it('requires the right answer to a challenge, and then returns a token', async () => {
    const words = { pkce: true, scope: '3', viewport: PHONE };
    await sent(words, async ({ url, state, verifier, visitor, listener, client }) => {
      await visitor.open(url);
      await visitor.look('code-phone-1-sign-in');
      await visitor.signIn('Ana Lamp', PASSWORD);
      await visitor.look('code-phone-2-decide');
      await visitor.press('Approve');
      const back = await listener.answer();
      assert.equal(back.state, state);
      for (const wrong of [undefined, verifier.toUpperCase()]) {
        const refused = await client.exchange(listener, back.code, wrong);
        assert.deepEqual([refused.status, refused.json.error], [400, 'invalid_grant']);
      }
      const token = await client.exchange(listener, back.code, verifier);
      assert.equal(token.status, 200, token.text);
      assert.deepEqual(await whoIs(token.json.access_token), [200, 0]);
    });
  });

  it('accepts the code only from its client', async () => {
    await sent({}, async ({ url, visitor, listener, client }) => {
      await visitor.open(url);
      await visitor.signIn('Ana Lamp', PASSWORD);
      await visitor.press('Approve');
      const back = await listener.answer();
      const other = await Client.register(on.server, 'Another client', [listener.url]);
      const refused = await other.exchange(listener, back.code);
      assert.deepEqual([refused.status, refused.json.error], [400, 'invalid_grant']);
    });
  });

  it('returns an error when the person denied', async () => {
    await sent({}, async ({ url, state, visitor, listener }) => {
      await visitor.open(url);
      await visitor.signIn('Ana Lamp', PASSWORD);
      await visitor.press('Deny');
      const back = await listener.answer();
      assert.deepEqual([back.error, back.state, back.code], ['access_denied', state, undefined]);
    });
  });

  it('does not redirect to an address that the client has not registered', async () => {
    await sent({ redirect_uri: 'http://localhost:9/elsewhere' }, async ({ url, visitor }) => {
      const status = await visitor.open(url);
      assert.ok(status >= 400 && status < 500, status);
      await visitor.look('code-wrong-address');
      assert.equal(new URL(visitor.page.url()).host, new URL(on.server.url).host);
    });
  });

  it('rejects a client that has not registered', async () => {
    await sent({ client_id: '00000000-0000-4000-8000-000000000000' }, async ({ url, visitor }) => {
      const status = await visitor.open(url);
      assert.ok(status >= 400 && status < 500, status);
      await visitor.look('code-wrong-client');
    });
  });
});

describe('a granted token', () => {
  it('ends immediately when the account is revoked', async () => {
    await on.person('Bo Wick');
    await sent({}, async ({ url, visitor, listener, client }) => {
      await visitor.open(url);
      await visitor.signIn('Bo Wick', PASSWORD);
      await visitor.press('Approve');
      const token = (await client.exchange(listener, (await listener.answer()).code)).json;
      assert.deepEqual(await whoIs(token.access_token), [200, 0]);
      await on.server.command(['account', 'revoke', 'Bo Wick']);
      assert.equal((await whoIs(token.access_token))[0], 401);
      const refreshed = await client.token({ grant_type: 'refresh_token', refresh_token: token.refresh_token });
      assert.deepEqual([refreshed.status, refreshed.json.error], [400, 'invalid_grant']);
      // The browser does not stay signed in either.
      await visitor.open(url);
      assert.equal(await visitor.page.getByRole('button', { name: 'Approve' }).count(), 0);
    });
  });
});
