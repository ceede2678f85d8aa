// The panel next to the chart, a drawer above it on a narrow screen: lists, figures, capital flow,
// grids, orders, one at a time. Start here.

import { byId } from '../dom.js';
import { remember } from '../memory.js';
import { FiguresPanel } from './figures-panel.js';
import { FlowPanel } from './flow-panel.js';
import { GridPanel } from './grid-panel.js';
import { triggerWords } from './grids.js';
import { dotsOf, placeTriggers } from './levels.js';
import { ListsPanel } from './lists-panel.js';

const NAMES = ['lists', 'figures', 'flow', 'grid', 'order'];
/** Same as in the stylesheet: below this width the panel covers the chart. */
const DRAWER = '(max-width: 1000px)';

export class Side {
  /**
   * `go` opens a security, `onMarks` redraws the chart's marks, `onTrading` refreshes the account,
   * `say` shows and announces a text. `stream` brings prices. `ordering` is the panel of another
   * script.
   */
  constructor(ask, { go, onMarks, onTrading, say, stream, ordering }) {
    this.root = document.documentElement;
    const away = (symbol) => {
      // A drawer would cover the chosen security.
      if (this.isDrawer) this.close();
      go(symbol);
    };
    this.panels = {
      lists: new ListsPanel(ask, { go: away, say, stream }),
      figures: new FiguresPanel(ask, stream),
      flow: new FlowPanel(ask, stream),
      grid: new GridPanel(ask, { onChanged: onMarks, onTrading, say }),
      order: ordering,
    };
    this.grids = this.panels.grid.grids;
    this.button = byId('side-open');
    this.button.addEventListener('click', () => this.toggle(this.shown ?? this.last ?? 'lists'));
    byId('side-close').addEventListener('click', () => this.close());
    byId('side-tabs').addEventListener('change', ({ target }) => this.open(target.value));
    byId('side').addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.isDrawer) this.close();
    });
    // The last open panel opens again; early.js reserved its space before the first paint.
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

  /** The key of a panel opens and focuses it, or closes it if it is open. */
  toggle(name) {
    if (this.shown === name) return this.close();
    this.open(name);
    return byId('side-tabs').querySelector(`[value=${name}]`).focus();
  }

  /**
   * Called before another security is opened: data of the previous one must not be visible with it.
   */
  leaveFor(symbol) {
    if (symbol !== this.grids.symbol) this.watch(undefined);
  }

  /** The security that the chart shows, and its hours if they are known. */
  watch(symbol, sessions) {
    for (const panel of Object.values(this.panels)) panel.watch(symbol, sessions);
  }

  /**
   * The grid's marks for the chart: lines, a dot for each trigger, and texts at the candles that
   * caused them.
   */
  marks(candles, period) {
    const placed = placeTriggers(candles, this.grids.triggers, period);
    const words = new Map([...placed].map(([index, triggers]) => [index, triggers.map(triggerWords)]));
    return { lines: this.grids.lines, dots: dotsOf(candles, placed), words };
  }

  /** An account that may not trade has no ticket. */
  offerOrders(isOffered) {
    byId('side-tabs').querySelector('[value=order]').parentElement.hidden = !isOffered;
    if (!isOffered && this.shown === 'order') this.close();
  }

  /** The account's journal has advanced. */
  traded() {
    if (this.panels.grid.isOffered) this.grids.refresh();
  }

  /**
   * It is now known whether the account trades. Grids of an account that does not are requested
   * only when their panel is open.
   */
  settle() {
    this.panels.grid.settle();
  }
}
