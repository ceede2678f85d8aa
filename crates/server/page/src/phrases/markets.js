// Names of the markets' places. A separate file, because every script needs them.

import { phrasesOf } from '../phrase.js';

export const phrase = phrasesOf({
  dates: ['{0} time', '{0}时间', '{0}時間'],
  hong_kong: ['Hong Kong', '香港', '香港'],
  shanghai: ['Shanghai', '上海', '上海'],
  new_york: ['New York', '纽约', '紐約'],
});
