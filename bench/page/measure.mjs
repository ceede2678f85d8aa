// Time to the first chart, and to the first rows of the securities, by the browser's clock.
//   node bench/page/measure.mjs EXECUTABLE WORK PACKAGES [VISITS]
// Each visit has a fresh profile: nothing cached, only the cookie of a session. Visits to the chart alternate with visits to a small page
// of the same server without a script, whose first paint is the base cost of a page in this browser on this machine.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { fillList, measureList } from './list.mjs';
import { measureLong } from './long.mjs';
import { measureSwitches } from './switch.mjs';

const [EXECUTABLE, WORK, PACKAGES, VISITS = '20'] = process.argv.slice(2);
const { chromium } = createRequire(path.join(path.resolve(PACKAGES), 'package.json'))('playwright-core');
const [STORE, LIST_STORE] = ['store', 'list'].map((name) => path.join(WORK, name));
// A Sunday, so that the newest candle does not move while this runs.
const CLOCK = '2026-11-15T02:00:00Z';
const [NAME, PASSWORD] = ['bench', 'fifteen hundred candles'];
const DAYS = '/?symbol=CNDL.US';
const MINUTES = '/?symbol=CNDL.US&period=1m&session=all';
const FOUR = `${DAYS}&beside=*!WICK.US!WAX.US!CNDL.US;period=week`;
const CHARTS = {
  'days': { address: DAYS },
  'four charts': { address: FOUR, isFour: true },
  'minutes, all hours': { address: MINUTES },
  'days, new process': { address: DAYS, isCold: true },
};
const PLAIN = '/signin';
const CANDLES = 1000;
const WEIGHT_MAX = 150 * 1000;
const TARGET_MS = 500;
/** How much longer than one chart four of them may take. */
const FOUR_TIMES_MAX = 1.5;
const BROWSER = [
  '--disable-gpu', '--no-first-run', '--no-proxy-server', '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

const say = (...words) => console.log(...words);

function chandler(store, words, input = '') {
  const ran = spawnSync(EXECUTABLE, ['--store', `sqlite:${store}`, '--clock', CLOCK, ...words], { input, encoding: 'utf8' });
  if (ran.status !== 0) throw new Error(`chandler ${words[0]}: ${ran.stderr}`);
  return ran.stdout;
}

/** A server of a store, which `fill` fills once. */
async function serve(store, fill) {
  const mark = path.join(store, 'filled');
  // The marker is written last: data of an interrupted run is generated again.
  if (!existsSync(mark)) {
    rmSync(store, { recursive: true, force: true });
    mkdirSync(store, { recursive: true });
    fill((words) => chandler(store, words));
    writeFileSync(mark, '');
  }
  for (const end of ['', '-wal', '-shm']) rmSync(path.join(store, `accounts.db${end}`), { force: true });
  const words = ['--store', `sqlite:${store}`, '--clock', CLOCK, 'serve', '--listen', '127.0.0.1:0', '--tcp', '127.0.0.1:0', '--log', 'warn'];
  const server = spawn(EXECUTABLE, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => server.kill('SIGTERM'));
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once('line', resolve);
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  server.url = `http://${JSON.parse(line).http}`;
  chandler(store, ['account', 'create', NAME, '--overnight', '--rate', 'unlimited', '--url', server.url]);
  chandler(store, ['account', 'password', NAME], `${PASSWORD}\n`);
  return server;
}

async function signIn(browser, server) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.url + PLAIN);
  await page.locator('input[autocomplete=username]').fill(NAME);
  await page.locator('input[type=password]').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.locator('input[type=password]').waitFor({ state: 'detached' });
  const state = await context.storageState();
  await context.close();
  return state;
}

/**
 * One visit with a fresh profile: `mark` is what is waited for, `done` says in the page that everything else is there too. The page
 * tells of its marks by the console: to ask it would be to run the driver's own script in it, some 60 ms, just when it draws.
 */
async function visit(browser, state, url, { mark, done, counted = () => document.getElementById('count')?.textContent }, from) {
  const context = await browser.newContext({ storageState: state, viewport: { width: 1280, height: 800 }, serviceWorkers: 'block' });
  await context.addInitScript(() => {
    globalThis.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
    new PerformanceObserver((list) => {
      for (const { name } of list.getEntries()) console.debug(`mark ${name}`);
    }).observe({ entryTypes: ['mark', 'paint'] });
  });
  const page = await context.newPage();
  const bytes = { page: 0, answers: 0 };
  const network = await context.newCDPSession(page);
  await network.send('Network.enable');
  await network.send('Network.setCacheDisabled', { cacheDisabled: true });
  // A tab that has visited this server before: the browser already has a process for it.
  if (from) await page.goto(from, { waitUntil: 'load' });
  const addresses = new Map();
  network.on('Network.responseReceived', ({ requestId, response }) => addresses.set(requestId, new URL(response.url).pathname));
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    bytes[addresses.get(requestId)?.startsWith('/v1/') ? 'answers' : 'page'] += encodedDataLength;
  });
  Object.assign(bytes, { page: 0, answers: 0 });
  const marked = page.waitForEvent('console', (message) => message.text() === `mark ${mark}`);
  await page.goto(url, { waitUntil: 'commit' });
  await marked;
  await page.waitForFunction(done);
  const times = await page.evaluate((mark) => {
    const [navigation] = performance.getEntriesByType('navigation');
    const at = (name) => performance.getEntriesByName(name)[0]?.startTime;
    return {
      painted: Math.max(at(mark), at('chandler:painted') ?? 0),
      words: at('first-contentful-paint'),
      ready: navigation.domContentLoadedEventEnd,
      shift: globalThis.shift,
    };
  }, mark);
  const count = await page.evaluate(counted);
  await context.close();
  return { ...times, count, bytes };
}

