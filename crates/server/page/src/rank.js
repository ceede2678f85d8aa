// Which securities a few typed letters mean, best first. The server filters; the page ranks, so that what is remembered
// from earlier answers can be shown at once, in the order that it will keep.

export const RESULTS_MAX = 12;

const plain = (text) => text.normalize('NFKC').toLowerCase().trim();

/** Lower is better; nothing if it does not match at all. */
export function score(security, query) {
  const wanted = plain(query);
  const symbol = plain(security.symbol);
  const code = symbol.replace(/\.[a-z]+$/, '');
  const short = wanted.replace(/^0+(?=\d)/, '');
  if (symbol === wanted || code === wanted || code === short) return 0;
  if (symbol.startsWith(wanted) || code.startsWith(short)) return 1;
  const names = [security.name_en, security.name_cn, security.name_hk].filter(Boolean).map(plain);
  if (names.includes(wanted)) return 2;
  if (names.some((name) => name.startsWith(wanted))) return 3;
  if (names.some((name) => name.split(/[\s\-.,&]+/).some((word) => word.startsWith(wanted)))) return 4;
  if (names.some((name) => name.includes(wanted))) return 5;
  return symbol.includes(wanted) ? 6 : undefined;
}

export function rank(securities, query) {
  if (plain(query) === '') return securities.slice(0, RESULTS_MAX);
  return securities
    .map((security) => ({ security, score: score(security, query) }))
    .filter((one) => one.score !== undefined)
    .sort(
      (a, b) =>
        a.score - b.score ||
        a.security.symbol.length - b.security.symbol.length ||
        (a.security.symbol < b.security.symbol ? -1 : 1),
    )
    .slice(0, RESULTS_MAX)
    .map((one) => one.security);
}

/** The name to show, in the reader's script. */
export function nameFor(security, languages) {
  for (const language of languages) {
    const tag = language.toLowerCase();
    if (/^zh-(hant|hk|tw|mo)/.test(tag)) return security.name_hk || security.name_cn || security.name_en || '';
    if (tag.startsWith('zh')) return security.name_cn || security.name_hk || security.name_en || '';
    if (tag.startsWith('en')) return security.name_en || security.name_cn || security.name_hk || '';
  }
  return security.name_en || security.name_cn || security.name_hk || '';
}
