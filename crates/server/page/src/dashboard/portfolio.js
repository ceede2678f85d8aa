// The paper account: assets, equity by day, positions, orders with their reasons, cash movements,
// statements, and a ticket for new orders. Start here; each part has a file in `portfolio/`.

import { ask } from '../api.js';
import { badgeOf, lastPrice } from '../badge.js';
import { el } from '../dom.js';
import { listen } from '../keys.js';
import { symbolOf } from '../link.js';
import { Live } from '../live.js';
import { marketOf } from '../market.js';
import { remember, remembered } from '../memory.js';
import { phrase } from '../phrases/portfolio.js';
import { assetsSheet } from '../portfolio/assets.js';
import { changeOrder, confirmCancel } from '../portfolio/dialogs.js';
import { equitySheet } from '../portfolio/equity.js';
import { flowsSheet } from '../portfolio/flows.js';
import { gridsSheet } from '../portfolio/grids.js';
import { showHistory } from '../portfolio/history.js';
import { profitSheet, tradesSheet } from '../portfolio/performance.js';
import { openOrdersSheet, pastOrdersSheet } from '../portfolio/orders.js';
import { positionsSheet } from '../portfolio/positions.js';
import { AccountState } from '../portfolio/state.js';
import { statementsSheet } from '../portfolio/statements.js';
import { renewalButtons } from '../portfolio/renewal.js';
import { pageStream } from '../page-stream.js';
import { SearchTicket } from '../portfolio/search-ticket.js';
import { statusWords } from '../portfolio/words.js';
import { hongKongInstant } from './table.js';

const BADGE_MS = 1000;
const BENCHMARK = 'benchmark';
/** The page shows the times of Hong Kong. */
const OFFSET = 480;

export const portfolio = { title: phrase('portfolio'), fill };

async function fill(who) {
  const state = new AccountState(ask);
  state.benchmark = symbolOf(remembered(BENCHMARK) ?? '');
  await state.refresh();
  const fresh = el('p', { class: 'lead fresh', 'aria-live': 'polite' });
  const badge = el('span', { id: 'live', class: 'badge' });
  const said = el('p', { class: 'said', role: 'status' });
  const ticket = new SearchTicket(placed);
  const done = async (words) => {
    said.textContent = words;
    await live.now();
  };
  const on = {
    why: showHistory,
    change: (order) => changeOrder(order, done),
    cancel: (order) => confirmCancel(order, done),
  };
  const more = (load) => async () => {
    try {
      await load();
      show();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      showLost(fresh, error);
    }
  };
  const compare = (symbol) => {
    remember(BENCHMARK, symbol);
    return more(() => state.compareWith(symbol))();
  };
  const sheets = [
    assetsSheet(renewalButtons(who, state, done)),
    profitSheet(),
    equitySheet(compare),
    positionsSheet((symbol, side) => ticket.begin(symbol, side)),
    openOrdersSheet(on),
    pastOrdersSheet(on, more(() => state.moreOrders())),
    gridsSheet(),
    tradesSheet(),
    flowsSheet(more(() => state.moreFlows())),
    statementsSheet(),
  ];
  const show = () => {
    for (const sheet of [...sheets, ticket]) sheet.show(state);
    // The clock is not a live region: it would be announced every few seconds.
    Object.assign(fresh, { ariaLive: 'off', textContent: phrase('as_of', hongKongInstant(state.now.at).textContent) });
    fresh.dataset.state = 'fresh';
  };
  const stream = pageStream();
  const live = new Live(async () => {
    await state.refresh();
    stream.want('positions', state.now.positions.map(({ symbol }) => symbol));
    show();
  }, { onLost: (error) => showLost(fresh, error) });

  /** The outcome of a new order; its state is known after the account has been refreshed. */
  async function placed(id) {
    await live.now();
    const order = state.known.get(id);
    return phrase('placed', id, [statusWords(order?.status ?? 'NewStatus'), order?.msg].filter(Boolean).join(' '));
  }

  const times = new Map();
  const showBadge = () => {
    const held = state.now.positions.map(({ symbol }) => [symbol, times.get(symbol)]);
    const { kind, text } = badgeOf({ state: stream.state, clock: stream.clock, last: lastPrice(held, stream.markets, marketOf), offset: OFFSET });
    if (badge.textContent !== text) badge.textContent = text;
    badge.dataset.kind = kind;
  };
  stream.listen({
    // The server values the positions, so that the page shows the same figures as the API.
    quote: ({ symbol, timestamp }) => {
      times.set(symbol, timestamp);
      live.soon();
    },
    account: ({ changed }) => changed.includes('trading') && live.soon(),
    // Also the first event of every connection: there may have been changes without one.
    clock: () => {
      showBadge();
      live.soon();
    },
    market: showBadge,
    state: (is) => {
      showBadge();
      live.pushed(is === 'open');
    },
  });
  setInterval(showBadge, BADGE_MS);
  stream.want('positions', state.now.positions.map(({ symbol }) => symbol));
  stream.follow();
  show();
  live.start();
  listen({
    n: () => ticket.focus(),
  });
  const params = new URLSearchParams(location.search);
  const symbol = symbolOf(params.get('symbol') ?? '');
  if (symbol) {
    ticket.begin(symbol, params.get('side') === 'Sell' ? 'Sell' : 'Buy');
    // An element cannot be focused before it is in the page.
    requestAnimationFrame(() => ticket.quantity.focus());
  }
  const [assets, ...books] = sheets.map(({ box }) => box);
  // On a phone the ticket comes after the positions, and this button leads to it.
  const toTicket = el('button', { type: 'button', class: 'to-ticket', onclick: () => ticket.focus() }, phrase('ticket'));
  return [
    el('div', { class: 'fresh-line' }, fresh, badge),
    toTicket,
    el('div', { class: 'portfolio' }, ticket.box, el('div', { class: 'books' }, assets, said, books)),
  ];
}

/** The numbers stay, with a note that they are not current. */
function showLost(fresh, error) {
  fresh.dataset.state = 'lost';
  Object.assign(fresh, { ariaLive: 'polite', textContent: error.status === 401 ? phrase('signed_out') : phrase('lost', error.message) });
}
