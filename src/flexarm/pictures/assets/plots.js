"use strict";

/**
 * Small plots over time, one below the other, with a cursor that moves with the animation. A click or a drag in a plot
 * seeks to that time.
 */
flexarm.Plots = class {
  static DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 4]];

  /**
   * @param {Array<{title: string, unit: string, runs: Array<{time: Float64Array, items: Array}>}>} panels items have a
   *   name, values and sometimes a reference (further values)
   * @param {number} start
   * @param {number} end
   * @param {(time: number) => void} seek
   * @param {string[]} names names of the results; if there are several, curves have the results' colours
   */
  constructor(panels, start, end, seek, names) {
    this.start = start;
    this.end = end;
    this.hidden = new Set();
    this.object = flexarm.element("section.plots", { "aria-label": "Plots over time" });
    this.panels = panels.map((panel) => new flexarm.Panel(panel, this, seek, names));
    this.object.append(...this.panels.map((panel) => panel.object));
    flexarm.themed(() => this.redraw());
  }

  /** Moves the cursors. */
  show(time) {
    for (const panel of this.panels) panel.show(time);
  }

  /** Shows or hides the curves of a result. */
  setVisible(run, visible) {
    if (visible) this.hidden.delete(run);
    else this.hidden.add(run);
    for (const panel of this.panels) panel.choose();
  }

  redraw() {
    for (const panel of this.panels) {
      panel.plot.redraw(false);
      panel.keyed();
    }
  }
};

