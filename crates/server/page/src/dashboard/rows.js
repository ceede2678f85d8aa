// The rows of a long list, requested as they come into view. No browser API is used here.

/** Rows per request. */
export const CHUNK = 100;
/** Extra rows at both ends of the view, so that a short scroll shows no empty rows. */
const BEYOND = 12;

/** The first row to draw and the one after the last. */
export function rowsInView({ top, height, rowHeight, total }) {
  const first = Math.floor(top / rowHeight);
  const behind = Math.ceil((top + height) / rowHeight);
  return [Math.max(0, Math.min(first - BEYOND, total)), Math.max(0, Math.min(behind + BEYOND, total))];
}

/** The scroll position at which a row is entirely in view. */
export function topFor(row, { top, height, rowHeight }) {
  const [begins, ends] = [row * rowHeight, (row + 1) * rowHeight];
  if (begins < top) return begins;
  return ends > top + height ? ends - height : top;
}

/** The row that a key moves to; undefined for other keys. */
export function rowAfterKey(key, row, { height, rowHeight, total }) {
  const screen = Math.max(1, Math.floor(height / rowHeight) - 1);
  const steps = { ArrowDown: row + 1, ArrowUp: row - 1, PageDown: row + screen, PageUp: row - screen, Home: 0, End: total - 1 };
  if (!Object.hasOwn(steps, key) || total === 0) return undefined;
  // The first key marks the first row, except End.
  return row < 0 && key !== 'End' ? 0 : Math.max(0, Math.min(steps[key], total - 1));
}

/**
 * The rows of one query. `fetchChunk(offset, limit)` returns `{ rows, total, … }`; `onChange` is
 * called when rows have arrived, `onRefused` with the error. A chunk is requested once until it
 * arrives or fails.
 */
export class Rows {
  constructor(fetchChunk, { onChange = () => {}, onRefused = () => {} } = {}) {
    Object.assign(this, { fetchChunk, onChange, onRefused, chunks: new Map(), total: undefined, answer: undefined, isOver: false });
  }

  /** The row at an index, or undefined until it has arrived. */
  at(place) {
    return this.chunks.get(Math.floor(place / CHUNK))?.rows?.[place % CHUNK];
  }

  /** Requests the missing rows of a half-open range. */
  need(from, to) {
    for (let chunk = Math.floor(from / CHUNK); chunk * CHUNK < Math.max(to, from + 1); chunk += 1) {
      if (!this.chunks.has(chunk)) this.load(chunk);
    }
  }

  /** Requests a chunk, even if it is loaded: its rows stay until the new ones arrive. */
  async load(chunk) {
    const entry = this.chunks.get(chunk) ?? {};
    this.chunks.set(chunk, entry);
    try {
      const answer = await this.fetchChunk(chunk * CHUNK, CHUNK);
      if (this.isOver) return;
      Object.assign(this, { total: answer.total, answer });
      entry.rows = answer.rows;
      this.onChange();
    } catch (error) {
      if (error.name !== 'Refused') throw error;
      if (this.isOver) return;
      if (!entry.rows) this.chunks.delete(chunk);
      this.onRefused(error);
    }
  }

  /** Requests the chunks of a range again, and forgets the others: the order may have changed. */
  async again(from, to) {
    const [first, last] = [Math.floor(from / CHUNK), Math.floor(Math.max(to - 1, from) / CHUNK)];
    for (const chunk of this.chunks.keys()) if (chunk < first || chunk > last) this.chunks.delete(chunk);
    for (let chunk = first; chunk <= last; chunk += 1) await this.load(chunk);
  }

  /** Ignores later responses, because another query replaces this one. */
  end() {
    this.isOver = true;
  }
}
