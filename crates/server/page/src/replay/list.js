// The dialog with the account's replays: open, end, delete.

import { openDialog } from '../dialog.js';
import { el } from '../dom.js';
import { phrase } from '../phrases/replay.js';
import { wallText } from './time.js';

const HONG_KONG = 480;

/** `here` is the world of the page, if it has one. */
export function openList(on, here) {
  const body = el('div', { class: 'replay-worlds' });
  const said = el('p', { class: 'said', role: 'status' });
  const close = el('button', { class: 'main', onclick: () => box.close() }, phrase('close'));
  const box = openDialog('replays', phrase('replays'), body, said, el('p', { class: 'choices' }, close));
  close.focus();
  const tried = async (work) => {
    said.textContent = '';
    try {
      await work();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      said.textContent = error.message;
    }
  };
  const change = (method, world, verb) =>
    tried(async () => {
      if (method === 'DELETE' && world.name === here) return removeHere(on, world);
      await on.ask(`/v1/worlds/${world.name}${verb}`, { method });
      return load();
    });
  const load = () =>
    tried(async () => {
      const { worlds } = (await on.ask('/v1/worlds')).data;
      // The newest first.
      body.replaceChildren(...(worlds.length > 0 ? worlds.reverse().map((world) => row(world, here, on, change)) : [el('p', { class: 'hint' }, phrase('none'))]));
      close.focus();
    });
  load();
}

/** Deletes the world of the page, and leaves it. Its stream would report the deletion first. */
async function removeHere(on, { name }) {
  on.stream.close();
  try {
    await on.ask(`/v1/worlds/${name}`, { method: 'DELETE' });
  } catch (error) {
    on.stream.retry();
    throw error;
  }
  location.assign(on.outside());
}

function row(world, here, on, change) {
  const { name, state, now } = world;
  const at = `${wallText(Date.parse(now) / 1000, HONG_KONG)} ${phrase('hkt')}`;
  const isOver = ['ended', 'created'].includes(state);
  const named = (label) => `${label} ${name}`;
  const remove = el('button', { type: 'button', 'aria-label': named(phrase('remove')) }, phrase('remove'));
  remove.addEventListener('click', () => {
    if (remove.dataset.sure) return change('DELETE', world, '');
    remove.dataset.sure = '1';
    remove.removeAttribute('aria-label');
    remove.textContent = phrase('sure');
    return undefined;
  });
  return el(
    'div',
    { class: 'replay-world', 'aria-current': name === here ? 'true' : undefined },
    el('p', {}, el('strong', {}, name), el('small', {}, `${at} · ${phrase(`state_${state}`)}`)),
    el('a', { class: 'button', href: on.entering(name), 'aria-label': named(phrase('open')) }, phrase('open')),
    isOver ? remove : el('button', { type: 'button', 'aria-label': named(phrase('end')), onclick: () => change('POST', world, '/end') }, phrase('end')),
  );
}
