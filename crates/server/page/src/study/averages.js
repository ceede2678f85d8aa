// Averages over columns of numbers. A missing value is NaN, and only at the start.

/** The mean of the last `length` values. The sum is exact for integers. */
export function movingAverage(values, length) {
  const out = new Float64Array(values.length).fill(NaN);
  let sum = 0;
  for (let at = 0; at < values.length; at += 1) {
    sum += values[at];
    if (at >= length) sum -= values[at - length];
    if (at >= length - 1) out[at] = sum / length;
  }
  return out;
}

/**
 * Exponential average with weight 2 / (length + 1); starts with the mean of the first `length`
 * values.
 */
export const exponentialAverage = (values, length) => smoothed(values, length, 2, length + 1);

/** Wilder's average: the weight of a new value is 1 / length. */
export const wilderAverage = (values, length) => smoothed(values, length, 1, length);

/** Exponential average with weight `share` / `whole`. Values may start with NaN. */
function smoothed(values, length, share, whole) {
  const out = new Float64Array(values.length).fill(NaN);
  let first = 0;
  while (first < values.length && Number.isNaN(values[first])) first += 1;
  const seed = first + length - 1;
  if (seed >= values.length) return out;
  let sum = 0;
  for (let at = first; at <= seed; at += 1) sum += values[at];
  let average = sum / length;
  out[seed] = average;
  for (let at = seed + 1; at < values.length; at += 1) {
    average = (share * values[at] + (whole - share) * average) / whole;
    out[at] = average;
  }
  return out;
}

/**
 * After how many values the start of an exponential average weighs less than a millionth. A view
 * holds part of the history, and before that the average would depend on where that part starts.
 */
export function settledAfter(share, whole) {
  const left = 1 - share / whole;
  return left <= 0 ? 0 : Math.ceil(Math.log(1e-6) / Math.log(left));
}

/**
 * Mean, and mean plus and minus `width` standard deviations of `length` values (population: divided
 * by their number).
 */
export function bollinger(values, length, width) {
  const middle = movingAverage(values, length);
  const [upper, lower] = [middle.slice(), middle.slice()];
  for (let at = length - 1; at < values.length; at += 1) {
    const mean = middle[at];
    let squares = 0;
    for (let one = at - length + 1; one <= at; one += 1) {
      const away = values[one] - mean;
      squares += away * away;
    }
    const band = width * Math.sqrt(squares / length);
    upper[at] += band;
    lower[at] -= band;
  }
  return { middle, upper, lower };
}
