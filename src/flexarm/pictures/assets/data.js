"use strict";

/**
 * Common parts of all pages: data, elements, and the light or dark theme.
 * All are in this object. `flexarm.page` is the main object of the page.
 */
const flexarm = {};
globalThis.flexarm = flexarm;

/* -- data ------------------------------------------------------------------------------------------------------- */

{
  const KINDS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };
  let data = null;

  function array(written) {
    const text = atob(written.base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const values = new KINDS[written.$array](bytes.buffer); // little-endian, as on every machine with a browser
    values.shape = written.shape;
    return values;
  }

  function revived(key, value) {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    if (typeof value.$array === "string") return array(value);
    if (!Object.keys(value).some((name) => name.startsWith("$$"))) return value;
    return Object.fromEntries(Object.entries(value).map(([name, v]) => [name.replace(/^\$\$/, "$"), v]));
  }

  /**
   * Data of the page, read once: the argument `data` of `page` in Python.
   * An array is a typed array with an additional `shape`, row-major.
   */
  flexarm.data = () => {
    if (data === null) data = JSON.parse(document.getElementById("flexarm-data").textContent, revived);
    return data;
  };
}

/* -- elements --------------------------------------------------------------------------------------------------- */

/**
 * Creates an element. Texts among the children stay texts, whatever they contain.
 * @param {string} tag such as "button", or "button.play" with classes
 * @param {object} given attributes; functions are listeners ({click: ...}); `null` and `false` omit one
 * @param {...(Node|string|number)} children
 * @returns {HTMLElement}
 */
flexarm.element = (tag, given = {}, ...children) => {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === false || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
  return element;
};

/**
 * Returns a number with its unit for reading: three digits, with a prefix if it helps.
 * @param {number} value
 * @param {string} unit such as "N m"
 */
flexarm.number = (value, unit = "") => {
  const size = Math.abs(value);
  let [factor, prefix] = [1, ""];
  if (unit && size > 0 && !/^(rad|deg|%|kg)/.test(unit)) {
    if (size >= 1e6) [factor, prefix] = [1e-6, "M"];
    else if (size >= 1e4) [factor, prefix] = [1e-3, "k"];
    else if (size < 1e-4) [factor, prefix] = [1e6, "\u00b5"];
    else if (size < 0.1) [factor, prefix] = [1e3, "m"];
  }
  const scaled = value * factor;
  const rounded = Number(scaled.toPrecision(3)), tiny = rounded !== 0 && Math.abs(rounded) < 1e-3;
  const text = tiny ? rounded.toExponential() : String(rounded);
  return (unit ? `${text} ${prefix}${unit}` : text).replaceAll("-", "\u2212");
};

/* -- light and dark --------------------------------------------------------------------------------------------- */

{
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];

  /** "light" or "dark": the system's theme, until the reader chooses one. */
  flexarm.theme = () => document.documentElement.dataset.theme || (wanted.matches ? "dark" : "light");

  /** Calls a function now, and at each change of the theme. @param {function(string)} callback */
  flexarm.themed = (callback) => {
    listeners.push(callback);
    callback(flexarm.theme());
  };

  /** Sets the theme. Without an argument it changes to the other one. @param {string} [theme] */
  flexarm.turn = (theme = flexarm.theme() === "dark" ? "light" : "dark") => {
    document.documentElement.dataset.theme = theme;
    for (const callback of listeners) callback(theme);
  };

  wanted.addEventListener("change", () => {
    for (const callback of listeners) callback(flexarm.theme());
  });

  /** Returns a colour of the page's style by name: flexarm.style("--text"). */
  flexarm.style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Colours of results in order: those of Okabe and Ito for colour-blind readers, lighter on dark pages. */
flexarm.colours = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"],
  dark: ["#56b4e9", "#f0803c", "#2fc79b", "#e59cc6", "#f0b429", "#9ad4f5"],
};

/** Returns the colour of result i on this page. @param {number} i */
flexarm.colour = (i) => {
  const list = flexarm.colours[flexarm.theme()];
  return list[i % list.length];
};
