// The address of what is on the screen.

import { whereIAm } from './base.js';
import { formatLink } from './link.js';

/**
 * A choice of the reader is a step that the back button undoes; scrolling, and what the page chose by itself, are not. Browsers limit
 * these calls, so the same address is not written twice.
 */
export function writeAddress(view, how = 'replaceState') {
  const link = formatLink(view);
  if (link !== whereIAm()) history[how](null, '', link);
}
