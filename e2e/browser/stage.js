// What every file of tests has: a server with a fresh store, and a browser.

import { after, before } from 'node:test';

import { openBrowser, visit } from './browser.js';
import { Server } from './harness.js';

export const CONFIRM = '/oauth2/device/authorize/confirm';
export const PASSWORD = 'paraffin and twine';

/** Comes up before the tests of a file, with the people they share (`[name, …options]`), and goes down after them. */
export const stage = (...people) => stageOf(() => Server.start(), people);

/** The same with a market clock that stands elsewhere. */
export const stageAt = (clock, ...people) => stageOf(() => Server.startAt(clock), people);

function stageOf(start, people) {
  const stage = {
    people: {},
    /** Does something as a visitor whose browser has nothing to complain about in the end. */
    visit: (options, what) => visit(stage.browser, options, what),
    /** A page's address. */
    at: (path) => new URL(path, stage.server.url).href,
    /** Somebody new who can sign in. */
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