/** One plot. */
flexarm.Panel = class {
  constructor(panel, plots, seek, names) {
    const { element } = flexarm;
    this.plots = plots;
    this.several = names.length > 1;
    this.runs = panel.runs;
    this.unit = panel.unit;
    this.items = [...new Set(panel.runs.flatMap((run) => run.items.map((item) => item.name)))];
    this.unseen = new Set();
    this.curves = []; // curves of the plot: run, item, true for a reference
    const tables = panel.runs.map((run, r) => {
      const columns = [run.time];
      for (const item of run.items) {
        const i = this.items.indexOf(item.name);
        columns.push(item.values);
        this.curves.push({ r, i, reference: false, label: this.several ? `${names[r]}: ${item.name}` : item.name });
        if (item.reference) {
          columns.push(item.reference);
          this.curves.push({ r, i, reference: true, label: `${item.name}, reference` });
        }
      }
      return columns;
    });
    const same = tables.every((table) => flexarm.equal(table[0], tables[0][0]));
    this.data = same ? [tables[0][0], ...tables.flatMap((table) => table.slice(1))] : uPlot.join(tables);
    this.head = element("h2", {}, panel.title, element("span.unit", {}, ` [${panel.unit}]`));
    this.chips = this.items.map((name, i) => this.chip(name, i));
    const led = this.curves.some((curve) => curve.reference) ? [flexarm.referenceKey()] : [];
    this.legend = element("div.chips", { role: "group", "aria-label": `Curves of ${panel.title}` }, ...this.chips.map((chip) => chip.object), ...led);
    this.place = element("div.canvas", { role: "img", "aria-label": `${panel.title} over time: ${this.items.join(", ")}` });
    this.object = element("section.plot", {}, element("header", {}, this.head, this.legend), this.place);
    this.plot = new uPlot(this.options(), this.data, this.place);
    this.over = this.plot.over;
    this.cursor = element("div.cursor");
    this.over.append(this.cursor);
    const go = (event) => {
      const box = this.over.getBoundingClientRect();
      seek(plots.start + ((event.clientX - box.left) / box.width) * (plots.end - plots.start));
    };
    this.over.addEventListener("pointerdown", (event) => {
      this.over.setPointerCapture(event.pointerId);
      go(event);
    });
    this.over.addEventListener("pointermove", (event) => this.over.hasPointerCapture(event.pointerId) && go(event));
    new ResizeObserver(() => this.fit()).observe(this.place);
  }

  /** Returns a button that shows or hides a curve, with its name, and with its value if there is one result. */
  chip(name, i) {
    const { element } = flexarm;
    const value = element("span.value");
    const key = element("canvas.key", { "aria-hidden": "true", width: 44, height: 8 });
    const click = () => {
      if (this.unseen.has(i)) this.unseen.delete(i);
      else this.unseen.add(i);
      object.setAttribute("aria-pressed", String(!this.unseen.has(i)));
      this.choose();
    };
    const attributes = { type: "button", "aria-pressed": "true", title: `Show or hide ${name}`, click };
    const object = element("button.chip", attributes, key, element("span", {}, name), value);
    return { object, value, key };
  }

  /** Draws on each button its curve as it is drawn in the plot. */
  keyed() {
    this.chips.forEach(({ key }, i) => {
      flexarm.stroke(key, this.several ? flexarm.style("--text") : flexarm.colour(i), flexarm.Panel.dash(i));
    });
  }

  static dash(i) {
    return flexarm.Plots.DASHES[i % flexarm.Plots.DASHES.length];
  }

  choose() {
    this.curves.forEach(({ r, i }, k) => {
      const show = !this.unseen.has(i) && !this.plots.hidden.has(r);
      if (this.plot.series[k + 1].show !== show) this.plot.setSeries(k + 1, { show });
    });
  }

  options() {
    const ink = () => flexarm.style("--muted"), line = () => flexarm.style("--line");
    const axis = { stroke: ink, font: "11px system-ui, sans-serif", grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
    const said = (plot, values) => values.map((x) => flexarm.digits(x, 6));
    return {
      width: 300, height: 100, pxAlign: false,
      legend: { show: false },
      cursor: { show: false },
      padding: [6, 16, 0, 0],
      scales: { x: { time: false, range: () => [this.plots.start, this.plots.end || 1] }, y: { range: flexarm.range } },
      axes: [
        { ...axis, size: 22, gap: 2, space: 60, values: (plot, times) => said(plot, times).map((x) => `${x} s`) },
        { ...axis, size: 46, gap: 3, space: flexarm.spacing, values: said },
      ],
      series: [
        {},
        ...this.curves.map(({ r, i, reference, label }) => ({
          label,
          stroke: () => flexarm.colour(this.several ? r : i),
          width: reference ? 1 : 1.6,
          dash: reference ? flexarm.REFERENCE : flexarm.Panel.dash(i),
          points: { show: false },
          spanGaps: true,
        })),
      ],
    };
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (width > 80 && height > 50) this.plot.setSize({ width, height });
  }

  show(time) {
    const { start, end } = this.plots;
    this.cursor.style.left = `${(100 * (time - start)) / (end - start || 1)}%`; // for any width of the plot
    this.time = time;
    if (this.several || this.due) return;
    this.say();
    this.due = setTimeout(() => {
      this.due = 0;
      this.say();
    }, flexarm.Panel.READABLE);
  }

  /** Updates the values at the cursor's time. */
  say() {
    const run = this.runs[0], i = flexarm.nearest(run.time, this.time);
    run.items.forEach((item, k) => {
      const text = flexarm.digits(item.values[i]);
      if (this.chips[k].value.textContent !== text) this.chips[k].value.textContent = text;
    });
  }
};

/** Milliseconds between updates of the numbers beside the curves. Nobody reads faster, and each needs a layout. */
flexarm.Panel.READABLE = 125;

/** Returns the range of a plot's values, with a margin, also for a constant curve. */
flexarm.range = function (plot, low, high) {
  if (low === null) return [-1, 1];
  const room = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1;
  return [low - room, high + room];
};

flexarm.equal = function (a, b) {
  return a.length === b.length && a.every((x, i) => x === b[i]);
};

/** Returns the index of the value nearest to x among ascending values. */
flexarm.nearest = function (values, x) {
  let low = 0, high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle;
    else high = middle;
  }
  return x - values[low] > values[high] - x ? high : low;
};

/** Returns a number with few digits, without a unit. */
flexarm.digits = function (x, count = 3) {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  const text = x !== 0 && (size >= 1e5 || size < 1e-4) ? Number(x.toPrecision(count)).toExponential() : String(Number(x.toPrecision(count)));
  return text.replace("-", "−");
};
