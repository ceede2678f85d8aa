// Symbols and addresses in a text. The server listed with the topic which symbols are links.

import { symbolOf } from '../link.js';
import { REGIONS } from '../served-markets.js';
import { webAddress } from './markdown.js';

const REGION = Object.keys(REGIONS).join('|');
// Dashes before a symbol belong to the sentence.
const WRITTEN = String.raw`(?=[A-Z0-9.])(?<![A-Za-z0-9.]-*)[A-Z0-9.][A-Z0-9.\-]{0,27}\.(?:${REGION})(?![A-Za-z0-9])`;
const SYMBOL = new RegExp(WRITTEN, 'g');
const FOUND = new RegExp(String.raw`https?:\/\/[^\s<>"]+|${WRITTEN}`, 'g');
/** Punctuation that ends a sentence also ends an address in it. */
const TAIL = '.,;:!?\'")]}。，；：！？）」';

function withoutTail(address) {
  let end = address.length;
  while (end > 0 && TAIL.includes(address[end - 1])) end -= 1;
  return address.slice(0, end);
}

/**
 * Splits a text into `{ text }`, `{ text, symbol }` or `{ text, href }`, whose texts add up to it.
 */
export function piecesOf(text, tickers) {
  const pieces = [];
  let from = 0;
  const put = (end, more) => {
    if (more.at > from) pieces.push({ text: text.slice(from, more.at) });
    if (end > more.at) pieces.push({ text: text.slice(more.at, end), ...more.piece });
    from = end;
  };
  for (const { 0: found, index } of text.matchAll(FOUND)) {
    if (found.startsWith('http')) {
      const trimmed = withoutTail(found);
      const href = webAddress(trimmed);
      if (href) put(index + trimmed.length, { at: index, piece: { href } });
      continue;
    }
    const symbol = symbolOf(found);
    if (symbol && tickers.has(symbol)) put(index + found.length, { at: index, piece: { symbol } });
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}

/** Every symbol in a text, as the server finds them: also in addresses. */
export const symbolsIn = (text) => [...text.matchAll(SYMBOL)].map(([found]) => symbolOf(found)).filter(Boolean);

/** Typed symbols or words, separated by spaces and commas; each once. */
export const wordsOf = (typed) => [...new Set(typed.split(/[\s,，、;；]+/u).filter(Boolean))];
