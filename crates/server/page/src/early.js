// Runs before the first paint, so it is a separate file and not a module: the dark scheme must not
// start with a white flash, and the content security policy allows no inline script. It also
// requests the first candles, so that they arrive while the rest of the script is being parsed.

import { addressOf, pathHere } from './base.js';
import { exchange } from './exchange.js';
import { remembered } from './memory.js';
import { candlesPath, firstPoint, keepingQuota } from './question.js';
import { visitOf } from './visit.js';
import { WORLD, worldHeaders } from './world.js';

// Sent before local storage is read: the first read takes longer than sending a request.
if (pathHere() === '/') {
  const { view, chosen } = visitOf(location.search);
  if (view.symbol) {
    const path = candlesPath(view, { ...firstPoint(view), ...keepingQuota(chosen === view.symbol) });
    const answer = exchange(fetch(addressOf(path), { headers: { accept: 'application/json', ...worldHeaders(path) }, credentials: 'same-origin' }));
    // The page handles the error; without this an unreachable server would cause an unhandled
    // rejection.
    answer.catch(() => {});
    globalThis.chandlerEarly = { path, answer };
  }
}

// Set before the first paint, since pages differ in width.
document.documentElement.dataset.page = pathHere();
// Reserves the space of the replay bar.
if (WORLD) document.documentElement.dataset.replay = '';

// Role and limits only decide which links are shown before the server answers; remembering them
// prevents links from appearing late. Where the panel fits next to the chart, the last open panel opens
// again.
for (const name of ['theme', 'rise', 'role', 'unlimited', ...(pathHere() === '/' && matchMedia('(min-width: 1001px)').matches ? ['side'] : [])]) {
  const chosen = remembered(name);
  if (chosen) document.documentElement.dataset[name] = chosen;
}
