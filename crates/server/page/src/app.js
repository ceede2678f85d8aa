// The chart page. Start here: a view (parsed from the address) opens a feed (its candles), which
// the chart shows; each user action makes another view. Everything else has its own file.

import { describeAction, placeActions } from './actions.js';
import { writeAddress } from './address.js';
import { adviceElement, partsFor } from './advice.js';
import { shortNumber } from './amounts.js';
import { UNREACHABLE, ask, me } from './api.js';
import { whereIAm } from './base.js';
import { badgeOf, lastPrice } from './badge.js';
import { behind } from './behind.js';
import { Beside } from './beside.js';
import { indexOfWall } from './candles.js';
import { ChartView } from './chart.js';
import { Charts } from './charts.js';
import { showControls, showRange, showStored } from './controls.js';
import { DateBox } from './datebox.js';
import { decimalsOf } from './decimal.js';
import { byId, el, nextPicture } from './dom.js';
import { Extra, wantsExtras } from './extra.js';
import { Facts } from './facts.js';
import { Feed } from './feed.js';
import { Fresh, whenBack, whenStored } from './fresh.js';
import { Follow } from './follow.js';
import { formatLink, parseLink } from './link.js';
import { lostAdvice, nothingAdvice, periodInstead } from './lost.js';
import { Looking } from './looking.js';
import { marketOf } from './market.js';
import { remember, remembered } from './memory.js';
import { News } from './news.js';
import { extent, notice, note, say, showNames, showQuota } from './notices.js';
import { Ordering } from './ordering.js';
import { Pager } from './pager.js';
import { lastDate, periodNamed } from './periods.js';
import { phrase } from './phrases/chart.js';
import { phrase as shared } from './phrases/shared.js';
import { Ranged } from './ranged.js';
import { periodOfRange } from './ranges.js';
import { showReadOut } from './readout.js';
import { adviceFor } from './refusal.js';
import { Replayer } from './replayer.js';
import { Search, listed } from './search.js';
import { showMe, showPlace } from './shell.js';
import { Sketching } from './sketching.js';
import { Stream } from './stream.js';
import { panesOf, roomOf } from './study/settings.js';
import { Trades, arrowsOf } from './trades.js';
import { rememberStudies, visitOf } from './visit.js';
import { wire } from './wiring.js';
import { dated, pointOf, tickText } from './words.js';
import { CLOCK, WORLD } from './world.js';

const ADDRESS_PAUSE_MS = 250;
const DECIMALS_USUAL = 3;
const BADGE_MS = 1000;

// The requested view and its results. The chart is created once it has data: painting an empty one
// is wasted work.
let view;
let lost;
// The security that the user chose, by the address or a control. A security that the page suggests
// must not be charged.
let chosen;
let chart;
let feed;
let placed = new Map();
let fills = new Map();
let triggers = new Map();
let stopWaiting = () => {};

