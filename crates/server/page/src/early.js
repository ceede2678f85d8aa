// Runs before the first paint, which is why it is a file of its own and no module: whoever chose dark must not see a white
// flash first, and the content policy allows no script inside the page. It also asks for the first candles, so that they are
// on their way while the rest of the script is still being read.

import { addressOf, pathHere } from './base.js';
import { exchange } from './exchange.js';
import { parseLink } from './link.js';
import { remembered } from './memory.js';
import { candlesPath, firstPoint } from './question.js';

// Asked before anything is remembered: the first look into the browser's memory takes longer than sending a question.
if (pathHere() === '/') {
  const { view, lost } = parseLink(location.search);
  // Whoever asks for something that is not understood has not asked for what was looked at last, which may cost them.
  if (!lost) view.symbol ??= remembered('symbol');
  if (view.symbol) {
    const path = candlesPath(view, firstPoint(view));
    const answer = exchange(fetch(addressOf(path), { headers: { accept: 'application/json' }, credentials: 'same-origin' }));
    // Told by whoever takes it; without this a server that is away would be an exception that nobody has caught yet.
    answer.catch(() => {});
    globalThis.chandlerEarly = { path, answer };
  }
}

// The role only decides which links are there before the server has been asked; remembering it keeps them from appearing late.
for (const name of ['theme', 'rise', 'role']) {
  const chosen = remembered(name);
  if (chosen) document.documentElement.dataset[name] = chosen;
}
