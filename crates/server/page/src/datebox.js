// The date box. Browsers send an event for every typed digit. So a typed date counts with Enter or
// on blur, a date picked in the calendar a moment after the last pick.

const PICKED_MS = 300;
const EARLIEST = '1900-01-01';
const TYPED = /^(\d|ArrowUp|ArrowDown|Backspace|Delete)$/;

export class DateBox {
  /** `onChoose` gets a date, or undefined once the box has been emptied. */
  constructor(input, onChoose) {
    Object.assign(this, { input, onChoose, isTyped: false, isChanged: false });
    input.addEventListener('pointerdown', () => (this.isTyped = false));
    input.addEventListener('keydown', (event) => {
      if (TYPED.test(event.key)) this.isTyped = true;
      if (event.key !== 'Enter') return;
      // Choosing the same date again returns to it after scrolling away.
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

  /**
   * Also works before the date is known, when the box is still hidden: a hidden element cannot be
   * focused.
   */
  focus() {
    this.input.classList.remove('waiting');
    this.input.focus();
  }

  choose() {
    clearTimeout(this.timer);
    this.isTyped = false;
    this.isChanged = false;
    const { value, validity } = this.input;
    // An incomplete date, or a year that is still being typed, is not a date.
    if (validity.badInput || (value !== '' && value < EARLIEST)) this.show(this.shown);
    else this.onChoose(value || undefined);
  }

  /** Shows the date of the visible candles, unless the box has the focus. */
  follow(before) {
    this.shown = before;
    if (document.activeElement !== this.input && !this.isChanged) this.show(before);
  }

  /**
   * For a view without candles. A date without a replacement stays: emptying the box would shift
   * its layout.
   */
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
