// A part of a dashboard page whose request was refused: the page stays, and the part shows advice.

import { adviceElement, lifting } from '../advice.js';
import { me } from '../api.js';
import { whereIAm } from '../base.js';
import { adviceFor } from '../refusal.js';

export function refusal(error, again) {
  const advice = adviceFor(error, { here: whereIAm() });
  const { box } = adviceElement(advice, again);
  // A dashboard page already knows the signed-in account, so this resolves immediately; without an
  // account the rest is shown anyway.
  if (advice.isLimit) me().then((who) => box.append(...lifting(who)), () => {});
  return box;
}
