// The cells of a ticker in a list. A push changes only their text.

import { shortAmount } from '../amounts.js';
import { grouped } from '../decimal.js';
import { el } from '../dom.js';
import { sparkline } from './ticker.js';

const SVG = 'http://www.w3.org/2000/svg';
const [WIDTH, HEIGHT] = [80, 20];

/** `attributes` of the elements, such as their role. */
export function cellsOf(attributes = {}) {
  const cell = (kind) => el('span', { ...attributes, class: kind });
  const cells = { last: cell('last number'), change: cell('change number'), percent: cell('percent number'), volume: cell('volume number'), trend: cell('trend') };
  const picture = document.createElementNS(SVG, 'svg');
  const line = document.createElementNS(SVG, 'polyline');
  picture.setAttribute('viewBox', `-1 -1 ${WIDTH + 2} ${HEIGHT + 2}`);
  picture.setAttribute('preserveAspectRatio', 'none');
  // The figures say the same.
  picture.setAttribute('aria-hidden', 'true');
  picture.append(line);
  cells.trend.append(picture);
  return { ...cells, line };
}

const set = (cell, text) => {
  if (cell.textContent !== text) cell.textContent = text;
};

/** Shows a ticker in its cells; `ticker` is undefined until it is known. */
export function fillCells(cells, ticker) {
  const { last, change, percent, volume, line } = cells;
  const none = ticker ? '–' : '…';
  const day = ticker?.change;
  set(last, ticker?.last ? grouped(ticker.last) : none);
  set(change, day?.change ?? none);
  set(percent, day?.percent ?? none);
  for (const one of [change, percent]) one.dataset.direction = day?.direction ?? 'level';
  const amount = ticker?.volume ?? undefined;
  set(volume, amount === undefined ? none : shortAmount(String(amount)));
  if (amount !== undefined) volume.title = grouped(String(amount));
  line.setAttribute('points', ticker ? sparkline(ticker.closes, WIDTH, HEIGHT) : '');
}
