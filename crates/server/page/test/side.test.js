import assert from 'node:assert/strict';
import test from 'node:test';

import { Refused } from '../src/api.js';
import { Beside } from '../src/beside.js';
import { candleOf } from '../src/candles.js';
import { periodNamed } from '../src/periods.js';
import { distributionOf, endOf, flowPlaces, minutesOf, offsetFrom, wallText } from '../src/side/capital.js';
import { FIGURE_PHRASES, figureRows, isAnyKnown } from '../src/side/figures.js';
import { FiguresPanel } from '../src/side/figures-panel.js';
import { FlowPanel } from '../src/side/flow-panel.js';
import { previewWords } from '../src/side/grid-form.js';
import { statusWords } from '../src/side/grid-panel.js';
import { Grids, stepWords, triggerWords } from '../src/side/grids.js';
import { changedRule, dotsOf, fieldsOf, levelsOf, placeTriggers, ruleOf, startOf } from '../src/side/levels.js';
import { PORTION, Watchlists, moved, ordered } from '../src/side/watchlists.js';
import { readOut } from '../src/readout.js';
import { Trades } from '../src/trades.js';

const stamp = (time) => Date.parse(time) / 1000;
const candle = (time) =>
  candleOf({ timestamp: stamp(time), time, trade_session: 0, open: '1', high: '1', low: '1', close: '1', volume: 1, turnover: '1' });

// Grids.

/** As in a response of `GET /v1/gridtrading/list`. */
const grid = (more = {}) => ({
  order_id: '5', symbol: '700.HK', status: 'Performing', submitted_base_price: '300', current_base_price: '306', upper_limit_price: '360',
  lower_limit_price: '240', trigger_price_type: 2, trigger_spread_up: '', trigger_spread_down: '', trigger_percent_up: '2', trigger_percent_down: '2',
  trigger_quantity: '100', upper_limit_quantity: '500', lower_limit_quantity: '100', upper_limit_event: 1, lower_limit_event: 1, multiple_trigger: false,
  time_in_force: 1, rth: 0, grid_order_type_up: 'GMO', grid_order_type_down: 'GMO', created_at: '1787000000', total_profit_balance: '0', ...more,
});
const TICKS = [{ str_proceed: '100', end_proceed: '200', bid_size: '0.100' }, { str_proceed: '200', end_proceed: '500', bid_size: '0.200' }];

test('levels of a grid: from its base, rounded away from it to the step of prices, none beyond a bound', () => {
  assert.deepEqual(levelsOf(grid(), TICKS), { base: '306', sell: '312.2', buy: '299.8' });
  assert.deepEqual(levelsOf(grid()), { base: '306', sell: '312.12', buy: '299.88' });
  const spread = { trigger_price_type: 1, trigger_spread_up: '5', trigger_spread_down: '2.5', trigger_percent_up: '', trigger_percent_down: '' };
  assert.deepEqual(levelsOf(grid(spread), TICKS), { base: '306', sell: '311', buy: '303.4' });
  assert.deepEqual(levelsOf(grid({ upper_limit_price: '312', lower_limit_price: '299.8' }), TICKS), { base: '306', sell: undefined, buy: '299.8' });
  // A grid that has not triggered yet may have no base.
  assert.equal(levelsOf(grid({ current_base_price: '' })).base, '300');
  // A price at the end of a range has the step of that range.
  assert.equal(levelsOf(grid({ ...spread, current_base_price: '201', trigger_spread_down: '1', lower_limit_price: '1' }), TICKS).buy, '200');
});

