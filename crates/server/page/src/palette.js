// The colours of the stylesheet, for the canvas. They are read from probe elements, because a
// custom property that depends on the scheme is only text until an element uses it.

const NAMES = [
  'ground',
  'sheet',
  'ink',
  'soft',
  'grid',
  'line',
  'accent',
  'rise',
  'fall',
  'rise-soft',
  'fall-soft',
  'outside',
  'night',
  'study-1',
  'study-2',
  'study-3',
  'study-4',
  'study-5',
];

/** The last palette: charts side by side have the same. */
let last = { key: '', palette: undefined };

export function readPalette() {
  const { theme, rise } = document.documentElement.dataset;
  const key = `${theme} ${rise} ${matchMedia('(prefers-color-scheme: dark)').matches}`;
  if (last.key === key) return last.palette;
  // All probes are inserted before the first one is read, so that styles are computed once.
  const probes = NAMES.map((name) => {
    const probe = document.createElement('span');
    probe.hidden = true;
    probe.style.color = `var(--${name})`;
    return probe;
  });
  document.body.append(...probes);
  const palette = Object.fromEntries(NAMES.map((name, at) => [name, getComputedStyle(probes[at]).color]));
  for (const probe of probes) probe.remove();
  last = { key, palette };
  return palette;
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
