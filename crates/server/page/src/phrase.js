// What the pages say, in the three languages of the service. The server has chosen the document by what the browser prefers;
// the scripts follow the document, so that a page never mixes two languages. Messages of the server stay in English.

export const LANGUAGES = ['en', 'zh-CN', 'zh-HK'];

const spoken = Math.max(LANGUAGES.indexOf(globalThis.document?.documentElement.lang), 0);

export const language = LANGUAGES[spoken];

/** A table with a column for each language becomes a function from a key, and what goes into `{0}`, `{1}` …, to a phrase. */
export function phrasesOf(table) {
  const phrase = (key, ...values) => filled(table[key][spoken], values);
  phrase.table = table;
  return phrase;
}

export const filled = (text, values) => text.replace(/\{(\d)\}/g, (_, at) => String(values[at]));
