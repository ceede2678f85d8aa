// The account's orders on the chart: open ones are lines at their price, the position is a line at its
// cost, fills are arrows at the candles that filled them. Updated while the account trades.

import { dateOf, firstIndex } from './candles.js';
import { Live } from './live.js';
import { lastDate } from './periods.js';
import { phrase } from './phrases/chart.js';

/** In market time: after this there may be another candle. */
const CANDLE_S = 60;

export class Trades {
  /**
   * `onChanged` is called when orders or fills have changed, `onTraded` after any change to the
   * account, and `onMoved` when the clock has advanced by a minute.
   */
  constructor(ask, { onChanged, onTraded = () => {}, onMoved }) {
    Object.assign(this, { ask, onChanged, onTraded, onMoved, live: undefined, marks: undefined, isPushed: false });
  }

  /** While changes of the account are pushed, nothing is polled. */
  pushed(isPushed) {
    this.isPushed = isPushed;
    this.live?.pushed(isPushed);
  }

  /** The account has changed, perhaps for the first time. */
  changed() {
    this.live?.start();
    this.live?.soon();
  }

  /** The clock was moved, or the stream is open again. */
  moved() {
    this.live?.soon();
  }

  /** Requests the marks again, after a change made here. */
  async refresh() {
    this.live?.start();
    await this.live?.now();
  }

  /** Whether the account is known to read its orders only. */
  get isReadOnly() {
    return Boolean(this.marks?.read_only);
  }

  /** Requests the marks of a security. For an account that does not trade this happens once. */
  async watch(symbol) {
    this.stop();
    const path = `/v1/trade/marks?symbol=${encodeURIComponent(symbol)}`;
    const live = new Live(async () => {
      const { data } = await this.ask(path);
      if (this.live === live) this.take(data);
    });
    this.live = live;
    live.pushed(this.isPushed);
    live.start();
    await live.now();
    // The chart works without them: if the first request fails, the next view repeats it.
    if (!this.marks?.entries) live.stop();
  }

  take(marks) {
    const before = this.marks;
    this.marks = marks;
    const shown = ({ orders, fills, position, read_only: isReadOnly }) => JSON.stringify([orders, fills, position, isReadOnly]);
    if (!before || shown(before) !== shown(marks)) this.onChanged();
    if (marks.entries !== (before?.entries ?? 0)) this.onTraded();
    this.movedAt ??= Number(marks.at);
    if (Number(marks.at) - this.movedAt < CANDLE_S) return;
    this.movedAt = Number(marks.at);
    this.onMoved();
  }

  stop() {
    this.live?.stop();
    Object.assign(this, { live: undefined, marks: undefined, movedAt: undefined });
  }

  get lines() {
    const { orders = [], position } = this.marks ?? {};
    const hasHandle = !this.isReadOnly;
    const held = position ? [{ side: 'held', price: position.cost_price, words: phrase('line_cost', position.quantity), style: 'cost' }] : [];
    return [...held, ...orders.flatMap(linesOf).map((line) => ({ ...line, hasHandle }))];
  }

  placed(candles, period) {
    return placeFills(candles, this.marks?.fills ?? [], period);
  }
}

/** An order has a line at each price that it waits for; a market order has none. */
function linesOf({ side, quantity, price, trigger_price: trigger }) {
  const words = phrase(side === 'Buy' ? 'line_buy' : 'line_sell', quantity);
  const limit = price ? [{ side, price, words, style: 'order' }] : [];
  return trigger ? [{ side, price: trigger, words: phrase('line_trigger', words), style: 'trigger' }, ...limit] : limit;
}

/**
 * Maps candle indexes to their fills. Fills of candles that are not shown, such as before the
 * opening, are left out.
 */
export function placeFills(candles, fills, period) {
  const placed = new Map();
  for (const fill of fills) {
    const index = indexOf(candles, fill, period);
    if (index >= 0) placed.set(index, [...(placed.get(index) ?? []), fill]);
  }
  return placed;
}

function indexOf(candles, { candle_at: stamp, trading_day: day }, period) {
  if (period.family === 'clock') {
    const at = Number(stamp);
    const index = firstIndex(candles, (candle) => candle.stamp > at) - 1;
    return index >= 0 && at < candles[index].stamp + Number.parseInt(period.name, 10) * 60 ? index : -1;
  }
  const index = firstIndex(candles, (candle) => dateOf(candle) > day) - 1;
  return index >= 0 && day <= lastDate(dateOf(candles[index]), period.name) ? index : -1;
}

/** `bought 200 at 305.200`. */
export const fillWords = ({ side, quantity, price }) => phrase(side === 'Buy' ? 'bought' : 'sold', quantity, price);

/** One arrow for the fills of a side at a candle, with their total. */
export function arrowsOf(candles, placed) {
  return [...placed]
    .sort(([a], [b]) => a - b)
    .flatMap(([index, fills]) =>
      ['Buy', 'Sell'].flatMap((side) => {
        const own = fills.filter((fill) => fill.side === side);
        const sum = own.reduce((total, { quantity }) => total + Number(quantity), 0);
        return own.length > 0 ? [{ wall: candles[index].wall, side, text: String(Number(sum.toFixed(4))) }] : [];
      }),
    );
}
