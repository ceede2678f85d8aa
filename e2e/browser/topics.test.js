// The community: writing with a preview, replies, moderation, and texts that try to inject markup.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { PHONE, WALL } from './browser.js';
import { PASSWORD, stage } from './stage.js';

const [ANN, BO, OPERATOR] = ['Ann Ember', 'Bo Tallow', 'Otto Lantern'];
const CASH = ['--cash', 'HKD=1000'];
const on = stage([ANN, ...CASH], [BO, ...CASH], [OPERATOR, '--role', 'operator', ...CASH]);

const at = (name, where, what, options = {}) =>
  on.visit(options, async (visitor) => {
    const { page } = visitor;
    // The form is in the language of the browser, so it is found by its fields.
    await visitor.open(on.at(`/signin?next=${encodeURIComponent(where)}`));
    await page.locator('input[autocomplete=username]').fill(name);
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('#dashboard h1').waitFor();
    await what(page, visitor);
  });

/** The HTTP response to an account. */
async function apiCall(name, method, where, json) {
  const headers = { authorization: `Bearer ${on.people[name].access_token}` };
  const answer = await on.server.ask(method, where, { headers, json });
  assert.equal(answer.status, 200, `${where}: ${answer.text}`);
  return answer.json.data;
}

const written = async (name, topic) => (await apiCall(name, 'POST', '/v1/content/topics', topic)).item.id;

/** Types a text by keys: layout shifts while typing are expected. */
async function type(page, label, text) {
  await page.getByLabel(label, { exact: true }).focus();
  await page.keyboard.type(text);
}

