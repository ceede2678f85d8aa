// Price steps and lots: the prices and quantities that an order may have. Steps are a list of price
// ranges, as in `GET /v1/orders/info`.

import { compared, minus, plus, times, toMultiple, trimmed, wholes } from './decimal.js';

const isPositive = (text) => /[1-9]/.test(text);

/** The step of a price; undefined if unknown. A price at the end of a range has the step of that range. */
export function tickAt(ticks, price) {
  const isIn = ({ str_proceed: from, end_proceed: to }) => (!from || compared(price, from) > 0) && (!to || compared(price, to) <= 0);
  const tick = ticks.find(isIn)?.bid_size;
  return tick && isPositive(tick) ? tick : undefined;
}

/** The step from a price upwards, which differs from its own step at the end of a range. */
function tickAbove(ticks, price) {
  const isIn = ({ str_proceed: from, end_proceed: to }) => (!from || compared(price, from) >= 0) && (!to || compared(price, to) < 0);
  const tick = ticks.find(isIn)?.bid_size;
  return tick && isPositive(tick) ? tick : undefined;
}

/** The valid price nearest to a number, at least one step; undefined if steps are unknown. */
export function snapped(ticks, number) {
  const text = Math.max(number, 0).toFixed(10);
  const tick = tickAbove(ticks, text);
  if (!tick) return undefined;
  const [below, above] = [toMultiple(text, tick, 'down'), toMultiple(text, tick, 'up')];
  const nearest = compared(minus(text, below), minus(above, text)) < 0 ? below : above;
  return trimmed(isPositive(nearest) ? nearest : tick);
}

/** The next valid price above (`up`) or below (`down`) a price, which is unchanged if there is none. */
export function nextPrice(ticks, price, direction) {
  const tick = direction === 'up' ? tickAbove(ticks, price) : tickAt(ticks, price);
  if (!tick) return price;
  const next = direction === 'up' ? plus(toMultiple(price, tick, 'down'), tick) : minus(toMultiple(price, tick, 'up'), tick);
  return isPositive(next) && !next.startsWith('-') ? trimmed(next) : price;
}

/** The quantity in whole lots that an amount of money pays at a price. */
export const quantityFor = (amount, price, lot) => trimmed(times(wholes(amount, times(price, lot)), lot));

/** A percentage of a quantity, in whole lots. */
export const shareOf = (quantity, percent, lot) => trimmed(times(wholes(times(quantity, percent), times(lot, '100')), lot));

/** The next multiple of the lot above or below a quantity, at least one lot. */
export function nextQuantity(quantity, lot, direction) {
  const next = direction === 'up' ? plus(toMultiple(quantity, lot, 'down'), lot) : minus(toMultiple(quantity, lot, 'up'), lot);
  return isPositive(next) && !next.startsWith('-') ? trimmed(next) : lot;
}
