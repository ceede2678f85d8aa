// The panel next to the chart: lists and the star, figures, capital flow and distribution, grids
// over the candles.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { DESKTOP, PHONE, WALL } from './browser.js';
import { drawn, cellText, signInTo, titled, walkTo } from './chart.js';
import { PATIENCE_MS } from './harness.js';
import { PASSWORD, stageAt } from './stage.js';

const OPERATOR = 'Ora Lantern';
// A Thursday, 15 seconds after ten in Hong Kong.
const DAY = '2026-11-12';
const on = stageAt(`${DAY}T10:00:15+08:00`, [OPERATOR, '--role', 'operator', '--rate', 'unlimited']);
const SYMBOL = '9001.HK';
const OTHER = 'CNDL.US';

/** The HTTP response to an account. */
const answer = (account, method, where, json) =>
  on.server.ask(method, where, { headers: { authorization: `Bearer ${account.access_token}` }, json });

async function apiCall(account, method, where, json) {
  const { status, text, json: envelope } = await answer(account, method, where, json);
  assert.equal(status, 200, `${where}: ${text}`);
  return envelope.data;
}

const person = (name, ...options) => on.person(name, '--cash', 'HKD=500000', '--rate', 'unlimited', ...options);

const atChart = (name, where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    if (options.hasClock) await visitor.page.clock.install();
    await signInTo(on, visitor, name, where);
    await drawn(visitor.page);
    await visitor.page.evaluate(() => (window.isSamePage = true));
    await what(visitor.page, visitor);
  });

const isSame = async (page) => assert.equal(await page.evaluate(() => window.isSamePage), true, 'the page was reloaded');
const starred = (page, isOn = true) => page.locator(`#star[aria-pressed=${isOn}]:not([disabled])`).waitFor();
const tab = (page, name) => page.locator(`#side-${name}`);
const grouped = (text) => text.replace(/\B(?=(\d{3})+(\.|$))/g, ',');

/** The lists as an API client sees them: names with their symbols in order. */
async function listsOf(account) {
  const { groups } = await apiCall(account, 'GET', '/v1/watchlist/groups');
  return Object.fromEntries(groups.map((group) => [group.name, group.securities.map(({ symbol }) => symbol)]));
}

/** Waits until an API client sees the change; the page has already sent it. */
async function becomes(account, expected) {
  const deadline = Date.now() + PATIENCE_MS;
  let lists;
  do {
    lists = await listsOf(account);
  } while (JSON.stringify(lists) !== JSON.stringify(expected) && Date.now() < deadline);
  assert.deepEqual(lists, expected);
}

