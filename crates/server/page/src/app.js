// The chart page. Start here: a view (what the address says) opens a feed (its candles), which is shown on the chart; what
// the reader does makes another view. Everything else has a file of its own.

import { describeAction, placeActions } from './actions.js';
import { adviceElement, whoFor } from './advice.js';
import { ask, me } from './api.js';
import { addressOf, whereIAm } from './base.js';
import { Beside } from './beside.js';
import { dateOf, indexOfWall } from './candles.js';
import { ChartView } from './chart.js';
import { DateBox } from './datebox.js';
import { decimalsOf, grouped } from './decimal.js';
import { byId, el } from './dom.js';
import { Feed } from './feed.js';
import { listen } from './keys.js';
import { formatLink, parseLink } from './link.js';
import { lostAdvice, nothingAdvice } from './lost.js';
import { marketOf, zoneLabel } from './market.js';
import { remember, remembered } from './memory.js';
import { Pager } from './pager.js';
import { lastDate, periodNamed, stepPeriod } from './periods.js';
import { phrase } from './phrases/chart.js';
import { cycleRise, cycleTheme } from './prefer.js';
import { nameFor } from './rank.js';
import { readOut, showReadOut, spoken } from './readout.js';
import { adviceFor } from './refusal.js';
import { Search, listed } from './search.js';
import { dayBreaks, extendedRuns, pauses } from './shading.js';
import { showMe, showPlace } from './shell.js';
import { Trades, arrowsOf } from './trades.js';
import { dated, pointOf, tickText } from './words.js';

const ADDRESS_PAUSE_MS = 250;
const SPEECH_PAUSE_MS = 350;
const DECIMALS_USUAL = 3;

// The state of the page: what is asked for, and what has come of it. The chart is made when there is something to draw,
// because an empty one would be painted first, for nothing.
let view;
let lost;
// The security that the reader has asked for, by the address or by a choice. What the page suggests by itself must cost nothing.
let asked;
let chart;
let feed;
let facts;
let placed = new Map();
let fills = new Map();
let triggers = new Map();
let stopWaiting = () => {};

const pager = new Pager({ pill: byId('pill'), onPage: draw, onRefused: (refused) => adviceFor(refused, place()) });
const trades = new Trades(ask, { onTold: drawTrades, onTraded: () => beside.side?.traded(), onMoved: followClock });
const beside = new Beside(ask, {
  go: (symbol) => change({ symbol, before: undefined }),
  onMarks: () => chart && feed && drawTrades(),
  onTrading: () => trades.watch(view.symbol),
  say: (words) => (byId('speech').textContent = words),
});
const boxes = { input: byId('symbol'), list: byId('found'), status: byId('found-none') };
const search = new Search(boxes, (symbol) => change({ symbol, before: undefined }));
const dateBox = new DateBox(byId('go'), (before) => change({ before }));

const makeChart = () =>
  new ChartView(byId('chart'), {
    tickText,
    crosshairText: (wall) => {
      const at = indexOfWall(chart.candles, wall);
      return at < 0 ? '' : dated(chart.candles[at], period(), marketOf(view.symbol));
    },
    onLook: look,
    onRange: (range) => {
      pager.seen(range);
      keepAddress();
      if (chart.cursor === undefined) look(undefined);
    },
  });

const period = () => periodNamed(view.period);
const place = () => ({ symbol: view.symbol, here: whereIAm() });

async function open() {
  stopWaiting();
  feed?.close();
  pager.watch(undefined);
  trades.stop();
  beside.side?.leaveFor(view.symbol);
  clearTimeout(speech);
  isNew = true;
  showControls();
  const mine = new Feed(view, ask, asked === view.symbol);
  feed = mine;
  notice('loading');
  showReadOut(undefined);
  if (facts?.symbol !== view.symbol) clearFacts();
  try {
    await mine.open();
  } catch (error) {
    if (feed === mine) refused(error);
    return;
  }
  if (feed !== mine) return;
  if (mine.candles.length === 0) return nothing();
  notice(undefined);
  if (chart) {
    chart.clear();
    chart.home();
    draw();
  } else {
    // A new chart shows the newest candles already.
    chart = makeChart();
    draw();
  }
  remember('symbol', view.symbol);
  // What the page has chosen is in the address only once it is shown: a reload must not take it for the reader's choice.
  if (asked !== view.symbol) writeAddress(view);
  asked = view.symbol;
  // Everything else waits for the first paint. Only then does the library know what is visible.
  await nextPicture();
  performance.mark('chandler:painted');
  if (feed !== mine) return;
  pager.watch(mine);
  pager.seen(chart.range());
  look(chart.cursor);
  const found = await factsFor(mine.view.symbol);
  if (feed !== mine) return;
  if (found) {
    facts = found;
    showFacts();
  }
  const side = await beside.load();
  if (feed !== mine) return;
  side?.watch(mine.view.symbol, found?.sessions);
  await trades.watch(mine.view.symbol);
  if (feed === mine) side?.settle();
}

