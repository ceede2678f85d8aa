// Continues the newest candle with pushed quotes and trades, by the rules by which the SDKs do:
// minutes grow by trades, days take the figures of a quote. Where a push cannot be placed, the
// candles are requested again.

import { SESSION, candleOf, dateOf } from './candles.js';
import { compared, plus, times } from './decimal.js';
import { marketOf } from './market.js';

/** Trade types of a market that count volume only, or nothing. All others also move the price. */
const VOLUME_ONLY = { HK: 'DMPXY', US: 'CGHVW', CN: '' };
const IGNORED = { HK: '', US: 'MP', CN: '' };

const changed = (candle, text) =>
  candleOf({ ...text, timestamp: candle.stamp, time: candle.time, trade_session: candle.session });
const later = (a, b) => (compared(a, b) < 0 ? b : a);
const lower = (a, b) => (compared(a, b) > 0 ? b : a);

/**
 * The candles after some trades, or undefined if they have to be requested: a new day, or a new
 * candle of several minutes, whose start depends on the market's hours.
 */
export function withTrades(candles, { symbol, trade }, { minutes, session }) {
  const { market } = marketOf(symbol);
  let [last, after] = [candles.at(-1), []];
  for (const { price, volume, timestamp, trade_type: type, trade_session: of } of trade) {
    if (session !== 'all' && of !== SESSION.intraday) continue;
    if (IGNORED[market].includes(type) && type !== '') continue;
    // Earlier trades are part of the candles that were requested.
    if (timestamp < last.stamp) continue;
    const movesPrice = type === '' || !VOLUME_ONLY[market].includes(type);
    if (timestamp >= last.stamp + minutes * 60) {
      const next = minutes === 1 && nextMinute(last, timestamp, of, movesPrice ? price : last.text.close);
      if (!next) return undefined;
      if (last !== candles.at(-1)) after.push(last);
      last = next;
    }
    if (last.session !== of) return undefined;
    const unit = market === 'CN' ? 100 : 1;
    const moved = movesPrice ? { high: later(last.text.high, price), low: lower(last.text.low, price), close: price } : {};
    last = changed(last, {
      ...last.text,
      ...moved,
      volume: Number(last.text.volume) + volume,
      turnover: plus(last.text.turnover, times(price, String(volume * unit))),
    });
  }
  if (last === candles.at(-1)) return candles;
  const kept = last.stamp === candles.at(-1).stamp || after[0]?.stamp === candles.at(-1).stamp ? candles.slice(0, -1) : candles;
  return [...kept, ...after, last];
}

/** The candle of a minute after the last one; undefined on another day, when the offset may differ. */
function nextMinute(last, timestamp, session, price) {
  const stamp = timestamp - (timestamp % 60);
  const time = new Date((stamp + last.offset * 60) * 1000).toISOString().slice(0, 19) + last.time.slice(19);
  if (time.slice(0, 10) !== dateOf(last)) return undefined;
  return candleOf({ timestamp: stamp, time, trade_session: session, open: price, high: price, low: price, close: price, volume: 0, turnover: '0.000' });
}

/** The daily candles after a quote, or undefined if they have to be requested: a new day. */
export function withQuote(candles, quote) {
  const last = candles.at(-1);
  if (quote.trade_session !== SESSION.intraday) return candles;
  const date = new Date((quote.timestamp + last.offset * 60) * 1000).toISOString().slice(0, 10);
  if (date < dateOf(last)) return candles;
  if (date > dateOf(last)) return undefined;
  const { open, high, low, last_done: close, volume, turnover } = quote;
  return [...candles.slice(0, -1), changed(last, { open, high, low, close, volume, turnover })];
}

/**
 * The chart's part of the stream. Pushes are applied once per frame: a step of the clock may bring
 * hundreds.
 */
export class Follow {
  /**
   * `current` returns view, feed and period; `redraw` shows the feed's candles, `pull` requests the
   * newest ones.
   */
  constructor({ current, redraw, pull, onFrame = (draw) => requestAnimationFrame(draw), pause = 2000 }) {
    Object.assign(this, { current, redraw, pull, onFrame, pause, queue: [], last: undefined, isPlanned: false });
  }

  quote(quote) {
    this.take('quote', quote);
  }

  trades(trades) {
    this.take('trades', trades);
  }

  /** Another security or period is shown. */
  begin() {
    this.queue = [];
    this.last = undefined;
    this.minute = undefined;
  }

  take(kind, push) {
    if (push.symbol !== this.current().view.symbol) return;
    if (kind === 'quote') this.last = push.timestamp;
    this.queue.push([kind, push]);
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.onFrame(() => {
      this.isPlanned = false;
      this.apply();
    });
  }

  apply() {
    const { view, feed, period } = this.current();
    const queue = this.queue.splice(0);
    if (!feed?.reachesNow || feed.candles.length === 0) return;
    const minutes = period.family === 'clock' ? Number.parseInt(period.name, 10) : undefined;
    let { candles } = feed;
    for (const [kind, push] of queue) {
      if (minutes === undefined && view.period !== 'day') {
        // Weeks and longer: every minute is enough.
        if (kind === 'quote') this.requestAt(push.timestamp);
        continue;
      }
      // An index has no trades.
      const isAhead = minutes && kind === 'quote' && push.trade_session === SESSION.intraday && push.timestamp >= candles.at(-1).stamp + minutes * 60;
      if (isAhead) this.requestAt(push.timestamp);
      if (kind !== (minutes ? 'trades' : 'quote')) continue;
      const next = minutes ? withTrades(candles, push, { minutes, session: view.session }) : withQuote(candles, push);
      if (!next) {
        this.request();
        return;
      }
      candles = next;
    }
    if (candles === feed.candles) return;
    feed.candles = candles;
    this.redraw();
  }

  /** Requests the newest candles once per minute of the market. */
  requestAt(timestamp) {
    const minute = Math.floor(timestamp / 60);
    if (minute === this.minute) return;
    this.minute = minute;
    this.request();
  }

  /** Requests the newest candles, at most once per pause. */
  request() {
    if (this.timer) return;
    this.timer = setTimeout(() => (this.timer = undefined), this.pause);
    this.timer.unref?.();
    this.pull();
  }
}