describe('lists', () => {
  it('takes a security by its star, into the chosen list, and preserves the order', async () => {
    const ada = await person('Ada Wick');
    await atChart('Ada Wick', `/?symbol=${SYMBOL}`, async (page, visitor) => {
      await starred(page, false);
      await page.keyboard.press('w');
      await starred(page);
      await becomes(ada, { all: [SYMBOL] });
      await page.keyboard.press('l');
      const lists = tab(page, 'lists');
      const row = (symbol) => lists.locator(`li[data-symbol="${symbol}"]`);
      await row(SYMBOL).waitFor();
      const [{ securities: [watched] }] = (await apiCall(ada, 'GET', '/v1/watchlist/groups')).groups;
      await row(SYMBOL).getByText(`at ${watched.watched_price}`).waitFor();
      // A new list, which the next star adds to.
      await lists.getByRole('button', { name: 'New list' }).click();
      await page.keyboard.type('Harbour');
      await page.keyboard.press('Enter');
      await lists.getByText('This list is empty.').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type(OTHER);
      await page.keyboard.press('Enter');
      await titled(page, OTHER);
      await starred(page, false);
      await page.locator('#star').click();
      await row(OTHER).waitFor();
      await becomes(ada, { all: [SYMBOL, OTHER], Harbour: [OTHER] });
      // Back through the list of all, without a page load.
      await lists.getByLabel('List').selectOption('1');
      await row(SYMBOL).getByRole('link').click();
      await titled(page, SYMBOL);
      await lists.locator('[aria-current=true]').getByText(SYMBOL).waitFor();
      await isSame(page);
      // Order and pin.
      await lists.getByRole('button', { name: 'Edit' }).click();
      await lists.getByRole('button', { name: `Move ${OTHER} up` }).click();
      await becomes(ada, { all: [OTHER, SYMBOL], Harbour: [OTHER] });
      await lists.getByRole('button', { name: `Pin ${SYMBOL} to the top` }).click();
      await row(SYMBOL).getByText('pinned').waitFor();
      assert.deepEqual(await lists.locator('li').evaluateAll((all) => all.map((one) => one.dataset.symbol)), [SYMBOL, OTHER]);
      await visitor.look('side-lists');
    });
  });

  it('renames and deletes a list, and stops watching', async () => {
    const bo = await person('Bo Taper');
    const { id } = await apiCall(bo, 'POST', '/v1/watchlist/groups', { name: 'Old', securities: [SYMBOL, OTHER] });
    await atChart('Bo Taper', `/?symbol=${SYMBOL}`, async (page) => {
      await starred(page);
      await page.locator('#side-open').click();
      const lists = tab(page, 'lists');
      await lists.locator(`li[data-symbol="${SYMBOL}"]`).waitFor();
      assert.equal(await lists.getByRole('button', { name: 'Rename' }).isDisabled(), true, 'the list of all stays');
      await lists.getByLabel('List').selectOption(id);
      await lists.getByRole('button', { name: 'Rename' }).click();
      const dialog = page.getByRole('dialog');
      // A name with a hidden character is refused with the server's message.
      await dialog.getByLabel('Name of the list').fill('a\u202eb');
      await page.keyboard.press('Enter');
      await dialog.getByText(/^Not done: /).waitFor();
      await dialog.getByLabel('Name of the list').fill('新');
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      await becomes(bo, { all: [SYMBOL, OTHER], 新: [SYMBOL, OTHER] });
      // The star of a watched security opens its lists.
      await page.locator('#chart').focus();
      await page.keyboard.press('w');
      await dialog.getByLabel('新').uncheck();
      await becomes(bo, { all: [SYMBOL, OTHER], 新: [OTHER] });
      await dialog.getByRole('button', { name: 'Stop watching' }).click();
      await starred(page, false);
      await becomes(bo, { all: [OTHER], 新: [OTHER] });
      await lists.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete the list' }).click();
      await lists.locator(`li[data-symbol="${OTHER}"]`).waitFor();
      await becomes(bo, { all: [OTHER] });
      await isSame(page);
    }, { complaints: [/status of 400: PUT .*\/v1\/watchlist\/groups$/] });
  });

  it('shows what a program has changed, and is open again at a desk', async () => {
    const cy = await person('Cy Flame');
    await atChart('Cy Flame', `/?symbol=${SYMBOL}`, async (page) => {
      await starred(page, false);
      await page.keyboard.press('l');
      await tab(page, 'lists').getByText('Nothing is watched yet.').waitFor();
      await apiCall(cy, 'PUT', '/v1/watchlist/groups', { id: '1', securities: [SYMBOL], mode: 'add' });
      await tab(page, 'lists').locator(`li[data-symbol="${SYMBOL}"]`).waitFor();
      // The current price, next to the one at which it was watched.
      await tab(page, 'lists').getByText(/^watched at [\d.]+$/).waitFor();
      await tab(page, 'lists').locator('.last').getByText(/^[\d.,]+$/).waitFor();
      await starred(page);
      await isSame(page);
      await page.reload();
      await drawn(page);
      await tab(page, 'lists').locator(`li[data-symbol="${SYMBOL}"]`).waitFor();
      await page.keyboard.press('l');
      await page.locator('#side').waitFor({ state: 'hidden' });
    }, { hasClock: true });
  });

  it('is a drawer on a phone, which closes after a choice', async () => {
    const di = await person('Di Glow');
    await apiCall(di, 'POST', '/v1/watchlist/groups', { name: 'Mine', securities: [OTHER] });
    await atChart('Di Glow', `/?symbol=${SYMBOL}`, async (page, visitor) => {
      await starred(page, false);
      await page.locator('#side-open').tap();
      await tab(page, 'lists').locator(`li[data-symbol="${OTHER}"]`).waitFor();
      await visitor.look('side-drawer');
      await tab(page, 'lists').getByRole('link', { name: OTHER }).tap();
      await titled(page, OTHER);
      await page.locator('#side').waitFor({ state: 'hidden' });
      await starred(page);
      await page.locator('#side-open').tap();
      await page.keyboard.press('Escape');
      await page.locator('#side').waitFor({ state: 'hidden' });
    }, { viewport: PHONE });
  });
});