/** Once the frame that is being made is on the screen. */
const nextPicture = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

/** Everything that depends on the candles of the feed. */
function draw() {
  const { candles } = feed;
  const last = candles.at(-1);
  chart.show(candles, { decimals: last ? decimalsOf(last.text.close) : DECIMALS_USUAL, backdrop: backdrop() });
  byId('count').textContent = extent(candles);
  showQuota();
  drawTrades();
}

/** What the account has done and wants to do; for the ear as a list. */
function drawTrades() {
  const { candles } = feed;
  fills = trades.placed(candles, period());
  const grid = beside.marks(candles, period());
  triggers = grid.words;
  const lines = [...trades.lines, ...grid.lines];
  const arrows = [...arrowsOf(candles, fills), ...grid.dots].sort((a, b) => a.wall - b.wall);
  chart.showTrades({ lines, arrows });
  byId('working').replaceChildren(...lines.map(({ words, price }) => el('li', {}, `${words} @ ${price}`)));
  look(chart.cursor);
}

/** The newest candles once the clock has gone on, with the view after them if it was at the end. */
async function followClock() {
  const mine = feed;
  if (!mine.reachesNow || mine.isFull) return;
  const { isAtEnd } = chart;
  const before = mine.candles.length;
  try {
    await mine.newer();
  } catch (error) {
    // Asked for again when the clock has gone on; a view that was left is none to ask for.
    if (error.name === 'Refused' || error.name === 'AbortError') return;
    throw error;
  }
  if (feed !== mine) return;
  const range = chart.range();
  draw();
  const added = mine.candles.length - before;
  if (isAtEnd && range && added > 0) chart.moveTo({ from: range.from + added, to: range.to + added });
}

function extent(candles) {
  const count = phrase('candles', grouped(candles.length));
  if (feed.reachesBeginning) return phrase('begins', count, dateOf(candles[0]));
  return feed.isFull ? phrase('full', count) : count;
}

function backdrop() {
  const { candles } = feed;
  const isClock = period().family === 'clock';
  const known = facts?.symbol === view.symbol ? facts : { actions: [] };
  const described = known.actions.map((action) => describeAction(action, known.currency));
  placed = placeActions(candles, described, period().family, period().name);
  return {
    runs: isClock ? extendedRuns(candles) : [],
    breaks: isClock ? dayBreaks(candles) : [],
    pauses: isClock ? pauses(candles, known.sessions ?? []) : [],
    placed,
    begins: feed.reachesBeginning ? { line: phrase('begins_here'), date: dateOf(candles[0]) } : undefined,
  };
}

let speech;
// Whether the view still has to be announced to screen readers.
let isNew = true;

function look(index) {
  if (!feed || feed.candles.length === 0) return;
  const { candles } = feed;
  // With nothing pointed at, the numbers are those of the candle that the address names.
  const at = index ?? chart.edge();
  if (!candles[at]) return;
  const market = marketOf(view.symbol);
  const said = readOut(candles, at, { period: period(), market, placed, fills, triggers });
  showReadOut(said);
  byId('zone').textContent = zoneLabel(market, candles[at].offset, period().family);
  clearTimeout(speech);
  const isLatest = index === undefined && feed.reachesNow && at === candles.length - 1;
  speech = setTimeout(() => speak(said, isLatest), SPEECH_PAUSE_MS);
}

/** Moving the pointer shows what is under it; only keys and a new view are announced to screen readers. */
function speak(said, isLatest) {
  if (!isNew && !isLatest && !chart.isByKeys) return;
  isNew = false;
  const text = spoken(said, isLatest);
  if (byId('speech').textContent !== text) byId('speech').textContent = text;
}

async function factsFor(symbol) {
  if (facts?.symbol === symbol) return facts;
  const path = `/v1/securities/${encodeURIComponent(symbol)}`;
  try {
    const [security, actions] = await Promise.all([ask(path), ask(`${path}/actions`)]);
    return { ...security.data, actions: actions.data.actions };
  } catch {
    // Names and marks are worth having, but a chart without them is still a chart; the next view asks for them again.
    return undefined;
  }
}

