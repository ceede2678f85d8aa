// The legend: names of the lines and their values at the inspected candle, at the top of each pane.

import { el } from '../dom.js';

const TOP = 6;

export class Legend {
  constructor(chart) {
    Object.assign(this, { chart, boxes: [], said: '' });
    // Charts beside the focused one have legends, too.
    this.room = el('div', { class: 'legends', id: chart.container.id === 'chart' && 'legends' });
    chart.container.parentElement.append(this.room);
    new ResizeObserver(() => this.place()).observe(chart.container);
  }

  /** Rows of `{ pane, values: [{ label, text, colour }] }`. */
  show(rows) {
    const said = JSON.stringify(rows);
    if (said === this.said) return;
    this.said = said;
    const panes = [...new Set(rows.map(({ pane }) => pane))];
    this.boxes = panes.map((pane) => {
      const own = rows.filter((row) => row.pane === pane);
      return { pane, rows: own, box: el('div', { class: 'legend' }, ...own.map(rowElement)) };
    });
    this.room.replaceChildren(...this.boxes.map(({ box }) => box));
    this.place();
  }

  place() {
    const heights = this.chart.chart.panes().map((pane) => pane.getHeight());
    for (const { pane, box } of this.boxes) {
      // Panes are separated by a line of one pixel.
      const above = heights.slice(0, pane).reduce((sum, height) => sum + height + 1, 0);
      box.style.top = `${above + TOP}px`;
    }
  }
}

function rowElement({ values }) {
  const value = ({ label, text, colour }) => {
    const part = el('span', {}, `${label} `, el('b', {}, text));
    part.style.color = colour;
    return part;
  };
  return el('p', {}, ...values.map(value));
}
