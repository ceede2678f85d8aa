// The advice for a refused request. One place, so that all pages show the same.

import { UNREACHABLE, WouldCharge } from './api.js';
import { addressOf } from './base.js';
import { phrase } from './phrases/shared.js';
import { NO_WORLD } from './world.js';

const QUOTA_SPENT = 301607;
const NO_CANDLES = 301603;
const NO_RIGHT = 301604;
const BAD_QUESTION = 301600;

/**
 * `links` are further pages, `command` is for the operator's terminal, `retry` offers the button
 * (with the text `label`), `wait` counts down in seconds and then retries automatically. `costs`
 * means that the button uses quota, `isLimit` that an operator can lift the limit of the account
 * that caused the refusal, `isMissing` that nothing is stored of `symbol`. `here` is the
 * address to return to after signing in.
 */
export function adviceFor(refused, { symbol, here = addressOf('/') } = {}) {
  const { status, code, message } = refused;
  const advice = (title, text, more = {}) => ({ title, text, links: [], ...more });
  const link = (path, label) => ({ links: [{ href: addressOf(path), label: phrase(label) }] });
  if (status === UNREACHABLE) return advice(phrase('gone'), phrase('gone_text'), { retry: true });
  if (status === 401)
    return advice(phrase('visitor'), phrase('visitor_text'), link(`/signin?next=${encodeURIComponent(here)}`, 'sign_in'));
  if (refused instanceof WouldCharge && refused.fits) return costs(refused.quota, symbol);
  if (code === QUOTA_SPENT || refused instanceof WouldCharge) return advice(phrase('spent'), spent(refused), { ...link('/quota', 'spent_link'), isLimit: true });
  if (status === 429) return advice(phrase('fast'), phrase('fast_text'), { wait: refused.retryAfter ?? 5, isLimit: true });
  if (code === NO_RIGHT)
    return advice(phrase('no_right'), phrase('no_right_text', sentence(message)), link('/quota', 'no_right_link'));
  if (code === NO_CANDLES) return advice(phrase('none', symbol), phrase('none_text'), importing(symbol));
  if (code === BAD_QUESTION && /not known/.test(message))
    return advice(phrase('unknown', symbol), phrase('unknown_text'), importing(symbol));
  if (code === BAD_QUESTION && /begin date/.test(message))
    return advice(phrase('floor'), phrase('floor_text'), { isLimit: true });
  if (status === 403 && /operator/.test(message)) return advice(phrase('operators'), phrase('operators_text'));
  if (code === NO_WORLD) return advice(phrase('world_gone'), phrase('world_gone_text'), { links: [{ href: outside(here), label: phrase('world_leave') }] });
  if (status === 404) return advice(phrase('not_found'), phrase('not_found_text'));
  if (status >= 500) return advice(phrase('broken'), sentence(message), { retry: true });
  return advice(phrase('no_answer'), sentence(message));
}

/** The same page outside of the world. */
function outside(here) {
  const [path, query] = here.split('?');
  const rest = new URLSearchParams(query);
  rest.delete('world');
  return rest.size > 0 ? `${path}?${rest}` : path;
}

function spent({ quota, message }) {
  return quota ? phrase('spent_text', quota.used, quota.limit, quota.reset) : sentence(message);
}

/** The page chose this security itself; whether to spend quota on it is the user's decision. */
const costs = ({ used, limit }, symbol) => ({
  title: phrase('costs', symbol),
  text: phrase('costs_text', used, limit),
  links: [],
  retry: true,
  label: phrase('show', symbol),
  costs: true,
});

const importing = (symbol) => ({
  command: `chandler import candles.csv --symbol ${symbol}`,
  isMissing: true,
  takesFiles: true,
  symbol,
});

function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
