// An OAuth client: it registers, shows an address, listens for the redirect, and requests its
// token.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

import { within } from './harness.js';

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

/** A registered client. */
export class Client {
  static async register(server, name, redirects = []) {
    const answer = await server.ask('POST', '/oauth2/register', {
      json: { client_name: name, redirect_uris: redirects, token_endpoint_auth_method: 'none' },
    });
    assert.ok(answer.status >= 200 && answer.status < 300, `${answer.status}: ${answer.text}`);
    return Object.assign(new Client(), { server, name, id: answer.json.client_id });
  }

  /** Starts the device flow: codes and addresses for a person. */
  async device() {
    const answer = await this.server.ask('POST', '/oauth2/device/authorize', { form: { client_id: this.id } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  async token(form, headers = {}) {
    return this.server.ask('POST', '/oauth2/token', { form: { client_id: this.id, ...form }, headers });
  }

  /** Polls whether the person has decided, as the poller of a region. */
  async poll(grant, region = 'ap') {
    return this.token({ grant_type: DEVICE, device_code: grant.device_code }, { 'x-dc-region': region });
  }

  /** Starts the code flow: the authorization URL, and the values to remember. */
  begin(listener, { pkce = false, ...more } = {}) {
    const state = randomBytes(16).toString('base64url');
    const verifier = pkce ? randomBytes(32).toString('base64url') : undefined;
    const url = new URL('/oauth2/authorize', this.server.url);
    const words = { response_type: 'code', client_id: this.id, state, redirect_uri: listener.url, ...more };
    if (verifier) {
      words.code_challenge = createHash('sha256').update(verifier).digest('base64url');
      words.code_challenge_method = 'S256';
    }
    for (const [name, value] of Object.entries(words)) url.searchParams.set(name, value);
    return { url: url.href, state, verifier };
  }

  /** The second half of the code flow. */
  async exchange(listener, code, verifier) {
    const form = { grant_type: 'authorization_code', code, redirect_uri: listener.url };
    return this.token(verifier ? { ...form, code_verifier: verifier } : form);
  }
}

/**
 * The redirect target of the code flow, as in the SDK: a local port, under the name `localhost`.
 */
export class Listener {
  static async open() {
    const listener = new Listener();
    const arrived = new Promise((resolve) => (listener.resolve = resolve));
    listener.arrived = arrived;
    listener.http = createServer((request, response) => {
      const url = new URL(request.url, listener.url);
      const isBack = url.pathname === '/callback';
      response.writeHead(isBack ? 200 : 204, { 'content-type': 'text/html' });
      response.end(isBack ? '<!doctype html><title>Back</title><h1>Back at the client</h1>' : '');
      if (isBack) listener.resolve({ ...Object.fromEntries(url.searchParams), from: request.headers.referer });
    });
    await new Promise((resolve) => listener.http.listen(0, '127.0.0.1', resolve));
    listener.host = `localhost:${listener.http.address().port}`;
    listener.url = `http://${listener.host}/callback`;
    return listener;
  }

  /** The parameters of the redirect. */
  async answer() {
    return within(this.arrived, 'the way back to the client');
  }

  close() {
    this.http.close();
    this.http.closeAllConnections();
  }
}
