// Appearance preferences.

import { remember } from './memory.js';

const root = document.documentElement;

/** Toggles between light and dark; the scheme of the system is the default. */
export function cycleTheme() {
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const shown = root.dataset.theme ?? (isDark ? 'dark' : 'light');
  const next = shown === 'dark' ? 'light' : 'dark';
  // Choosing the system's scheme removes the preference, so that the page follows the system again.
  choose('theme', next === (isDark ? 'dark' : 'light') ? undefined : next);
}

/**
 * Rising candles are green in New York and red in Shanghai: by the language of the page, unless the
 * user has chosen.
 */
export function cycleRise() {
  const usual = root.lang.startsWith('zh') ? 'red' : 'green';
  const next = (root.dataset.rise ?? usual) === 'red' ? 'green' : 'red';
  choose('rise', next === usual ? undefined : next);
}

function choose(name, value) {
  if (value) root.dataset[name] = value;
  else delete root.dataset[name];
  remember(name, value);
}
