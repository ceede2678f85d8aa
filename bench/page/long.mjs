// The cost of a page of older candles in a chart with nearly fifty thousand of them, and of all indicators over them: the longest task of
// the page's main thread while pages are loaded, by the browser's clock. The browser does not report tasks below 50 ms; they count as
// 50 ms. The interval between frames while the chart is moved has no goal, and should not increase.

const ADDRESS = '/?symbol=WAX.US&period=1m&session=all';
const STUDIES = '&ma=5,10,20,60,120&ema=12,26&boll=20,2&macd=12,26,9&rsi=6,12,24&kdj=9,3,3';
const [FROM, TO] = [45_000, 51_000];
const REPORTED_MS = 50;
const APPEND_MAX_MS = 100;
const STUDIES_MAX_MS = 50;
const TURNS_MAX = 4000;
const FRAMES = 200;

/** Scrolls back until enough candles are loaded; the tasks and the indicators from a number of candles on. */
async function scrollBack(page) {
  const counted = () => page.evaluate(() => Number(/^[\d,]+/.exec(document.getElementById('count').textContent)?.[0].replaceAll(',', '')));
  for (let press = 0; press < 8; press += 1) await page.keyboard.press('-');
  await page.mouse.move(600, 400);
  let isBegun = false;
  let count = await counted();
  for (let turn = 0; turn < TURNS_MAX && count < TO; turn += 1) {
    if (count >= FROM && !isBegun) {
      isBegun = true;
      await page.evaluate(() => {
        globalThis.tasks.length = 0;
        performance.clearMeasures();
      });
    }
    await page.mouse.wheel(-3000, 0);
    await page.evaluate(() => new Promise(requestAnimationFrame));
    count = await counted();
  }
  const { tasks, studies } = await page.evaluate(() => ({
    tasks: globalThis.tasks,
    studies: performance.getEntriesByName('chandler:studies').map(({ duration }) => duration),
  }));
  return { count, tasks, studies };
}

/** Intervals between frames while the chart is moved back and forth, sorted. */
async function frames(page) {
  await page.evaluate(() => {
    globalThis.frames = [];
    let last;
    const next = (now) => {
      if (last !== undefined) globalThis.frames.push(now - last);
      last = now;
      if (globalThis.frames.length < 1000) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  for (let turn = 0; turn < FRAMES; turn += 1) {
    await page.mouse.wheel(turn % 40 < 20 ? 120 : -120, 0);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  return (await page.evaluate(() => globalThis.frames)).toSorted((a, b) => a - b);
}

/** Rows of the table, and missed goals. */
export async function measureLong({ browser, state, url, say }) {
  const failures = [];
  say('| near 50,000 candles | median | worst | |\n|---|---|---|---|');
  for (const [name, more] of [['candles alone', ''], ['with all indicators', STUDIES]]) {
    const context = await browser.newContext({ storageState: state, viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.addInitScript(() => {
      globalThis.tasks = [];
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) globalThis.tasks.push(duration);
      }).observe({ type: 'longtask' });
    });
    await page.goto(url + ADDRESS + more);
    await page.waitForFunction(() => document.getElementById('count')?.textContent);
    const { count, tasks, studies } = await scrollBack(page);
    if (count < TO) throw new Error(`only ${count} candles`);
    const moved = await frames(page);
    await context.close();
    const [median, late] = [0.5, 0.99].map((share) => moved[Math.floor(share * (moved.length - 1))].toFixed(0));
    say(`| a frame while moving, ${name}: median and 99th of a hundred | ${median} | ${late} | ms |`);
    const worst = Math.max(REPORTED_MS, ...tasks);
    say(`| a page of older candles, ${name}: longest task | | ${tasks.length === 0 ? `below ${REPORTED_MS}` : worst.toFixed(0)} | ms |`);
    const most = APPEND_MAX_MS + (more ? STUDIES_MAX_MS : 0);
    if (worst > most) failures.push(`a page near 50,000 candles, ${name}: ${worst.toFixed(0)} ms is more than ${most}`);
    if (studies.length === 0) continue;
    const sorted = studies.toSorted((a, b) => a - b);
    const usual = sorted[Math.floor(sorted.length / 2)];
    say(`| all indicators over them | ${usual.toFixed(0)} | ${sorted.at(-1).toFixed(0)} | ms |`);
    if (usual > STUDIES_MAX_MS) failures.push(`indicators: ${usual.toFixed(0)} ms is more than ${STUDIES_MAX_MS}`);
  }
  return failures;
}
