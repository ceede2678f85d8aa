// Builds the pages: bundles and minifies the scripts and styles, and writes each HTML document once
// per language.
//   node build.mjs PACKAGES OUT     PACKAGES holds node_modules/ as locked; nothing is downloaded
// The build fails if the compressed chart page exceeds its size limit.

import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { periods } from './parts/periods.js';
import { LANGUAGES } from './src/phrase.js';
import { documents } from './src/phrases/documents.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const [PACKAGES, OUT] = process.argv.slice(2).map((folder) => path.resolve(folder));
if (!OUT) throw new Error('usage: node build.mjs PACKAGES OUT');
const { build } = createRequire(path.join(PACKAGES, 'package.json'))('esbuild');
const WEIGHT_MAX = 150 * 1024;
/** Of scripts that a visit loads only for one feature: orders, drawings and alerts, several charts, replay. */
const LIMITS = { 'orders.js': 18 * 1024, 'sketch.js': 12 * 1024, 'layouts.js': 18 * 1024, 'replay.js': 6 * 1024 };

await rm(OUT, { recursive: true, force: true });
const options = {
  bundle: true,
  minify: true,
  outdir: OUT,
  logLevel: 'warning',
  legalComments: 'none',
  target: ['es2022'],
  absWorkingDir: HERE,
  nodePaths: [path.join(PACKAGES, 'node_modules')],
};
// The first chart calls nearly every function in its script. With this comment Chromium compiles
// the whole script on a background thread while it downloads, instead of each function at its first
// call. Other browsers ignore it.
const atOnce = { js: '//# allFunctionsCalledOnLoad' };
await build({ ...options, entryPoints: { app: 'src/app.js' }, format: 'esm', banner: atOnce });
// Loaded after the first paint. It bundles its own copy of the few shared modules: a third file for
// those would be one more request before the first chart.
await build({ ...options, entryPoints: { side: 'src/side/side.js' }, format: 'esm' });
await build({ ...options, entryPoints: { extras: 'src/extras.js' }, format: 'esm' });
// The replay bar: on demand, or where the address names a world.
await build({ ...options, entryPoints: { replay: 'src/replay/bar.js' }, format: 'esm' });
// The order ticket and the movable order lines: on demand, or where the account has open orders.
await build({ ...options, entryPoints: { orders: 'src/orders/orders.js' }, format: 'esm' });
// Drawings and alerts: on demand, or where the account or the address has drawings.
await build({ ...options, entryPoints: { sketch: 'src/sketch/sketch.js' }, format: 'esm' });
// Charts side by side and saved layouts: on demand, or where the address has several charts.
await build({ ...options, entryPoints: { layouts: 'src/layouts/layouts.js' }, format: 'esm' });
// The upload form that the empty chart page shows.
await build({ ...options, entryPoints: { uploads: 'src/dashboard/uploads.js' }, format: 'esm' });
await build({ ...options, entryPoints: { dashboard: 'src/dashboard.js' }, format: 'esm' });
await build({ ...options, entryPoints: { early: 'src/early.js' }, format: 'iife' });
// Colours use light-dark(), which the browser resolves; the target keeps esbuild from lowering it.
await build({ ...options, entryPoints: { style: 'styles/style.css' }, target: ['esnext'] });
await cp(path.join(HERE, 'icons'), path.join(OUT, 'icons'), { recursive: true });
// The first language is the fallback and is written to the root of the output, not to a subfolder.
for (const [at, language] of LANGUAGES.entries()) {
  const folder = path.join(OUT, at === 0 ? '' : language);
  await mkdir(folder, { recursive: true });
  for (const page of ['index.html', 'dashboard.html']) {
    await writeFile(path.join(folder, page), translated(await whole(page), at, language));
  }
}
await weigh();

/**
 * Expands a document: a line `{{> name}}` becomes the file of that name in `parts/`, or the output
 * of the module there.
 */
async function whole(page) {
  const lines = (await readFile(path.join(HERE, page), 'utf8')).split('\n');
  const part = async (line) => {
    const name = /^\{\{> (\w+)\}\}$/.exec(line)?.[1];
    if (name === 'periods') return periods();
    return name ? (await readFile(path.join(HERE, 'parts', `${name}.html`), 'utf8')).trimEnd() : line;
  };
  return (await Promise.all(lines.map(part))).join('\n');
}

/** Replaces `{{name}}` with the phrase of that name, and `{{lang}}` with the language tag. */
function translated(text, at, language) {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name) => {
    const phrase = name === 'lang' ? language : documents[name]?.[at];
    if (phrase === undefined) throw new Error(`no phrase ${name} in src/phrases/documents.js`);
    return phrase.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  });
}

async function weigh() {
  const sizes = {};
  for (const name of await readdir(OUT, { recursive: true })) {
    if (!/\.\w+$/.test(name)) continue;
    sizes[name] = gzipSync(await readFile(path.join(OUT, name)), { level: 9 }).length;
  }
  for (const [page, ...others] of [['zh-CN/index.html', 'app.js', 'side.js', 'extras.js'], ['zh-CN/dashboard.html', 'dashboard.js']]) {
    const names = [page, ...others, 'early.js', 'style.css', 'icons/candle.svg'];
    const total = names.reduce((sum, name) => sum + sizes[name], 0);
    console.log(`${path.basename(page)}: ${(total / 1024).toFixed(1)} KiB compressed (${names.map((name) => `${name} ${sizes[name]}`).join(', ')})`);
    if (total > WEIGHT_MAX) throw new Error(`${page} weighs ${total} bytes, more than ${WEIGHT_MAX}`);
  }
  for (const [name, most] of Object.entries(LIMITS)) {
    if (sizes[name] > most) throw new Error(`${name} weighs ${sizes[name]} bytes, more than ${most}`);
  }
}
