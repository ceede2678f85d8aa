// A tooltip for a mark on the chart. Hidden from screen readers: the read-out contains the same
// text.

const EDGE = 8;

export class Tip {
  constructor(box) {
    this.box = box;
  }

  /** Shows it above a point of the chart, within the chart's width. */
  show(words, { x, y }) {
    if (this.box.textContent !== words) this.box.textContent = words;
    this.box.hidden = false;
    const { clientWidth: room } = this.box.parentElement;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = Math.min(Math.max(x - width / 2, EDGE), Math.max(room - width - EDGE, EDGE));
    this.box.style.left = `${Math.round(left)}px`;
    this.box.style.top = `${Math.round(Math.max(y - height, EDGE))}px`;
  }

  hide() {
    this.box.hidden = true;
  }
}
