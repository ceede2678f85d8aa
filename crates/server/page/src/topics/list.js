// The list: all topics, one's own, those about a security; for operators, hidden ones.

import { ask } from '../api.js';
import { addressOf } from '../base.js';
import { instant } from '../dashboard/table.js';
import { el } from '../dom.js';
import { listen } from '../keys.js';
import { symbolOf } from '../link.js';
import { phrase } from '../phrases/topics.js';
import { composer } from './compose.js';
import { byline, hiddenNote, labels } from './draw.js';

const PAGE = 20;

/** The query of the address. */
export function listParams(search) {
  const given = new URLSearchParams(search);
  const show = ['mine', 'hidden'].includes(given.get('show')) ? given.get('show') : 'all';
  const page = /^[1-9]\d{0,5}$/.test(given.get('page') ?? '') ? Number(given.get('page')) : 1;
  return { show, page, symbol: show === 'all' ? symbolOf(given.get('symbol') ?? '') : undefined };
}

const listLink = ({ show, page, symbol }) => {
  const query = new URLSearchParams({ ...(show !== 'all' && { show }), ...(symbol && { symbol }), ...(page > 1 && { page }) });
  return addressOf(`/topics${query.size > 0 ? `?${query}` : ''}`);
};

export async function listPage(who) {
  const params = listParams(location.search);
  const compose = composer(params.symbol);
  listen({ n: () => compose.focus() });
  const rows = params.show === 'hidden' ? await hiddenSheet(params) : await topicsSheet(params);
  return [tabs(params, who), compose.box, rows];
}

function tabs({ show, symbol }, who) {
  const tab = (name, label) =>
    el('a', { class: 'button', href: listLink({ show: name, page: 1 }), 'aria-current': show === name && !symbol ? 'page' : undefined }, label);
  const about = symbol ? el('span', {}, phrase('about_one', symbol)) : undefined;
  return el(
    'nav',
    { class: 'row tabs', 'aria-label': phrase('which') },
    tab('all', phrase('everybody')),
    tab('mine', phrase('mine')),
    who.role === 'operator' ? tab('hidden', phrase('hidden_ones')) : undefined,
    about,
  );
}

async function topicsSheet(params) {
  const query = new URLSearchParams({ page: params.page, size: PAGE, ...(params.symbol && { symbol: params.symbol }) });
  const { data } = await ask(params.show === 'mine' ? `/v1/content/topics/mine?${query}` : `/v1/content/topics?${query}`);
  const rows = data.items.map(card);
  const list = rows.length > 0 ? el('ol', { class: 'topics' }, rows) : el('p', { class: 'lead' }, phrase(params.page > 1 ? 'no_more' : 'none_yet'));
  return el('section', { class: 'sheet', 'aria-label': phrase('topics') }, list, pager(params, rows.length === PAGE));
}

function card(topic) {
  const href = addressOf(`/topics/${topic.id}`);
  const isArticle = topic.topic_type === 'article';
  return el(
    'li',
    {},
    el('h2', { dir: 'auto' }, el('a', { href }, topic.title || topic.description || phrase('untitled'))),
    topic.title && topic.description ? el('p', { class: 'lead', dir: 'auto' }, topic.description) : undefined,
    byline(topic, ...[isArticle ? phrase('article') : undefined, phrase('replies_count', topic.comments_count), phrase('views_count', topic.views_count)].filter(Boolean)),
    labels(topic),
    hiddenNote(topic),
  );
}

function pager(params, hasMore) {
  if (params.page === 1 && !hasMore) return undefined;
  const to = (page, label) => el('a', { class: 'button', href: listLink({ ...params, page }) }, label);
  return el(
    'p',
    { class: 'row pager' },
    params.page > 1 ? to(params.page - 1, phrase('newer')) : undefined,
    hasMore ? to(params.page + 1, phrase('older')) : undefined,
  );
}

async function hiddenSheet(params) {
  const { data } = await ask(`/v1/admin/topics?${new URLSearchParams({ hidden: true, page: params.page, limit: PAGE })}`);
  const said = el('p', { class: 'said', role: 'status' });
  const rows = data.posts.map((post) => hiddenRow(post, said));
  const list = rows.length > 0 ? el('ol', { class: 'topics' }, rows) : el('p', { class: 'lead' }, phrase('none_hidden'));
  return el('section', { class: 'sheet', 'aria-label': phrase('hidden_ones') }, list, said, pager(params, rows.length >= PAGE));
}

function hiddenRow(post, said) {
  const restore = async () => {
    try {
      await ask(`/v1/admin/topics/${post.id}/restore`, { method: 'POST', body: {} });
      said.textContent = phrase('restored', post.id);
      button.disabled = true;
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = phrase('not_done', error.message);
    }
  };
  const button = el('button', { type: 'button', onclick: restore, 'aria-label': phrase('restore_one', post.id) }, phrase('restore'));
  return el(
    'li',
    {},
    el('h2', { dir: 'auto' }, post.title || phrase(post.what === 'reply' ? 'reply_number' : 'topic_number', post.id)),
    el('p', { class: 'lead lines', dir: 'auto' }, [...post.body].slice(0, 500).join('')),
    el('p', { class: 'byline' }, el('bdi', {}, post.author), ' · ', instant(post.created_at)),
    el('p', { class: 'warn' }, phrase('hidden_because', post.hidden_because)),
    el('p', { class: 'row' }, button),
  );
}