const pager = new Pager({ pill: byId('pill'), onPage: draw, onRefused: (refused) => adviceFor(refused, place()) });
const trades = new Trades(ask, { onChanged: drawTrades, onTraded: () => beside.side?.traded(), onMoved: () => isFollowed() || followClock() });
const stream = new Stream();
const isFollowed = () => stream.isOpen;
const ordering = new Ordering({
  chart: () => (feed?.candles.length > 0 ? chart : undefined),
  symbol: () => view.symbol,
  marks: () => trades.marks,
  mayTrade: () => !trades.isReadOnly,
  traded: () => trades.refresh(),
  order: openOrder,
  failed: () => note(shared('gone')),
  say,
});
const sketching = new Sketching({ ask, chart: () => (feed?.candles.length > 0 ? chart : undefined), view: () => view, failed: () => note(shared('gone')), note, say });
const beside = new Beside(ask, {
  stream,
  ordering,
  go: (symbol) => change({ symbol, before: undefined }),
  onMarks: () => chart && feed && drawTrades(),
  onTrading: () => trades.watch(view.symbol),
  say,
});
const facts = new Facts(ask);
const looking = new Looking(() => ({ ...current(), placed, fills, triggers }));
const fresh = new Fresh(ask, {
  onNews: takeNews,
  // Its only import was undone.
  onGone: () => open(),
  onLost: (error) => note(adviceFor(error, place()).title),
  onBack: () => {
    note('');
    pager.resume();
  },
  isFollowed: () => isFollowed(),
});
const current = () => ({ view, feed, chart, period: period(), facts: facts.of(view.symbol) });
const news = new News(ask, { current, take, draw, open, onRefused: notTaken });
const follow = new Follow({ isInWorld: WORLD !== undefined, current, redraw: () => news.redraw(), pull: () => followClock() });
const ranged = new Ranged(current, pager);
const extra = new Extra({ ask, current, set: alter, search: listed });
const charts = new Charts({ ask, stream, ChartView, current, swap, alter, visit, search: listed, failed: () => note(shared('gone')) });
const boxes = { input: byId('symbol'), list: byId('found'), status: byId('found-none') };
const search = new Search(boxes, (symbol) => change({ symbol, before: undefined }));
const dateBox = new DateBox(byId('go'), (before) => change({ before, range: undefined }));

const replayer = new Replayer({
  ask,
  stream,
  current: () => (view.symbol ? { ...current(), market: marketOf(view.symbol) } : { view }),
  moved: () => {
    trades.live?.now();
    // What a step pushes must not be counted again.
    if (!isFollowed()) followClock();
  },
  settled: () => followClock(),
  gone: () => {
    note('');
    begin();
  },
  isInspecting: () => Boolean(chart?.isByKeys) && chart.cursor < chart.candles.length - 1,
  outside: () => formatLink({ ...view, world: undefined, before: undefined }),
  entering: (world) => formatLink({ ...view, world, before: undefined, range: undefined }),
  close: () => replayer.close(),
  failed: () => note(shared('gone')),
  say,
});

let wasLost = false;
stream.listen({
  quote: (quote) => follow.quote(quote),
  trades: (trades) => follow.trades(trades),
  clock: () => {
    showBadge();
    trades.moved();
  },
  market: showBadge,
  account: ({ changed }) => {
    if (changed.includes('trading')) trades.changed();
    if (changed.includes('alerts')) sketching.alerted();
  },
  state: (state) => {
    showBadge();
    const isOpen = state === 'open';
    fresh.pushed(isOpen);
    trades.pushed(isOpen);
    if (isOpen && wasLost) {
      // The clock may have advanced while the stream was closed, and files may have been imported.
      followClock();
      fresh.check();
      sketching.connected();
    }
    wasLost = !isOpen && (wasLost || state !== 'connecting');
  },
});
// Imports are not pushed. Most are started in another window.
addEventListener('focus', () => fresh.check());
setInterval(showBadge, BADGE_MS);

/** Shows whether the prices are live; called when the stream changes, and every second. */
function showBadge() {
  const { state, clock, markets } = stream;
  const last = view?.symbol && lastPrice([[view.symbol, follow.last]], markets, marketOf);
  const { kind, text } = badgeOf({ state, clock, last, offset: feed?.candles.at(-1)?.offset });
  const box = byId('live');
  if (box.textContent !== text) box.textContent = text;
  box.dataset.kind = kind;
}

const makeChart = () =>
  new ChartView(byId('chart'), {
    tickText: (wall, weight) => tickText(wall, weight, period().family),
    crosshairText: (wall) => {
      const at = indexOfWall(chart.candles, wall);
      return at < 0 ? '' : dated(chart.candles[at], period(), marketOf(view.symbol));
    },
    volumeText: shortNumber,
    backdropOf: backdrop,
    onLook: (index) => {
      look(index);
      charts.loaded?.look(undefined, index);
    },
    onMark: ({ index }) => looking.explain(index),
    onPoint: (point) => ordering.point(point),
    onRange: (range) => {
      pager.seen(range);
      keepAddress();
      if (chart.cursor === undefined) look(undefined);
    },
    onSize: () => ranged.refit(),
  });

