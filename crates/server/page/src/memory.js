// Preferences in local storage. If the browser refuses to store them, that is not an error: they
// last until the page is left, and the next one uses the system settings.

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
