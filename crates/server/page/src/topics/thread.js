// One topic with its replies, oldest first, and a form for a reply.

import { ask } from '../api.js';
import { addressOf } from '../base.js';
import { el } from '../dom.js';
import { listen } from '../keys.js';
import { phrase } from '../phrases/topics.js';
import { TOPIC_LIMITS } from '../served-topics.js';
import { lengthOf } from './compose.js';
import { bodyOf, byline, hiddenNote, labels } from './draw.js';

const PAGE = 50;

export async function threadPage(id, who) {
  const back = el('p', {}, el('a', { href: addressOf('/topics') }, phrase('all_topics')));
  const [topic, first] = await Promise.all([get(`/v1/content/topics/${id}`), get(repliesPath(id, 1))]);
  const { item } = topic;
  const thread = new Thread(item, who);
  thread.add(first.items);
  // Cut at whole characters, and isolated so that its text direction ends with it.
  const name = [...(item.title || item.description)].slice(0, 60).join('');
  document.title = `\u2068${name}\u2069 · Chandler`;
  listen({ r: () => thread.focus() });
  return [back, topicSheet(item, who), thread.box];
}

/** The author that a reply is addressed to. */
const replyTo = ({ author }) => el('bdi', {}, phrase('reply_to', author.name));
const get = async (path) => (await ask(path)).data;
const repliesPath = (id, page) => `/v1/content/topics/${id}/comments?${new URLSearchParams({ order: 'oldest', size: PAGE, page })}`;

function topicSheet(topic, who) {
  const views = phrase('views_count', topic.views_count);
  return el(
    'section',
    { class: 'sheet topic', 'aria-label': phrase('topic_number', topic.id) },
    topic.title ? el('h2', { dir: 'auto' }, topic.title) : undefined,
    byline(topic, views),
    hiddenNote(topic),
    bodyOf(topic.topic_type, topic.body, topic.tickers),
    labels(topic),
    who.role === 'operator' ? hiding(topic.id, phrase('topic_number', topic.id), () => location.assign(addressOf('/topics'))) : undefined,
  );
}

/**
 * For operators: hides it from other accounts, with a reason. A hidden reply stays on the page
 * until the page is reopened, so that the layout does not shift.
 */
function hiding(id, name, onHidden) {
  const reason = el('input', { type: 'text', 'aria-label': phrase('reason'), placeholder: phrase('reason'), maxlength: TOPIC_LIMITS.reason, required: true });
  const said = el('span', { role: 'status' });
  const button = el('button', {}, phrase('hide'));
  const hide = async (event) => {
    event.preventDefault();
    try {
      await ask(`/v1/admin/topics/${id}/hide`, { method: 'POST', body: { reason: reason.value } });
      reason.disabled = button.disabled = true;
      said.textContent = phrase('hidden_now');
      onHidden();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('not_done', error.message);
    }
  };
  return el(
    'details',
    { class: 'hiding' },
    el('summary', { 'aria-label': phrase('hide_one', name) }, phrase('hide')),
    el('form', { class: 'row', onsubmit: hide }, reason, button, said),
  );
}

class Thread {
  constructor(topic, who) {
    Object.assign(this, { topic, who, page: 1, replyTo: undefined, isSending: false, known: new Map() });
    this.list = el('ol', { class: 'replies' });
    this.more = el('button', { type: 'button', hidden: true, onclick: () => this.loadMore() }, phrase('more'));
    this.body = el('textarea', { id: 'reply-body', rows: 4, dir: 'auto', 'aria-describedby': 'reply-to' });
    this.to = el('p', { id: 'reply-to', class: 'row' });
    this.said = el('p', { class: 'said', role: 'status' });
    this.none = el('p', { class: 'lead' }, phrase('no_replies'));
    const form = el(
      'form',
      { class: 'compose', onsubmit: (event) => this.send(event) },
      el('p', { class: 'field' }, el('label', { for: 'reply-body' }, phrase('your_reply')), this.body),
      this.to,
      el('p', { class: 'row' }, el('button', { class: 'main' }, phrase('send'))),
      this.said,
    );
    const head = el('h2', {}, phrase('replies'));
    // A hidden topic takes no replies. The form is above the replies, so that it does not move when
    // more arrive.
    this.box = el('section', { class: 'sheet thread' }, head, topic.hidden ? undefined : form, this.none, this.list, el('p', { class: 'row' }, this.more));
    this.answer(undefined);
  }

  focus() {
    this.body.focus();
  }

  add(replies) {
    for (const reply of replies) {
      // If a reply was written between two page requests, they may contain the same reply twice.
      if (this.known.has(reply.id)) continue;
      this.known.set(reply.id, reply);
      this.list.append(this.row(reply));
    }
    this.none.hidden = this.known.size > 0;
    this.more.hidden = replies.length < PAGE;
  }

  row(reply) {
    const parent = this.known.get(reply.reply_to_id);
    const to = parent ? el('a', { href: `#reply-${parent.id}` }, replyTo(parent)) : undefined;
    const name = phrase('reply_number', reply.id);
    return el(
      'li',
      { id: `reply-${reply.id}` },
      byline(reply, ...[to].filter(Boolean)),
      hiddenNote(reply),
      bodyOf('post', reply.body, this.topic.tickers),
      el(
        'div',
        { class: 'row ways' },
        this.topic.hidden || reply.hidden
          ? undefined
          : el('button', { type: 'button', 'aria-label': phrase('answer_one', reply.author.name), onclick: () => this.answer(reply) }, phrase('answer')),
        this.who.role === 'operator' ? hiding(reply.id, name, () => {}) : undefined,
      ),
    );
  }

  /** Sets what the next reply is to: another reply, or the topic. */
  answer(reply) {
    this.replyTo = reply;
    this.to.replaceChildren(
      ...(reply
        ? [replyTo(reply), el('button', { type: 'button', onclick: () => this.answer(undefined) }, phrase('to_topic'))]
        : [el('span', {}, phrase('to_the_topic'))]),
    );
    if (reply) this.focus();
  }

  async loadMore() {
    try {
      const { items } = await get(repliesPath(this.topic.id, this.page + 1));
      this.page += 1;
      this.add(items);
    } catch (error) {
      this.report(error);
    }
  }

  report(error) {
    if (error.name !== 'Refused') throw error;
    this.said.textContent = error.retryAfter ? phrase('wait', error.retryAfter) : phrase('not_done', error.message);
  }

  async send(event) {
    event.preventDefault();
    const body = this.body.value;
    if (this.isSending) return;
    if (body.trim() === '') {
      this.said.textContent = phrase('body_missing');
      return;
    }
    if (lengthOf(body) > TOPIC_LIMITS.reply) {
      this.said.textContent = phrase('body_long', TOPIC_LIMITS.reply);
      return;
    }
    this.isSending = true;
    try {
      const sent = { body, ...(this.replyTo && { reply_to_id: this.replyTo.id }) };
      const { data } = await ask(`/v1/content/topics/${this.topic.id}/comments`, { method: 'POST', body: sent });
      this.body.value = '';
      this.answer(undefined);
      this.said.textContent = phrase('sent');
      this.known.set(data.item.id, data.item);
      this.none.hidden = true;
      const row = this.row(data.item);
      this.list.append(row);
      row.scrollIntoView({ block: 'nearest' });
    } catch (error) {
      this.report(error);
    } finally {
      this.isSending = false;
    }
  }
}
