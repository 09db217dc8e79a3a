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
