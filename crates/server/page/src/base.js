// The base path of the pages. A server behind a proxy may be under a path of a larger site; the
// document then names that path, and every request and link starts with it.

export const BASE = globalThis.document?.querySelector('meta[name=base]')?.content ?? '';

/** The address of a path of this server, with the base path. */
export const addressOf = (path) => BASE + path;

/** The path of the page without the base path. */
export const pathHere = () => location.pathname.slice(BASE.length);

/** The current page, for `next` of the sign-in page. */
export const whereIAm = () => location.pathname + location.search;
