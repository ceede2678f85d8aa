// What is known of a security besides its candles: name, hours, corporate actions, and what is stored of it. It costs neither quota nor calls.

/** The address of the facts of a security. */
export const factsPath = (symbol) => `/v1/securities/${encodeURIComponent(symbol)}`;

export class Facts {
  constructor(ask) {
    Object.assign(this, { ask, known: undefined });
  }

  /** What is known of a security by now. */
  of(symbol) {
    return this.known?.symbol === symbol ? this.known : undefined;
  }

  /** What has changed since. */
  update({ symbol, periods, stored, now }) {
    Object.assign(this.of(symbol) ?? {}, { periods, stored, now });
  }

  /** What was told is asked for again: names and corporate actions may have been imported since. */
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
      // Names and marks are worth having, but a chart without them is still a chart; the next view asks for them again.
      return undefined;
    }
  }
}
