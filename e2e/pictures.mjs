// The pictures of the README: the chart of the demo market, light and dark, as Chromium shows it.
//   node e2e/pictures.mjs EXECUTABLE WORK PACKAGES OUT
// The clock is fixed at a Sunday, so that the same executable makes the same pictures.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';

const [EXECUTABLE, WORK, PACKAGES, OUT] = process.argv.slice(2);
const { chromium } = createRequire(path.join(path.resolve(PACKAGES), 'package.json'))('playwright-core');
const CLOCK = '2026-11-15T02:00:00Z';
const PATIENCE_MS = 120_000;
// Small enough for the repository.
const SCREEN = { width: 1120, height: 720 };
const PICTURES = { chart: '/?symbol=CNDL.US&ma=20,50&macd=12,26,9&range=6m' };

/** Serves the demo and returns its address: a page opened on this machine is signed in. */
async function serve() {
  const words = ['--store', `sqlite:${path.join(WORK, 'store')}`, '--clock', CLOCK, 'demo', '--quiet', '--serve', '--listen', '127.0.0.1:0', '--tcp', '127.0.0.1:0'];
  const server = spawn(EXECUTABLE, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => server.kill('SIGTERM'));
  const ended = new Promise((_, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  // After it has started, this script ends it.
  ended.catch(() => {});
  const url = new Promise((resolve) => {
    createInterface({ input: server.stdout }).on('line', (line) => {
      const found = /^Open (http:\/\/[^ ]*)\/ in a browser/.exec(line);
      if (found) resolve(found[1]);
    });
  });
  return { server, url: await Promise.race([url, ended]) };
}

async function take(browser, url, scheme, file) {
  const context = await browser.newContext({ viewport: SCREEN, colorScheme: scheme, locale: 'en-US', reducedMotion: 'reduce' });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => performance.getEntriesByName('chandler:painted').length > 0);
  // The texts next to the chart load after it.
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: file, animations: 'disabled' });
  await context.close();
}

mkdirSync(WORK, { recursive: true });
mkdirSync(OUT, { recursive: true });
const { server, url } = await serve();
const browser = await chromium.launch({
  executablePath: process.env.CHANDLER_E2E_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  // Containers run as root, where the sandbox does not work.
  chromiumSandbox: false,
  args: ['--disable-gpu', '--no-first-run', '--no-proxy-server', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  timeout: PATIENCE_MS,
});
for (const [name, address] of Object.entries(PICTURES)) {
  for (const scheme of ['light', 'dark']) {
    const file = path.join(OUT, `${name}-${scheme}.png`);
    await take(browser, url + address, scheme, file);
    console.log(file);
  }
}
await browser.close();
server.kill('SIGTERM');
process.exit();