test('triggers are at the minute that caused them, in every period, or nowhere', () => {
  const minutes = ['2026-03-18T10:00:00+08:00', '2026-03-18T10:01:00+08:00', '2026-03-18T13:00:00+08:00'].map(candle);
  // Dated by the end of their minute.
  const trigger = (time, action = 2) => ({ trigger_at: String(stamp(time)), action, trigger_price: '306', quantity: '100' });
  const at = (candles, times, period) => [...placeTriggers(candles, times.map((time) => trigger(time)), periodNamed(period)).keys()];
  assert.deepEqual(at(minutes, ['2026-03-18T10:02:00+08:00'], '1m'), [1]);
  assert.deepEqual(at(minutes, ['2026-03-18T10:00:00+08:00', '2026-03-18T10:03:00+08:00', '2026-03-18T13:02:00+08:00'], '1m'), []);
  assert.deepEqual(at(minutes.slice(0, 1), ['2026-03-18T10:05:00+08:00', '2026-03-18T10:06:00+08:00'], '5m'), [0]);
  const days = ['2026-03-17T00:00:00+08:00', '2026-03-18T00:00:00+08:00'].map(candle);
  assert.deepEqual(at(days, ['2026-03-18T16:00:00+08:00', '2026-03-19T10:00:00+08:00'], 'day'), [1]);
  assert.deepEqual(at([candle('2026-03-16T00:00:00+08:00')], ['2026-03-20T16:00:00+08:00', '2026-03-23T10:00:00+08:00'], 'week'), [0]);
  assert.deepEqual(at([], ['2026-03-18T10:02:00+08:00'], '1m'), []);
  const placed = placeTriggers(minutes, [trigger('2026-03-18T10:01:00+08:00', 1), trigger('2026-03-18T10:01:00+08:00')], periodNamed('1m'));
  assert.deepEqual(dotsOf(minutes, placed), [
    { wall: minutes[0].wall, side: 'Buy', price: '306' },
    { wall: minutes[0].wall, side: 'Sell', price: '306' },
  ]);
  assert.equal(triggerWords(trigger('2026-03-18T10:01:00+08:00')), 'grid sale of 100 at 306');
  const words = new Map([[0, placed.get(0).map(triggerWords)]]);
  const said = readOut(minutes, 0, { period: periodNamed('1m'), placed: new Map(), triggers: words });
  assert.equal(said.event, 'grid buy of 100 at 306 · grid sale of 100 at 306');
});

test('the form makes a rule, or says which field is wrong before anything is sent', () => {
  const info = { last_done: '305.200', lot_size: '100', bid_sizes: TICKS };
  const start = startOf(info);
  assert.deepEqual([start.base, start.lower, start.upper, start.quantity, start.most], ['305.2', '290', '320.4', '100', '1000']);
  const { rule } = ruleOf(start);
  assert.deepEqual([rule.trigger_percent_up, rule.trigger_spread_up, rule.trigger_price_type, rule.time_in_force], ['1', undefined, 2, 1]);
  assert.equal(ruleOf({ ...start, kind: 1 }).rule.trigger_spread_down, '1');
  const wrong = (fields) => ruleOf({ ...start, ...fields }).wrong;
  assert.deepEqual(
    [{ base: '' }, { up: '0.00' }, { down: '-1' }, { quantity: '1e3' }, { lower: '320.4' }, { base: '321' }, { base: '289.8' }, { most: '100' }, {}].map(wrong),
    ['base', 'up', 'down', 'quantity', 'upper', 'base', 'base', 'most', undefined],
  );
  // Crossing bounds are reported as such.
  assert.equal(ruleOf({ ...start, lower: '400' }).because, 'rule_bounds');
  // Without a price the base is empty, and nothing throws.
  assert.deepEqual([startOf({ last_done: '', lot_size: '' }).base, startOf({ last_done: '', lot_size: '' }).quantity], ['', '1']);
  // The fields of a grid make the same rule again.
  const again = ruleOf(fieldsOf(grid())).rule;
  assert.deepEqual([again.submitted_base_price, again.trigger_percent_down, again.upper_limit_quantity], ['306', '2', '500']);
});

