// Unit letters of large numbers. A separate table, because small scripts use it.

import { phrasesOf } from '../phrase.js';

export const phrase = phrasesOf({
  units: ['K M B T', '万 亿 万亿', '萬 億 萬億'],
});
