// Keyboard shortcuts of the page. They do not apply while a text field or a select has the focus.

const TYPING = 'input:not([type=radio]), textarea, select, dialog[open] *';
const ARROWS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];

/** Whether a key press belongs to a field, a dialog or a focused radio group. */
export const isTyping = ({ key, target }) => Boolean(target.closest(TYPING)) || (ARROWS.includes(key) && target.matches('input[type=radio]'));

/** `bindings` maps keys to functions, which get the event. */
export function listen(bindings) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event)) return;
    const what = bindings[event.key];
    if (!what) return;
    event.preventDefault();
    what(event);
  });
}
