import assert from 'node:assert/strict';
import test from 'node:test';

import { lengthOf, wrongWith } from '../src/topics/compose.js';
import { listParams } from '../src/topics/list.js';
import { inlinesOf, parseMarkdown, webAddress } from '../src/topics/markdown.js';
import { piecesOf, symbolsIn, wordsOf } from '../src/topics/mentions.js';

/**
 * A short form of a Markdown tree: `h1(…)`, `p(…)`, `*…*` for emphasis, `**…**` for strong,
 * `<href …>` for a link.
 */
const short = (node) => {
  const inner = () => (node.inlines ?? []).map(short).join('');
  switch (node.kind) {
    case 'heading': return `h${node.level}(${inner()})`;
    case 'paragraph': return `p(${inner()})`;
    case 'quote': return `quote(${node.blocks.map(short).join(' ')})`;
    case 'list': return `${node.isOrdered ? 'ol' : 'ul'}(${node.items.map((item) => item.map(short).join('')).join(' | ')})`;
    case 'code': return `code(${node.text})`;
    case 'rule': return 'rule';
    case 'break': return '/';
    case 'strong': return `**${inner()}**`;
    case 'emphasis': return `*${inner()}*`;
    case 'link': return `<${node.href} ${inner()}>`;
    default: return node.text;
  }
};
const shortOf = (text) => parseMarkdown(text).map(short).join(' ');

test('an article is headings, paragraphs, lists, quotes and code', () => {
  for (const [text, expected] of [
    ['', ''],
    ['# Lots\n\nOf **700.HK**\nand *others*.', 'h1(Lots) p(Of **700.HK** and *others*.)'],
    ['a  \nb', 'p(a/b)'],
    ['- one\n- two\n  goes on\n\n1. first\n2) second', 'ul(one | two goes on) ol(first | second)'],
    ['> said\n> > again\n\nafter', 'quote(p(said) quote(p(again))) p(after)'],
    ['```js\n<b>*x*</b>\n```\nafter', 'code(<b>*x*</b>) p(after)'],
    ['~~~\nnever closed', 'code(never closed)'],
    ['a\n***\nb', 'p(a) rule p(b)'],
    ['#no heading', 'p(#no heading)'],
    ['## Title ##', 'h2(Title)'],
    ['# C#', 'h1(C#)'],
    ['# ##', 'h1()'],
    ['###', 'h3()'],
    // A line separator that does not end a line.
    ['# a\u2028b', 'h1(a\u2028b)'],
    ['- a\u2028b', 'ul(a\u2028b)'],
    ['line\r\nnext', 'p(line next)'],
    ['`a * b` and snake_case_word and 2 * 3 * 4', 'p(code(a * b) and snake_case_word and 2 * 3 * 4)'],
    ['\\*not\\* _so_', 'p(*not* *so*)'],
  ]) assert.equal(shortOf(text), expected, JSON.stringify(text));
});

test('HTML is text, and only addresses of the web are links', () => {
  for (const [text, expected] of [
    ['<script>alert(1)</script>', 'p(<script>alert(1)</script>)'],
    ['<img src=x onerror=alert(1)>', 'p(<img src=x onerror=alert(1)>)'],
    ['[the rules](https://example.com/a?b=1)', 'p(<https://example.com/a?b=1 the rules>)'],
    ['![a chart](https://example.com/a.png)', 'p(<https://example.com/a.png a chart>)'],
    ['[x](javascript:alert(1))', 'p([x](javascript:alert(1)))'],
    ['[x](JaVaScRiPt:alert)', 'p([x](JaVaScRiPt:alert))'],
    ['[x](data:text/html,1)', 'p([x](data:text/html,1))'],
    ['[x](//example.com)', 'p([x](//example.com))'],
    ['[x](https://example.com/"onclick="a)', 'p([x](https://example.com/"onclick="a))'],
    ['[x](https://bank.example@evil.example)', 'p([x](https://bank.example@evil.example))'],
    ['[x](https://:bank.example@evil.example)', 'p([x](https://:bank.example@evil.example))'],
    ['[x](java\tscript:alert)', 'p([x](java\tscript:alert))'],
    ['[x](\u0001javascript:alert)', 'p([x](\u0001javascript:alert))'],
    ['[x](https:/\u200bexample.com)', 'p([x](https:/\u200bexample.com))'],
    ['[**bold**](https://example.com)', 'p(<https://example.com/ **bold**>)'],
  ]) assert.equal(shortOf(text), expected, text);
  assert.equal(webAddress('vbscript:x'), undefined);
});