const period = () => periodNamed(view.period);
const place = () => ({ symbol: view.symbol, here: whereIAm() });
const isCost = (error) => error.name === 'Refused' && adviceFor(error, place()).costs === true;

async function open(given) {
  leave();
  charts.sync();
  beside.side?.leaveFor(view.symbol);
  search.set(view.symbol, view.symbol ?? lost);
  showControls(view, facts.of(view.symbol));
  // The newest candles get their date after they are painted: an empty box would shift the layout.
  if (view.before) dateBox.show(view.before);
  const mine = given?.feed ?? new Feed(view, ask, chosen === view.symbol);
  feed = mine;
  mine.view = view;
  if (!given?.feed) notice('loading', undefined, view.symbol);
  showReadOut(undefined);
  if (!facts.of(view.symbol)) showNames(undefined);
  try {
    if (!given?.feed) await mine.open();
  } catch (error) {
    if (feed !== mine) return;
    return isOfAnotherStore(error) ? suggest() : refused(error);
  }
  if (feed !== mine) return;
  if (mine.candles.length === 0) return nothing();
  await begun(mine, given?.range);
}

/** The remembered security may have been removed, or may be from another server at this address. */
const isOfAnotherStore = (error) =>
  error.name === 'Refused' && chosen !== view.symbol && view.symbol === remembered('symbol') && adviceFor(error, place()).isMissing;

function suggest() {
  remember('symbol', undefined);
  view = { ...view, symbol: undefined };
  return begin();
}

/**
 * Shows a feed that has candles. Everything else waits for this: only then does the library know
 * the visible range.
 */
async function begun(mine, range) {
  notice(undefined);
  if (chart) chart.clear();
  chart ??= makeChart();
  chart.setPanes(panesOf(view));
  chart.setRoom(roomOf(view));
  draw();
  chart.setScale(view.compare ? 'percent' : view.scale);
  if (range) chart.moveTo(range);
  else if (view.range) ranged.fit();
  remember('symbol', view.symbol);
  // An automatic choice is written to the address only once it is shown: a reload must not treat it
  // as the user's choice.
  if (chosen !== view.symbol) writeAddress(view);
  chosen = view.symbol;
  await nextPicture();
  performance.mark('chandler:painted');
  // Everything else would hold up the charts beside this one.
  await charts.painted();
  if (feed !== mine) return;
  pager.watch(mine);
  pager.seen(chart.range());
  look(chart.cursor);
  if (view.range && !range) ranged.reach();
  showExtras();
  const found = await facts.load(mine.view.symbol);
  if (feed !== mine) return;
  if (found) {
    showNames(found);
    showStored(found);
    mark();
    chart.decorate();
    look(chart.cursor);
    fresh.watch(found);
  }
  stream.want('chart', [mine.view.symbol, ...(WORLD ? [CLOCK] : [])]);
  const side = await beside.load();
  if (feed !== mine) return;
  side?.watch(mine.view.symbol, found?.sessions);
  await trades.watch(mine.view.symbol);
  if (feed !== mine) return;
  side?.settle();
  await sketching.watch(mine.view.symbol);
}

/** Stops all work of the previous view. */
function leave() {
  stopWaiting();
  feed?.close();
  pager.watch(undefined);
  trades.stop();
  ordering.leave();
  sketching.leave();
  fresh.stop();
  follow.begin();
  looking.begin();
}

