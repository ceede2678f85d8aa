// Where the pages live. A server behind a proxy may be under a path of a larger site; the document then says which, and every
// address that the page asks for or links to begins with it.

export const BASE = globalThis.document?.querySelector('meta[name=base]')?.content ?? '';

/** An address of this server: `/quota` as the browser has to be told it. */
export const addressOf = (path) => BASE + path;

/** The path that this server knows a page by. */
export const pathHere = () => location.pathname.slice(BASE.length);

/** The page that is being read, as `next` of the sign-in page wants it. */
export const whereIAm = () => location.pathname + location.search;
