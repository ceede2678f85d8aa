// The rows of a long list, which are asked for as they come into view. Nothing here needs a browser.

/** Rows that are asked for at a time. */
export const CHUNK = 100;
/** Rows beyond both ends of what is in view, so that a short scroll shows no empty rows. */
const BEYOND = 12;

/** The first row to draw and the one behind the last. */
export function rowsInView({ top, height, rowHeight, total }) {
  const first = Math.floor(top / rowHeight);
  const behind = Math.ceil((top + height) / rowHeight);
  return [Math.max(0, Math.min(first - BEYOND, total)), Math.max(0, Math.min(behind + BEYOND, total))];
}

/** Where a list has to be scrolled to so that a row is in view whole. */
export function topFor(row, { top, height, rowHeight }) {
  const [begins, ends] = [row * rowHeight, (row + 1) * rowHeight];
  if (begins < top) return begins;
  return ends > top + height ? ends - height : top;
}

/** The row that a key leads to; nothing for another key. */
export function rowAfterKey(key, row, { height, rowHeight, total }) {
  const screen = Math.max(1, Math.floor(height / rowHeight) - 1);
  const steps = { ArrowDown: row + 1, ArrowUp: row - 1, PageDown: row + screen, PageUp: row - screen, Home: 0, End: total - 1 };
  if (!Object.hasOwn(steps, key) || total === 0) return undefined;
  // The first key marks the first row, whatever it is.
  return row < 0 && key !== 'End' ? 0 : Math.max(0, Math.min(steps[key], total - 1));
}

/**
 * The rows of one question. `fetchChunk(offset, limit)` gives `{ rows, total, … }`; `onChange` is called when rows have come, `onRefused` with
 * what kept them from coming. A chunk is asked for once until it comes or fails.
 */
export class Rows {
  constructor(fetchChunk, { onChange = () => {}, onRefused = () => {} } = {}) {
    Object.assign(this, { fetchChunk, onChange, onRefused, chunks: new Map(), total: undefined, answer: undefined, isOver: false });
  }

  /** The row of a place, or nothing until it has come. */
  at(place) {
    return this.chunks.get(Math.floor(place / CHUNK))?.rows?.[place % CHUNK];
  }

  /** Asks for what is missing of the rows from one place to before another. */
  need(from, to) {
    for (let chunk = Math.floor(from / CHUNK); chunk * CHUNK < Math.max(to, from + 1); chunk += 1) {
      if (!this.chunks.has(chunk)) this.load(chunk);
    }
  }

  /** Asks for a chunk, also if it is there: its rows stay until the new ones come. */
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

  /** What comes from now on is not looked at: another question is asked. */
  end() {
    this.isOver = true;
  }
}