/** Updates everything that depends on the candles of the feed. */
function draw() {
  const { candles, reachesBeginning, reachesNow } = feed;
  const last = candles.at(-1);
  mark();
  chart.show(candles, { decimals: last ? decimalsOf(last.text.close) : DECIMALS_USUAL, isWhole: reachesBeginning && reachesNow });
  byId('count').textContent = extent(feed);
  // A world has no quota to watch.
  showQuota(WORLD ? undefined : feed.quota);
  drawTrades();
  extra.loaded?.show();
  charts.loaded?.draw();
}

/** Assigns corporate actions to candles. */
function mark() {
  const { actions, currency } = facts.of(view.symbol) ?? { actions: [] };
  placed = placeActions(feed.candles, actions.map((action) => describeAction(action, currency)), period().family, period().name);
}

/** Draws indicators and comparison, after loading their script if needed. */
async function showExtras() {
  chart?.setPanes(panesOf(view));
  chart?.setRoom(roomOf(view));
  chart?.setScale(view.compare ? 'percent' : view.scale);
  if (!extra.loaded && !wantsExtras(view)) return;
  const loaded = await extra.load();
  if (!loaded || !feed || feed.candles.length === 0) return;
  loaded.show();
  pager.room = loaded.settling();
  pager.seen(chart.range());
  look(chart.cursor);
}

/** Draws the account's fills and open orders, and lists them for screen readers. */
function drawTrades() {
  const { candles } = feed;
  fills = trades.placed(candles, period());
  const grid = beside.marks(candles, period());
  triggers = grid.words;
  const lines = [...trades.lines, ...grid.lines];
  const arrows = [...arrowsOf(candles, fills), ...grid.dots].sort((a, b) => a.wall - b.wall);
  chart.showTrades({ lines, arrows });
  const waiting = lines.filter(({ style }) => style !== 'cost');
  byId('working').replaceChildren(...waiting.map(({ words, price }) => el('li', {}, `${words} @ ${price}`)));
  beside.side?.offerOrders(!trades.isReadOnly);
  ordering.show(trades.marks);
  look(chart.cursor);
}

/** Replaces the feed of the same view. */
function take(again) {
  feed.close();
  feed = again;
  view = { ...view, before: again.view.before };
  again.view = view;
  pager.watch(again, pager.room);
}

/** Handles the refusal of candles that the user did not request. */
function notTaken(error) {
  // The last import was undone.
  if (error.name === 'Refused' && adviceFor(error, place()).isMissing) return open();
  if (!isCost(error)) throw error;
  // A new month has begun, so the security would be charged again.
  fresh.stop();
  note(phrase('new_month'));
}

// A refused request is repeated when the clock has advanced.
const followClock = () => news.newest().catch((error) => { if (error.name !== 'Refused') throw error; });

/** Called after an import, or when the market's clock has advanced. */
async function takeNews(latest, isChanged) {
  facts.update(latest);
  showStored(latest);
  if (!feed || feed.candles.length === 0) return open();
  return isChanged ? news.again() : news.newest();
}

const backdrop = (candles, start) =>
  behind(candles, start, {
    placed,
    isClock: period().family === 'clock',
    sessions: facts.of(view.symbol)?.sessions,
    reachesBeginning: feed.reachesBeginning,
  });

function look(index) {
  const at = looking.at(index);
  if (at !== undefined) extra.loaded?.look(at);
}

function change(what) {
  // Shared drawings belong to one security.
  const draw = what.symbol && what.symbol !== view.symbol ? undefined : view.draw;
  view = { ...view, draw, ...what };
  note('');
  // Without a security there is no period to choose.
  if (!view.symbol) return;
  // Changing the period of an automatically chosen security still costs nothing.
  if (what.symbol) chosen = what.symbol;
  if (chosen === view.symbol) writeAddress(view, 'pushState');
  open();
}

/** Changes how the same candles are shown: indicators, scale, comparison. */
function alter(what) {
  view = { ...view, ...what };
  if (feed) feed.view = view;
  if (!view.symbol) return;
  if (chosen === view.symbol) writeAddress({ ...view, before: parseLink(location.search).view.before }, 'pushState');
  rememberStudies(view);
  showControls(view, facts.of(view.symbol));
  if (chart && feed?.candles.length > 0) showExtras();
}

