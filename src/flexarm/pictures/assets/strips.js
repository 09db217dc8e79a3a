"use strict";

/** A plot of the last seconds that moves with time. Curves differ by colour and dashes. */
flexarm.Strip = class {
  static DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 4]];

  /**
   * @param {string} title
   * @param {string} unit
   * @param {Array<{name: string, reference?: boolean, i: number}>} curves i is the index of the colour
   * @param {number} span visible time range [s]
   */
  constructor(title, unit, curves, span) {
    const { element } = flexarm;
    this.curves = curves;
    this.span = span;
    this.clear();
    this.place = element("div.canvas", { role: "img", "aria-label": `${title} over the last ${span} seconds` });
    this.keys = curves.filter((curve) => !curve.reference).map((curve) => ({ curve, canvas: element("canvas.key", { width: 44, height: 8, "aria-hidden": "true" }) }));
    const names = this.keys.map(({ curve, canvas }) => element("span.chip", {}, canvas, element("span", {}, curve.name)));
    if (curves.some((curve) => curve.reference)) names.push(flexarm.referenceKey());
    this.object = element(
      "section.plot",
      {},
      element("header", {}, element("h2", {}, title, element("span.unit", {}, ` [${unit}]`)), element("div.chips", {}, ...names)),
      this.place,
    );
    this.plot = new uPlot(this.options(), this.table(), this.place);
    new ResizeObserver(() => this.fit()).observe(this.place);
    flexarm.themed(() => {
      this.plot.redraw(false);
      this.paint();
    });
  }

  /** Returns a number beside an axis, with as many characters as fit. */
  static said(x) {
    const rounded = Number(x.toPrecision(6)), size = Math.abs(rounded);
    const text = size !== 0 && (size >= 1e5 || size < 1e-3) ? rounded.toExponential() : String(rounded);
    return text.replace("e+", "e").replaceAll("-", "\u2212");
  }

  clear() {
    this.time = [];
    this.values = this.curves.map(() => []);
  }

  table() {
    return [this.time, ...this.values];
  }

  /** Adds a time. Values that have left the plot are dropped. */
  add(time, values) {
    this.time.push(time);
    values.forEach((x, k) => this.values[k].push(Number.isFinite(x) ? x : null));
    if (this.time.length > 64 && this.time[32] < time - this.span) {
      this.time.splice(0, 32);
      for (const list of this.values) list.splice(0, 32);
    }
  }

  draw() {
    this.plot.setData(this.table());
  }

  paint() {
    for (const { curve, canvas } of this.keys) flexarm.stroke(canvas, flexarm.colour(curve.i), flexarm.Strip.DASHES[curve.i % 6]);
  }

  options() {
    const ink = () => flexarm.style("--muted");
    const line = () => flexarm.style("--line");
    const axis = { stroke: ink, font: "11px system-ui, sans-serif", grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
    const said = (plot, values) => values.map((x) => flexarm.Strip.said(x));
    const x = () => {
      const end = Math.max(this.span, this.time.length ? this.time[this.time.length - 1] : 0);
      return [end - this.span, end];
    };
    const y = (plot, low, high) => {
      if (low === null) return [-1, 1];
      const room = 0.08 * (high - low) || 0.1 * Math.abs(high) || 1;
      return [low - room, high + room];
    };
    return {
      width: 260,
      height: 110,
      pxAlign: false,
      legend: { show: false },
      cursor: { show: false },
      padding: [6, 16, 0, 0],
      scales: { x: { time: false, range: x }, y: { range: y } },
      axes: [
        { ...axis, size: 22, gap: 2, space: 50, values: (plot, times) => said(plot, times).map((x) => `${x} s`) },
        { ...axis, size: 50, gap: 3, space: flexarm.spacing, values: said },
      ],
      series: [
        {},
        ...this.curves.map(({ name, reference, i }) => ({
          label: name,
          stroke: () => flexarm.colour(i),
          width: reference ? 1 : 1.6,
          dash: reference ? flexarm.REFERENCE : flexarm.Strip.DASHES[i % 6],
          points: { show: false },
        })),
      ],
    };
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (width > 60 && height > 40) this.plot.setSize({ width, height });
  }
};
