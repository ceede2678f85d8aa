// Requests to the server, all same-origin. The session cookie authenticates them.

import { addressOf } from './base.js';
import { exchange } from './exchange.js';
import { GONE, NO_WORLD, worldHeaders } from './world.js';

/** An error response, with everything that can be shown to the user. */
export class Refused extends Error {
  constructor({ status, code, message, headers }) {
    super(message);
    this.name = 'Refused';
    this.status = status;
    this.code = code;
    this.retryAfter = Number(headers?.get('retry-after')) || undefined;
    this.quota = headers ? quotaOf(headers) : undefined;
  }
}

/**
 * Not an error of the server: these candles would be charged but the user has not chosen the
 * security, so the server answered with their cost.
 */
export class WouldCharge extends Refused {
  constructor({ fits, used, limit, resets }) {
    super({ status: 200, message: 'it would be charged to the quota' });
    this.fits = fits;
    this.quota = { used, limit, reset: resets };
  }
}

/** The status of a request without a response. It can be retried, unlike a refusal. */
export const UNREACHABLE = 0;

const NOT_AUTHORISED = 403008;

export async function ask(path, options = {}) {
  if ((options.method ?? 'GET') === 'GET') return send(path, options);
  return withCsrf((csrfToken) => send(path, { ...options, csrfToken }));
}

/** Sends a change with the CSRF token of the session. */
export async function withCsrf(change) {
  const before = await me();
  try {
    return await change(before.csrf);
  } catch (error) {
    if (error.status !== 403 || error.code !== NOT_AUTHORISED) throw error;
    // After a new sign-in in another tab the CSRF token differs. If the token is the same, the
    // account lacks the right.
    known = undefined;
    const now = await me();
    if (now.csrf === before.csrf) throw error;
    if (now.account === before.account) return change(now.csrf);
    // The page shows the data of another account.
    location.reload();
    throw error;
  }
}

/** Requests a document without an envelope. */
export const askDocument = async (path) => (await send(path, { isDocument: true })).data;

async function send(path, { method = 'GET', body, signal, csrfToken, isDocument = false }) {
  const headers = { accept: 'application/json', ...worldHeaders(path) };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (csrfToken !== undefined) headers['x-csrf'] = csrfToken;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const sent = { method, headers, body: text, signal, credentials: 'same-origin' };
  const pending = takeEarly(path) ?? exchange(fetch(addressOf(path), sent));
  const { response, envelope } = await pending.catch((error) => {
    if (error.name === 'AbortError') throw error;
    throw new Refused({ status: UNREACHABLE, message: 'the server does not answer' });
  });
  if (response.ok && isDocument && envelope) return { data: envelope };
  if (!response.ok || envelope?.code !== 0) {
    const { code, message = `status ${response.status}` } = envelope ?? {};
    if (code === NO_WORLD) globalThis.dispatchEvent?.(new Event(GONE));
    throw new Refused({ status: response.status, code, message, headers: response.headers });
  }
  return { data: envelope.data, quota: quotaOf(response.headers) };
}

/** Returns a response that early.js requested, once; a second call sends a new request. */
function takeEarly(path) {
  const early = globalThis.chandlerEarly ?? [];
  const at = early.findIndex((one) => one.path === path);
  return at < 0 ? undefined : early.splice(at, 1)[0].answer;
}

let known;

/** The signed-in account. Requested once per page; a failure is not cached. */
export function me() {
  known ??= ask('/v1/me').then(
    (answer) => answer.data,
    (error) => {
      known = undefined;
      throw error;
    },
  );
  return known;
}

function quotaOf(headers) {
  const [used, limit, reset] = ['x-quota-used', 'x-quota-limit', 'x-quota-reset'].map((name) => headers.get(name));
  return used === null || limit === null ? undefined : { used: Number(used), limit: Number(limit), reset };
}