/** Shows the view of another chart, which becomes the focused one, with its candles if they are known. */
function swap({ view: next, feed: given, range, beside }) {
  view = { ...next, beside, world: view.world };
  chosen = view.symbol;
  note('');
  writeAddress(view);
  open({ feed: given, range });
}

/** Opens a saved layout. */
function visit(query) {
  history.pushState(null, '', formatLink({ ...parseLink(`?${query}`).view, world: WORLD }));
  goBack();
}

/** Called after the back button. */
function goBack() {
  // A pending scroll position must not overwrite the address that was just restored.
  clearTimeout(address);
  readAddress();
  begin();
}

function readAddress() {
  const visit = visitOf(location.search);
  ({ view, lost, chosen } = visit);
  note(visit.ignored.length > 0 ? phrase('ignored', visit.ignored.join(', ')) : '');
}

/**
 * The address names the current view, so that it can be bookmarked and shared; the newest candles
 * need no date.
 */
let address;

function keepAddress() {
  clearTimeout(address);
  address = setTimeout(() => {
    if (!feed || feed.candles.length === 0 || !byId('notice').hidden) return;
    const right = feed.candles[chart.edge()];
    if (!right) return;
    const isNewest = feed.reachesNow && right === feed.candles.at(-1);
    if (view.range && ranged.isElsewhere()) {
      view = { ...view, range: undefined };
      showRange(undefined);
    }
    const before = isNewest ? undefined : pointOf(right, period());
    // The feed still starts at its original point; only the address changes.
    writeAddress({ ...view, before });
    dateBox.follow(pointOf(right, period()));
  }, ADDRESS_PAUSE_MS);
}

function refused(error, again = open) {
  if (error.name === 'AbortError') return;
  if (error.name !== 'Refused') throw error;
  const advice = adviceFor(error, place());
  const isAway = error.status === UNREACHABLE || error.status >= 500;
  return advise('refused', { advice, isAway }, () => {
    // The label of the button named the cost.
    if (advice.costs) change({ symbol: view.symbol });
    else again();
  });
}

/**
 * Shows advice in place of a chart, unless another view is chosen meanwhile. An unreachable server
 * is retried automatically.
 */
async function advise(what, { advice, isAway = false }, again) {
  const before = [view, feed];
  const parts = await partsFor(advice);
  if (view !== before[0] || feed !== before[1]) return;
  const { box, stop } = adviceElement(advice, again, parts);
  if (advice.isMissing) stopWaiting = whenStored(ask, view.symbol, again);
  else stopWaiting = isAway ? whenBack(ask, again) : stop;
  noticeSaid(what, box);
}

/** Shows a message in place of a chart, and announces it to screen readers. */
function noticeSaid(what, box) {
  notice(what, box);
  dateBox.settle(view.before);
  byId('count').textContent = '';
  say([...box.children].map((part) => part.textContent).join('. '));
}

async function nothing() {
  const mine = feed;
  // Optional: without it the link to the newest candles remains.
  const first = view.before ? await mine.firstAfter().catch(() => undefined) : undefined;
  const found = await facts.load(view.symbol);
  if (feed !== mine) return;
  const other = periodInstead(view, found);
  if (other) {
    view = { ...view, period: other };
    if (chosen === view.symbol) writeAddress(view);
    return open();
  }
  await advise('empty', { advice: nothingAdvice(view, first && pointOf(first, period()), found?.periods) }, open);
  if (feed !== mine || !found) return;
  showStored(found);
  fresh.watch(found);
}

/** Changes the period, adjustment or session at the visible position. */
function choose(name, value) {
  const { before } = parseLink(location.search).view;
  // A yearly candle is dated by its first day; the same position in days is its last day.
  change({ [name]: value, range: undefined, before: name === 'period' && before ? lastDate(before, view.period) : before });
}

