// The box for a date. Browsers send an event for every typed digit. So a typed date counts with Enter or when the box is left, a date from
// the calendar a moment after the last pick.

const PICKED_MS = 300;
const EARLIEST = '1900-01-01';
const TYPED = /^(\d|ArrowUp|ArrowDown|Backspace|Delete)$/;

export class DateBox {
  /** `onChoose` gets a date, or nothing once the box has been emptied. */
  constructor(input, onChoose) {
    Object.assign(this, { input, onChoose, isTyped: false, isChanged: false });
    input.addEventListener('pointerdown', () => (this.isTyped = false));
    input.addEventListener('keydown', (event) => {
      if (TYPED.test(event.key)) this.isTyped = true;
      if (event.key !== 'Enter') return;
      // Going to the same date again is going back to it after having scrolled away.
      event.preventDefault();
      this.choose();
    });
    input.addEventListener('change', () => {
      this.isChanged = true;
      clearTimeout(this.timer);
      if (!this.isTyped) this.timer = setTimeout(() => this.choose(), PICKED_MS);
    });
    input.addEventListener('blur', () => {
      if (this.isChanged) this.choose();
      else this.show(this.shown);
    });
  }

  /** Also before its date is known, when the box is still hidden: a hidden element cannot have the focus. */
  focus() {
    this.input.classList.remove('waiting');
    this.input.focus();
  }

  choose() {
    clearTimeout(this.timer);
    this.isTyped = false;
    this.isChanged = false;
    const { value, validity } = this.input;
    // Half a date, or a year that is still being typed, is none.
    if (validity.badInput || (value !== '' && value < EARLIEST)) this.show(this.shown);
    else this.onChoose(value || undefined);
  }

  /** The date of what is on the screen; not while the box has the focus. */
  follow(before) {
    this.shown = before;
    if (document.activeElement !== this.input && !this.isChanged) this.show(before);
  }

  /** For a view without candles. A date that nothing has taken the place of stays: without it, everything in the box would move. */
  settle(before) {
    if (before) this.show(before);
    else this.input.classList.remove('waiting');
  }

  show(before) {
    this.shown = before;
    this.input.value = before?.slice(0, 10) ?? '';
    this.input.classList.remove('waiting');
  }
}
