// The chart as a picture: the visible candles, with a caption.

import { FONT } from '../palette.js';

const HEAD = 44;
const LEGEND = 17;

/** `legends` are the texts over the panes, which are not part of the canvas. */
export function pictureOf({ chart, palette, container }, { title, line, legends }) {
  const shot = chart.takeScreenshot(true, false);
  // The canvases of the library have the resolution of the screen; texts are scaled to match.
  const ratio = shot.width / container.clientWidth;
  const canvas = document.createElement('canvas');
  canvas.width = shot.width;
  canvas.height = shot.height + HEAD * ratio;
  const context = canvas.getContext('2d');
  context.fillStyle = palette.sheet;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(shot, 0, HEAD * ratio);
  context.scale(ratio, ratio);
  const write = (text, x, y, colour, font) => {
    context.fillStyle = colour;
    context.font = `${font} ${FONT}`;
    context.fillText(text, x, y);
    return context.measureText(text).width;
  };
  write(title, 12, 18, palette.ink, '600 15px');
  write(line, 12, 36, palette.soft, '12px');
  for (const { top, row, values } of legends) {
    let x = 10;
    for (const { label, text, colour } of values) x += write(`${label} ${text}`, x, HEAD + top + LEGEND * row + 13, colour, '11px') + 10;
  }
  return canvas;
}