/** Opens a range in the period that suits it. */
function chooseRange(range) {
  const to = view.symbol && periodOfRange(range, facts.of(view.symbol));
  if (!to) return;
  if (to !== view.period || !feed?.reachesNow || feed.candles.length === 0) return change({ range, period: to, before: undefined });
  view = { ...view, range, before: undefined };
  writeAddress(view, 'pushState');
  showRange(range);
  ranged.reach();
}

/** Moves to the first candle of the history, loaded or not. */
async function beginning() {
  if (!chart || !feed || feed.candles.length === 0) return;
  if (feed.reachesBeginning) return chart.look(0);
  const mine = new Feed(view, ask);
  pager.say(phrase('loading_first'));
  try {
    await mine.openFirst();
  } catch (error) {
    pager.refuse(error, beginning);
    return;
  }
  if (mine.candles.length === 0 || mine.view !== view) return;
  leave();
  feed = mine;
  view = { ...view, range: undefined };
  mine.view = view;
  showRange(undefined);
  // Opens the feed as usual, then moves to its other end.
  const shown = begun(mine);
  chart.look(0);
  await shown;
}

async function openExtra(way) {
  const loaded = await extra.load();
  if (loaded && chart && feed?.candles.length > 0) loaded.open(way);
  else if (!loaded) note(shared('gone'));
}

/** Opens the ticket, at a price or at the last one. Returns whether the account may trade. */
function openOrder(price) {
  if (!view.symbol || trades.isReadOnly) return false;
  beginOrder(price);
  return true;
}

async function beginOrder(price) {
  const side = await beside.load();
  if (!side) return note(shared('gone'));
  side.open('order');
  return (await ordering.load())?.begin(price);
}

async function panel(name) {
  (await beside.load())?.toggle(name);
}

function newest() {
  if (!feed) return;
  if (!feed.reachesNow) {
    change({ before: undefined });
    return;
  }
  chart?.home();
  chart?.clearLook();
}

/** Opens the security of the address; without one, the last security viewed or a suggestion. */
async function begin() {
  if (view.symbol) {
    if (chosen) writeAddress(view);
    await open();
    return;
  }
  close();
  const mine = view;
  let found;
  try {
    notice('loading');
    found = await listed(lost ?? '');
    // Any suggestion is better than none.
    if (lost && found.securities.length === 0) found = await listed('');
  } catch (error) {
    if (view === mine) refused(error, begin);
    return;
  }
  // The user has chosen a security meanwhile.
  if (view !== mine) return;
  const first = found.securities.at(0)?.symbol;
  if (lost || !first) {
    await advise('empty', { advice: lostAdvice(view, lost, found) }, begin);
    return;
  }
  view = { ...view, symbol: first };
  await open();
}

/** Clears the previous view. */
function close() {
  leave();
  charts.sync();
  feed = undefined;
  stream.want('chart', []);
  beside.side?.leaveFor(undefined);
  search.set(view.symbol, view.symbol ?? lost);
  showControls(view, undefined);
  showReadOut(undefined);
  showNames(undefined);
}

readAddress();
wire(
  {
    alter, beginning, choose, chooseRange, goBack, newest, openExtra, panel, order: openOrder,
    again: () => { facts.forget(); begin(); charts.loaded?.again(); },
    layouts: () => charts.open(),
    step: (by) => charts.loaded?.step(by),
    replay: () => replayer.toggle(),
    draw: () => sketching.toggle(),
    goTo: () => dateBox.focus(),
  },
  () => ({ view, chart, periods: facts.of(view.symbol)?.periods }),
);
showPlace();
begin().finally(() => {
  me().then(showMe, () => showMe(undefined));
  // Also without a chart: a list may contain another security.
  beside.load();
});