test('a change preserves fields that the form does not show', () => {
  const own = grid({
    lower_limit_event: 2, grid_order_type_down: 'GLO', trigger_sell_depth: -1, trigger_buy_depth: 3, support_shortsell: true, time_in_force: 6, expire_time: '1794700000',
  });
  const change = (fields) => changedRule(own, ruleOf({ ...fieldsOf(own), ...fields }).rule);
  const changed = change({ up: '4' });
  assert.deepEqual(
    [changed.trigger_percent_up, changed.lower_limit_event, changed.grid_order_type_down, changed.trigger_sell_depth, changed.trigger_buy_depth, changed.support_shortsell, changed.expire_time],
    ['4', 2, 'GLO', -1, 3, true, 1794700000],
  );
  // A choice in the form applies to both sides.
  const chosen = change({ atBound: 2, orderType: 'GTG', force: 1 });
  assert.deepEqual([chosen.lower_limit_event, chosen.grid_order_type_down, chosen.expire_time], [2, 'GTG', undefined]);
});

test('the words of a grid', () => {
  assert.equal(statusWords({ status: 'Performing', sleeping_reason: '' }), 'running');
  assert.equal(statusWords({ status: 'Performing', sleeping_reason: 'funds' }), 'running · waits: there is not enough money');
  assert.equal(statusWords({ status: 'Suspended', suspend_reason: 'corporate action' }), 'suspended · after a corporate action');
  assert.equal(statusWords({ status: 'Unheard', suspend_reason: 'user' }), 'Unheard');
  assert.equal(stepWords(grid()), '+2 % / \u22122 %');
  const side = { trade_count: 7, amount: '318990.00' };
  assert.match(previewWords({ verdict: 'accepted', sales: side, purchases: side, currency: 'HKD', available_cash: '500000.00' }), /7 purchases .* HKD 318,990\.00, with 500,000\.00/);
  assert.equal(previewWords({ verdict: 'refused', reason: { words: 'bounds cross' } }), 'Would be refused: bounds cross');
});

/** A server of grids, which records its requests. */
function gridServer(...grids) {
  const requested = [];
  const answers = {
    list: () => ({ grid_order: grids, has_more: false }),
    detail: () => ({ suspend_reason: '', sleeping_reason: 'price', expire_time: '' }),
    trigger_history_list: () => ({ trigger_orders: [], has_more: false }),
    info: () => ({ bid_sizes: TICKS }),
  };
  const ask = async (path) => {
    const name = path.split('?')[0].split('/').at(-1);
    requested.push(name);
    return { data: answers[name]() };
  };
  return { ask, grids, answers, taken: () => requested.splice(0) };
}

test('the grid on the chart is the running one, until another is chosen', async () => {
  const server = gridServer(grid({ order_id: '9', status: 'Canceled' }), grid());
  let changes = 0;
  const grids = new Grids(server.ask, () => (changes += 1));
  await grids.refresh();
  assert.deepEqual(server.taken(), [], 'nothing is requested without a security');
  grids.forget('700.HK');
  await grids.refresh();
  assert.deepEqual([grids.chosen.order_id, grids.chosen.sleeping_reason, changes], ['5', 'price', 1]);
  assert.deepEqual(grids.lines.map(({ words, price }) => [words, price]), [
    ['Grid upper bound', '360'], ['Grid sells 100', '312.2'], ['Grid base', '306'], ['Grid buys 100', '299.8'], ['Grid lower bound', '240'],
  ]);
  await grids.choose('9');
  assert.deepEqual([grids.chosen.order_id, grids.lines], ['9', []], 'an ended grid has no lines');
  // A grid that ends stays visible if there is no other.
  const last = gridServer(grid());
  const one = new Grids(last.ask, () => {});
  one.forget('700.HK');
  await one.refresh();
  last.grids[0] = grid({ status: 'Canceled' });
  await one.refresh();
  assert.equal(one.chosen.status, 'Canceled');
  // A refusal leaves the known grids unchanged.
  last.answers.list = () => {
    throw new Refused({ status: 500, message: 'no' });
  };
  await one.refresh();
  assert.deepEqual([one.chosen.status, one.refusal.message], ['Canceled', 'no']);
});

test('an answer for the former security is dropped', async () => {
  let release;
  const held = new Promise((done) => (release = done));
  const server = gridServer(grid());
  const grids = new Grids(async (path) => (await held, server.ask(path)), () => assert.fail('changed'));
  grids.forget('700.HK');
  const refreshing = grids.refresh();
  grids.forget('5.HK');
  release();
  await refreshing;
  assert.equal(grids.chosen, undefined);
});

