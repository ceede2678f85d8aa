// The address of the current view.

import { whereIAm } from './base.js';
import { formatLink } from './link.js';

/**
 * A choice of the user gets a history entry, which the back button undoes; scrolling and automatic
 * choices do not. Browsers limit these calls, so the same address is not written twice.
 */
export function writeAddress(view, how = 'replaceState') {
  const link = formatLink(view);
  if (link !== whereIAm()) history[how](null, '', link);
}
