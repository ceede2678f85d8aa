// The form for a topic, with a preview. Typed text is not lost when the server refuses it.

import { ask } from '../api.js';
import { addressOf } from '../base.js';
import { el } from '../dom.js';
import { symbolOf } from '../link.js';
import { phrase } from '../phrases/topics.js';
import { TOPIC_LIMITS } from '../served-topics.js';
import { bodyOf, labels } from './draw.js';
import { symbolsIn, wordsOf } from './mentions.js';

/** Characters as the server counts them: an emoji is one, whatever its size in memory. */
export const lengthOf = (text) => [...text].length;

/** The reason for which the server would refuse the topic, as text; undefined if it may be sent. */
export function wrongWith({ kind, title, body, tickers, hashtags }) {
  const most = TOPIC_LIMITS[kind];
  if (kind === 'article' && title === '') return phrase('title_missing');
  if (lengthOf(title) > TOPIC_LIMITS.title) return phrase('title_long', TOPIC_LIMITS.title);
  if (body.trim() === '') return phrase('body_missing');
  if (lengthOf(body) > most) return phrase('body_long', most);
  const unknown = tickers.find((one) => symbolOf(one) === undefined);
  if (unknown !== undefined) return phrase('ticker_wrong', unknown);
  if (tickers.length > TOPIC_LIMITS.tickers) return phrase('tickers_many', TOPIC_LIMITS.tickers);
  if (hashtags.length > TOPIC_LIMITS.hashtags) return phrase('hashtags_many', TOPIC_LIMITS.hashtags);
  const long = hashtags.find((one) => lengthOf(one.replace(/^#/, '')) > TOPIC_LIMITS.hashtag);
  return long === undefined ? undefined : phrase('hashtag_long', TOPIC_LIMITS.hashtag);
}

/** The inputs of the form, by name. */
function boxesOf(symbol) {
  const kinds = ['post', 'article'].map((kind) =>
    el('label', {}, el('input', { type: 'radio', name: 'kind', value: kind, checked: kind === 'post' }), el('span', {}, phrase(kind === 'post' ? 'post' : 'article'))),
  );
  return {
    kinds,
    title: el('input', { id: 'topic-title', type: 'text', autocomplete: 'off', dir: 'auto' }),
    body: el('textarea', { id: 'topic-body', rows: 8, dir: 'auto', 'aria-describedby': 'topic-length' }),
    length: el('small', { id: 'topic-length' }),
    tickers: el('input', {
      id: 'topic-tickers', type: 'text', autocomplete: 'off', spellcheck: 'false', value: symbol ?? '', 'aria-describedby': 'topic-tickers-hint',
    }),
    hashtags: el('input', { id: 'topic-hashtags', type: 'text', autocomplete: 'off' }),
    preview: el('section', { class: 'preview', 'aria-label': phrase('preview') }),
    said: el('p', { class: 'said', role: 'status' }),
  };
}

function formOf({ kinds, title, body, length, tickers, hashtags, preview, said }) {
  const field = (box, label, ...hints) => el('p', { class: 'field' }, el('label', { for: box.id }, label), box, hints);
  return el(
    'form',
    { class: 'compose' },
    el('fieldset', { class: 'kinds' }, el('legend', { class: 'unseen' }, phrase('kind')), kinds),
    field(title, phrase('title')),
    field(body, phrase('body'), length),
    field(tickers, phrase('tickers'), el('small', { id: 'topic-tickers-hint' }, phrase('tickers_hint'))),
    field(hashtags, phrase('hashtags')),
    el('h2', {}, phrase('preview')),
    preview,
    el('p', { class: 'row' }, el('button', { class: 'main' }, phrase('publish'))),
    said,
  );
}

/** The form, folded until it is opened. `symbol` is the security of the topic, if known. */
export function composer(symbol) {
  const boxes = boxesOf(symbol);
  const form = formOf(boxes);
  const draft = () => ({
    kind: new FormData(form).get('kind'),
    title: boxes.title.value.trim(),
    body: boxes.body.value,
    tickers: wordsOf(boxes.tickers.value),
    hashtags: wordsOf(boxes.hashtags.value),
  });
  form.addEventListener('input', () => {
    boxes.said.textContent = '';
    show(draft(), boxes);
  });
  let isSending = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (isSending) return;
    const written = draft();
    const wrong = wrongWith(written);
    boxes.said.textContent = wrong ?? '';
    if (wrong) return;
    isSending = true;
    try {
      const { kind, ...rest } = written;
      const { data } = await ask('/v1/content/topics', { method: 'POST', body: { topic_type: kind, ...rest } });
      location.assign(addressOf(`/topics/${data.item.id}`));
    } catch (error) {
      isSending = false;
      if (error.name !== 'Refused') throw error;
      boxes.said.textContent = error.retryAfter ? phrase('wait', error.retryAfter) : phrase('not_done', error.message);
    }
  });
  show(draft(), boxes);
  const box = el('details', { class: 'sheet' }, el('summary', {}, phrase('write')), form);
  const focus = () => {
    box.open = true;
    boxes.body.focus();
  };
  return { box, focus };
}

/** Updates the length and the preview. */
function show({ kind, title, body, tickers, hashtags }, { length, preview }) {
  length.textContent = phrase('length', lengthOf(body), TOPIC_LIMITS[kind]);
  const symbols = [...new Set([...tickers.map(symbolOf).filter(Boolean), ...symbolsIn(title), ...symbolsIn(body)])];
  const parts = [
    title ? el('h3', { dir: 'auto' }, title) : undefined,
    body.trim() ? bodyOf(kind, body, symbols) : el('p', { class: 'lead' }, phrase('preview_empty')),
    labels({ tickers: symbols, hashtags: hashtags.map((word) => word.replace(/^#/, '')) }),
  ];
  preview.replaceChildren(...parts.filter(Boolean));
}