test('the panel is notified of every change to an account', () => {
  let traded = 0;
  const trades = new Trades(undefined, { onChanged: () => {}, onTraded: () => (traded += 1), onMoved: () => {} });
  const marks = (entries) => trades.take({ at: '1', entries, orders: [], fills: [] });
  marks(0);
  assert.equal(traded, 0, 'an account without trades has no changes');
  marks(3);
  marks(3);
  marks(4);
  assert.equal(traded, 2);
});

test('a chart works without the script of the panel, and requests it again', async () => {
  let isReachable = false;
  class Side {
    constructor(ask, on) {
      Object.assign(this, { ask, on });
    }

    marks = () => ({ lines: ['a line'], dots: [], words: new Map() });
  }
  const beside = new Beside('ask', 'on', async () => {
    if (!isReachable) throw new TypeError('Failed to fetch dynamically imported module');
    return { Side };
  });
  assert.equal(await beside.load(), undefined);
  assert.deepEqual(beside.marks([], undefined).lines, []);
  isReachable = true;
  const [one, two] = await Promise.all([beside.load(), beside.load()]);
  assert.ok(one === two && one.ask === 'ask' && one.on === 'on');
  assert.deepEqual(beside.marks([], undefined).lines, ['a line']);
});

// Lists.

const security = (symbol, isPinned = false) => ({ symbol, market: 'HK', name: symbol, watched_price: '', watched_at: '1', is_pinned: isPinned });
const symbols = (securities) => securities.map((one) => one.symbol);

test('pinned securities are first, and each moves within its group', () => {
  const list = [security('1.HK'), security('2.HK', true), security('3.HK')];
  assert.deepEqual(symbols(ordered(list)), ['2.HK', '1.HK', '3.HK']);
  assert.deepEqual(symbols(moved(ordered(list), '3.HK', -1)), ['2.HK', '3.HK', '1.HK']);
  const shown = ordered(list);
  for (const [symbol, step] of [['1.HK', -1], ['2.HK', -1], ['3.HK', 1], ['4.HK', 1]]) assert.equal(moved(shown, symbol, step), shown, symbol);
});

/** The watchlists of a server, and every change that it received. */
function listServer() {
  const all = { id: '1', name: 'all', securities: [security('1.HK'), security('2.HK')] };
  const state = { groups: [all, { id: '1001', name: 'mine', securities: [security('1.HK'), security('2.HK')] }], sent: [] };
  const ask = async (path, { method = 'GET', body } = {}) => {
    if (method === 'GET') return { data: structuredClone({ groups: state.groups }) };
    state.sent.push([method, path, body]);
    if (state.refuses) throw new Refused({ status: 400, message: 'no' });
    if (body?.mode === 'replace') state.groups[1].securities = body.securities.map((symbol) => security(symbol));
    return { data: { id: '1002' } };
  };
  return { state, ask };
}

test('changes of lists are sent one after the other, each based on the result of the previous', async () => {
  const { state, ask } = listServer();
  const lists = new Watchlists(ask, () => {});
  await lists.refresh();
  assert.ok(lists.watched('2.HK') && !lists.watched('3.HK'));
  // Two concurrent changes: the second starts after the first.
  await Promise.all([lists.move('1001', '2.HK', -1), lists.move('1001', '2.HK', 1)]);
  assert.deepEqual(state.sent.map(([, , body]) => body.securities), [['2.HK', '1.HK'], ['1.HK', '2.HK']]);
  state.sent.length = 0;
  await lists.move('1001', '1.HK', -1);
  assert.deepEqual(state.sent, [], 'nowhere to go, nothing to send');
  assert.equal(await lists.create('new', ['5.HK']), '1002');
  await lists.add('1001', '5.HK');
  await lists.remove('1', '5.HK');
  await lists.rename('1001', 'yours');
  await lists.pin('1.HK', true);
  await lists.drop('1001');
  const path = '/v1/watchlist/groups';
  assert.deepEqual(state.sent, [
    ['POST', path, { name: 'new', securities: ['5.HK'] }],
    ['PUT', path, { id: '1001', securities: ['5.HK'], mode: 'add' }],
    ['PUT', path, { id: '1', securities: ['5.HK'], mode: 'remove' }],
    ['PUT', path, { id: '1001', name: 'yours' }],
    ['POST', '/v1/watchlist/pinned', { mode: 'add', securities: ['1.HK'] }],
    ['DELETE', `${path}?id=1001&purge=false`, undefined],
  ]);
});

