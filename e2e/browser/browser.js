// Chromium without a window, and a watch over everything that a page does in it.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { PATIENCE_MS, WORK, environment } from './harness.js';

// Installed under target/, out of the source tree.
const { chromium } = createRequire(path.join(WORK, 'node/package.json'))('playwright-core');
const SHOTS = path.join(WORK, 'screenshots');
const ARGUMENTS = [
  '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--no-proxy-server',
];
export const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };
export const WALL = { width: 2560, height: 1440 };

/** A browser of its own profile, which is empty and is thrown away. */
export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CHANDLER_E2E_CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    // Containers run as root, where the sandbox cannot.
    chromiumSandbox: false,
    args: ARGUMENTS,
    // The parts of a date are in the order of the browser's language.
    env: environment({ LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', LANGUAGE: '' }),
    timeout: PATIENCE_MS,
  });
}

/** Does something as a visitor whose browser has nothing to complain about in the end. */
export async function visit(browser, options, what) {
  const visitor = await Visitor.arrive(browser, options);
  try {
    await what(visitor);
  } catch (error) {
    await visitor.keep(`failed-${process.hrtime.bigint()}`).catch(() => {});
    await visitor.context.close();
    throw new Error([`at ${visitor.page.url()}: ${error.message}`, ...visitor.problems].join('\n  '), { cause: error });
  }
  await visitor.context.close();
  assert.deepEqual(visitor.problems, []);
}

/** A person at a screen: cookies of their own, and a list of everything that a page should not have done. */
class Visitor {
  static async arrive(browser, options) {
    const { viewport = DESK, scripts = true, locale = 'en-GB', scheme = 'light', hosts = [], complaints = [] } = options;
    const visitor = new Visitor();
    visitor.problems = [];
    // What the console may say, where that is the point of a test.
    visitor.complaints = complaints;
    visitor.hosts = new Set(hosts);
    const phone = viewport === PHONE;
    visitor.context = await browser.newContext({
      viewport, locale, colorScheme: scheme, javaScriptEnabled: scripts,
      isMobile: phone, hasTouch: phone, serviceWorkers: 'block',
    });
    visitor.context.setDefaultTimeout(PATIENCE_MS / 2);
    await visitor.context.addInitScript(watchPage);
    visitor.context.on('request', (request) => visitor.onRequest(request));
    visitor.context.on('console', (message) => visitor.onConsole(message));
    visitor.context.on('weberror', (error) => visitor.problems.push(`exception: ${error.error()}`));
    visitor.context.on('dialog', (dialog) => visitor.problems.push(`dialog: ${dialog.message()}`));
    visitor.page = await visitor.context.newPage();
    return visitor;
  }

  onRequest(request) {
    const url = new URL(request.url());
    if (!['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol)) return;
    // The first page that is opened says where the visitor is; everything else has to be there too.
    if (this.hosts.size === 0) this.hosts.add(url.host);
    if (!this.hosts.has(url.host)) this.problems.push(`a request to ${url.host}`);
  }

  onConsole(message) {
    if (!['error', 'warning'].includes(message.type())) return;
    // The browser says so of every answer that is no success. Those of pages are asserted where they are expected.
    const isPage = message.location().url === this.page.url();
    if (isPage && message.text().startsWith('Failed to load resource')) return;
    if (this.complaints.some((one) => one.test(message.text()))) return;
    this.problems.push(`console: ${message.text()} (${message.location().url})`);
  }

  /** Opens an address; the status of the page. */
  async open(url) {
    this.answer = await this.page.goto(url, { waitUntil: 'load' });
    return this.answer.status();
  }

  /** Presses a button and waits for the page it leads to; the status of that page. */
  async press(name) {
    const [answer] = await Promise.all([
      this.page.waitForResponse((one) => one.request().isNavigationRequest() && (one.status() < 300 || one.status() >= 400)),
      this.page.getByRole('button', { name }).click(),
    ]);
    await this.page.waitForLoadState('load');
    this.answer = answer;
    return answer.status();
  }

  async signIn(name, password) {
    await this.page.getByLabel('Account').fill(name);
    await this.page.getByLabel('Password').fill(password);
    return this.press('Sign in');
  }

  async text() {
    return this.page.locator('body').innerText();
  }

  async shows(pattern) {
    assert.match(await this.text(), pattern);
  }

  /** A picture of the page. Nothing is put into the page for it, which its content policy would forbid. */
  async keep(name) {
    mkdirSync(SHOTS, { recursive: true });
    const file = path.join(SHOTS, `${name}.png`);
    await this.page.screenshot({ path: file, fullPage: true, caret: 'initial', animations: 'allow' });
  }

  /** Keeps a picture of the page, and holds it to what every page owes. */
  async look(name) {
    await this.keep(name);
    // Colours on their way to others are neither.
    await this.page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));
    const facts = await this.page.evaluate(factsOfPage);
    assert.notEqual(facts.title, '', `${name}: no title`);
    assert.notEqual(facts.language, '', `${name}: no language`);
    assert.equal(facts.headings, 1, `${name}: one heading`);
    assert.deepEqual(facts.unnamed, [], `${name}: a control without a name`);
    assert.deepEqual(facts.outside, [], `${name}: something beyond the right edge`);
    assert.deepEqual(facts.small, [], `${name}: a control too small to touch`);
    assert.deepEqual(facts.faint, [], `${name}: words too faint to read`);
    assert.ok(facts.scrolls <= 0, `${name}: scrolls sideways by ${facts.scrolls} pixels`);
    assert.deepEqual(facts.foreign, [], `${name}: something from elsewhere`);
  }
}

