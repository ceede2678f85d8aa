// CPU time of the browser while it shows a list of 3,000 securities whose prices all change.
//   node bench/page/live.mjs EXECUTABLE WORK PACKAGES [SECONDS]
// The market's clock runs at 60 times: each security has a new minute candle every second. The browser's processes are measured
// together: the page, its drawing and its network. The same list with a stopped clock is the base cost of an open page.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

const [EXECUTABLE, WORK, PACKAGES, SECONDS = '20'] = process.argv.slice(2);
const { chromium } = createRequire(path.join(path.resolve(PACKAGES), 'package.json'))('playwright-core');
const STORE = path.join(WORK, 'store');
const SECURITIES = 3000;
const MINUTES = 150;
/** 09:30 in Hong Kong on a Thursday. */
const OPENING = 1_794_447_000;
const START = '2026-11-12T09:40:00+08:00';
const SPEED = 60;
const [NAME, PASSWORD] = ['bench', 'fifteen hundred candles'];
/** Percent of one core. */
const GOAL = 10;

function chandler(clock, words, input = '') {
  const ran = spawnSync(EXECUTABLE, ['--store', `sqlite:${STORE}`, '--clock', clock, ...words], { input, encoding: 'utf8' });
  if (ran.status !== 0) throw new Error(`chandler ${words[0]}: ${ran.stderr}`);
}

/** Securities with thirty days, and one morning whose every minute has another price. */
function fill() {
  const mark = path.join(STORE, 'filled');
  if (existsSync(mark)) return;
  rmSync(STORE, { recursive: true, force: true });
  mkdirSync(STORE, { recursive: true });
  const days = ['symbol,time,open,high,low,close,volume'];
  const minutes = [...days];
  for (let number = 1; number <= SECURITIES; number += 1) {
    const price = (at) => (50 + ((number * 7 + at * 13) % 100) / 10).toFixed(2);
    for (let day = 1; day <= 30; day += 1) {
      const date = new Date((OPENING - day * 86_400) * 1000);
      if ([0, 6].includes(date.getUTCDay())) continue;
      days.push(`${number}.HK,${date.toISOString().slice(0, 10)},50,60,50,${price(day)},1000000`);
    }
    for (let at = 0; at < MINUTES; at += 1) minutes.push(`${number}.HK,${OPENING + at * 60},${price(at)},60,50,${price(at + 1)},${1000 + at}`);
  }
  for (const [name, lines] of [['days.csv', days], ['minutes.csv', minutes]]) {
    const file = path.join(WORK, name);
    writeFileSync(file, `${lines.join('\n')}\n`);
    chandler(START, ['import', file]);
    rmSync(file);
  }
  writeFileSync(mark, '');
}

async function serve(clock) {
  for (const end of ['', '-wal', '-shm']) rmSync(path.join(STORE, `accounts.db${end}`), { force: true });
  const words = ['--store', `sqlite:${STORE}`, '--clock', clock, 'serve', '--listen', '127.0.0.1:0', '--tcp', '127.0.0.1:0', '--log', 'warn'];
  const server = spawn(EXECUTABLE, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => server.kill('SIGTERM'));
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once('line', resolve);
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  server.url = `http://${JSON.parse(line).http}`;
  chandler(START, ['account', 'create', NAME, '--rate', 'unlimited', '--url', server.url]);
  chandler(START, ['account', 'password', NAME], `${PASSWORD}\n`);
  return server;
}

/** CPU seconds of all processes of the browser so far. */
async function cpuOf(cdp) {
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
  return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/** Percent of one core over some seconds, then the changed cells a second: counting them would cost time, too. */
async function measure(clock) {
  const server = await serve(clock);
  const browser = await chromium.launch({
    executablePath: process.env.CHANDLER_E2E_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
    chromiumSandbox: false,
    args: ['--disable-gpu', '--no-first-run', '--no-proxy-server', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    const stream = page.waitForResponse((one) => one.url().includes('/v1/live?symbols='));
    await page.goto(`${server.url}/signin?next=%2Fsecurities`);
    await page.locator('input[autocomplete=username]').fill(NAME);
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForFunction((words) => document.querySelector('.sheet .said')?.textContent === words, `${SECURITIES.toLocaleString('en')} securities`);
    await stream;
    const cdp = await browser.newBrowserCDPSession();
    await pause(3);
    const [before, begun] = [await cpuOf(cdp), performance.now()];
    await pause(Number(SECONDS));
    const share = ((await cpuOf(cdp)) - before) / ((performance.now() - begun) / 1000);
    const changes = await page.evaluate(async () => {
      let count = 0;
      const observer = new MutationObserver((all) => (count += all.length));
      for (const cell of document.querySelectorAll('.long-row .last')) observer.observe(cell, { childList: true, characterData: true, subtree: true });
      await new Promise((done) => setTimeout(done, 5000));
      return count / 5;
    });
    const rows = await page.locator('.long-row').count();
    return { percent: share * 100, changes, rows };
  } finally {
    await browser.close();
    server.kill('SIGTERM');
  }
}

mkdirSync(WORK, { recursive: true });
fill();
console.log(`${SECURITIES} securities, ${SECONDS} s each, ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}\n`);
console.log('| list of securities | rows in the page | changed prices a second | percent of one core |\n|---|---|---|---|');
const row = (name, { rows, changes, percent }) => console.log(`| ${name} | ${rows} | ${changes.toFixed(0)} | ${percent.toFixed(1)} |`);
row('stopped clock', await measure(START));
const live = await measure(`${START},run@${SPEED}`);
row(`clock at ${SPEED} times`, live);
if (live.changes === 0) throw new Error('no price has changed');
console.log(live.percent <= GOAL ? '\nThe goal is met.' : `\nNot met: more than ${GOAL} percent of one core.`);
