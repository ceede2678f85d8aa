// Writing a topic, with what it will look like beside it. Nothing that was typed is lost when the server refuses it.

import { ask } from '../api.js';
import { addressOf } from '../base.js';
import { el } from '../dom.js';
import { symbolOf } from '../link.js';
import { phrase } from '../phrases/topics.js';
import { TOPIC_LIMITS } from '../served-topics.js';
import { bodyOf, labels } from './draw.js';
import { symbolsIn, wordsOf } from './mentions.js';

/** Characters as the server counts them: an emoji is one, whatever it takes in memory. */
export const lengthOf = (text) => [...text].length;

/** What would be refused, in words, before it is sent; nothing if it may be sent. */
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

/** The form, folded until it is wanted. `symbol` is what the topic will be about, if that is known. */
export function composer(symbol) {
  const field = (id, label, input, hint) =>
    el('p', { class: 'field' }, el('label', { for: id }, label), input, hint ? el('small', { id: `${id}-hint` }, hint) : undefined);
  const kinds = ['post', 'article'].map((kind) =>
    el('label', {}, el('input', { type: 'radio', name: 'kind', value: kind, checked: kind === 'post' }), el('span', {}, phrase(kind === 'post' ? 'post' : 'article'))),
  );
  const title = el('input', { id: 'topic-title', type: 'text', autocomplete: 'off', dir: 'auto' });
  const body = el('textarea', { id: 'topic-body', rows: 8, dir: 'auto', 'aria-describedby': 'topic-length' });
  const tickers = el('input', { id: 'topic-tickers', type: 'text', autocomplete: 'off', spellcheck: 'false', value: symbol ?? '', 'aria-describedby': 'topic-tickers-hint' });
  const hashtags = el('input', { id: 'topic-hashtags', type: 'text', autocomplete: 'off' });
  const length = el('small', { id: 'topic-length' });
  const preview = el('section', { class: 'preview', 'aria-label': phrase('preview') });
  const said = el('p', { class: 'said', role: 'status' });
  const send = el('button', { class: 'main' }, phrase('publish'));
  const form = el(
    'form',
    { class: 'compose' },
    el('fieldset', { class: 'kinds' }, el('legend', { class: 'unseen' }, phrase('kind')), kinds),
    field('topic-title', phrase('title'), title),
    el('p', { class: 'field' }, el('label', { for: 'topic-body' }, phrase('body')), body, length),
    field('topic-tickers', phrase('tickers'), tickers, phrase('tickers_hint')),
    field('topic-hashtags', phrase('hashtags'), hashtags),
    el('h2', {}, phrase('preview')),
    preview,
    el('p', { class: 'row' }, send),
    said,
  );
  const box = el('details', { class: 'sheet' }, el('summary', {}, phrase('write')), form);

  const draft = () => ({
    kind: new FormData(form).get('kind'),
    title: title.value.trim(),
    body: body.value,
    tickers: wordsOf(tickers.value),
    hashtags: wordsOf(hashtags.value),
  });
  const show = () => {
    const written = draft();
    length.textContent = phrase('length', lengthOf(written.body), TOPIC_LIMITS[written.kind]);
    const symbols = [...new Set([...written.tickers.map(symbolOf).filter(Boolean), ...symbolsIn(written.title), ...symbolsIn(written.body)])];
    preview.replaceChildren(
      ...[
        written.title ? el('h3', { dir: 'auto' }, written.title) : undefined,
        written.body.trim() ? bodyOf(written.kind, written.body, symbols) : el('p', { class: 'lead' }, phrase('preview_empty')),
        labels({ tickers: symbols, hashtags: written.hashtags.map((word) => word.replace(/^#/, '')) }),
      ].filter(Boolean),
    );
  };
  let isSending = false;
  form.addEventListener('input', show);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (isSending) return;
    const written = draft();
    const wrong = wrongWith(written);
    said.textContent = wrong ?? '';
    if (wrong) return;
    isSending = true;
    try {
      const { kind, ...rest } = written;
      const { data } = await ask('/v1/content/topics', { method: 'POST', body: { topic_type: kind, ...rest } });
      location.assign(addressOf(`/topics/${data.item.id}`));
    } catch (error) {
      isSending = false;
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('not_done', error.message);
    }
  });
  show();
  const focus = () => {
    box.open = true;
    body.focus();
  };
  return { box, focus };
}
