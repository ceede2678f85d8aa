// Keeps a page up to date: asks again and again while it is looked at, one request at a time, less often while the server does not
// answer, and not at all in the background.
//
// Prices move with the market's clock and not with the account alone, so a page would have to ask for them beside any push; one small
// question for both is what it costs.

const EVERY_MS = 2000;
const PAUSE_MAX_MS = 30_000;

/**
 * `refresh` is called each time, and `onLost` gets the refusal of one that failed. Another error is none that asking again could mend.
 */
export class Live {
  constructor(refresh, { onLost = () => {}, every = EVERY_MS } = {}) {
    Object.assign(this, { refresh, onLost, every, pause: every, isStopped: true, running: undefined });
    this.onVisible = () => (document.hidden ? clearTimeout(this.timer) : this.now());
  }

  start() {
    if (!this.isStopped) return;
    this.isStopped = false;
    document.addEventListener('visibilitychange', this.onVisible);
    this.plan();
  }

  stop() {
    this.isStopped = true;
    clearTimeout(this.timer);
    document.removeEventListener('visibilitychange', this.onVisible);
  }

  plan() {
    clearTimeout(this.timer);
    if (!this.isStopped && !document.hidden) this.timer = setTimeout(() => this.now(), this.pause);
  }

  /** Asks at once. What is being asked already may have been decided before, so it is waited for and asked again. */
  async now() {
    const before = this.running;
    const turn = (async () => {
      await before?.catch(() => {});
      if (!this.isStopped) await this.turn();
    })();
    this.running = turn;
    await turn;
  }

  async turn() {
    clearTimeout(this.timer);
    try {
      await this.refresh();
      this.pause = this.every;
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.pause = Math.max((error.retryAfter ?? 0) * 1000, Math.min(this.pause * 2, PAUSE_MAX_MS));
      // Who is signed out has to sign in.
      if (error.status === 401) this.stop();
      this.onLost(error);
    }
    this.plan();
  }
}
