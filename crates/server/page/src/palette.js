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

export function readPalette() {
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
  return palette;
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