describe('figures', () => {
  const LOSS = '9003.HK';
  const BARE = '9002.HK';
  const row = (page, name) => tab(page, 'figures').locator('dl > div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd');

  it('has the figures of the security and their ratios to its price, and shows which are not known', async () => {
    const fay = await person('Fay Figure');
    const served = (symbol) => apiCall(fay, 'GET', `/v1/securities/${symbol}/figures`);
    await atChart('Fay Figure', `/?symbol=${SYMBOL}`, async (page, visitor) => {
      await page.keyboard.press('k');
      await row(page, 'P/E (TTM)').waitFor();
      const of = await served(SYMBOL);
      assert.deepEqual([of.total_shares, of.eps_ttm, of.bps], [2_400_000_000, '6.31', '64.8']);
      for (const [name, text] of [['P/E (TTM)', of.pe_ttm_ratio], ['Turnover rate', `${of.turnover_rate}%`], ['EPS', '6.24'], ['Total shares', '2.400B']])
        assert.equal(await row(page, name).innerText(), text, name);
      assert.equal(await row(page, 'Market value').getAttribute('title'), grouped(of.total_market_value));
      await visitor.look('side-figures');
      // A loss has no ratio, no dividend is shown as 0, and an unknown figure is neither.
      await page.keyboard.press('/');
      await page.keyboard.type(LOSS);
      await page.keyboard.press('Enter');
      await titled(page, LOSS);
      await row(page, 'EPS').getByText('\u22120.86').waitFor();
      assert.equal(await row(page, 'Dividend per share').innerText(), '0');
      assert.match(await row(page, 'P/E (TTM)').innerText(), /^–\s*no ratio: the amount is not above 0$/);
      await page.keyboard.press('/');
      await page.keyboard.type(BARE);
      await page.keyboard.press('Enter');
      await titled(page, BARE);
      await tab(page, 'figures').getByText(`No shares or per-share figures of ${BARE} are stored.`).waitFor();
      assert.equal(await tab(page, 'figures').locator('dl').isVisible(), false);
      await isSame(page);
      await visitor.look('side-figures-none');
      // By keys: the tab has the focus, and arrows move to the next.
      await page.keyboard.press('k');
      await page.locator('#side').waitFor({ state: 'hidden' });
      await page.keyboard.press('k');
      await page.keyboard.press('ArrowRight');
      await tab(page, 'flow').waitFor();
    });
  });
});