test('figures of a list are requested in portions, and a security may have none', async () => {
  const [sizes, changes] = [[], []];
  const ask = async (path) => {
    const symbols = new URL(path, 'http://x').searchParams.get('symbols').split(',');
    sizes.push(symbols.length);
    const row = (symbol) => ({ symbol, last: `${symbol.length}.5`, prev_close: null, volume: null, closes: [] });
    return { data: { rows: symbols.filter((symbol) => symbol !== '2.HK').map(row) } };
  };
  const lists = new Watchlists(ask, () => changes.push('prices'));
  const securities = Array.from({ length: PORTION + 1 }, (_, at) => ({ symbol: `${at + 1}.HK` }));
  await lists.quote({ securities });
  assert.deepEqual(sizes, [PORTION, 1]);
  assert.deepEqual(['1.HK', '2.HK', '201.HK'].map((symbol) => lists.tickers.get(symbol)?.last), ['4.5', undefined, '6.5']);
  await lists.quote(undefined);
  assert.equal(changes.length, 1, 'nothing was requested');
});

test('a refused change rejects its promise, and the next one is sent', async () => {
  const { state, ask } = listServer();
  const lists = new Watchlists(ask, () => {});
  state.refuses = true;
  const refused = lists.add('1001', '5.HK');
  const next = lists.rename('1001', 'yours');
  await assert.rejects(refused, { name: 'Refused', message: 'no' });
  await assert.rejects(next, { name: 'Refused' });
  state.refuses = false;
  await lists.rename('1001', 'ours');
  assert.equal(state.sent.length, 3);
});

// Capital.

const HONG_KONG = [{ session: 0, start: '09:30', end: '12:00' }, { session: 0, start: '13:00', end: '16:00' }];
const NEW_YORK = [{ session: 1, start: '04:00', end: '09:30' }, { session: 0, start: '09:30', end: '16:00' }];

test('the flow is as wide as its day, with zero in it', () => {
  const open = stamp('2026-03-18T09:30:00+08:00');
  const lines = ['0.000', '-50.000', '150.000'].map((inflow, at) => ({ inflow, timestamp: open + at * 60 }));
  assert.equal(minutesOf(HONG_KONG, lines), 330);
  assert.equal(minutesOf([], lines), 3);
  assert.deepEqual([endOf(HONG_KONG), endOf([])], ['16:00', undefined]);
  const { places, zero, high, low } = flowPlaces(lines, 3, 100, 50);
  assert.deepEqual(places.map(({ x }) => x), [0, 50, 100]);
  assert.ok(places[1].y > zero && places[2].y < zero && places[0].y === zero);
  assert.deepEqual([high, low], ['150.000', '-50.000']);
  // A day without a counted trade is a horizontal line; without data there is no line.
  assert.equal(flowPlaces([{ inflow: '0.000', timestamp: open }], 330, 100, 50).places[0].y, 25);
  assert.deepEqual(flowPlaces([], 330, 100, 50).places, []);
});

test('minutes are shown by the market’s clock, from the served opening', () => {
  const at = (time, sessions) => wallText(stamp(time), offsetFrom(sessions, stamp(time)));
  assert.equal(at('2026-03-18T09:30:00+08:00', HONG_KONG), '2026-03-18 09:30');
  assert.equal(at('2026-07-01T09:30:00-04:00', NEW_YORK), '2026-07-01 09:30');
  assert.equal(at('2026-01-05T09:30:00-05:00', NEW_YORK), '2026-01-05 09:30');
  assert.equal(offsetFrom([], stamp('2026-01-05T09:30:00-05:00')), 0);
});

