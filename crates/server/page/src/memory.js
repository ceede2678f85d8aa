// What the browser remembers of a reader. One that refuses to keep anything is not an error: the page then obeys until it is
// left, and begins with what the system prefers.

export function remember(name, value) {
  try {
    if (value) localStorage.setItem(`chandler.${name}`, value);
    else localStorage.removeItem(`chandler.${name}`);
  } catch {
    // See above.
  }
}

export function remembered(name) {
  try {
    return localStorage.getItem(`chandler.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}
