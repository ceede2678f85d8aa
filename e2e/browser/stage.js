// Shared by all test files: a server with a fresh store, and a browser.

import { after, before } from 'node:test';

import { openBrowser, visit } from './browser.js';
import { Server } from './harness.js';

export const CONFIRM = '/oauth2/device/authorize/confirm';
export const PASSWORD = 'paraffin and twine';

/**
 * Starts before the tests of a file, with the accounts they share (`[name, …options]`), and stops
 * after them.
 */
export const stage = (...people) => stageOf(() => Server.start(), people);

/** The same with the market clock at another time. */
export const stageAt = (clock, ...people) => stageOf(() => Server.startAt(clock), people);

function stageOf(start, people) {
  const stage = {
    people: {},
    /** Runs `what` as a visitor, and fails if its browser reported a problem. */
    visit: (options, what) => visit(stage.browser, options, what),
    /** The address of a page. */
    at: (path) => new URL(path, stage.server.url).href,
    /** A new account with a password. */
    person: (name, ...options) => stage.server.account(name, PASSWORD, ...options),
  };
  before(async () => {
    stage.server = await start();
    stage.browser = await openBrowser();
    for (const [name, ...options] of people) stage.people[name] = await stage.person(name, ...options);
  });
  after(async () => {
    await stage.browser?.close();
    await stage.server?.stop();
  });
  return stage;
}
