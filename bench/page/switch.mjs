// Time from a key press to another chart, of another period or another security, by the browser's clock.

const TIMES = 12;

/** How long each press of a key took until a chart was painted. */
async function pressed(page, presses) {
  const took = [];
  for (let time = 0; time < TIMES; time += 1) {
    await page.evaluate(() => performance.clearMarks('chandler:painted'));
    await presses(time);
    await page.waitForFunction(() => performance.getEntriesByName('chandler:painted').length > 0);
    took.push(await page.evaluate(() => performance.getEntriesByName('chandler:painted').at(-1).startTime - globalThis.pressed));
    // Work after the paint must not delay the next one.
    await page.waitForLoadState('networkidle');
  }
  return took;
}

/** Rows of the table: without goals; the times should not increase. */
export async function measureSwitches({ browser, state, url, row }) {
  const context = await browser.newContext({ storageState: state, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    addEventListener('keydown', ({ timeStamp }) => {
      globalThis.pressed = timeStamp;
    }, { capture: true });
  });
  await page.goto(`${url}/?symbol=CNDL.US`);
  await page.waitForFunction(() => performance.getEntriesByName('chandler:painted').length > 0);
  await page.waitForLoadState('networkidle');
  row('another period', await pressed(page, (time) => page.keyboard.press(time % 2 === 0 ? 'p' : 'P')));
  const open = async (time) => {
    await page.keyboard.press('/');
    await page.locator('#symbol').fill(time % 2 === 0 ? 'WAX.US' : 'CNDL.US');
    // The search has finished by then.
    await page.waitForLoadState('networkidle');
    await page.keyboard.press('Enter');
  };
  row('another security', await pressed(page, open));
  await context.close();
}
