// Buttons, switches and keys of the chart page. `app.js` passes their actions.

import { byId } from './dom.js';
import { leaveFull, toggleFull, watchFull } from './full.js';
import { listen } from './keys.js';
import { RANGE_NAMES } from './link.js';
import { stepPeriod } from './periods.js';
import { cycleRise, cycleTheme } from './prefer.js';

const ZOOM = 1.25;
/** The buttons of the on-demand script, and what each opens. */
const WAYS = { 'studies-open': 'studies', 'compare-open': 'compare', 'save-open': 'save' };

/** `now` returns view, chart and the periods that have candles. */
export function wire(does, now) {
  const restyled = (prefer) => () => {
    prefer();
    now().chart?.restyle();
  };
  wireControls(does);
  byId('theme').addEventListener('click', restyled(cycleTheme));
  byId('rise').addEventListener('click', restyled(cycleRise));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => now().chart?.restyle());
  addEventListener('popstate', does.goBack);
  wireKeys(does, now, restyled);
}

function wireControls({ choose, alter, chooseRange, newest, openExtra, order, replay, layouts }) {
  const controls = byId('controls');
  controls.addEventListener('change', ({ target }) => {
    if (target.type === 'radio') choose(target.name, target.value);
  });
  // With a single input and no button, Enter would submit the form.
  controls.addEventListener('submit', (event) => event.preventDefault());
  // After a choice by pointer the chart gets the focus; with keys the focus stays.
  controls.addEventListener('click', (event) => {
    if (event.target.type === 'radio' && event.detail > 0) byId('chart').focus({ preventScroll: true });
  });
  byId('under').addEventListener('change', ({ target }) => alter({ [target.name]: target.value }));
  byId('ranges').addEventListener('click', ({ target }) => target.dataset.range && chooseRange(target.dataset.range));
  for (const [id, way] of Object.entries(WAYS)) byId(id).addEventListener('click', () => openExtra(way));
  byId('replay-open').addEventListener('click', replay);
  byId('layouts-open').addEventListener('click', layouts);
  byId('full').addEventListener('click', toggleFull);
  watchFull();
  byId('newest').addEventListener('click', newest);
  // With a modifier key, and for an account that may not trade, the link leads to the portfolio.
  byId('trade').addEventListener('click', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && order()) event.preventDefault();
  });
  byId('help-open').addEventListener('click', () => byId('help').showModal());
}

function wireKeys({ choose, alter, chooseRange, newest, beginning, openExtra, panel, goTo, replay, draw, again, layouts, step }, now, restyled) {
  const chart = (what) => (event) => now().chart && what(now().chart, event);
  const cycle = (step) => choose('period', stepPeriod(now().view.period, step, now().periods));
  const other = (name, one, two) => choose(name, now().view[name] === one ? two : one);
  const scale = (name) => !byId('scales').disabled && alter({ scale: now().view.scale === name ? 'linear' : name });
  listen({
    '/': () => byId('symbol').focus(),
    '?': () => byId('help').showModal(),
    ArrowLeft: chart((one, { shiftKey }) => one.step(shiftKey ? -10 : -1)),
    ArrowRight: chart((one, { shiftKey }) => one.step(shiftKey ? 10 : 1)),
    Home: beginning,
    End: newest,
    '+': chart((one) => one.zoom(ZOOM)),
    '=': chart((one) => one.zoom(ZOOM)),
    '-': chart((one) => one.zoom(1 / ZOOM)),
    p: () => cycle(1),
    P: () => cycle(-1),
    a: () => other('adjust', 'none', 'forward'),
    s: () => {
      if (!byId('sessions').disabled) other('session', 'intraday', 'all');
    },
    L: () => scale('log'),
    '%': () => scale('percent'),
    i: () => openExtra('studies'),
    m: () => openExtra('compare'),
    x: () => openExtra('save'),
    F: toggleFull,
    R: replay,
    d: draw,
    ...Object.fromEntries(RANGE_NAMES.map((range, at) => [String(at + 1), () => chooseRange(range)])),
    g: goTo,
    y: layouts,
    '[': () => step(-1),
    ']': () => step(1),
    o: () => byId('trade').click(),
    w: () => byId('star').click(),
    l: () => panel('lists'),
    k: () => panel('figures'),
    f: () => panel('flow'),
    G: () => panel('grid'),
    r: again,
    t: restyled(cycleTheme),
    c: restyled(cycleRise),
    Escape: () => {
      if (document.documentElement.dataset.full) leaveFull();
      now().chart?.clearLook();
    },
  });
}
