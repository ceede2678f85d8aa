// Dialogs created on demand.

import { el } from './dom.js';

/** A dialog that is removed when it closes, and then restores the focus. */
export function openDialog(name, title, ...parts) {
  const id = `${name}-title`;
  const box = el('dialog', { class: name, 'aria-labelledby': id }, el('h2', { id }, title), ...parts);
  const back = document.activeElement?.dataset.key;
  box.addEventListener('close', () => {
    box.remove();
    // The rows may have been recreated meanwhile.
    const same = back && [...document.querySelectorAll('[data-key]')].find((one) => one.dataset.key === back);
    same?.focus({ preventScroll: true });
  });
  document.body.append(box);
  box.showModal();
  return box;
}
