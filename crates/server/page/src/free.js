// Which security a visit may open by itself. An address without one asks for none, so that what it opens must not cost quota.

const PLENTY = 100_000;

/** Whether an account can look at a security without using up quota; `quota` is as the server tells it. */
export function isFree(symbol, quota) {
  // Without a limit, or with one that nobody counts towards.
  if (quota.unlimited || quota.limit === null || quota.limit >= PLENTY) return true;
  return quota.securities.some((used) => used.symbol === symbol);
}

/** The first of several that is free. */
export const firstFree = (symbols, quota) => symbols.find((symbol) => isFree(symbol, quota));
