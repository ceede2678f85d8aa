// Topics as elements. Every text becomes a text node and is never parsed as HTML. Each paragraph
// has its own text direction, so that bidi control characters end with it.

import { addressOf } from '../base.js';
import { hongKongInstant } from '../dashboard/table.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/topics.js';
import { parseMarkdown } from './markdown.js';
import { piecesOf } from './mentions.js';

/** The text of a topic or a reply. */
export function bodyOf(kind, text, tickers) {
  const known = new Set(tickers);
  if (kind === 'article') return el('div', { class: 'prose' }, parseMarkdown(text).map((block) => drawBlock(block, known)));
  const paragraphs = text.replaceAll('\r\n', '\n').split(/\n{2,}/).filter((one) => one.trim() !== '');
  return el('div', { class: 'prose' }, paragraphs.map((one) => el('p', { class: 'lines', dir: 'auto' }, linked(one.trim(), known))));
}

function drawBlock(block, known) {
  const inlines = (all) => all.flatMap((one) => drawInline(one, known));
  switch (block.kind) {
    // The page has the first heading, and the topic the second.
    case 'heading':
      return el(`h${Math.min(block.level + 2, 6)}`, { dir: 'auto' }, inlines(block.inlines));
    case 'code':
      return el('pre', { tabindex: 0 }, el('code', {}, block.text));
    case 'quote':
      return el('blockquote', {}, block.blocks.map((one) => drawBlock(one, known)));
    case 'list':
      return el(block.isOrdered ? 'ol' : 'ul', {}, block.items.map((item) => el('li', { dir: 'auto' }, inlines(item))));
    case 'rule':
      return el('hr');
    default:
      return el('p', { dir: 'auto' }, inlines(block.inlines));
  }
}

/** One inline node as one or several elements. */
function drawInline(inline, known) {
  const inner = () => inline.inlines.flatMap((one) => drawInline(one, known));
  switch (inline.kind) {
    case 'break':
      return el('br');
    case 'code':
      return el('code', {}, inline.text);
    case 'strong':
      return el('strong', {}, inner());
    case 'emphasis':
      return el('em', {}, inner());
    case 'link':
      // A link within a link is invalid: its label is plain text.
      return outside(inline.href, textOf(inline));
    default:
      return linked(inline.text, known);
  }
}

const textOf = (inline) => inline.text ?? (inline.inlines ?? []).map(textOf).join('');

const outside = (href, text) => el('a', { href, rel: 'noopener noreferrer nofollow', title: href }, text);

const symbolLink = (symbol, text = symbol) => el('a', { href: addressOf(`/?symbol=${encodeURIComponent(symbol)}`) }, text);

function linked(text, known) {
  return piecesOf(text, known).map((piece) => {
    if (piece.symbol) return symbolLink(piece.symbol, piece.text);
    return piece.href ? outside(piece.href, piece.text) : piece.text;
  });
}

/** Author, time, and state. */
export function byline({ author, created_at: at }, ...more) {
  return el('p', { class: 'byline' }, el('bdi', {}, author.name), ' · ', hongKongInstant(at), more.map((one) => [' · ', one]).flat());
}

/** Securities and hashtags. */
export function labels({ tickers, hashtags }) {
  if (tickers.length + hashtags.length === 0) return undefined;
  const about = tickers.map((symbol) => el('li', {}, el('a', { href: addressOf(`/topics?symbol=${encodeURIComponent(symbol)}`) }, symbol)));
  return el('ul', { class: 'chips', 'aria-label': phrase('about') }, about, hashtags.map((word) => el('li', {}, el('bdi', {}, `#${word}`))));
}

/** A note for the author that the topic is hidden. */
export const hiddenNote = ({ hidden, hidden_because: reason }) =>
  hidden ? el('p', { class: 'warn' }, reason ? phrase('hidden_because', reason) : phrase('hidden')) : undefined;
