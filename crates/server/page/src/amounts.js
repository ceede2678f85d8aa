// Large numbers in few digits, for display. The exact number is in the tooltip.

import { grouped, shortened } from './decimal.js';
import { language } from './phrase.js';
import { phrase } from './phrases/units.js';

const letters = phrase('units').split(' ');
/** Thousands in English, ten thousands in Chinese. */
const UNITS = letters.map((letter, at) => ({ zeros: (language === 'en' ? 3 : 4) * (at + 1), letter }));

/** `12.14M`, `1,214万`; a number that is already short is only grouped. */
export const shortAmount = (text) => shortened(text, UNITS) ?? grouped(text);

/** The same for a float, as used on axes. */
export const shortNumber = (number) => shortAmount(String(Math.round(number))).replace(/(\.\d*?)0+(?=\D+$)/, '$1').replace(/\.(?=\D+$)/, '');