function clearFacts() {
  byId('name').textContent = '';
  byId('about').textContent = '';
}

function showFacts() {
  const about = [facts.exchange, facts.currency, facts.lot ? phrase('lot', facts.lot) : ''].filter(Boolean).join(' · ');
  byId('name').textContent = nameFor(facts);
  byId('about').textContent = about;
  chart.decorate(backdrop());
  look(chart.cursor);
}

function change(what) {
  view = { ...view, ...what };
  note('');
  // Before there is a security there is nothing that a period could be of.
  if (!view.symbol) return;
  asked = view.symbol;
  writeAddress(view, 'pushState');
  open();
}

/**
 * A choice of the reader is a step that the back button undoes; scrolling, and what the page chose by itself, are not. Browsers limit
 * these calls, so the same address is not written twice.
 */
function writeAddress(shown, how = 'replaceState') {
  const link = formatLink(shown);
  if (link !== whereIAm()) history[how](null, '', link);
}

/** After the back button. */
function goBack() {
  // A pending scroll position must not overwrite the address that was just restored.
  clearTimeout(address);
  readAddress();
  begin();
}

function readAddress() {
  const parsed = parseLink(location.search);
  ({ view, lost } = parsed);
  asked = view.symbol;
  note(parsed.ignored.length > 0 ? phrase('ignored', parsed.ignored.join(', ')) : '');
}

/** A note about the view, shown until another view is chosen. */
function note(text) {
  byId('note').textContent = text;
}

/** The address names what is on the screen, so that it can be kept and sent; the newest candles need no date. */
let address;

function keepAddress() {
  clearTimeout(address);
  address = setTimeout(() => {
    if (!feed || feed.candles.length === 0 || !byId('notice').hidden) return;
    const right = feed.candles[chart.edge()];
    if (!right) return;
    const isNewest = feed.reachesNow && right === feed.candles.at(-1);
    const before = isNewest ? undefined : pointOf(right, period());
    // The feed keeps asking from where it began; only the address moves on.
    writeAddress({ ...view, before });
    dateBox.follow(pointOf(right, period()));
  }, ADDRESS_PAUSE_MS);
}

function showControls() {
  const market = view.symbol && marketOf(view.symbol);
  search.set(view.symbol, view.symbol ?? lost);
  document.title = view.symbol ? `${view.symbol} ${period().label} · Chandler` : 'Chandler';
  byId('code').textContent = view.symbol ?? '';
  byId('trade').href = addressOf(view.symbol ? `/portfolio?symbol=${encodeURIComponent(view.symbol)}` : '/portfolio');
  for (const name of ['period', 'adjust', 'session']) {
    const chosen = document.querySelector(`input[name=${name}][value="${view[name]}"]`);
    chosen.checked = true;
    if (name === 'period') bringIntoView(chosen.parentElement);
  }
  const hasSessions = Boolean(market?.extended) && period().family === 'clock';
  byId('sessions').disabled = !hasSessions;
  byId('sessions').title = hasSessions ? '' : phrase('no_sessions');
  // The newest candles are dated once they are painted: an empty box would make everything move.
  if (view.before) dateBox.show(view.before);
}

/** Only the strip scrolls; scrollIntoView would move the page too. */
function bringIntoView(label) {
  const strip = label.closest('.periods');
  strip.scrollLeft = label.offsetLeft - strip.offsetLeft - strip.clientWidth / 2;
}

function showQuota() {
  const { quota } = feed;
  if (quota) byId('quota').textContent = phrase('quota', quota.used, quota.limit);
}

function notice(what, content) {
  const box = byId('notice');
  box.hidden = what === undefined;
  box.dataset.kind = what ?? '';
  box.setAttribute('aria-busy', String(what === 'loading'));
  if (what === 'loading') box.replaceChildren(loadingText());
  else box.replaceChildren(...(content ? [content] : []));
}

function loadingText() {
  const text = document.createElement('p');
  text.textContent = view.symbol ? phrase('loading', view.symbol) : phrase('loading_any');
  return text;
}

function refused(error, again = open) {
  if (error.name === 'AbortError') return;
  if (error.name !== 'Refused') throw error;
  const advice = adviceFor(error, place());
  return advise('refused', advice, () => {
    // The button has said what it costs.
    if (advice.costs) asked = view.symbol;
    again();
  });
}

