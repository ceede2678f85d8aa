// Keyboard shortcuts of the page. They do not apply while a text field or a select has the focus.

const TYPING = 'input:not([type=radio]), textarea, select, dialog[open] *';
const ARROWS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];

/** `bindings` maps keys to functions, which get the event. */
export function listen(bindings) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest(TYPING)) return;
    // Arrows move within a focused radio group.
    if (ARROWS.includes(event.key) && event.target.matches('input[type=radio]')) return;
    const what = bindings[event.key];
    if (!what) return;
    event.preventDefault();
    what(event);
  });
}
