// Full screen for the chart, without the links above and the line below. Where the browser has no
// full screen, it fills the window.

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

/** The browser also leaves full screen by its own key. */
export function watchFull() {
  document.addEventListener('fullscreenchange', () => {
    if (!document.fullscreenElement) delete root.dataset.full;
  });
}
