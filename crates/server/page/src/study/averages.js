// Averages over columns of numbers. A place without a value is NaN, at the beginning alone.

/** The mean of the last `length` values. The sum is exact where the values are whole. */
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

/** Each value counts for 2 / (length + 1); begins with the mean of the first `length` values. */
export const exponentialAverage = (values, length) => smoothed(values, length, 2, length + 1);

/** A value counts for `share` / `whole`. Values may begin with places without one. */
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
 * After how many values the first of an exponential average counts for less than a millionth: a view knows a part of history, and before
 * that an average would depend on where that part begins.
 */
export function settledAfter(share, whole) {
  const left = 1 - share / whole;
  return left <= 0 ? 0 : Math.ceil(Math.log(1e-6) / Math.log(left));
}

/** Mean and the mean plus and minus `width` standard deviations of the `length` values (of a population: divided by their number). */
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
