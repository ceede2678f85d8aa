// Time to the first rows of the page Securities, in a store of twenty thousand of them.

import { writeFileSync } from 'node:fs';
import path from 'node:path';

const SECURITIES = 20_000;
const FIRST_ROWS_MAX_MS = 300;
const ADDRESS = '/securities';
/** An evening in New York, before the clock of the bench. */
const EVENING = 1_794_535_200;
const ROWS = {
  mark: 'chandler:rows',
  done: () => document.readyState === 'complete' && document.querySelectorAll('.long-row a').length > 10,
  counted: () => document.querySelector('.sheet .said')?.textContent,
};

/** Securities with a name in three languages, a day, and a minute of overnight hours each, as in `bench/run.sh lists`. */
export function fillList(store, chandler) {
  const files = {
    'names.csv': ['symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,board'],
    'minutes.csv': ['symbol,time,open,high,low,close,volume'],
    'days.csv': ['symbol,time,open,high,low,close,volume'],
  };
  for (let number = 1; number <= SECURITIES; number += 1) {
    const symbol = `T${number}.US`;
    files['names.csv'].push(`${symbol},Lamp oil number ${number},灯油${number},燈油${number},NASD,USD,1,USMain`);
    files['minutes.csv'].push(`${symbol},${EVENING},10,10,10,10,100`);
    files['days.csv'].push(`${symbol},2026-11-12,10,11,9,10,1000`);
  }
  for (const [name, lines] of Object.entries(files)) {
    const file = path.join(store, name);
    writeFileSync(file, `${lines.join('\n')}\n`);
    chandler(['import', file]);
  }
}

/** Rows of the table, and missed goals. `visit` opens a page with a fresh profile. */
export async function measureList({ visit, visits, say, row, quantile }) {
  const times = [];
  // The first visit reads the list of securities, which is then cached; it has a separate row in the table.
  for (let visited = 0; visited <= visits; visited += 1) times.push(await visit(ADDRESS, ROWS));
  const words = `${SECURITIES.toLocaleString('en')} securities`;
  const other = times.find(({ count }) => count !== words);
  if (other) throw new Error(`not ${words}: ${other.count}`);
  const [first, ...painted] = times.map((one) => one.painted);
  const files = Math.max(...times.map(({ bytes }) => bytes.page));
  const answers = Math.max(...times.map(({ bytes }) => bytes.answers));
  const shift = Math.max(...times.map((one) => one.shift));
  say(`| ${words} | median | p90 | worst | |\n|---|---|---|---|---|`);
  row('first rows painted', painted);
  say(`| first rows painted, of a server that has just begun | ${first.toFixed(0)} | | | ms |`);
  say(`| files of the page, as sent | ${(files / 1000).toFixed(1)} | | | KB |`);
  say(`| answers, as sent | ${(answers / 1000).toFixed(1)} | | | KB |`);
  say(`| layout shift | | | ${shift} | |`);
  const median = quantile(painted, 0.5);
  const failures = [];
  if (median > FIRST_ROWS_MAX_MS) failures.push(`first rows of the securities: ${median.toFixed(0)} ms is more than ${FIRST_ROWS_MAX_MS}`);
  if (shift > 0) failures.push('securities: something moved');
  return failures;
}