for (const Panel of [FlowPanel, FiguresPanel]) test(`a refusal for the former security is not shown for the next one: ${Panel.name}`, async () => {
  let refuse;
  const panel = new Panel(() => new Promise((_, reject) => (refuse = reject)));
  const refused = () => refuse(new Refused({ status: 404, code: 301603, message: 'No quotes' }));
  panel.symbol = '1.HK';
  const refreshing = panel.refresh();
  panel.symbol = '2.HK';
  refused();
  await refreshing;
  const again = panel.refresh();
  refused();
  await assert.rejects(again, { code: 301603 });
});

test('the distribution adds up exactly', () => {
  const { rows, total } = distributionOf({
    capital_in: { large: '100.100', medium: '0.000', small: '0.200' },
    capital_out: { large: '50.050', medium: '10.000', small: '0.300' },
  });
  assert.deepEqual(rows.map(({ size, net }) => [size, net]), [['large', '50.050'], ['medium', '-10.000'], ['small', '-0.100']]);
  assert.deepEqual(total, { come: '100.300', gone: '60.350', net: '39.950' });
  assert.deepEqual([rows[0].comeShare, rows[1].comeShare], [1, 0]);
  const none = { large: '0.000', medium: '0.000', small: '0.000' };
  assert.equal(distributionOf({ capital_in: none, capital_out: none }).rows[0].comeShare, 0);
});

// Figures.

/** A response of `GET /v1/securities/{symbol}/figures` when only the price is known. */
const BARE = {
  symbol: '700.HK', currency: 'HKD', last_done: '612.500', total_market_value: null, pe_ttm_ratio: null, pb_ratio: null, turnover_rate: null,
  dividend_ratio_ttm: null, total_shares: null, circulating_shares: null, hk_shares: null, eps: null, eps_ttm: null, bps: null, dividend_yield: null,
};
/** By the end of the phrase of each row. */
const figuresOf = (more) => {
  const rows = figureRows({ ...BARE, ...more });
  return Object.fromEntries(FIGURE_PHRASES.map((name, at) => [name.replace('figure_', ''), rows[at]]));
};

test('large figures are abbreviated with the exact number beside them, and small ones are not', () => {
  const rows = figuresOf({ total_market_value: '5851156250000.000', total_shares: 9_570_000_000, circulating_shares: 42_000, pe_ttm_ratio: '29.31', turnover_rate: '0.23', eps: '-1234.50' });
  assert.deepEqual(rows.market_value, { words: '5.851T', exact: '5,851,156,250,000.000' });
  assert.deepEqual(rows.total_shares, { words: '9.570B', exact: '9,570,000,000' });
  assert.deepEqual(rows.circulating_shares, { words: '42,000', exact: undefined });
  assert.deepEqual(rows.pe, { words: '29.31', exact: undefined });
  assert.deepEqual(rows.turnover_rate, { words: '0.23%', exact: undefined });
  assert.equal(rows.eps.words, '\u22121,234.50');
});

test('an unknown figure is not zero, and there is no ratio to a loss', () => {
  const rows = figuresOf({ dividend_yield: '0', dividend_ratio_ttm: '0.00', eps_ttm: '-3', total_shares: 0 });
  assert.deepEqual([rows.dividend.words, rows.dividend_ratio.words, rows.total_shares.words], ['0', '0.00%', '0']);
  assert.deepEqual([rows.bps, rows.pb], [{ missing: 'figure_unknown' }, { missing: 'figure_unknown' }]);
  assert.deepEqual(rows.pe, { missing: 'figure_no_ratio' });
  assert.deepEqual(figuresOf({ eps_ttm: '-3', last_done: null }).pe, { missing: 'figure_unknown' }, 'without a price');
});

test('one figure is enough for the table, and a price is none', () => {
  assert.equal(isAnyKnown(BARE), false);
  for (const known of [{ dividend_yield: '0' }, { hk_shares: 0 }, { eps_ttm: '1' }]) assert.equal(isAnyKnown({ ...BARE, ...known }), true);
});
