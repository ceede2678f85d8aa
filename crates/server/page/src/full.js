// The whole screen for the chart: without the links above it and the line below. Where a browser cannot give the screen, the window.

const root = document.documentElement;

export function toggleFull() {
  if (root.dataset.full) leaveFull();
  else {
    root.dataset.full = 'true';
    root.requestFullscreen?.().catch(() => {});
  }
}

export function leaveFull() {
  delete root.dataset.full;
  if (document.fullscreenElement) document.exitFullscreen();
}

/** The browser leaves by a key of its own too. */
export function watchFull() {
  document.addEventListener('fullscreenchange', () => {
    if (!document.fullscreenElement) delete root.dataset.full;
  });
}
