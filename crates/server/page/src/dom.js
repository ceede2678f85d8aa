// Creates elements in one expression. Text is always a text node: nothing from the network is ever
// parsed as HTML.

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Resolves once the current frame is on the screen. */
export const nextPicture = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
