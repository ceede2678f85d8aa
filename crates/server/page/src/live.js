// Keeps a page up to date: polls while it is visible, one request at a time, less often while the
// server does not answer, and not at all in the background.

const EVERY_MS = 2000;
const PAUSE_MAX_MS = 30_000;
/** Changes of one instant are followed by one request. */
const PUSH_PAUSE_MS = 500;

/**
 * `refresh` is called each time, and `onLost` gets the refusal of a failed call. Any other error
 * cannot be fixed by a retry.
 */
export class Live {
  constructor(refresh, { onLost = () => {}, every = EVERY_MS } = {}) {
    Object.assign(this, { refresh, onLost, every, pause: every, isStopped: true, running: undefined, isPushed: false, isLost: false });
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
    clearTimeout(this.soonTimer);
    this.soonTimer = undefined;
    document.removeEventListener('visibilitychange', this.onVisible);
  }

  /**
   * While changes are pushed, nothing is polled, except after a failure. A page that becomes visible
   * still requests them once.
   */
  pushed(isPushed) {
    if (isPushed === this.isPushed) return;
    this.isPushed = isPushed;
    this.plan();
  }

  /** Something was pushed: polls after a pause, once for all calls meanwhile. */
  soon(pause = PUSH_PAUSE_MS) {
    this.isWanted = true;
    // A page polls when it becomes visible.
    if (this.soonTimer || this.isStopped || document.hidden) return;
    const timer = setTimeout(async () => {
      this.isWanted = false;
      await this.now();
      if (this.soonTimer !== timer) return;
      this.soonTimer = undefined;
      if (this.isWanted) this.soon();
    }, pause);
    this.soonTimer = timer;
  }

  plan() {
    clearTimeout(this.timer);
    const isDue = !this.isPushed || this.isLost;
    if (isDue && !this.isStopped && !document.hidden) this.timer = setTimeout(() => this.now(), this.pause);
  }

  /**
   * Polls immediately. A running request may have been answered before the change, so this waits
   * for it and polls again.
   */
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
      this.isLost = false;
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      this.isLost = true;
      this.pause = Math.max((error.retryAfter ?? 0) * 1000, Math.min(this.pause * 2, PAUSE_MAX_MS));
      // A signed-out user has to sign in.
      if (error.status === 401) this.stop();
      this.onLost(error);
    }
    this.plan();
  }
}
