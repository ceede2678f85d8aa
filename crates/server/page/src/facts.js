// Facts of a security besides its candles: name, hours, corporate actions, and stored data.
// Requests cost neither quota nor calls.

/** The path of the facts of a security. */
export const factsPath = (symbol) => `/v1/securities/${encodeURIComponent(symbol)}`;

export class Facts {
  constructor(ask) {
    Object.assign(this, { ask, known: undefined });
  }

  /** The facts of a security, if loaded. */
  of(symbol) {
    return this.known?.symbol === symbol ? this.known : undefined;
  }

  /** Updates the facts that may have changed. */
  update({ symbol, periods, stored, now }) {
    Object.assign(this.of(symbol) ?? {}, { periods, stored, now });
  }

  /**
   * Forgets the facts, so that they are requested again: names and corporate actions may have been
   * imported since.
   */
  forget() {
    this.known = undefined;
  }

  async load(symbol) {
    if (this.of(symbol)) return this.known;
    const path = factsPath(symbol);
    try {
      const [security, actions] = await Promise.all([this.ask(path), this.ask(`${path}/actions`)]);
      this.known = { ...security.data, actions: actions.data.actions };
      return this.known;
    } catch {
      // The chart works without names and marks; the next view requests them again.
      return undefined;
    }
  }
}
