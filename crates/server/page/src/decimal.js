// Exact arithmetic on decimals that arrive as text. Floats may place a candle on the screen, but no
// displayed price has been through one.

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

function parsed(text) {
  const found = DECIMAL.exec(text);
  if (!found) throw new RangeError(`not a decimal: ${text}`);
  const [, sign, whole, fraction = ''] = found;
  return { units: BigInt(sign + whole + fraction), scale: fraction.length };
}

const scaled = (one, scale) => one.units * 10n ** BigInt(scale - one.scale);

export function written(units, scale) {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const text = scale > 0 ? `${whole}.${digits.slice(digits.length - scale)}` : whole;
  return units < 0n ? `-${text}` : text;
}

/** `a - b`, with the decimals of the finer of the two. */
export function minus(a, b) {
  const [left, right] = [parsed(a), parsed(b)];
  const scale = Math.max(left.scale, right.scale);
  return written(scaled(left, scale) - scaled(right, scale), scale);
}

export function plus(a, b) {
  const [left, right] = [parsed(a), parsed(b)];
  const scale = Math.max(left.scale, right.scale);
  return written(scaled(left, scale) + scaled(right, scale), scale);
}

/** The product, with all the decimals of both. */
export function times(a, b) {
  const [left, right] = [parsed(a), parsed(b)];
  return written(left.units * right.units, left.scale + right.scale);
}

/** Negative, zero or positive as `a` is below, at or above `b`. */
export function compared(a, b) {
  const difference = minus(a, b);
  return difference.startsWith('-') ? -1 : Number(/[1-9]/.test(difference));
}

/** The nearest multiple of a step that is not below (or not above) a positive number. */
export function toMultiple(text, step, direction) {
  const [number, size] = [parsed(text), parsed(step)];
  const scale = Math.max(number.scale, size.scale);
  const [units, unit] = [scaled(number, scale), scaled(size, scale)];
  const rest = units % unit;
  const below = units - rest;
  const multiple = rest !== 0n && direction === 'up' ? below + unit : below;
  // The decimals of the step suffice: a multiple of it has no more.
  return written(multiple / 10n ** BigInt(scale - size.scale), size.scale);
}

/** How many times a positive step fits into a number that is not negative, as a whole number. */
export function wholes(text, step) {
  const [number, size] = [parsed(text), parsed(step)];
  const scale = Math.max(number.scale, size.scale);
  return String(scaled(number, scale) / scaled(size, scale));
}

/** Removes trailing zeros: `306.00` is 306 on a label. */
export const trimmed = (text) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

/**
 * The change from `before` to `now` in percent, two decimals, half away from zero; undefined if
 * `before` is zero.
 */
export function percentChange(now, before) {
  const [late, early] = [parsed(now), parsed(before)];
  const scale = Math.max(late.scale, early.scale);
  const base = scaled(early, scale);
  if (base === 0n) return undefined;
  return written(dividedAwayFromZero((scaled(late, scale) - base) * 10_000n, base), 2);
}

/**
 * A part in percent of the absolute value of a whole, two decimals; undefined if that is zero. So a
 * gain of a short position is positive.
 */
export function percentOf(part, whole) {
  const [above, below] = [parsed(part), parsed(whole)];
  const scale = Math.max(above.scale, below.scale);
  const base = scaled(below, scale);
  if (base === 0n) return undefined;
  return written(dividedAwayFromZero(scaled(above, scale) * 10_000n, base < 0n ? -base : base), 2);
}

function dividedAwayFromZero(dividend, divisor) {
  const negative = dividend < 0n !== divisor < 0n;
  const [top, bottom] = [dividend < 0n ? -dividend : dividend, divisor < 0n ? -divisor : divisor];
  const quotient = (top * 2n + bottom) / (bottom * 2n);
  return negative ? -quotient : quotient;
}

/** Adds the sign of a change, a plus for a rise too. The minus is U+2212, as wide as a plus. */
export function signed(text) {
  if (text.startsWith('-')) return `\u2212${text.slice(1)}`;
  return /[1-9]/.test(text) ? `+${text}` : text;
}

export const decimalsOf = (text) => (text.includes('.') ? text.length - text.indexOf('.') - 1 : 0);

/**
 * Groups the integer part by three digits; the fraction is unchanged. By hand, because the first
 * use of `Intl` delays the first paint of a chart by some 20 ms.
 */
export function grouped(text) {
  const [whole, fraction] = String(text).split('.');
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}

const SHORT = 100_000n;
const DIGITS = 4;

/**
 * A number of a hundred thousand or more with four digits and a unit letter, half away from zero;
 * undefined for a smaller one. Units are given by their number of zeros, ascending.
 */
export function shortened(text, units) {
  const { units: all, scale } = parsed(text);
  const size = all < 0n ? -all : all;
  const whole = size / 10n ** BigInt(scale);
  if (whole < SHORT) return undefined;
  // Rounded first: a number just below a unit may round up to it.
  const place = BigInt(String(whole).length - DIGITS + scale);
  const round = (dividedAwayFromZero(size, 10n ** place) * 10n ** place) / 10n ** BigInt(scale);
  const { zeros, letter } = units.findLast((unit) => String(round).length > unit.zeros);
  const decimals = Math.max(DIGITS - (String(round).length - zeros), 0);
  const number = grouped(written((round * 10n ** BigInt(decimals)) / 10n ** BigInt(zeros), decimals));
  return `${all < 0n ? '-' : ''}${number}${letter}`;
}

/** A volume for the axis, where exact digits would be noise: `12.4M`. */
export function abbreviated(number) {
  const steps = [
    [1e12, 'T'],
    [1e9, 'B'],
    [1e6, 'M'],
    [1e3, 'K'],
  ];
  for (const [size, letter] of steps) {
    if (Math.abs(number) >= size) return `${(number / size).toFixed(number / size >= 100 ? 0 : 1)}${letter}`;
  }
  return String(Math.round(number));
}