const CHART = { mark: 'chandler:painted', done: () => document.readyState === 'complete' && document.getElementById('name').textContent !== '' };
/** All four charts are painted. */
const CHARTS_BESIDE = { ...CHART, mark: 'chandler:beside' };
const SMALL = { mark: 'first-contentful-paint', done: () => document.readyState === 'complete' };

function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

function row(name, values, unit = 'ms') {
  const [median, most, worst] = [0.5, 0.9, 1].map((share) => quantile(values, share).toFixed(0));
  say(`| ${name} | ${median} | ${most} | ${worst} | ${unit} |`);
}

mkdirSync(WORK, { recursive: true });
let server = await serve(STORE, (run) => run(['demo', '--quiet']));
const browser = await chromium.launch({
  executablePath: process.env.CHANDLER_E2E_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  chromiumSandbox: false,
  args: BROWSER,
});
const failures = [];
try {
  const state = await signIn(browser, server);
  const model = /model name\s*: (.*)/.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? 'unknown processor';
  say(`${VISITS} visits each, alternating; Chromium ${browser.version()}, ${cpus().length} cores, ${model}, load ${loadavg()[0].toFixed(1)}\n`);
  const plain = [];
  const charts = Object.fromEntries(Object.keys(CHARTS).map((name) => [name, []]));
  await visit(browser, state, server.url + PLAIN, SMALL);
  for (let count = 0; count < Number(VISITS); count += 1) {
    plain.push(await visit(browser, state, server.url + PLAIN, SMALL, server.url + PLAIN));
    for (const [name, { address, isCold, isFour }] of Object.entries(CHARTS)) {
      const from = isCold ? undefined : server.url + PLAIN;
      charts[name].push(await visit(browser, state, server.url + address, isFour ? CHARTS_BESIDE : CHART, from));
    }
  }
  say('| navigation to | median | p90 | worst | |\n|---|---|---|---|---|');
  row('first paint of a small page', plain.map(({ words }) => words));
  for (const [name, visits] of Object.entries(charts)) {
    const of = (key) => visits.map((one) => one[key]);
    row(`${name}: DOM ready`, of('ready'));
    row(`${name}: first words painted`, of('words'));
    row(`${name}: first chart painted, ${visits[0].count}`, of('painted'));
    const floor = quantile(plain.map(({ words }) => words), 0.5);
    const chart = quantile(of('painted'), 0.5);
    say(`| ${name}: chart against small page | ${(chart / floor).toFixed(1)} | | | times |`);
    const files = Math.max(...visits.map(({ bytes }) => bytes.page));
    const answers = Math.max(...visits.map(({ bytes }) => bytes.answers));
    say(`| ${name}: files of the page, as sent | ${(files / 1000).toFixed(1)} | | | KB |`);
    say(`| ${name}: answers with candles and facts, as sent | ${(answers / 1000).toFixed(1)} | | | KB |`);
    say(`| ${name}: layout shift | | | ${Math.max(...of('shift'))} | |`);
    if (CHARTS[name].isFour) {
      const times = chart / quantile(charts.days.map(({ painted }) => painted), 0.5);
      say(`| ${name}: painted, against one chart | ${times.toFixed(2)} | | | times |`);
      if (times > FOUR_TIMES_MAX) failures.push(`${name}: ${times.toFixed(2)} times one chart`);
    } else if (chart > TARGET_MS && !CHARTS[name].isCold) failures.push(`${name}: ${chart.toFixed(0)} ms is more than ${TARGET_MS}`);
    if (files > WEIGHT_MAX && !CHARTS[name].isFour) failures.push(`${name}: ${files} bytes are more than ${WEIGHT_MAX}`);
    if (Math.max(...of('shift')) > 0) failures.push(`${name}: something moved`);
    if (!visits.every(({ count }) => count.startsWith(CANDLES.toLocaleString('en')))) throw new Error(`${name}: not ${CANDLES} candles`);
  }
  await measureSwitches({ browser, state, url: server.url, row });
  say('');
  failures.push(...(await measureLong({ browser, state, url: server.url, say })));
  say('');
  server.kill('SIGTERM');
  server = await serve(LIST_STORE, (run) => fillList(LIST_STORE, run));
  const lister = await signIn(browser, server);
  const visitList = (address, what) => visit(browser, lister, server.url + address, what, server.url + PLAIN);
  failures.push(...(await measureList({ visit: visitList, visits: Number(VISITS), say, row, quantile })));
} finally {
  await browser.close();
  server.kill('SIGTERM');
}
say(failures.length === 0 ? '\nEvery goal is met.' : `\nNot met: ${failures.join('; ')}.`);
