// Keyboard shortcuts of the page. They do not apply while a text field or a choice has the focus.

const TYPING = 'input:not([type=radio]), textarea, select, dialog[open] *';
const ARROWS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];

/** `bindings` from keys to what they do; a binding gets the event. */
export function listen(bindings) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest(TYPING)) return;
    // Arrows walk along a group of choices while one of them has the focus.
    if (ARROWS.includes(event.key) && event.target.matches('input[type=radio]')) return;
    const what = bindings[event.key];
    if (!what) return;
    event.preventDefault();
    what(event);
  });
}
