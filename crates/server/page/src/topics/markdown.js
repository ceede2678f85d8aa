// Articles: a subset of Markdown as a tree. Headings, paragraphs, lists, quotes, code, rules;
// strong, emphasis, code, links. Everything else is text, including HTML. No DOM access: `draw.js`
// makes elements of the tree, and text nodes of its leaves.

const QUOTES_MAX = 4;
const DEPTH_MAX = 6;
// The input is untrusted, so each expression must run in linear time: no part may match what the
// next part could also match.
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/s;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const QUOTE = /^ {0,3}> ?/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const ITEM = /^ {0,3}(?:([-*+])|(\d{1,9})[.)])[ \t]+(\S.*)$/s;

/** The blocks of a text, in order. */
export const parseMarkdown = (text) => blocksOf(text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').split('\n'), 0);

function blocksOf(lines, depth) {
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    const [block, next] = blockAt(lines, at, depth);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

const isQuote = (line, depth) => depth < QUOTES_MAX && QUOTE.test(line);

/** The block that starts at a line, and the start of the next one. */
function blockAt(lines, at, depth) {
  const line = lines[at];
  if (line.trim() === '') return [undefined, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return codeAt(lines, at, fence[1]);
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: 'heading', level: heading[1].length, inlines: inlinesOf(headingText(heading[2] ?? '')) }, at + 1];
  if (RULE.test(line)) return [{ kind: 'rule' }, at + 1];
  if (isQuote(line, depth)) {
    const end = endOf(lines, at, (one) => isQuote(one, depth));
    return [{ kind: 'quote', blocks: blocksOf(lines.slice(at, end).map((one) => one.replace(QUOTE, '')), depth + 1) }, end];
  }
  const item = ITEM.exec(line);
  if (item) return listAt(lines, at, item[2] !== undefined);
  const isText = (one) => one.trim() !== '' && ![FENCE, HEADING, RULE, ITEM].some((begins) => begins.test(one)) && !isQuote(one, depth);
  const end = Math.max(endOf(lines, at, isText), at + 1);
  return [{ kind: 'paragraph', inlines: inlinesOf(joined(lines.slice(at, end))) }, end];
}

/** The text of a heading: closing `#` signs after a space are removed. */
function headingText(rest) {
  const text = rest.trim();
  let end = text.length;
  while (text[end - 1] === '#') end -= 1;
  return end === 0 || /\s/.test(text[end - 1]) ? text.slice(0, end).trim() : text;
}

function endOf(lines, from, belongs) {
  let end = from;
  while (end < lines.length && belongs(lines[end])) end += 1;
  return end;
}

function codeAt(lines, at, fence) {
  const closes = (line) => FENCE.exec(line)?.[1].startsWith(fence) && line.trim() === FENCE.exec(line)[1];
  let end = at + 1;
  while (end < lines.length && !closes(lines[end])) end += 1;
  return [{ kind: 'code', text: lines.slice(at + 1, end).join('\n') }, end + 1];
}

function listAt(lines, at, isOrdered) {
  const items = [];
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (item && (item[2] !== undefined) === isOrdered) items.push([item[3]]);
    // An indented line continues the previous item.
    else if (/^[ \t]+\S/.test(lines[end]) && items.length > 0) items.at(-1).push(lines[end]);
    else break;
    end += 1;
  }
  return [{ kind: 'list', isOrdered, items: items.map((all) => inlinesOf(joined(all))) }, end];
}

/** Joins the lines of a paragraph; two spaces at the end of a line break it. */
const joined = (lines) => lines.map((line, at) => (at < lines.length - 1 && line.endsWith('  ') ? `${line.trim()}\n` : `${line.trim()} `)).join('').trim();

/** The inline nodes of a paragraph: `text`, `break`, `code`, `strong`, `emphasis`, `link`. */
export function inlinesOf(text, depth = 0) {
  const out = [];
  let plain = '';
  const flush = () => {
    if (plain) out.push({ kind: 'text', text: plain });
    plain = '';
  };
  // A mark without an end after one position has none after a later one: without this, a text of
  // opening marks would take quadratic time.
  const endless = new Set();
  const find = (mark, from) => {
    if (endless.has(mark)) return -1;
    const found = text.indexOf(mark, from);
    if (found < 0) endless.add(mark);
    return found;
  };
  for (let at = 0; at < text.length; ) {
    const found = depth < DEPTH_MAX ? inlineAt(text, at, find, depth) : undefined;
    if (found) {
      flush();
      out.push(found.inline);
      at = found.end;
    } else if (text[at] === '\n') {
      flush();
      out.push({ kind: 'break' });
      at += 1;
    } else {
      const isEscaped = text[at] === '\\' && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? '');
      plain += text[at + (isEscaped ? 1 : 0)];
      at += isEscaped ? 2 : 1;
    }
  }
  flush();
  return out;
}

function inlineAt(text, at, find, depth) {
  const sign = text[at];
  if (sign === '`') return codeSpan(text, at, find);
  if (sign === '[' || (sign === '!' && text[at + 1] === '[')) return linkAt(text, at, find, depth);
  if (sign === '*' || sign === '_') {
    return emphasisAt(text, at, sign.repeat(2), 'strong', find, depth) ?? emphasisAt(text, at, sign, 'emphasis', find, depth);
  }
  return undefined;
}

function codeSpan(text, at, find) {
  const end = find('`', at + 1);
  if (end <= at + 1) return undefined;
  return { inline: { kind: 'code', text: text.slice(at + 1, end) }, end: end + 1 };
}

const isWord = (letter) => letter !== undefined && /[\p{L}\p{N}]/u.test(letter);

function emphasisAt(text, at, mark, kind, find, depth) {
  if (!text.startsWith(mark, at)) return undefined;
  const from = at + mark.length;
  const end = find(mark, from);
  // A mark must touch non-space on its inner side; an underscore within a word is not a mark.
  if (end <= from || /\s/.test(text[from]) || /\s/.test(text[end - 1])) return undefined;
  if (mark[0] === '_' && (isWord(text[at - 1]) || isWord(text[end + mark.length]))) return undefined;
  return { inline: { kind, inlines: inlinesOf(text.slice(from, end), depth + 1) }, end: end + mark.length };
}

/** A link, or an image, which is shown as a link to it. */
function linkAt(text, at, find, depth) {
  const from = at + (text[at] === '!' ? 2 : 1);
  const middle = find('](', from);
  if (middle < 0 || text.slice(from, middle).includes('[')) return undefined;
  const end = find(')', middle);
  const href = end < 0 ? undefined : webAddress(text.slice(middle + 2, end).trim());
  if (!href) return undefined;
  const name = text.slice(from, middle).trim() || href;
  return { inline: { kind: 'link', href, inlines: inlinesOf(name, depth + 1) }, end: end + 1 };
}

/** An http or https address that may be linked; undefined for any other, such as a script. */
export function webAddress(text) {
  if (!/^https?:\/\/[^\s<>"]+$/i.test(text)) return undefined;
  try {
    const url = new URL(text);
    // The part before an @ is not the host, and could be mistaken for it.
    const isPlain = url.username === '' && url.password === '';
    return ['http:', 'https:'].includes(url.protocol) && isPlain ? url.href : undefined;
  } catch {
    return undefined;
  }
}