describe('capital', () => {
  /** Securities of the demo market with stored trades, and those without. */
  async function byTrades(account) {
    const { securities } = await apiCall(account, 'GET', '/v1/securities?query=&limit=50');
    const symbols = securities.map(({ symbol }) => symbol);
    const answers = await Promise.all(symbols.map((symbol) => answer(account, 'GET', `/v1/quote/capital-flow?symbol=${symbol}`)));
    const of = (status) => symbols.filter((_, at) => answers[at].status === status);
    return { with: of(200), without: of(404) };
  }

  it('draws the flow of the day and its distribution, equal to the HTTP API', async () => {
    const ed = await person('Ed Sconce');
    const [symbol] = (await byTrades(ed)).with;
    assert.ok(symbol, 'the demo market has trades');
    await atChart('Ed Sconce', `/?symbol=${symbol}&period=1m`, async (page, visitor) => {
      await page.keyboard.press('f');
      const flow = tab(page, 'flow');
      await flow.getByText('Together').waitFor();
      const { capital_flow_lines: lines } = await apiCall(ed, 'GET', `/v1/quote/capital-flow?symbol=${symbol}`);
      const spread = await apiCall(ed, 'GET', `/v1/quote/capital-distribution?symbol=${symbol}`);
      assert.equal(await flow.locator('svg').getAttribute('data-points'), String(lines.length));
      const net = lines.at(-1).inflow.replace('-', '');
      await flow.locator('.reading').getByText(grouped(net)).waitFor();
      // Inflow minus outflow is the end of the line.
      await flow.locator('.sum').last().getByText(grouped(net)).first().waitFor();
      for (const text of [...Object.values(spread.capital_in), ...Object.values(spread.capital_out)])
        await flow.locator('.sums').getByText(grouped(text), { exact: true }).first().waitFor();
      // By keys along the minutes; the candles do not move.
      const time = await cellText(page, 'time');
      await flow.getByRole('application').focus();
      await page.keyboard.press('Home');
      await flow.locator('.reading').getByText(/ 09:30 /).waitFor();
      assert.equal(await cellText(page, 'time'), time);
      await visitor.look('side-flow');
    });
  });

  it('shows where there are no trades, and continues with the next security', async () => {
    const flo = await person('Flo Match');
    const { with: [traded], without: [bare] } = await byTrades(flo);
    assert.ok(bare, 'a security of the demo market has no trades');
    await atChart('Flo Match', `/?symbol=${bare}`, async (page, visitor) => {
      await page.keyboard.press('f');
      const flow = tab(page, 'flow');
      await flow.getByText(`No trades of ${bare} are stored`).waitFor();
      assert.equal(await flow.locator('.curve').isVisible(), false);
      await visitor.look('side-flow-none');
      await page.keyboard.press('/');
      await page.keyboard.type(traded);
      await page.keyboard.press('Enter');
      await titled(page, traded);
      await flow.getByText('Together').waitFor();
    });
  });
});

