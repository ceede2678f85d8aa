// Headless Chromium, and checks on everything that a page does in it.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { PATIENCE_MS, WORK, environment } from './harness.js';

// Installed under target/, outside the source tree.
const { chromium } = createRequire(path.join(WORK, 'node/package.json'))('playwright-core');
const SHOTS = path.join(WORK, 'screenshots');
const ARGUMENTS = [
  '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--no-proxy-server',
];
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };
export const WALL = { width: 2560, height: 1440 };
// Delays every API response, as on a slow connection: this finds tests, and pages, that only work
// with fast responses.
const SLOW_MS = Number(process.env.CHANDLER_E2E_SLOW_MS ?? 0);
// Longer than a response takes on a slow machine. Exceeding it is not a failure.
const SETTLING_MS = 5000;

/** A browser with a fresh profile, which is discarded. */
export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CHANDLER_E2E_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
    headless: true,
    // Containers run as root, where the sandbox does not work.
    chromiumSandbox: false,
    args: ARGUMENTS,
    // The order of the parts of a date depends on the browser's language.
    env: environment({ LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', LANGUAGE: '' }),
    timeout: PATIENCE_MS,
  });
}

/** Runs `what` as a visitor, and fails if its browser reported a problem. */
export async function visit(browser, options, what) {
  const visitor = await Visitor.arrive(browser, options);
  try {
    await what(visitor);
  } catch (error) {
    await visitor.screenshot(`failed-${process.hrtime.bigint()}`).catch(() => {});
    await visitor.context.close();
    throw new Error([`at ${visitor.page.url()}: ${error.message}`, ...visitor.problems].join('\n  '), { cause: error });
  }
  await visitor.settle();
  await visitor.context.close();
  assert.deepEqual([...visitor.problems, ...visitor.needless()], []);
}

/**
 * A person at a screen: a separate cookie jar, and a list of everything that a page should not have
 * done.
 */
