// The device flow: a code on one screen, a person at another.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';

import { DESKTOP, PHONE } from './browser.js';
import { Client } from './client.js';
import { Login, environment, run, temporary } from './harness.js';
import { CONFIRM, PASSWORD, stage } from './stage.js';

const on = stage();

function tokenFiles(home) {
  const folder = path.join(home, '.longbridge/openapi/tokens');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')));
}

/** The response that the Python SDK gets in OAuth mode, with the token file in a home folder. */
async function candles(home, clientId) {
  const script = `
import sys
from longbridge.openapi import *
oauth = OAuthBuilder(sys.argv[1]).build(lambda url: sys.exit('the SDK wants a browser'))
quotes = QuoteContext(Config.from_oauth(oauth))
print(len(quotes.history_candlesticks_by_offset('9001.HK', Period.Day, AdjustType.NoAdjust, False, 7)))
`;
  const env = environment({
    HOME: home, HTTPS_PROXY: 'http://127.0.0.1:9', LONGBRIDGE_PRINT_QUOTE_PACKAGES: 'false',
    LONGBRIDGE_HTTP_URL: on.server.url, LONGBRIDGE_QUOTE_WS_URL: `${on.server.url.replace('http', 'ws')}/v2`,
  });
  const ran = await run(process.env.CHANDLER_E2E_PYTHON, ['-c', script, clientId], { env });
  assert.equal(ran.code, 0, ran.stderr);
  return Number(ran.stdout);
}

// Each test waits for `chandler login`, which polls every five seconds.
describe('chandler login', { concurrency: true }, () => {
  it('ends with a token file for the SDK, once the person has approved', async () => {
    await on.person('Ana Lamp');
    const login = new Login(on.server, temporary('home-'), '--client-name', 'Ana’s workbench');
    const { url, code } = await login.shown();
    await on.visit({ viewport: DESKTOP }, async (visitor) => {
      assert.equal(await visitor.open(url), 200);
      await visitor.look('device-1-sign-in');
      await visitor.shows(new RegExp(code));
      assert.equal(await visitor.signIn('Ana Lamp', PASSWORD), 200);
      await visitor.look('device-2-decide');
      // The client, the account, the code, and the requested scope.
      for (const words of ['Ana’s workbench', 'Ana Lamp', code, 'read prices and history']) {
        await visitor.shows(new RegExp(words));
      }
      assert.equal(await visitor.press('Approve'), 200);
      await visitor.look('device-3-done');
    });
    const { code: ended, output } = await login.result();
    assert.equal(ended, 0, output);
    const [token, ...others] = tokenFiles(login.home);
    assert.deepEqual(others, []);
    assert.ok(!output.includes(token.access_token) && !output.includes(token.refresh_token));
    assert.equal(await candles(login.home, token.client_id), 7);
  });

  it('reports a denial by a person who typed the code on a phone without scripts', async () => {
    await on.person('Bea Lamp');
    const login = new Login(on.server, temporary('home-'));
    const { code } = await login.shown();
    await on.visit({ viewport: PHONE, scripts: false }, async (visitor) => {
      assert.equal(await visitor.open(on.at(CONFIRM)), 200);
      await visitor.look('phone-1-code');
      // As people type: lowercase letters, a space for the hyphen.
      await visitor.page.getByLabel('Code').fill(` ${code.toLowerCase().replace('-', ' ')} `);
      assert.equal(await visitor.press('Continue'), 200);
      await visitor.look('phone-2-sign-in');
      assert.equal(await visitor.signIn('Bea Lamp', PASSWORD), 200);
      await visitor.look('phone-3-decide');
      assert.equal(await visitor.press('Deny'), 200);
      await visitor.look('phone-4-done');
    });
    const { code: ended, output } = await login.result();
    assert.notEqual(ended, 0);
    assert.match(output, /denied/);
    assert.deepEqual(tokenFiles(login.home), []);
  });
});