describe('grids', () => {
  let clock = 600;

  /**
   * Moves the market's clock, in minutes since midnight of the day in Hong Kong; it never moves
   * back.
   */
  async function step(minutes) {
    clock = Math.max(clock, minutes);
    const now = new Date(Date.parse(`${DAY}T00:00:00+08:00`) + clock * 60_000).toISOString();
    await apiCall(on.people[OPERATOR], 'POST', '/v1/admin/clock', { now });
  }

  /** Opens the form and fills in a grid around the current price. */
  async function fillIn(page, { step: size = '0.1', ...more } = {}) {
    await tab(page, 'grid').getByRole('button', { name: 'New grid' }).click();
    const base = Number(await page.locator('#grid-base').inputValue());
    assert.ok(base > 0, 'the form begins with the last price');
    const fields = { lower: String(Math.floor(base * 0.9)), upper: String(Math.ceil(base * 1.1)), up: size, down: size, ...more };
    for (const [name, value] of Object.entries(fields)) await page.locator(`#grid-${name}`).fill(value);
    return String(base);
  }

  const working = (page, text) => page.locator('#working li').filter({ hasText: text }).waitFor({ state: 'attached' });

  it('starts one from a form, draws it over the candles, and marks its triggers', async () => {
    const gil = await person('Gil Torch');
    await atChart('Gil Torch', `/?symbol=${SYMBOL}&period=1m`, async (page, visitor) => {
      await page.keyboard.press('G');
      const panel = tab(page, 'grid');
      await panel.getByText(`${SYMBOL} has no running grid.`).waitFor();
      const base = await fillIn(page);
      await page.locator('.verdict').filter({ hasText: /^Would be accepted: .* purchases/ }).waitFor();
      await visitor.look('side-grid-form');
      await page.getByRole('button', { name: 'Start the grid' }).click();
      await panel.getByText('running', { exact: true }).waitFor();
      await working(page, `Grid base @ ${base}`);
      await working(page, 'Grid upper bound @ ');
      await working(page, /Grid buys \d+ @ /);
      const { grid_order: [grid] } = await apiCall(gil, 'GET', `/v1/gridtrading/list?symbol=${SYMBOL}`);
      assert.equal(grid.status, 'Performing');
      // An hour of the market, in which it trades; the page updates automatically.
      await step(clock + 60);
      await panel.locator('.triggers li').first().waitFor();
      const history = `/v1/gridtrading/trigger_history_list?grid_order_id=${grid.order_id}&limit=100`;
      const { trigger_orders: triggers } = await apiCall(gil, 'GET', history);
      await page.waitForFunction(
        (count) => document.querySelectorAll('.triggers li').length === count,
        Math.min(triggers.length, 20),
      );
      const { grid_order: [now] } = await apiCall(gil, 'GET', `/v1/gridtrading/list?symbol=${SYMBOL}`);
      await working(page, `Grid base @ ${now.current_base_price}`);
      await panel.getByText(`${now.settlement_currency} `).first().waitFor();
      // As text at the candle that caused it.
      const [last] = triggers;
      const minute = new Date((Number(last.trigger_at) - 60 + 8 * 3600) * 1000).toISOString().slice(11, 16);
      await page.locator('#chart').focus();
      await page.keyboard.press('End');
      await walkTo(page, minute, 90);
      assert.match(await cellText(page, 'event'), new RegExp(`grid (buy|sale) of ${last.quantity} at ${String(Number(last.trigger_price)).replace('.', '\\.')}`));
      await isSame(page);
      await visitor.look('side-grid');
      // The same in daily candles.
      await page.locator('label:has(input[value=day])').click();
      await titled(page, `${SYMBOL} D`);
      await page.waitForFunction(() => document.getElementById('ro-event').textContent.includes('grid '));
    });
  });

  it('suspends, restarts, changes and cancels, the last after a confirmation', async () => {
    const hal = await person('Hal Snuffer');
    const status = async () => (await apiCall(hal, 'GET', `/v1/gridtrading/list?symbol=${SYMBOL}`)).grid_order[0].status;
    await atChart('Hal Snuffer', `/?symbol=${SYMBOL}&period=1m`, async (page) => {
      await page.keyboard.press('G');
      const panel = tab(page, 'grid');
      await panel.getByRole('button', { name: 'New grid' }).waitFor();
      await fillIn(page, { step: '3' });
      await page.getByRole('button', { name: 'Start the grid' }).click();
      await panel.getByText('running', { exact: true }).waitFor();
      await panel.getByRole('button', { name: 'Suspend' }).click();
      await panel.getByText('suspended · by you').waitFor();
      await working(page, 'Grid base (suspended)');
      assert.equal(await status(), 'Suspended');
      await panel.getByRole('button', { name: 'Restart' }).click();
      await panel.getByText('running', { exact: true }).waitFor();
      await panel.getByRole('button', { name: 'Change' }).click();
      await page.locator('#grid-up').fill('4');
      await page.getByRole('button', { name: 'Change the grid' }).click();
      await panel.getByText('+4 % / \u22123 %').waitFor();
      await panel.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Keep it' }).click();
      assert.equal(await status(), 'Performing');
      await panel.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Cancel the grid' }).click();
      await panel.locator('.grid-status[data-status=Canceled]').waitFor();
      await page.waitForFunction(() => document.querySelectorAll('#working li').length === 0);
      await isSame(page);
    });
  });

  it('shows errors beside the field before anything is sent, and refusals of the server', async () => {
    await person('Ira Link');
    await atChart('Ira Link', `/?symbol=${SYMBOL}`, async (page) => {
      let sent = 0;
      page.on('request', (request) => (sent += request.url().endsWith('/v1/gridtrading/submit') ? 1 : 0));
      await page.keyboard.press('G');
      await tab(page, 'grid').getByRole('button', { name: 'New grid' }).waitFor();
      // Crossing bounds.
      await fillIn(page, { lower: '500', upper: '400' });
      await page.getByRole('button', { name: 'Start the grid' }).click();
      await page.getByText('The upper bound must be above the lower one.').waitFor();
      assert.equal(await page.locator('#grid-upper').getAttribute('aria-invalid'), 'true');
      await page.locator('#grid-upper').fill('');
      await page.keyboard.press('Enter');
      await page.getByText('A number above zero is needed here.').waitFor();
      assert.equal(sent, 0);
    });
  });

  it('is not offered where no grid trades', async () => {
    await person('Joy Spill');
    await atChart('Joy Spill', '/?symbol=009001.SZ', async (page, visitor) => {
      await page.keyboard.press('G');
      await tab(page, 'grid').getByText('Grids trade securities of Hong Kong and the US.').waitFor();
      await visitor.look('side-grid-none');
      // On a medium screen the links have little space, and the account name is next to the buttons
      // or below them.
      const [account, tools] = await Promise.all(['#account', '.tools'].map((one) => page.locator(one).boundingBox()));
      const isBeside = account.x + account.width <= tools.x;
      assert.ok(isBeside || account.y >= tools.y + tools.height, 'the name is under the buttons');
    }, { viewport: { width: 768, height: 1024 } });
  });
});

