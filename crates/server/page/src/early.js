// Runs before the first paint, so it is a separate file and not a module: the dark scheme must not
// start with a white flash, and the content security policy allows no inline script. It also
// requests the first candles, so that they arrive while the rest of the script is being parsed.

import { addressOf, pathHere } from './base.js';
import { exchange } from './exchange.js';
import { besideOf } from './link.js';
import { remembered } from './memory.js';
import { candlesPath, firstPoint, keepingQuota } from './question.js';
import { visitOf } from './visit.js';
import { WORLD, worldHeaders } from './world.js';

const root = document.documentElement;

// Sent before local storage is read: the first read takes longer than sending a request.
if (pathHere() === '/') {
  globalThis.chandlerEarly = [];
  const { view, chosen } = visitOf(location.search);
  if (view.symbol) {
    request(view, keepingQuota(chosen === view.symbol));
    if (view.beside) prepare(besideOf(view.beside));
  }
}

function request(view, quota) {
  const path = candlesPath(view, { ...firstPoint(view), ...quota });
  const answer = exchange(fetch(addressOf(path), { headers: { accept: 'application/json', ...worldHeaders(path) }, credentials: 'same-origin' }));
  // The page handles the error; without this an unreachable server would cause an unhandled
  // rejection.
  answer.catch(() => {});
  globalThis.chandlerEarly.push({ path, answer });
}

/** Charts side by side: their grid, their script and their candles. */
function prepare(views) {
  Object.assign(root.dataset, { charts: views.length, focus: views.indexOf(undefined) });
  const script = document.createElement('link');
  Object.assign(script, { rel: 'modulepreload', href: addressOf('/layouts.js') });
  document.head.append(script);
  // As in layouts.js: where only one chart fits, the others are not loaded.
  if (!matchMedia('(max-width: 640px), (max-height: 480px)').matches) for (const view of views) if (view) request(view, keepingQuota(true));
}

// Set before the first paint, since pages differ in width.
root.dataset.page = pathHere();
// Reserves the space of the replay bar.
if (WORLD) root.dataset.replay = '';

// Role and limits only decide which links are shown before the server answers; remembering them
// prevents links from appearing late. Where the panel fits next to the chart, the last open panel opens
// again.
for (const name of ['theme', 'rise', 'role', 'unlimited', ...(pathHere() === '/' && matchMedia('(min-width: 1001px)').matches ? ['side'] : [])]) {
  const chosen = remembered(name);
  if (chosen) root.dataset[name] = chosen;
}
