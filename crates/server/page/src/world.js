// The world that this document shows: an account with a market clock of its own, named by the
// address. Another world is another document, so that nothing that was loaded as of another instant
// can appear in it.

const HEADER = 'x-chandler-world';
/** The code of a refusal: there is no such world. */
export const NO_WORLD = 404001;
/** The event of the window when a request was refused with it. */
export const GONE = 'chandler:gone';
/** The symbol of the clock of a world, whose quote follows all other pushes of a step. */
export const CLOCK = 'CLOCK.WORLD';
const TEXT_MAX = 80;
/** Requests about the signed-in account, its worlds, and the server. */
const OUTSIDE = /^\/(v1\/(me|worlds|quota|connections|sign-ins|content|imports|uploads|quarantine|admin)\b|status\b)/;

/** An invalid name stays a name, which the server refuses: the present must not be shown instead. */
export function worldOf(search) {
  const text = new URLSearchParams(search).get('world');
  return text ? encodeURIComponent(text).slice(0, TEXT_MAX) : undefined;
}

export const WORLD = worldOf(globalThis.location?.search ?? '');

/** The header by which a request enters the world. */
export const worldHeaders = (path, world = WORLD) => (world && !OUTSIDE.test(path) ? { [HEADER]: world } : {});

/** A path with the world, for links, streams and downloads, which have no headers. */
export const inWorld = (path, world = WORLD) => (world ? `${path}${path.includes('?') ? '&' : '?'}world=${world}` : path);
