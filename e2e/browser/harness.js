// Real processes on loopback: servers with separate stores, and commands that talk to them. Each of
// them ends by itself, even if this process is killed.

import { execFile, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const WORK = process.env.CHANDLER_E2E_WORK ?? path.join(ROOT, 'target/e2e');
const BINARY = process.env.CHANDLER_E2E_BINARY ?? path.join(ROOT, 'target/debug/chandler');
// A store with the demo market, which the Python harness makes once per build; `e2e/run.sh` passes
// its path.
const MARKET = process.env.CHANDLER_E2E_MARKET;
// The same Sunday as in the Python scenarios.
const NOW = '2026-11-15T02:00:00Z';
// Longer than any step takes, so that a fault fails a test instead of hanging it.
export const PATIENCE_MS = 90_000;
// A process ends after this time, even if this one is killed: the time limit of the whole suite
// (`run.sh`).
const LIFE_S = 1800;

/**
 * The environment of a child process, without variables that point an SDK or a command elsewhere.
 */
export function environment(more = {}) {
  const passed = Object.entries(process.env).filter(([name]) => !/^(LONGBRIDGE|LONGPORT|CHANDLER)_|_proxy$/i.test(name));
  return { ...Object.fromEntries(passed), NO_PROXY: '127.0.0.1,localhost', TZ: 'UTC', ...more };
}

/** Awaits a promise with a timeout. */
export async function within(promise, what, patience = PATIENCE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${patience} ms in vain for ${what}`)), patience);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a program to its end: its exit code and output. */
export function run(program, words, { input = '', env = environment() } = {}) {
  return new Promise((resolve, reject) => {
    const options = { env, timeout: 2 * PATIENCE_MS, maxBuffer: 16 << 20 };
    const child = execFile(program, words.map(String), options, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({ code: error?.code ?? 0, stdout, stderr });
    });
    // A command that ends without reading its input is judged by its exit code.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

export function temporary(prefix) {
  mkdirSync(WORK, { recursive: true });
  const folder = mkdtempSync(path.join(WORK, prefix));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Runs `chandler open` on a file with this text, in a fresh store: returns the link that it prints,
 * and a function that ends it.
 */
export async function openFile(name, text) {
  const folder = temporary('open-');
  const file = path.join(folder, name);
  writeFileSync(file, text);
  const words = ['--store', `sqlite:${path.join(folder, 'store')}`, '--clock', NOW, 'open', file, '--format', 'json'];
  const command = [BINARY, ...words, '--no-browser', '--listen', '127.0.0.1:0', '--tcp', '127.0.0.1:0'];
  const child = spawn('timeout', ['--kill-after=5', String(LIFE_S), ...command], { env: environment(), stdio: ['ignore', 'pipe', 'ignore'] });
  process.on('exit', () => child.kill('SIGTERM'));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const link = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('/signin/once')) resolve(JSON.parse(line).link);
    });
    ended.then(() => reject(new Error(`${file} was not opened`)));
  });
  const stop = () => {
    child.kill('SIGTERM');
    return within(ended, 'the end of chandler open');
  };
  return { link: await within(link, 'a link'), store: path.join(folder, 'store'), stop };
}

/** A server process with a fresh store. */
export class Server {
  static async start(...options) {
    return Server.startAt(NOW, ...options);
  }

  /** The same at another market time. */
  static async startAt(clock, ...options) {
    const store = temporary('store-');
    if (!MARKET) throw new Error('CHANDLER_E2E_MARKET is not set: run the browser tests by e2e/run.sh --browser');
    copyFileSync(path.join(MARKET, 'candles.db'), path.join(store, 'candles.db'));
    return Server.of(store, clock, options);
  }

  /** A server with an empty store. */
  static async startEmpty() {
    return Server.of(temporary('store-'), NOW, []);
  }

  /** A server by the machine's clock, with an empty store that has `source` as the mirror `up`. */
  static async mirrorOf(source) {
    const reader = await source.account('mirror reader');
    const store = temporary('store-');
    const idle = Object.assign(new Server(), { store });
    const env = environment({ CHANDLER_MIRROR_APP_SECRET: reader.app_secret, CHANDLER_MIRROR_ACCESS_TOKEN: reader.access_token });
    await idle.command(['mirror', 'add', 'up', '--http-url', source.url, '--app-key', reader.app_key], { env });
    await idle.command(['mirror', 'plan', 'up', '9001.HK', '--accept-terms']);
    return Server.of(store, undefined, []);
  }

  static async of(store, clock, options) {
    const server = new Server();
    Object.assign(server, { store, clock });
    server.logFile = path.join(server.store, 'server.log');
    const addresses = ['--listen', '127.0.0.1:0', '--tcp', '127.0.0.1:0'];
    const words = [...server.words(), 'serve', ...addresses, '--log', 'info', ...options];
    // `timeout` forwards signals, and ends a server that is left running.
    server.process = spawn('timeout', ['--kill-after=5', String(LIFE_S), BINARY, ...words], {
      env: environment(),
      stdio: ['ignore', 'pipe', openSync(server.logFile, 'a')],
    });
    process.on('exit', () => server.process.kill('SIGTERM'));
    server.ended = new Promise((resolve) => server.process.once('exit', (code) => resolve(code)));
    const lines = createInterface({ input: server.process.stdout });
    const first = new Promise((resolve, reject) => {
      lines.once('line', resolve);
      server.ended.then(() => reject(new Error(`no server: ${server.log()}`)));
    });
    const ready = JSON.parse(await within(first, 'the server'));
    server.ready = ready;
    server.url = `http://${ready.http}`;
    return server;
  }

  /** Without a clock, the server uses the machine's. */
  words() {
    return ['--store', `sqlite:${this.store}`, ...(this.clock ? ['--clock', this.clock] : [])];
  }

  log() {
    return existsSync(this.logFile) ? readFileSync(this.logFile, 'utf8') : '';
  }

  /** Sends SIGTERM and waits for the end. */
  async stop() {
    this.process.kill('SIGTERM');
    return within(this.ended, 'the end of the server');
  }

  /** Standard output of a command on the server's store, which must succeed. */
  async command(words, options) {
    const ran = await run(BINARY, [...this.words(), ...words], options);
    if (ran.code !== 0) throw new Error(`chandler ${words.join(' ')}: ${ran.code}: ${ran.stderr}`);
    return ran.stdout;
  }

  /** A new account with a password. */
  async account(name, password, ...options) {
    const words = ['account', 'create', name, '--url', this.url, '--format', 'json', ...options];
    const created = JSON.parse(await this.command(words));
    if (password !== undefined) await this.command(['account', 'password', name], { input: `${password}\n` });
    return { ...created, password };
  }

  /** One HTTP request: status, headers and body. */
  async ask(method, where, { headers = {}, form, json } = {}) {
    let body;
    if (form) body = new URLSearchParams(form).toString();
    if (json) body = JSON.stringify(json);
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
    const answer = await fetch(new URL(where, this.url), {
      method,
      redirect: 'manual',
      headers: body === undefined ? headers : { 'content-type': type, ...headers },
      body,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await answer.text();
    const isJson = (answer.headers.get('content-type') ?? '').startsWith('application/json');
    return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : undefined };
  }
}

/** `chandler login` as a person would run it: it waits for the approval on a page. */
export class Login {
  constructor(server, home, ...options) {
    this.home = home;
    this.output = '';
    const words = ['login', '--server', server.url, '--no-browser', ...options];
    this.process = spawn('timeout', ['--kill-after=5', String(LIFE_S), BINARY, ...words], {
      // All folders of the user are below the given home.
      env: environment({ HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_DATA_HOME: '' }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    process.on('exit', () => this.process.kill('SIGTERM'));
    this.ended = new Promise((resolve) => this.process.once('close', (code) => resolve(code)));
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        this.output += text;
        this.heard?.();
      });
    }
  }

  /** The address and the code that it shows. */
  async shown() {
    const found = () => {
      const url = /https?:\/\/\S+/.exec(this.output)?.[0];
      const code = /\b[A-Z]{4}-[A-Z]{4}\b/.exec(this.output)?.[0];
      return url && code && this.output.endsWith('\n') ? { url, code } : undefined;
    };
    const heard = new Promise((resolve, reject) => {
      this.heard = () => found() && resolve(found());
      this.heard();
      this.ended.then((code) => reject(new Error(`the login ended with ${code}: ${this.output}`)));
    });
    return within(heard, `an address and a code in ${JSON.stringify(this.output)}`);
  }

  /** Its exit code, once the person has decided. */
  async result() {
    return { code: await within(this.ended, `the end of the login: ${this.output}`), output: this.output };
  }
}