/** Advice in the place of a chart, unless another view is chosen before it is there. */
async function advise(what, advice, again) {
  const before = [view, feed];
  const who = await whoFor(advice);
  if (view !== before[0] || feed !== before[1]) return;
  const { box, stop } = adviceElement(advice, again, who);
  stopWaiting = stop;
  noticeSaid(what, box);
}

/** A message in the place of a chart, also for screen readers. */
function noticeSaid(what, box) {
  notice(what, box);
  dateBox.settle(view.before);
  byId('count').textContent = '';
  byId('speech').textContent = [...box.children].map((part) => part.textContent).join('. ');
}

async function nothing() {
  const mine = feed;
  // Only an offer: without it there is still the link to the newest candles.
  const first = view.before ? await mine.firstAfter().catch(() => undefined) : undefined;
  if (feed !== mine) return;
  await advise('empty', nothingAdvice(view, first && pointOf(first, period())), open);
}

/** Another period, adjustment or session, at the place that is on the screen. */
function choose(name, value) {
  const { before } = parseLink(location.search).view;
  // A candle of a year is dated by its first day; in days, its last is where it is.
  change({ [name]: value, before: name === 'period' && before ? lastDate(before, view.period) : before });
}

function wire() {
  byId('controls').addEventListener('change', ({ target }) => {
    if (target.type === 'radio') choose(target.name, target.value);
  });
  // With one box and no button, Enter would send the form.
  byId('controls').addEventListener('submit', (event) => event.preventDefault());
  // After a choice with the pointer the chart gets the focus; with keys the choice goes on.
  byId('controls').addEventListener('click', (event) => {
    if (event.target.type === 'radio' && event.detail > 0) byId('chart').focus({ preventScroll: true });
  });
  byId('newest').addEventListener('click', newest);
  const help = byId('help');
  byId('help-open').addEventListener('click', () => help.showModal());
  const restyled = (prefer) => () => {
    prefer();
    chart?.restyle();
  };
  byId('theme').addEventListener('click', restyled(cycleTheme));
  byId('rise').addEventListener('click', restyled(cycleRise));
  addEventListener('popstate', goBack);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => chart?.restyle());
  const cycle = (step) => choose('period', stepPeriod(view.period, step));
  const other = (name, one, two) => choose(name, view[name] === one ? two : one);
  listen({
    '/': () => byId('symbol').focus(),
    '?': () => help.showModal(),
    ArrowLeft: (event) => chart?.step(event.shiftKey ? -10 : -1),
    ArrowRight: (event) => chart?.step(event.shiftKey ? 10 : 1),
    Home: () => chart?.look(0),
    End: newest,
    '+': () => chart?.zoom(1.25),
    '=': () => chart?.zoom(1.25),
    '-': () => chart?.zoom(0.8),
    p: () => cycle(1),
    P: () => cycle(-1),
    a: () => other('adjust', 'none', 'forward'),
    s: () => {
      if (!byId('sessions').disabled) other('session', 'intraday', 'all');
    },
    g: () => dateBox.focus(),
    o: () => byId('trade').click(),
    w: () => byId('star').click(),
    l: () => panel('lists'),
    f: () => panel('flow'),
    G: () => panel('grid'),
    r: () => (view.symbol ? open() : begin()),
    t: restyled(cycleTheme),
    c: restyled(cycleRise),
    Escape: () => chart?.clearLook(),
  });
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

/** Opens the security of the address, or the last one, or a suggestion of the server. */
async function begin() {
  if (!lost) view.symbol ??= remembered('symbol');
  if (view.symbol) {
    if (asked) writeAddress(view);
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
  // The reader has chosen one meanwhile.
  if (view !== mine) return;
  const first = found.securities.at(0)?.symbol;
  if (lost || !first) {
    await advise('empty', lostAdvice(view, lost, found), begin);
    return;
  }
  view.symbol = first;
  await open();
}

/** Clears everything of the former view. */
function close() {
  stopWaiting();
  feed?.close();
  feed = undefined;
  pager.watch(undefined);
  trades.stop();
  beside.side?.leaveFor(undefined);
  showControls();
  showReadOut(undefined);
  clearFacts();
}

readAddress();
wire();
showPlace();
begin().finally(() => {
  me().then(showMe, () => showMe(undefined));
  // Also where there is no chart: another security may be in a list.
  beside.load();
});
