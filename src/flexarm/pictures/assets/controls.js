"use strict";

/** Counter of controls that gives each a unique name for its label. */
let controls = 0;

/** A slider with its name before it and its value as text after it. */
flexarm.Slider = class {
  /**
   * @param {string} name
   * @param {{min: number, max: number, step?: number|string, value: number}} range
   * @param {(x: number) => string} said returns the text of a value
   * @param {(x: number) => void} changed
   * @param {string} [hint]
   */
  constructor(name, range, said, changed, hint) {
    const id = `control-${++controls}`;
    this.said = said;
    this.input = flexarm.element("input", { type: "range", id, step: "any", ...range });
    this.output = flexarm.element("output", { for: id });
    this.object = flexarm.element(
      "div.control.slider",
      { title: hint },
      flexarm.element("label", { for: id }, name),
      this.input,
      this.output,
    );
    this.input.addEventListener("input", () => {
      this.show();
      changed(this.value);
    });
    this.show();
  }

  get value() {
    return Number(this.input.value);
  }

  set value(x) {
    this.input.value = x;
    this.show();
  }

  /** Sets another largest value, and a value. */
  range(max, value) {
    this.input.max = max;
    this.value = value;
  }

  show() {
    const text = this.said(this.value);
    this.output.textContent = text;
    this.input.setAttribute("aria-valuetext", text);
  }
};

/** A choice of one of several options. */
flexarm.Choice = class {
  /**
   * @param {string} name
   * @param {Object<string, string>} options labels of the options, by their values
   * @param {string} chosen
   * @param {(x: string) => void} changed
   * @param {string} [hint]
   */
  constructor(name, options, chosen, changed, hint) {
    const id = `control-${++controls}`;
    this.select = flexarm.element(
      "select",
      { id },
      ...Object.entries(options).map(([value, text]) => flexarm.element("option", { value }, text)),
    );
    this.select.value = chosen;
    this.select.addEventListener("change", () => changed(this.value));
    this.object = flexarm.element(
      "div.control.choice",
      { title: hint },
      flexarm.element("label", { for: id }, name),
      this.select,
    );
    this.changed = changed;
  }

  get value() {
    return this.select.value;
  }

  set value(x) {
    this.select.value = x;
  }

  /** Selects the option after the chosen one. */
  next() {
    this.select.selectedIndex = (this.select.selectedIndex + 1) % this.select.options.length;
    this.changed(this.value);
  }
};

/** A switch that shows or hides something. */
flexarm.Check = class {
  /**
   * @param {string} name
   * @param {boolean} checked
   * @param {(x: boolean) => void} changed
   * @param {string} [hint]
   */
  constructor(name, checked, changed, hint) {
    const id = `control-${++controls}`;
    this.input = flexarm.element("input", { type: "checkbox", id });
    this.input.checked = checked;
    this.input.addEventListener("change", () => changed(this.value));
    this.object = flexarm.element(
      "div.control.check",
      { title: hint },
      this.input,
      flexarm.element("label", { for: id }, name),
    );
    this.changed = changed;
  }

  get value() {
    return this.input.checked;
  }

  set value(x) {
    this.input.checked = x;
  }

  toggle() {
    this.value = !this.value;
    this.changed(this.value);
  }
};

/** Dashes of references in plots over time. */
flexarm.REFERENCE = [1.5, 2.5];

/** Returns the least distance in pixels of numbers beside a plot, with which even a low plot has two of them. */
flexarm.spacing = function (plot, axis, low, high, height) {
  return height < 104 ? 16 : 26;
};

/** Draws on a canvas of 44 by 8 a curve as it is drawn in a plot. */
flexarm.stroke = function (canvas, colour, dash, width = 3) {
  const brush = canvas.getContext("2d");
  brush.clearRect(0, 0, 44, 8);
  brush.strokeStyle = colour;
  brush.lineWidth = width;
  brush.setLineDash(dash.map((x) => 2 * x));
  brush.beginPath();
  brush.moveTo(0, 4);
  brush.lineTo(44, 4);
  brush.stroke();
};

/** Returns the legend of the references of a plot. */
flexarm.referenceKey = function () {
  const key = flexarm.element("canvas.key", { "aria-hidden": "true", width: 44, height: 8 });
  flexarm.themed(() => flexarm.stroke(key, flexarm.style("--text"), flexarm.REFERENCE, 2));
  return flexarm.element("span.chip.reference", {}, key, flexarm.element("span", {}, "reference"));
};

/** Returns a drawing on a button: a path in a square of 24. */
flexarm.icon = function (path) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const drawn = document.createElementNS(space, "path");
  drawn.setAttribute("d", path);
  svg.append(drawn);
  return svg;
};

/** Returns a button with a drawing. Its name is its description. */
flexarm.button = function (name, path, pressed) {
  return flexarm.element(
    "button",
    { type: "button", "aria-label": name, title: name, click: pressed },
    flexarm.icon(path),
  );
};
