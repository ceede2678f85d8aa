// Request bodies of the operator's forms, and number formats of the operator's pages. No DOM
// access.

import { ACCOUNT_LIMITS, MARKETS } from '../../served-accounts.js';

/** The terms of an account without limits. */
export const UNLIMITED = {
  quota: String(ACCOUNT_LIMITS.quota),
  rate: 'unlimited',
  connections: String(ACCOUNT_LIMITS.connections),
  subscriptions: String(ACCOUNT_LIMITS.subscriptions),
  floors: 'none',
};

/** Whether further securities are refused to an account this month. */
export const isSpent = ({ used, limit, revoked_at: revokedAt }) => !revokedAt && used >= limit;

/**
 * How an account is named in a path: browsers remove the segments `.` and `..`, so such a name
 * needs its number.
 */
export const referenceOf = ({ account, account_id: id }) => (/^\.{1,2}$/.test(account) ? String(id) : account);

export const accountPath = (reference, rest = '') => `/v1/admin/accounts/${encodeURIComponent(reference)}${rest}`;

/** The terms of an account as form fields. */
export const fieldsOf = ({ level, quota, rate, connections, subscriptions, floors, read_only: readOnly, api_date: apiDate }) => ({
  level: level === null ? '' : String(level),
  quota: quota === null ? '' : String(quota),
  rate,
  connections: String(connections),
  subscriptions: String(subscriptions),
  floors: floors ?? '',
  read_only: readOnly,
  api_date: apiDate ?? '',
});

const number = (text) => (text === '' ? null : Number(text));
const words = (text) => (text === '' ? null : text);
// These have no default: every account has an explicit number.
const EXPLICIT = { connections: Number, subscriptions: Number };
const READ = { level: number, quota: number, rate: words, ...EXPLICIT, floors: words, read_only: Boolean, api_date: words };

/** The changed fields, as sent. An emptied field returns to the default. */
export function termsChange(before, after) {
  const change = {};
  for (const [name, read] of Object.entries(READ)) {
    const value = typeof after[name] === 'string' ? after[name].trim() : after[name];
    if (value === before[name] || (name in EXPLICIT && value === '')) continue;
    change[name] = read(value);
  }
  return change;
}

/** The change that undoes another. */
export const undoOf = (terms, change) => Object.fromEntries(Object.keys(change).map((name) => [name, terms[name]]));

/** The default terms of a new account, as fields. */
const USUAL = { level: '', quota: '', rate: '', connections: '', subscriptions: '', floors: '', read_only: false, api_date: '' };

/** `packages` are the ticked ones; the markets are granted by default and not sent. */
export function newAccount({ name, role, region, packages, ...terms }) {
  const change = termsChange(USUAL, { ...USUAL, ...terms });
  const isUsual = packages.length === MARKETS.length && MARKETS.every((market) => packages.includes(market));
  return {
    name: name.trim(),
    ...(role !== 'user' && { role }),
    ...(region !== 'ap' && { region }),
    ...(!isUsual && { packages }),
    ...(Object.keys(change).length > 0 && { terms: change }),
  };
}

/**
 * Shell export lines, with the names and values that `chandler account create` prints. `url` is the
 * address of the server.
 */
export function exportsOf(url, { app_key: key, app_secret: secret, access_token: token }) {
  const socket = `${url.replace(/^http/, 'ws')}/v2`;
  const values = {
    APP_KEY: key, APP_SECRET: secret, ACCESS_TOKEN: token, HTTP_URL: url, QUOTE_WS_URL: socket, TRADE_WS_URL: socket, QUOTE_URL: socket, TRADE_URL: socket,
  };
  const lines = (prefix) => Object.entries(values).map(([name, value]) => `export ${prefix}_${name}='${value}'`);
  return [...lines('LONGBRIDGE'), ...lines('LONGPORT'), `export NO_PROXY='${new URL(url).hostname}'`].join('\n');
}

/** The query of the audit log: the filled-in filters, and the row to continue before. */
export function auditQuery(search, limit) {
  const given = new URLSearchParams(search);
  const filters = ['account', 'event', 'since', 'before'].map((name) => [name, (given.get(name) ?? '').trim()]);
  return new URLSearchParams([...filters.filter(([, value]) => value !== ''), ['limit', String(limit)]]);
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1.5 GiB`; a dash for an unknown size. */
export function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return '–';
  let [size, step] = [bytes, 0];
  while (size >= 1024 && step < SIZES.length - 1) [size, step] = [size / 1024, step + 1];
  return `${step === 0 ? size : size.toFixed(size >= 100 ? 0 : 1)} ${SIZES[step]}`;
}

/** The two largest units of a duration, as `[[3, 'd'], [4, 'h']]`. */
export function spanOf(seconds) {
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ];
  let left = Math.max(Math.floor(seconds), 0);
  const parts = [];
  for (const [unit, size] of units) {
    const many = Math.floor(left / size);
    left -= many * size;
    if (many > 0 || (unit === 's' && parts.length === 0)) parts.push([many, unit]);
  }
  return parts.slice(0, 2);
}

/** A part of a whole in percent, with one decimal; a dash if the whole is zero. */
export const shareText = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '–');