describe('topics', () => {
  it('are written by keys with a preview, and answered', async () => {
    let address;
    await at(ANN, '/topics', async (page, visitor) => {
      await page.keyboard.press('n');
      await page.locator('#topic-body:focus').waitFor();
      await page.keyboard.type('Of **9001.HK** <b>x</b>');
      const preview = page.getByRole('region', { name: 'Preview' });
      // A post is plain text.
      await preview.getByText('Of **9001.HK** <b>x</b>').waitFor();
      await page.getByText('23 of 5000 characters').waitFor();
      await page.getByRole('radio', { name: 'Post' }).focus();
      await page.keyboard.press('ArrowRight');
      await preview.locator('strong').getByText('9001.HK').waitFor();
      assert.equal(await preview.locator('b').count(), 0);
      await page.getByRole('button', { name: 'Publish' }).focus();
      await page.keyboard.press('Enter');
      await page.getByText('An article needs a title.').waitFor();
      await type(page, 'Title', 'On candles');
      await type(page, 'Hashtags', 'wax');
      await visitor.look('topics-compose');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/topics\/\d+$/);
      await page.getByRole('heading', { name: 'On candles' }).waitFor();
      address = new URL(page.url()).pathname;
      const symbol = page.locator('.prose').getByRole('link', { name: '9001.HK' });
      assert.equal(await symbol.getAttribute('href'), '/?symbol=9001.HK');
      await page.getByText('There are no replies yet.').waitFor();
      await visitor.look('topic');
    });
    await at(BO, '/topics', async (page, visitor) => {
      await page.getByRole('link', { name: 'On candles' }).click();
      await page.waitForURL((url) => url.pathname === address);
      await page.getByText('Opened by').waitFor();
      await page.keyboard.press('r');
      await page.locator('#reply-body:focus').waitFor();
      await page.keyboard.type('first line\nsecond <i>line</i>');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByText('Sent.').waitFor();
      const reply = page.locator('.replies li').first();
      await reply.getByText('second <i>line</i>').waitFor();
      // A reply to the reply, by keys.
      await reply.getByRole('button', { name: `Reply to ${BO}` }).focus();
      await page.keyboard.press('Enter');
      await page.locator('#reply-body:focus').waitFor();
      await page.keyboard.type('and again');
      await page.getByRole('button', { name: 'Send' }).focus();
      await page.keyboard.press('Enter');
      await page.locator('.replies li').nth(1).getByRole('link', { name: `To ${BO}` }).waitFor();
      await visitor.look('topic-replies');
    });
    const id = address.split('/').at(-1);
    const { items } = await apiCall(ANN, 'GET', `/v1/content/topics/${id}/comments`);
    assert.deepEqual(items.map(({ body, reply_to_id: to }) => [body, to]), [['and again', items[1].id], ['first line\nsecond <i>line</i>', '0']]);
  });

  it('hidden by an operator are gone for others, and their author sees the reason', async () => {
    const id = await written(BO, { body: 'Buy WICK.US now, everybody!' });
    await at(OPERATOR, `/topics/${id}`, async (page) => {
      await page.locator('summary').filter({ hasText: 'Hide' }).first().focus();
      await page.keyboard.press('Enter');
      await type(page, 'Reason, for its author', 'advertising');
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.pathname === '/topics');
      await page.getByRole('link', { name: 'Hidden' }).waitFor();
      assert.equal(await page.getByText('everybody!').count(), 0);
    });
    await at(ANN, `/topics/${id}`, (page) => page.getByText('There is no such topic.').waitFor(), { complaints: [/status of 404: GET .*\/v1\/content\/topics\/\d+/] });
    await at(BO, '/topics?show=mine', async (page, visitor) => {
      await page.getByText('An operator has hidden this: advertising').waitFor();
      await visitor.look('topics-hidden');
    });
    await at(OPERATOR, '/topics?show=hidden', async (page, visitor) => {
      await page.getByText('everybody!').waitFor();
      await visitor.look('topics-operator');
      await page.getByRole('button', { name: `Restore ${id}` }).focus();
      await page.keyboard.press('Enter');
      await page.getByText(`${id} is shown again.`).waitFor();
    });
    await at(ANN, `/topics/${id}`, (page) => page.locator('.prose').getByText('everybody!').waitFor());
  });

  it('run nothing, load nothing, and link to nothing but the web', async () => {
    const payloads = [
      '<script>window.canary = 1</script>', '<img src=x onerror="window.canary = 1">', '<svg onload="window.canary = 1">',
      '"><iframe srcdoc="<script>parent.canary = 1</script>">', '<a href="javascript:window.canary = 1">x</a>', '<style>*{display:none}</style>',
      '[a](javascript:window.canary=1)', '[b](data:text/html,<script>1</script>)', '[c](https://example.com/"onmouseover="window.canary=1)',
      '![d](https://example.com/pixel.png)', '[e](//example.com)', '`<script>window.canary = 1</script>`', '{{constructor.constructor("x")()}}',
      '<form action="https://example.com"><input name=x></form>', '&lt;script&gt;', '\u202egnihtemos', 'https://example.com/<script>',
    ];
    const body = payloads.join('\n\n');
    const article = await written(ANN, { title: '<img src=x onerror="window.canary = 1">', body, topic_type: 'article', hashtags: ['<b>'] });
    const post = await written(ANN, { body });
    for (const id of [article, post]) {
      await apiCall(BO, 'POST', `/v1/content/topics/${id}/comments`, { body: payloads.slice(0, 6).join('\n') });
      await at(BO, `/topics/${id}`, async (page) => {
        await page.locator('.replies li').waitFor();
        const found = await page.evaluate(() => ({
          canary: window.canary,
          elements: [...document.querySelectorAll('main script, main img, main svg, main iframe, main style, main form [name=x], main b')].map(({ outerHTML }) => outerHTML),
          links: [...document.querySelectorAll('.prose a')].map(({ protocol }) => protocol).filter((one) => !['http:', 'https:'].includes(one)),
        }));
        assert.deepEqual(found, { canary: undefined, elements: [], links: [] });
        assert.ok((await page.locator('.prose').first().innerText()).includes('<script>window.canary = 1</script>'));
      });
    }
    await at(BO, '/topics', (page) => page.getByRole('link', { name: '<img src=x onerror="window.canary = 1">', exact: true }).waitFor());
  });

  it('at their limits do not overflow on a phone', async () => {
    const heaped = `Z${'\u0301\u0316'.repeat(60)}`;
    const id = await written(OPERATOR, { title: `${heaped}algo`, body: `${heaped}\n${'W'.repeat(500)}`, hashtags: ['x'.repeat(50), '数'.repeat(50)] });
    await at(BO, '/topics', async (page, visitor) => {
      await page.getByText('x'.repeat(50)).waitFor();
      await visitor.look('topics-long');
    }, { viewport: PHONE });
    await at(BO, `/topics/${id}`, async (page, visitor) => {
      await page.getByText('W'.repeat(500)).first().waitFor();
      await visitor.look('topic-long');
      assert.equal(await page.locator('.topic').evaluate((one) => getComputedStyle(one).overflowY), 'clip');
    }, { viewport: PHONE });
  });

  const PLACES = [['en-GB', 'Topics', 'Write a topic', PHONE, 'dark'], ['zh-CN', '话题', '发表话题', WALL, 'light'], ['zh-HK', '話題', '發表話題', PHONE, 'light']];
  for (const [locale, title, write, viewport, scheme] of PLACES) {
    it(`are in ${locale}, on a screen ${viewport.width} wide`, async () => {
      await at(BO, '/topics', async (page, visitor) => {
        await page.getByRole('heading', { name: title, exact: true }).waitFor();
        await page.locator('summary').filter({ hasText: write }).click();
        await visitor.look(`topics-${locale}`);
      }, { locale, viewport, scheme });
    });
  }
});
