// The community: `/topics` is the list with the form for new topics, `/topics/12` one topic with
// its replies. Each part has a file in `topics/`.

import { addressOf, pathHere } from '../base.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/topics.js';
import { listPage } from '../topics/list.js';
import { threadPage } from '../topics/thread.js';

export const topics = { title: phrase('topics'), fill };

/** Whether a path is one of these pages. */
export const isTopics = (path) => /^\/topics(\/[^/]+)?$/.test(path);

async function fill(who) {
  const [, , id] = pathHere().split('/');
  if (id === undefined) return listPage(who);
  try {
    return await threadPage(id, who);
  } catch (error) {
    if (error.name !== 'Refused' || error.status !== 404) throw error;
    return [el('p', { class: 'lead' }, phrase('no_topic')), el('p', {}, el('a', { href: addressOf('/topics') }, phrase('all_topics')))];
  }
}
