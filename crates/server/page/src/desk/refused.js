// A part of a desk page whose question was refused: the page stays, and the part says what to do.

import { adviceElement, lifting } from '../advice.js';
import { me } from '../api.js';
import { whereIAm } from '../base.js';
import { adviceFor } from '../refusal.js';

export function refusal(error, again) {
  const advice = adviceFor(error, { here: whereIAm() });
  const { box } = adviceElement(advice, again);
  // A desk page knows who is signed in, so that this is there at once; if nobody is, the rest stands all the same.
  if (advice.isLimit) me().then((who) => box.append(...lifting(who)), () => {});
  return box;
}
