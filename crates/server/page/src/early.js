// Runs before the first paint, so it is a file of its own and not a module: the dark scheme must not begin with a white flash, and the
// content policy allows no inline script. It also asks for the first candles, so that they arrive while the rest of the script is
// being read.

import { addressOf, pathHere } from './base.js';
import { exchange } from './exchange.js';
import { remembered } from './memory.js';
import { candlesPath, firstPoint, keepingQuota } from './question.js';
import { visitOf } from './visit.js';

// Sent before local storage is read: the first read takes longer than sending a request.
if (pathHere() === '/') {
  const { view, asked } = visitOf(location.search);
  if (view.symbol) {
    const path = candlesPath(view, { ...firstPoint(view), ...keepingQuota(asked === view.symbol) });
    const answer = exchange(fetch(addressOf(path), { headers: { accept: 'application/json' }, credentials: 'same-origin' }));
    // The page handles the error; without this an unreachable server would be an uncaught exception.
    answer.catch(() => {});
    globalThis.chandlerEarly = { path, answer };
  }
}

// Before anything is painted, since pages differ in their width.
document.documentElement.dataset.page = pathHere();

// The role only decides which links are there before the server has been asked; remembering it keeps them from appearing late.
// Where there is room for it beside the chart, the panel that was open is open again.
for (const name of ['theme', 'rise', 'role', ...(pathHere() === '/' && matchMedia('(min-width: 1001px)').matches ? ['side'] : [])]) {
  const chosen = remembered(name);
  if (chosen) document.documentElement.dataset[name] = chosen;
}