/** Runs in every page before its own scripts: tells the console what would not get there by itself. */
function watchPage() {
  document.addEventListener('securitypolicyviolation', (event) => {
    console.error(`content policy: ${event.violatedDirective} ${event.blockedURI}`);
  });
  // A layout shift right after a click or a key is expected; any other is an error. Text that a test fills in without a key moves inside
  // its own box, in a tree of the browser's: such a part has no node, and lies on an input.
  const isTyped = ({ node, currentRect: { x, y, width, height } }) =>
    !node && document.elementsFromPoint(x + width / 2, y + height / 2).some((one) => one.matches('input, textarea'));
  // A window of another size is laid out anew, for a picture of a whole page too. The browser takes that for expected for half a second,
  // which a slow machine exceeds before the frame is drawn.
  let [resized, settled] = [Infinity, -Infinity];
  addEventListener('resize', () => {
    [resized, settled] = [performance.now(), Infinity];
    requestAnimationFrame(() => requestAnimationFrame(() => {
      settled = performance.now();
    }));
  });
  const isOfWindow = (time) => time >= resized && time < settled;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources, startTime } of list.getEntries()) {
      const box = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ');
      const moved = sources
        .map(({ node, previousRect: from, currentRect: to }) => `${node?.id || node?.className || node?.nodeName} from ${box(from)} to ${box(to)}`)
        .join(', ');
      const isOwn = sources.length > 0 && sources.every(isTyped);
      if (!hadRecentInput && !isOwn && !isOfWindow(startTime) && value > 0) console.error(`layout shift of ${value}: ${moved}`);
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

/** Runs in the page, so it knows nothing of this file. */
function factsOfPage() {
  const all = [...document.body.querySelectorAll('*')].filter((one) => one.getClientRects().length > 0);
  const controls = all.filter((one) => one.matches('input:not([type=hidden]), button, select, textarea'));
  const named = (one) => one.labels?.length > 0 || one.ariaLabel || one.textContent.trim() || one.title;
  const html = (one) => one.outerHTML.slice(0, 120);
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = numbers(colour).slice(0, 3).map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((numbers(colour)[3] ?? 1) > 0) return colour;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? 'rgb(18, 18, 18)' : 'rgb(255, 255, 255)';
  };
  // The ratio that the accessibility guidelines ask for, WCAG 2.2 criterion 1.4.3.
  const isFaint = (one) => {
    const says = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!says) return false;
    const [dark, bright] = [light(getComputedStyle(one).color), light(ground(one))].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05) < 4.5;
  };
  // What scrolls by itself may be longer than the screen.
  const isInStrip = (one) => {
    for (let at = one.parentElement; at && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== 'visible') return true;
    }
    return false;
  };
  return {
    title: document.title,
    language: document.documentElement.lang,
    headings: document.querySelectorAll('h1').length,
    unnamed: controls.filter((one) => !named(one)).map(html),
    outside: all.filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !isInStrip(one)).map(html),
    small: controls.filter((one) => one.getBoundingClientRect().height < 24).map(html),
    faint: all.filter(isFaint).map(html),
    scrolls: document.scrollingElement.scrollWidth - document.documentElement.clientWidth,
    foreign: [...document.querySelectorAll('[src], link[href], form[action]')]
      .map((one) => one.src || one.action || one.href)
      .filter((url) => typeof url === 'string' && new URL(url, location.href).origin !== location.origin),
  };
}