test('deeply nested marks give a flat tree quickly', () => {
  const heaps = ['[', '*', '_', '`', '![', '> ', '](', '**a', '- ', '\\'].map((heap) => heap.repeat(20_000 / heap.length));
  // Lines that are nearly a heading, an item, a rule or a break, on which a careless expression
  // would backtrack for hours.
  const spaces = ' '.repeat(19_900);
  heaps.push(`#${spaces}\u2028x`, `# ${'#'.repeat(19_900)}x`, `-${spaces}\u2028x`, `${'* '.repeat(9_900)}x`, `a${spaces}b\nc`);
  for (const text of heaps) {
    const heap = JSON.stringify(text.slice(0, 9));
    const depth = (node) => 1 + Math.max(0, ...[...(node.inlines ?? []), ...(node.blocks ?? [])].map(depth));
    assert.ok(parseMarkdown(text).every((block) => depth(block) < 20), heap);
    assert.ok(inlinesOf(text).length <= 20_000, heap);
  }
});

test('symbols that the topic is about are links, and so are addresses', () => {
  const short = (text, ...tickers) =>
    piecesOf(text, new Set(tickers)).map((piece) => (piece.symbol ? `[${piece.symbol}:${piece.text}]` : piece.href ? `<${piece.text}>` : piece.text)).join('');
  assert.equal(short('Of 00700.HK and 5.HK.', '700.HK'), 'Of [700.HK:00700.HK] and 5.HK.');
  assert.equal(short('看好700.HK！BRK.B.US', '700.HK', 'BRK.B.US'), '看好[700.HK:700.HK]！[BRK.B.US:BRK.B.US]');
  assert.equal(short('A700.HKD x700.HK', '700.HK'), 'A700.HKD x700.HK');
  assert.equal(short('See https://example.com/a?b=1, or (https://example.com).'), 'See <https://example.com/a?b=1>, or (<https://example.com>).');
  assert.equal(short('javascript:alert(1) http://'), 'javascript:alert(1) http://');
  assert.deepEqual(symbolsIn('Of 00700.HK, AAPL.US and the rest.US'), ['700.HK', 'AAPL.US']);
  // Same as the server, which reads the same text (`draft.rs`).
  assert.deepEqual(symbolsIn('[700.HK](https://example.com/5.HK)'), ['700.HK', '5.HK']);
  assert.deepEqual(symbolsIn('--700.HK, see-5.HK, 5.HK-'), ['700.HK', '5.HK']);
  assert.equal(short('--700.HK', '700.HK'), '--[700.HK:700.HK]');
  const heap = `http://${'.'.repeat(9_000)}a ${'-'.repeat(9_000)}`;
  assert.equal(piecesOf(heap, new Set()).map((piece) => piece.text).join(''), heap);
  assert.deepEqual(wordsOf(' 700.HK, 5.HK，5.HK '), ['700.HK', '5.HK']);
});

test('invalid input is reported before it is sent', () => {
  const draft = { kind: 'post', title: '', body: 'x', tickers: [], hashtags: [] };
  const wrong = (more) => wrongWith({ ...draft, ...more });
  assert.equal(wrong({}), undefined);
  // An emoji is one character.
  assert.equal(lengthOf('🙂数a'), 3);
  assert.equal(wrong({ body: '🙂'.repeat(5000) }), undefined);
  assert.equal(wrong({ body: '🙂'.repeat(5001) }), 'The text has more than 5000 characters.');
  assert.equal(wrong({ kind: 'article', title: 't', body: 'x'.repeat(20_000) }), undefined);
  assert.equal(wrong({ kind: 'article' }), 'An article needs a title.');
  assert.equal(wrong({ title: 'x'.repeat(201) }), 'The title has more than 200 characters.');
  assert.equal(wrong({ body: ' \n' }), 'The text is empty.');
  assert.equal(wrong({ tickers: ['700'] }), '700 is not a symbol.');
  assert.equal(wrong({ tickers: Array.from({ length: 11 }, (_, at) => `${at + 1}.HK`) }), 'There are more than 10 securities.');
  assert.equal(wrong({ hashtags: ['a', 'b', 'c', 'd', 'e', 'f'] }), 'There are more than 5 hashtags.');
  assert.equal(wrong({ hashtags: [`#${'x'.repeat(51)}`] }), 'A hashtag has more than 50 characters.');
});

test('the topics shown are in the address', () => {
  assert.deepEqual(listParams(''), { show: 'all', page: 1, symbol: undefined });
  assert.deepEqual(listParams('?symbol=00700.hk&page=3'), { show: 'all', page: 3, symbol: '700.HK' });
  assert.deepEqual(listParams('?show=mine&symbol=700.HK&page=0'), { show: 'mine', page: 1, symbol: undefined });
  assert.deepEqual(listParams('?show=hidden&page=x'), { show: 'hidden', page: 1, symbol: undefined });
  assert.deepEqual(listParams('?show=<script>'), { show: 'all', page: 1, symbol: undefined });
});
