"use strict";

/**
 * A clock for playback, with its bar: play, pause, scrub, speed, loop.
 *
 * Time runs from `start` to `end` [s]. At every change, `show(time)` is called.
 */
flexarm.Player = class {
  static SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
  static COMFORT = 15; // longest comfortable time to watch a run [s]
  static PLAY = "M7 4.5v15l13-7.5z";
  static PAUSE = "M6 4.5h4.2v15H6zm7.8 0H18v15h-4.2z";
  static BACK = "M5 5h2.6v14H5zm14 0v14l-10-7z";
  static LOOP = "M17 3.5 21 7l-4 3.5V8H8a4 4 0 0 0-4 4H2a6 6 0 0 1 6-6h9zM7 20.5 3 17l4-3.5V16h9a4 4 0 0 0 4-4h2a6 6 0 0 1-6 6H7z";

  /**
   * @param {number} start
   * @param {number} end
   * @param {(time: number) => void} show
   * @param {flexarm.Motion} samples samples for single steps
   * @param {flexarm.Scene} scene scene whose frames show the motion
   */
  constructor(start, end, show, samples, scene) {
    Object.assign(this, { start, end, show, samples });
    this.time = start;
    this.playing = false;
    this.loop = true;
    this.digits = Math.min(4, Math.max(2, Math.ceil(2 - Math.log10(Math.max(end - start, 1e-9)))));
    const { element, button } = flexarm;
    this.play = button("Play (space)", flexarm.Player.PLAY, () => this.toggle());
    this.play.classList.add("main");
    const back = button("Back to the start (Home)", flexarm.Player.BACK, () => this.seek(this.start));
    this.again = button("Loop (L)", flexarm.Player.LOOP, () => this.setLoop(!this.loop));
    this.slider = element("input.time", {
      type: "range", min: start, max: end, step: "any", value: start, "aria-label": "Time",
      input: () => this.seek(Number(this.slider.value), true),
    });
    this.clock = element("output.clock");
    this.rate = element(
      "select",
      { "aria-label": "Speed", title: "Speed (arrows up and down)", change: () => this.setSpeed(Number(this.rate.value)) },
      ...flexarm.Player.SPEEDS.map((x) => element("option", { value: x }, `${x}×`)),
    );
    this.object = element("div.transport", { role: "group", "aria-label": "Player" },
      this.play, back, this.slider, this.clock, this.rate, this.again);
    scene.onframe(() => this.tick(performance.now()));
    this.setLoop(true);
    this.setSpeed(flexarm.Player.comfortable(end - start));
    this.say();
  }

  /** Returns the largest speed, at most real time, at which a run lasts long enough. A slow run is sped up. */
  static comfortable(seconds) {
    const { SPEEDS, COMFORT } = flexarm.Player;
    if (seconds > 2 * COMFORT) return SPEEDS.find((x) => seconds / x <= COMFORT) ?? SPEEDS[SPEEDS.length - 1];
    return [...SPEEDS].reverse().find((x) => x <= 1 && seconds / x >= 4) ?? SPEEDS[0];
  }

  toggle() {
    if (this.playing) this.pause();
    else this.begin();
  }

  begin() {
    if (this.playing) return;
    if (this.time >= this.end) this.seek(this.start);
    this.playing = true;
    this.before = undefined;
    this.say();
    this.show(this.time); // requests a frame
  }

  pause() {
    this.playing = false;
    this.say();
  }

  /** Advances the clock by the time since the last frame, but not by a long pause of the browser. */
  tick(now) {
    if (!this.playing) return false;
    const passed = this.before === undefined ? 0 : Math.min(0.25, (now - this.before) / 1000);
    this.before = now;
    const time = this.time + passed * this.speed, length = this.end - this.start;
    if (time < this.end) this.seek(time);
    else if (this.loop && length > 0) this.seek(this.start + ((time - this.start) % length));
    else {
      this.seek(this.end);
      this.pause();
    }
    return this.playing;
  }

  /** Seeks to a time. Seeking by the slider does not set the slider again. */
  seek(time, own = false) {
    this.time = Math.min(this.end, Math.max(this.start, time));
    if (!own) this.slider.value = this.time;
    this.clock.textContent = `${this.time.toFixed(this.digits)} s`;
    if (!this.playing) this.say();
    this.show(this.time);
  }

  /** Moves by a number of samples. */
  step(count) {
    const times = this.samples.time, here = this.samples.nearest(this.time);
    this.pause();
    this.seek(times[Math.min(times.length - 1, Math.max(0, here + count))]);
  }

  setLoop(loop) {
    this.loop = loop;
    this.again.setAttribute("aria-pressed", String(loop));
  }

  setSpeed(speed) {
    this.speed = speed;
    this.rate.value = speed;
  }

  faster(steps) {
    const speeds = flexarm.Player.SPEEDS, here = speeds.indexOf(this.speed) + steps;
    this.setSpeed(speeds[Math.min(speeds.length - 1, Math.max(0, here))]);
  }

  say() {
    flexarm.Player.said(this.play, this.playing);
    const [now, end] = [this.time, this.end].map((t) => t.toFixed(this.digits)); // rounded for screen readers
    this.slider.setAttribute("aria-valuetext", `${now} of ${end} seconds`);
  }

  /** Updates the function shown on a button. */
  static said(button, playing) {
    const name = playing ? "Pause (space)" : "Play (space)";
    button.setAttribute("aria-label", name);
    button.title = name;
    button.firstChild.firstChild.setAttribute("d", playing ? flexarm.Player.PAUSE : flexarm.Player.PLAY);
  }

  /** Returns its keys, for `flexarm.keys`. */
  get keys() {
    const part = (share) => this.seek(this.time + share * (this.end - this.start));
    return {
      " ": ["Space", "play or pause", () => this.toggle()],
      ArrowLeft: ["←", "a hundredth back", () => part(-0.01)],
      ArrowRight: ["→", "a hundredth on", () => part(0.01)],
      ",": [",", "a sample back", () => this.step(-1)],
      ".": [".", "a sample on", () => this.step(1)],
      ArrowUp: ["↑", "faster", () => this.faster(1)],
      ArrowDown: ["↓", "slower", () => this.faster(-1)],
      Home: ["Home", "to the start", () => this.seek(this.start)],
      End: ["End", "to the end", () => this.seek(this.end)],
      l: ["L", "loop or not", () => this.setLoop(!this.loop)],
    };
  }
};

