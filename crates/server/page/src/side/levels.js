// The client-side part of grid trading: the next levels, the rule that a form makes, and the
// positions of triggers among the candles. Prices are exact decimals.

import { dateOf, firstIndex } from '../candles.js';
import { compared, minus, plus, times, toMultiple, trimmed } from '../decimal.js';
import { lastDate } from '../periods.js';
import { tickAt } from '../price-steps.js';

export const BY_SPREAD = 1;
export const BY_PERCENT = 2;
/** A trigger is dated by the end of the minute that caused it. */
const CANDLE_S = 60;
const BUY = 1;
/** The time in force with a date. */
export const UNTIL_DATE = 6;

export const isLive = ({ status }) => status === 'Performing' || status === 'Suspended';
export const sideOf = ({ action }) => (action === BUY ? 'Buy' : 'Sell');
export const baseOf = (grid) => grid.current_base_price || grid.submitted_base_price;

/**
 * The next prices at which a grid sells and buys; undefined beyond a bound, where it does not
 * trade. `ticks` are the price steps of the security by range, as in `GET /v1/orders/info`.
 */
export function levelsOf(grid, ticks = []) {
  const base = baseOf(grid);
  const isPercent = grid.trigger_price_type === BY_PERCENT;
  const [up, down] = isPercent ? [grid.trigger_percent_up, grid.trigger_percent_down] : [grid.trigger_spread_up, grid.trigger_spread_down];
  const step = (size) => (isPercent ? times(times(base, size), '0.01') : size);
  const sell = up ? rounded(plus(base, step(up)), ticks, 'up') : undefined;
  const buy = down ? rounded(minus(base, step(down)), ticks, 'down') : undefined;
  const isInside = (price) => price !== undefined && compared(price, grid.lower_limit_price) >= 0 && compared(price, grid.upper_limit_price) <= 0;
  return { base, sell: isInside(sell) ? sell : undefined, buy: isInside(buy) ? buy : undefined };
}

function rounded(price, ticks, direction) {
  const tick = tickAt(ticks, price);
  return trimmed(tick ? toMultiple(price, tick, direction) : price);
}

/**
 * Maps candle indexes to the triggers that they caused. Triggers of candles that are not shown are
 * left out.
 */
export function placeTriggers(candles, triggers, period) {
  const placed = new Map();
  for (const trigger of triggers) {
    const index = indexOf(candles, Number(trigger.trigger_at) - CANDLE_S, period);
    if (index >= 0) placed.set(index, [...(placed.get(index) ?? []), trigger]);
  }
  return placed;
}

function indexOf(candles, at, period) {
  const index = firstIndex(candles, (candle) => candle.stamp > at) - 1;
  const candle = candles[index];
  if (!candle) return -1;
  if (period.family === 'clock') return at < candle.stamp + Number.parseInt(period.name, 10) * 60 ? index : -1;
  const date = new Date((at + candle.offset * 60) * 1000).toISOString().slice(0, 10);
  return date <= lastDate(dateOf(candle), period.name) ? index : -1;
}

/** A dot at the price of each trigger. */
export const dotsOf = (candles, placed) =>
  [...placed].flatMap(([index, triggers]) =>
    triggers
      .filter(({ trigger_price: price }) => price)
      .map((trigger) => ({ wall: candles[index].wall, side: sideOf(trigger), price: trigger.trigger_price })),
  );

const DECIMAL = /^\d+(\.\d+)?$/;

/**
 * The rule that the fields of the form make, or the name of the error. The server checks again;
 * here the error is shown before anything is sent, next to the field.
 */
export function ruleOf(fields) {
  const { base, lower, upper, up, down, quantity, least, most } = fields;
  const wrong = ['base', 'lower', 'upper', 'up', 'down', 'quantity', 'least', 'most'].find(
    (name) => !DECIMAL.test(fields[name]) || !/[1-9]/.test(fields[name]),
  );
  if (wrong) return { wrong, because: 'rule_positive' };
  if (compared(lower, upper) >= 0) return { wrong: 'upper', because: 'rule_bounds' };
  if (compared(base, lower) < 0 || compared(base, upper) > 0) return { wrong: 'base', because: 'rule_base' };
  if (compared(least, most) >= 0) return { wrong: 'most', because: 'rule_quantities' };
  const isPercent = fields.kind === BY_PERCENT;
  return {
    rule: {
      submitted_base_price: base,
      upper_limit_price: upper,
      lower_limit_price: lower,
      trigger_price_type: fields.kind,
      ...(isPercent ? { trigger_percent_up: up, trigger_percent_down: down } : { trigger_spread_up: up, trigger_spread_down: down }),
      trigger_quantity: quantity,
      upper_limit_quantity: most,
      lower_limit_quantity: least,
      upper_limit_event: fields.atBound,
      lower_limit_event: fields.atBound,
      trigger_sell_depth: 0,
      trigger_buy_depth: 0,
      grid_order_type_up: fields.orderType,
      grid_order_type_down: fields.orderType,
      multiple_trigger: fields.isMultiple,
      support_shortsell: false,
      rth: fields.rth,
      time_in_force: fields.force,
    },
  };
}

/**
 * The rule of a grid with the changes of the form. Values that the form does not show, or shows
 * once for both sides, stay unchanged.
 */
export function changedRule(grid, rule) {
  const before = fieldsOf(grid);
  const isSame = (name, field) => rule[name] === before[field];
  return {
    ...rule,
    ...(isSame('upper_limit_event', 'atBound') && { lower_limit_event: grid.lower_limit_event }),
    ...(isSame('grid_order_type_up', 'orderType') && { grid_order_type_down: grid.grid_order_type_down }),
    trigger_sell_depth: grid.trigger_sell_depth,
    trigger_buy_depth: grid.trigger_buy_depth,
    support_shortsell: grid.support_shortsell,
    ...(rule.time_in_force === UNTIL_DATE && { expire_time: Number(grid.expire_time) }),
  };
}

/**
 * The initial fields of the form: around a price, five percent each way in steps of one, one lot
 * per trade.
 */
export function startOf(info) {
  const price = info.last_done;
  const lot = info.lot_size && /[1-9]/.test(info.lot_size) ? trimmed(info.lot_size) : '1';
  const ticks = info.bid_sizes ?? [];
  const share = (part, direction) => (price ? rounded(times(price, part), ticks, direction) : '');
  return {
    base: price ? trimmed(price) : '', lower: share('0.95', 'up'), upper: share('1.05', 'down'), kind: BY_PERCENT, up: '1', down: '1',
    quantity: lot, least: lot, most: times(lot, '10'), orderType: 'GMO', atBound: 1, isMultiple: false, rth: 0, force: 1,
  };
}

/** The same for an existing grid. */
export function fieldsOf(grid) {
  const isPercent = grid.trigger_price_type === BY_PERCENT;
  return {
    base: baseOf(grid), lower: grid.lower_limit_price, upper: grid.upper_limit_price, kind: grid.trigger_price_type,
    up: isPercent ? grid.trigger_percent_up : grid.trigger_spread_up, down: isPercent ? grid.trigger_percent_down : grid.trigger_spread_down,
    quantity: grid.trigger_quantity, least: grid.lower_limit_quantity, most: grid.upper_limit_quantity, orderType: grid.grid_order_type_up,
    atBound: grid.upper_limit_event || 1, isMultiple: grid.multiple_trigger, rth: grid.rth, force: grid.time_in_force,
  };
}
