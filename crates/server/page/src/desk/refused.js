// A part of a desk page whose question was refused: the page stays, and the part says what to do.

import { adviceElement } from '../advice.js';
import { whereIAm } from '../base.js';
import { adviceFor } from '../refusal.js';

export const refusal = (error, again) => adviceElement(adviceFor(error, { here: whereIAm() }), again).box;