/**
 * Keys of a page, and a window that lists them. A control with the focus keeps the keys that it understands.
 * @param {Object<string, [string, string, () => void]>} keys by the browser's names: name, meaning, action
 */
flexarm.keys = function (keys) {
  const { element } = flexarm;
  const window_ = element("dialog.keys", { "aria-label": "Keys" });
  const rows = Object.values(keys).map(([name, meaning]) =>
    element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, name)), element("td", {}, meaning)));
  rows.push(element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, "?")), element("td", {}, "this list")));
  const close = element("button", { type: "button", click: () => window_.close() }, "Close");
  window_.append(element("h2", {}, "Keys"), element("table", {}, element("tbody", {}, ...rows)), close);
  document.body.append(window_);
  const toggle = () => (window_.open ? window_.close() : window_.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const focused = document.activeElement?.tagName, typed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (typed === "?") return toggle();
    if (window_.open) return;
    if (event.shiftKey && typed.startsWith("Arrow")) return; // keys of the camera
    if (focused === "SELECT" || (focused === "INPUT" && (typed.startsWith("Arrow") || typed === "Home" || typed === "End"))) return;
    if (typed === " " && (focused === "BUTTON" || focused === "SUMMARY" || document.activeElement?.type === "checkbox")) return;
    const known = keys[typed];
    if (!known) return;
    event.preventDefault();
    known[2]();
  });
  return toggle;
};
