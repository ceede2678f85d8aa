// The texts of the pages, in the three languages of the service. The server chose the document by
// the browser's preference; the scripts follow the document, so that a page never mixes two
// languages. Messages of the server stay in English.

export const LANGUAGES = ['en', 'zh-CN', 'zh-HK'];

const spoken = Math.max(LANGUAGES.indexOf(globalThis.document?.documentElement.lang), 0);

export const language = LANGUAGES[spoken];

/**
 * Turns a table with a column for each language into a function from a key, and the values of
 * `{0}`, `{1}` …, to a phrase.
 */
export function phrasesOf(table) {
  const phrase = (key, ...values) => filled(table[key][spoken], values);
  phrase.table = table;
  return phrase;
}

export const filled = (text, values) => text.replace(/\{(\d)\}/g, (_, at) => String(values[at]));
