// Reports that the chart library has redrawn the candles, so that elements over them can follow. A
// primitive of the library without a picture; movements of the crosshair do not redraw it.

export class Repaint {
  constructor(onRepaint) {
    this.views = [{ zOrder: () => 'normal', renderer: () => ({ draw: onRepaint }) }];
  }

  paneViews() {
    return this.views;
  }
}
