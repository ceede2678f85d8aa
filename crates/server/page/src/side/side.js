// The panel beside the chart, a drawer above it where the screen is narrow: lists, figures, capital flow, grids, one at a time. Start here.

import { byId } from '../dom.js';
import { remember } from '../memory.js';
import { FiguresPanel } from './figures-panel.js';
import { FlowPanel } from './flow-panel.js';
import { GridPanel } from './grid-panel.js';
import { triggerWords } from './grids.js';
import { dotsOf, placeTriggers } from './levels.js';
import { ListsPanel } from './lists-panel.js';

const NAMES = ['lists', 'figures', 'flow', 'grid'];
/** As in the stylesheet: below this the panel lies above the chart. */
const DRAWER = '(max-width: 1000px)';

export class Side {
  /** `go` opens a security, `onMarks` draws the chart's marks anew, `onTrading` asks how the account is, `say` tells in words what was done. */
  constructor(ask, { go, onMarks, onTrading, say }) {
    this.root = document.documentElement;
    const away = (symbol) => {
      // What was chosen is under a drawer.
      if (this.isDrawer) this.close();
      go(symbol);
    };
    this.panels = {
      lists: new ListsPanel(ask, { go: away, say }),
      figures: new FiguresPanel(ask),
      flow: new FlowPanel(ask),
      grid: new GridPanel(ask, { onTold: onMarks, onTrading, say }),
    };
    this.grids = this.panels.grid.grids;
    this.button = byId('side-open');
    this.button.addEventListener('click', () => this.toggle(this.shown ?? this.last ?? 'lists'));
    byId('side-close').addEventListener('click', () => this.close());
    byId('side-tabs').addEventListener('change', ({ target }) => this.open(target.value));
    byId('side').addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.isDrawer) this.close();
    });
    // What was open is open again; early.js has made room for it before the first paint.
    const before = this.root.dataset.side;
    delete this.root.dataset.side;
    if (NAMES.includes(before)) this.open(before);
  }

  get isDrawer() {
    return matchMedia(DRAWER).matches;
  }

  get shown() {
    return this.root.dataset.side;
  }

  open(name) {
    if (this.shown === name) return;
    if (this.shown) this.leave(this.shown);
    this.root.dataset.side = name;
    this.last = name;
    remember('side', name);
    this.button.setAttribute('aria-expanded', 'true');
    byId('side-tabs').querySelector(`[value=${name}]`).checked = true;
    const [panel, box] = [this.panels[name], byId(`side-${name}`)];
    box.hidden = false;
    if (!panel.box) panel.mount(box);
    panel.open();
  }

  leave(name) {
    byId(`side-${name}`).hidden = true;
    this.panels[name].close();
  }

  close() {
    const isInside = byId('side').contains(document.activeElement);
    if (this.shown) this.leave(this.shown);
    delete this.root.dataset.side;
    remember('side', undefined);
    this.button.setAttribute('aria-expanded', 'false');
    if (isInside) this.button.focus();
  }

  /** A key for a panel opens it with the focus in it, and closes it when it is there already. */
  toggle(name) {
    if (this.shown === name) return this.close();
    this.open(name);
    return byId('side-tabs').querySelector(`[value=${name}]`).focus();
  }

  /** Another security is being opened: nothing of the former one may be seen with it. */
  leaveFor(symbol) {
    if (symbol !== this.grids.symbol) this.watch(undefined);
  }

  /** The security that the chart shows, and its hours if they are known. */
  watch(symbol, sessions) {
    for (const panel of Object.values(this.panels)) panel.watch(symbol, sessions);
  }

  /** What the chart shows of the grid: lines, a dot for each trigger, and words at the candles that caused them. */
  marks(candles, period) {
    const placed = placeTriggers(candles, this.grids.triggers, period);
    const words = new Map([...placed].map(([index, triggers]) => [index, triggers.map(triggerWords)]));
    return { lines: this.grids.lines, dots: dotsOf(candles, placed), words };
  }

  /** The account's journal has gone on. */
  traded() {
    if (this.panels.grid.isOffered) this.grids.refresh();
  }

  /** The account was asked whether it trades. Grids of one that does not are asked for only where they are looked at. */
  settle() {
    this.panels.grid.settle();
  }
}