describe('the layout of the panel', () => {
  it('speaks three languages, on a phone, at a desk and on a wall, in light and dark', async () => {
    const kit = await person('Kit Beacon');
    await apiCall(kit, 'POST', '/v1/watchlist/groups', { name: '灯塔 Beacon', securities: [SYMBOL, OTHER] });
    const places = [['en-GB', PHONE, 'dark', 'New list', 'New grid'], ['zh-CN', DESKTOP, 'light', '新建列表', '新建网格'], ['zh-HK', WALL, 'dark', '新建列表', '新建網格']];
    for (const [locale, viewport, scheme, list, grid] of places) {
      await on.visit({ locale, viewport, scheme }, async (visitor) => {
        const { page } = visitor;
        // The form is in the language of the browser, so it is found by its fields.
        await visitor.open(on.at(`/signin?next=${encodeURIComponent(`/?symbol=${SYMBOL}`)}`));
        await page.locator('input[autocomplete=username]').fill('Kit Beacon');
        await page.locator('input[type=password]').fill(PASSWORD);
        await page.keyboard.press('Enter');
        await drawn(page);
        await starred(page);
        await page.locator('#side-open').click();
        await page.getByRole('button', { name: list }).waitFor();
        await tab(page, 'lists').locator(`li[data-symbol="${OTHER}"]`).waitFor();
        await visitor.look(`side-${locale}-lists`);
        await page.locator('label:has(input[value=figures])').click();
        await tab(page, 'figures').locator('dd').filter({ hasText: '6.31' }).waitFor();
        await visitor.look(`side-${locale}-figures`);
        await page.locator('label:has(input[value=flow])').click();
        await tab(page, 'flow').locator('.flow:visible, .lead:visible').first().waitFor();
        await visitor.look(`side-${locale}-flow`);
        await page.locator('label:has(input[value=grid])').click();
        await page.getByRole('button', { name: grid }).click();
        await page.locator('.verdict').filter({ hasText: /\S/ }).waitFor();
        await visitor.look(`side-${locale}-form`);
      });
    }
  });
});
