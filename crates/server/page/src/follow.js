// Continues the newest candle with pushed quotes and trades, by the rules by which the SDKs do:
// minutes grow by trades, days take the figures of a quote. Where a push cannot be placed, the
// candles are requested again.

import { SESSION, candleOf, dateOf } from './candles.js';
import { isTradingAt } from './clock.js';
import { compared, plus, times } from './decimal.js';
import { marketOf } from './market.js';
import { CLOCK } from './world.js';

/**
 * Trade types that move the price, and those that add only volume, as in `TradeType::effect` of the
 * crate `market`. Others have no effect.
 */
const MOVES_PRICE = { HK: 'U', US: 'ABDEFKSX1' };
const ADDS_VOLUME = { HK: 'DMPXY', US: 'CGHIVW' };

/** What a trade changes in its candle: `price` (and volume), `volume` or `nothing`. */
export function effectOf(market, type, session) {
  if (market === 'CN' || type === '' || MOVES_PRICE[market].includes(type)) return 'price';
  // Odd lots move prices only in extended hours.
  if (market === 'US' && type === 'I' && [SESSION.pre, SESSION.post].includes(session)) return 'price';
  return ADDS_VOLUME[market].includes(type) ? 'volume' : 'nothing';
}

const changed = (candle, text) =>
  candleOf({ ...text, timestamp: candle.stamp, time: candle.time, trade_session: candle.session });
const later = (a, b) => (compared(a, b) < 0 ? b : a);
const lower = (a, b) => (compared(a, b) > 0 ? b : a);

/**
 * The candles after some trades, or undefined if they have to be requested: a new day, a new candle
 * of several minutes, whose start depends on the market's hours, or a closing auction. `sessions`
 * are the hours of a full day.
 */
export function withTrades(candles, { symbol, trade }, { minutes, session, sessions = [] }) {
  const { market } = marketOf(symbol);
  let [last, after] = [candles.at(-1), []];
  for (const { price, volume, timestamp, trade_type: type, trade_session: of } of trade) {
    const effect = effectOf(market, type, of);
    if (effect === 'nothing' || (session !== 'all' && of !== SESSION.intraday)) continue;
    // Earlier trades are part of the candles that were requested.
    if (timestamp < last.stamp) continue;
    const movesPrice = effect === 'price';
    if (timestamp >= last.stamp + minutes * 60) {
      const opening = { session: of, price: movesPrice ? price : last.text.close };
      const next = minutes === 1 && nextMinute(last, timestamp, opening, sessions);
      if (!next) return undefined;
      if (last !== candles.at(-1)) after.push(last);
      last = { ...next, isUnpriced: !movesPrice };
    }
    if (last.session !== of) return undefined;
    const unit = market === 'CN' ? 100 : 1;
    // A candle that began with volume only has the last price until a trade sets its own.
    const { open, high, low } = last.isUnpriced ? { open: price, high: price, low: price } : last.text;
    const moved = movesPrice ? { open, high: later(high, price), low: lower(low, price), close: price } : {};
    const isUnpriced = Boolean(last.isUnpriced) && !movesPrice;
    const text = {
      ...last.text,
      ...moved,
      volume: Number(last.text.volume) + volume,
      turnover: plus(last.text.turnover, times(price, String(volume * unit))),
    };
    last = { ...changed(last, text), isUnpriced };
  }
  if (last === candles.at(-1)) return candles;
  const kept = last.stamp === candles.at(-1).stamp || after[0]?.stamp === candles.at(-1).stamp ? candles.slice(0, -1) : candles;
  return [...kept, ...after, last];
}

/**
 * The candle of a minute after the last one; undefined on another day, when the offset may differ,
 * and after the regular hours: a closing auction trades up to ten minutes after their end, but
 * belongs to the minute in which they end, which is earlier on a half day.
 */
function nextMinute(last, timestamp, { session, price }, sessions) {
  const stamp = timestamp - (timestamp % 60);
  if (session === SESSION.intraday && !isTradingAt(sessions, stamp, last.offset)) return undefined;
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
   * `current` returns view, feed, period and facts; `redraw` shows the feed's candles, `pull` requests the
   * newest ones. In a world, they are requested when a step has pushed everything.
   */
  constructor({ current, redraw, pull, isInWorld = false, onFrame = (draw) => requestAnimationFrame(draw), pause = isInWorld ? 250 : 2000 }) {
    Object.assign(this, { current, redraw, pull, isInWorld, isBehind: false, onFrame, pause, queue: [], last: undefined, isPlanned: false });
  }

  quote(quote) {
    this.take('quote', quote);
  }

  trades(trades) {
    this.take('trades', trades);
  }

  /** Another security or period is shown. */
  begin() {
    this.isBehind = false;
    this.queue = [];
    this.last = undefined;
    this.minute = undefined;
    this.isWanted = false;
  }

  take(kind, push) {
    if (push.symbol === CLOCK) return this.plan(['clock']);
    if (push.symbol !== this.current().view.symbol) return undefined;
    if (kind === 'quote') this.last = push.timestamp;
    return this.plan([kind, push]);
  }

  plan(one) {
    this.queue.push(one);
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.onFrame(() => {
      this.isPlanned = false;
      this.apply();
    });
  }

  apply() {
    const { view, feed, period, facts } = this.current();
    const queue = this.queue.splice(0);
    if (!feed?.reachesNow || feed.candles.length === 0) return;
    const minutes = period.family === 'clock' ? Number.parseInt(period.name, 10) : undefined;
    let { candles } = feed;
    for (const [kind, push] of queue) {
      if (kind === 'clock') {
        if (this.isBehind) this.request();
        this.isBehind = false;
        continue;
      }
      // A request answers these, too.
      if (this.isBehind) continue;
      if (minutes === undefined && view.period !== 'day') {
        // Weeks and longer: every minute is enough.
        if (kind === 'quote') this.requestAt(push.timestamp);
        continue;
      }
      // An index has no trades.
      const isAhead = minutes && kind === 'quote' && push.trade_session === SESSION.intraday && push.timestamp >= candles.at(-1).stamp + minutes * 60;
      if (isAhead) this.requestAt(push.timestamp);
      if (kind !== (minutes ? 'trades' : 'quote')) continue;
      const next = minutes ? withTrades(candles, push, { minutes, session: view.session, sessions: facts?.sessions }) : withQuote(candles, push);
      if (!next && this.isInWorld) {
        // What this step still pushes would be counted twice: the clock comes last.
        this.isBehind = true;
        continue;
      }
      if (!next) {
        this.request();
        return;
      }
      candles = next;
    }
    if (candles === feed.candles || this.isBehind) return;
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

  /** Requests the newest candles, at most once per pause, and after the last push of one. */
  request() {
    this.isWanted = true;
    if (this.timer) return;
    this.isWanted = false;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.isWanted) this.request();
    }, this.pause);
    this.timer.unref?.();
    this.pull();
  }
}
