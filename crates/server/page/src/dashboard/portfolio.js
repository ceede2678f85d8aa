// The paper account: assets, equity by day, positions, orders with their reasons, cash movements,
// statements, and a ticket for new orders. Start here; each part has a file in `portfolio/`.

import { ask } from '../api.js';
import { el } from '../dom.js';
import { listen } from '../keys.js';
import { symbolOf } from '../link.js';
import { Live } from '../live.js';
import { phrase } from '../phrases/portfolio.js';
import { assetsSheet } from '../portfolio/assets.js';
import { changeOrder, confirmCancel, showHistory } from '../portfolio/dialogs.js';
import { equitySheet } from '../portfolio/equity.js';
import { flowsSheet } from '../portfolio/flows.js';
import { openOrdersSheet, pastOrdersSheet } from '../portfolio/orders.js';
import { positionsSheet } from '../portfolio/positions.js';
import { AccountState } from '../portfolio/state.js';
import { statementsSheet } from '../portfolio/statements.js';
import { pageStream } from '../page-stream.js';
import { Ticket } from '../portfolio/ticket.js';
import { statusWords } from '../portfolio/words.js';
import { hongKongInstant } from './table.js';

/** While prices are pushed, only changes by other clients are polled for. */
const FOLLOWED_EVERY_MS = 10_000;
/** Pushes of one instant are followed by one request. */
const PUSH_PAUSE_MS = 500;

export const portfolio = { title: phrase('portfolio'), fill };

async function fill() {
  const state = new AccountState(ask);
  await state.refresh();
  const fresh = el('p', { class: 'lead fresh', 'aria-live': 'polite' });
  const said = el('p', { class: 'said', role: 'status' });
  const ticket = new Ticket(placed);
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
  const sheets = [
    assetsSheet(),
    equitySheet(),
    positionsSheet((symbol, side) => ticket.begin(symbol, side)),
    openOrdersSheet(on),
    pastOrdersSheet(on, more(() => state.moreOrders())),
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

  let pushed;
  stream.listen({
    // The server values the positions, so that the page shows the same figures as the API.
    quote: () => {
      pushed ??= setTimeout(() => {
        pushed = undefined;
        live.now();
      }, PUSH_PAUSE_MS);
    },
    state: (is) => live.paced(is === 'open' && stream.symbols.length > 0 ? FOLLOWED_EVERY_MS : undefined),
  });
  stream.want('positions', state.now.positions.map(({ symbol }) => symbol));
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
  return [fresh, el('div', { class: 'portfolio' }, ticket.box, el('div', { class: 'books' }, assets, said, books))];
}

/** The numbers stay, with a note that they are not current. */
function showLost(fresh, error) {
  fresh.dataset.state = 'lost';
  Object.assign(fresh, { ariaLive: 'polite', textContent: error.status === 401 ? phrase('signed_out') : phrase('lost', error.message) });
}