describe('a device', () => {
  it('gets the address for its person', async () => {
    const client = await Client.register(on.server, 'Lost');
    const grant = await client.device();
    assert.equal(grant.verification_uri, on.at(CONFIRM));
    assert.match(grant.user_code, /^[B-DF-HJ-NP-TV-Z]{4}-[B-DF-HJ-NP-TV-Z]{4}$/);
    assert.ok(grant.verification_uri_complete.includes(grant.user_code));
  });

  it('may be polled twice for one code, as the public command line does', async () => {
    await on.person('Cy Taper');
    const client = await Client.register(on.server, 'Pairs');
    const [waiting, approved] = [await client.device(), await client.device()];
    const pair = (grant) => Promise.all(['ap', 'us'].map((region) => client.poll(grant, region)));
    const words = (answers) => answers.map((one) => one.json.error ?? 'token').sort();
    assert.deepEqual(words(await pair(waiting)), ['authorization_pending', 'authorization_pending']);
    await on.visit({}, async (visitor) => {
      await visitor.open(approved.verification_uri_complete);
      await visitor.signIn('Cy Taper', PASSWORD);
      await visitor.press('Approve');
    });
    // One poller gets the token; the other gets no error that would make it give up.
    assert.deepEqual(words(await pair(approved)), ['authorization_pending', 'token']);
  });
});

describe('a person', () => {
  it('may try again after a typing error', async () => {
    await on.person('Di Flame');
    const client = await Client.register(on.server, 'Second chance');
    const grant = await client.device();
    await on.visit({}, async (visitor) => {
      await visitor.open(grant.verification_uri_complete);
      await visitor.signIn('Di Flame', PASSWORD.slice(0, -1));
      assert.equal(await visitor.signIn('Di Flame', PASSWORD), 200);
      assert.equal(await visitor.press('Approve'), 200);
    });
    const token = await client.poll(grant);
    assert.equal(token.status, 200, token.text);
  });

  it('enters the password once, but confirms every decision', async () => {
    await on.person('Ed Ember');
    const client = await Client.register(on.server, 'Twice');
    const [first, second] = [await client.device(), await client.device()];
    await on.visit({}, async (visitor) => {
      await visitor.open(first.verification_uri_complete);
      await visitor.signIn('Ed Ember', PASSWORD);
      await visitor.press('Approve');
      await visitor.open(second.verification_uri_complete);
      await visitor.shows(new RegExp(second.user_code));
      assert.equal((await client.poll(second)).json.error, 'authorization_pending');
      assert.equal(await visitor.press('Deny'), 200);
    });
    assert.equal((await client.poll(second, 'us')).json.error, 'access_denied');
  });

  it('decides once: neither the address nor the back button reopens the form', async () => {
    await on.person('Fay Glow');
    const client = await Client.register(on.server, 'Once');
    const grant = await client.device();
    await on.visit({}, async (visitor) => {
      await visitor.open(grant.verification_uri_complete);
      await visitor.signIn('Fay Glow', PASSWORD);
      await visitor.press('Deny');
      await visitor.page.goBack();
      assert.equal(await visitor.page.getByRole('button', { name: 'Approve' }).count(), 0);
      assert.equal(await visitor.open(grant.verification_uri_complete), 404);
      assert.equal(await visitor.page.getByRole('button', { name: 'Approve' }).count(), 0);
    });
    assert.equal((await client.poll(grant)).json.error, 'access_denied');
  });

  it('may change to another account', async () => {
    await on.person('Ida Sconce');
    await on.person('Jo Candela');
    const client = await Client.register(on.server, 'Whose?');
    const grant = await client.device();
    await on.visit({}, async (visitor) => {
      await visitor.open(grant.verification_uri_complete);
      await visitor.signIn('Ida Sconce', PASSWORD);
      await visitor.shows(/Ida Sconce/);
      await visitor.press('Use another account');
      await visitor.signIn('Jo Candela', PASSWORD);
      await visitor.shows(/Jo Candela/);
      await visitor.press('Approve');
    });
    const { access_token: token } = (await client.poll(grant)).json;
    const quota = await on.server.ask('GET', '/v1/quota', { headers: { authorization: `Bearer ${token}` } });
    assert.equal(quota.json.data.account, 'Jo Candela');
  });
});
