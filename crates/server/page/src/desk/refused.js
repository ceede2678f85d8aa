// A part of a desk page whose question was refused: the page stays, and the part says what to do.

import { adviceElement, lifting, whoFor } from '../advice.js';
import { whereIAm } from '../base.js';
import { adviceFor } from '../refusal.js';

export function refusal(error, again) {
  const advice = adviceFor(error, { here: whereIAm() });
  const { box } = adviceElement(advice, again);
  // A desk page knows who is signed in, so that this is there at once.
  if (advice.isLimit) whoFor(advice).then((who) => box.append(...lifting(who)));
  return box;
}
