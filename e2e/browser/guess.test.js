// Guessing passwords. A separate file, because the server counts failures by address.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Client } from './client.js';
import { stage } from './stage.js';

const on = stage();

describe('a guesser', () => {
  it('gets the same answer for a wrong password and for an unknown account', async () => {
    await on.person('Bo Wick');
    const client = await Client.register(on.server, 'Prober');
    const seen = [];
    for (const name of ['Bo Wick', 'Unknown Here']) {
      const grant = await client.device();
      await on.visit({}, async (visitor) => {
        await visitor.open(grant.verification_uri_complete);
        const status = await visitor.signIn(name, 'not the password');
        await visitor.look(`refused-${seen.length + 1}`);
        seen.push([status, (await visitor.text()).replaceAll(grant.user_code, 'CODE').replaceAll(name, 'NAME')]);
        // The typed password is not sent back either.
        assert.equal(await visitor.page.getByLabel('Password').inputValue(), '');
      });
    }
    assert.deepEqual(seen[0], seen[1]);
    assert.equal(seen[0][0], 403);
  });

  it('has to wait, whether the account exists or not', async () => {
    await on.person('Cal Wick');
    for (const name of ['Cal Wick', 'Unknown There']) {
      await on.visit({}, async (visitor) => {
        await visitor.open(on.at('/signin'));
        const statuses = [];
        while (statuses.length < 12 && statuses.at(-1) !== 429) statuses.push(await visitor.signIn(name, 'a guess'));
        assert.equal(statuses.at(-1), 429, statuses);
        await visitor.shows(/Try again in \d+ s/);
        assert.ok(Number((await visitor.answer.allHeaders())['retry-after']) >= 1);
      });
    }
  });
});