class Visitor {
  static async arrive(browser, options) {
    const { viewport = DESKTOP, scripts = true, locale = 'en-GB', scheme = 'light', hosts = [], complaints = [] } = options;
    const visitor = new Visitor();
    visitor.problems = [];
    visitor.scripts = scripts;
    // Console messages that a test expects.
    visitor.complaints = complaints;
    visitor.used = new Set();
    visitor.hosts = new Set(hosts);
    // Addresses of documents, and requests without a response so far.
    visitor.documents = new Set();
    visitor.pending = new Set();
    visitor.requests = 0;
    const phone = viewport === PHONE;
    visitor.context = await browser.newContext({
      viewport, locale, colorScheme: scheme, javaScriptEnabled: scripts,
      isMobile: phone, hasTouch: phone, serviceWorkers: 'block',
    });
    visitor.context.setDefaultTimeout(PATIENCE_MS / 2);
    await visitor.context.addInitScript(watchPage);
    if (SLOW_MS) await visitor.context.route(/\/v1\//, (route) => setTimeout(() => route.continue().catch(() => {}), SLOW_MS));
    visitor.context.on('request', (request) => visitor.onRequest(request));
    visitor.context.on('response', (response) => visitor.onResponse(response));
    for (const end of ['requestfinished', 'requestfailed']) visitor.context.on(end, (request) => visitor.pending.delete(request));
    visitor.context.on('console', (message) => visitor.onConsole(message));
    visitor.context.on('weberror', (error) => visitor.problems.push(`exception: ${error.error()}`));
    visitor.context.on('dialog', (dialog) => visitor.problems.push(`dialog: ${dialog.message()}`));
    visitor.page = await visitor.context.newPage();
    return visitor;
  }

  onRequest(request) {
    const url = new URL(request.url());
    if (!['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol)) return;
    if (request.isNavigationRequest()) this.documents.add(request.url());
    // A stream never ends.
    if (request.resourceType() !== 'eventsource') this.pending.add(request);
    this.requests += 1;
    // The first page sets the allowed host; every other request has to go there too.
    if (this.hosts.size === 0) this.hosts.add(url.host);
    if (!this.hosts.has(url.host)) this.problems.push(`a request to ${url.host}`);
  }

  onConsole(message) {
    if (!['error', 'warning'].includes(message.type())) return;
    // The browser logs every response that is not a success. `onResponse` reports those; for
    // documents the tests assert the status.
    const { url } = message.location();
    if (message.text().startsWith('Failed to load resource: the server responded')) return;
    if (message.text().startsWith('Failed to load resource') && this.documents.has(url)) return;
    this.complain(`console: ${message.text()} (${url})`);
  }

  /**
   * In normal use a page only gets successful responses: a page that expects a refusal has to use
   * another request.
   */
  onResponse(response) {
    const request = response.request();
    if (response.status() < 400 || request.isNavigationRequest()) return;
    this.complain(`status of ${response.status()}: ${request.method()} ${request.url()}`);
  }

  complain(text) {
    const excuse = this.complaints.find((one) => one.test(text));
    if (excuse) this.used.add(excuse);
    else this.problems.push(text);
  }

  /** Refusals that a test allows but no page caused: the exception would hide the next one. */
  needless() {
    return this.complaints.filter((one) => one.source.startsWith('status of') && !this.used.has(one)).map((one) => `not provoked: ${one.source}`);
  }

  /**
   * Waits until no request is in flight, including those that a response causes, so that an error
   * among them is also found on a fast machine. A request that a test holds back gets no response.
   */
  async settle() {
    const deadline = Date.now() + SETTLING_MS;
    // A page without scripts sends no requests.
    let isQuiet = !this.scripts;
    while (!isQuiet && Date.now() < deadline) {
      const before = this.requests;
      // Lets the page run. If it cannot, it is navigating.
      await Promise.race([this.page.evaluate(twoFrames).catch(() => {}), new Promise((done) => setTimeout(done, SETTLING_MS))]);
      isQuiet = this.pending.size === 0 && this.requests === before;
    }
  }

  /** Opens an address; returns the status of the page. */
  async open(url) {
    await this.settle();
    this.answer = await this.page.goto(url, { waitUntil: 'load' });
    return this.answer.status();
  }

  /** Presses a button and waits for the resulting page; returns its status. */
  async press(name) {
    const [answer] = await Promise.all([
      this.page.waitForResponse((one) => one.request().isNavigationRequest() && (one.status() < 300 || one.status() >= 400)),
      // Until then the previous page counts as loaded.
      this.page.waitForEvent('framenavigated', (frame) => frame === this.page.mainFrame()),
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

  /**
   * Saves a screenshot. Nothing is injected into the page, which its content security policy would
   * forbid.
   */
  async screenshot(name) {
    mkdirSync(SHOTS, { recursive: true });
    const file = path.join(SHOTS, `${name}.png`);
    await this.page.screenshot({ path: file, fullPage: true, caret: 'initial', animations: 'allow' });
  }

  /** Saves a screenshot, and checks the requirements of every page. */
  async look(name) {
    await this.screenshot(name);
    // Colours in transition have no final contrast.
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

/**
 * Runs in every page before its scripts: logs events to the console that the browser does not log.
 */
function watchPage() {
  document.addEventListener('securitypolicyviolation', (event) => {
    console.error(`content policy: ${event.violatedDirective} ${event.blockedURI}`);
  });
  // A layout shift right after a click or a key is expected; any other is an error. Text that a
  // test fills in without a key moves inside its box, in a shadow tree of the browser: such a
  // source has no node, and is on an input.
  const isTyped = ({ node, currentRect: { x, y, width, height } }) =>
    !node && document.elementsFromPoint(x + width / 2, y + height / 2).some((one) => one.matches('input, textarea'));
  // Resizing the window changes the layout, also for a full-page screenshot. The browser excludes
  // that for half a second, which a slow machine exceeds before the frame is drawn. All resizes are
  // stored: a shift may be reported after the next resize.
  const resizes = [];
  addEventListener('resize', () => {
    const resize = { from: performance.now(), to: Infinity };
    resizes.push(resize);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      resize.to = performance.now();
    }));
  });
  const isOfWindow = (time) => resizes.some(({ from, to }) => time >= from && time < to);
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

/** Runs in the page: waits until pending updates are drawn. */
function twoFrames() {
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
}

/** Runs in the page, so it cannot use anything of this file. */
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
  // The contrast ratio that WCAG 2.2 criterion 1.4.3 requires.
  const isFaint = (one) => {
    const says = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!says) return false;
    const [dark, bright] = [light(getComputedStyle(one).color), light(ground(one))].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05) < 4.5;
  };
  // A scrollable element may be wider than the screen.
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
