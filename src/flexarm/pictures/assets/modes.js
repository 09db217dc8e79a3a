"use strict";

/** Base of pages with one arm that is not a result. */
flexarm.Alone = class extends flexarm.View {
  constructor(data) {
    super(data);
    this.program_ = this.program(data.arm);
    this.q = Float64Array.from(data.q);
    this.main = this.arm(data.arm, { color: 0 }, this.q);
  }
};

/**
 * Returns the configuration at a displacement x times the shape from q. The first six entries of a free arm's shape are
 * a translation and a rotation of its base along the base's axes.
 */
flexarm.moved = ({ q, free }, shape, x) => {
  if (!free) return Float64Array.from(q, (value, i) => value + x * shape[i]);
  const out = Float64Array.from(q, (value, i) => (i < 7 ? value : value + x * shape[i - 1]));
  const frame = flexarm.pose(q, new Float64Array(12));
  for (let r = 0; r < 3; r++) for (let c = 0; c < 3; c++) out[r] += frame[4 * r + c] * x * shape[c];
  const turn = [x * shape[3], x * shape[4], x * shape[5]], angle = Math.hypot(...turn);
  const along = angle > 0 ? Math.sin(angle / 2) / angle : 0.5;
  const [w, i, j, k] = q.slice(3, 7), [d, a, b, c] = [Math.cos(angle / 2), ...turn.map((y) => along * y)];
  out.set([w * d - i * a - j * b - k * c, w * a + i * d + j * c - k * b, w * b + j * d + k * a - i * c, w * c + k * d + i * b - j * a], 3);
  return out;
};

/** Page of an arm's natural modes. */
flexarm.Modes = class extends flexarm.Alone {
  constructor(data) {
    super(data);
    const { element } = flexarm;
    this.rest = this.arm(data.arm, { color: flexarm.View.GREY, ghost: true }, this.q);
    this.phase = 0.25;
    this.rate = 0.5;
    this.amplitude = 1;
    this.playing = false;
    const list = element("fieldset.modes", {}, element("legend", {}, "Modes"));
    this.inputs = data.modes.map((mode, k) => {
      const id = `mode-${k + 1}`;
      const input = element("input", { type: "radio", name: "mode", id, value: k, change: () => this.choose(k) });
      list.append(element("label.mode", { for: id }, input,
        element("span.count", {}, k + 1),
        element("span.frequency", {}, flexarm.Modes.said(mode.omega)),
        element("span.parts", {}, mode.parts),
      ));
      return input;
    });
    this.side.append(list);
    this.common(() => this.draw());
    this.size = new flexarm.Slider("Swing", { min: 0, max: 3, value: 1 }, (x) => `${flexarm.digits(x, 2)}×`, (x) => {
      this.amplitude = x;
      this.recolour();
      this.draw();
    }, "How far it swings: at 1 a tenth of the arm's size");
    this.still = new flexarm.Check("arm at rest", true, (x) => {
      this.rest.object.visible = x;
      this.scene.invalidate();
    }, "The arm about which it swings (G)");
    this.tools.append(this.size.object, this.colours.object, this.still.object, this.framing.object);
    delete this.keys.m;
    this.play = flexarm.button("Play (space)", flexarm.Player.PLAY, () => this.toggle());
    this.play.classList.add("main");
    this.speed = new flexarm.Slider("Swings a second", { min: 0.1, max: 3, value: 0.5 }, (x) => flexarm.digits(x, 2), (x) => {
      this.rate = x;
      this.say();
    });
    this.slowed = element("output.clock");
    this.foot.append(element("div.transport", { role: "group", "aria-label": "Player" }, this.play, this.speed.object, this.slowed));
    Object.assign(this.keys, {
      " ": ["Space", "play or pause", () => this.toggle()],
      ArrowUp: ["↑", "mode before", () => this.choose(this.chosen - 1)],
      ArrowDown: ["↓", "next mode", () => this.choose(this.chosen + 1)],
      g: ["G", "the arm at rest", () => this.still.toggle()],
    });
    this.ended();
    this.fit();
    this.scene.onframe(() => this.tick(performance.now()));
    const wishes = flexarm.View.wishes();
    const first = data.modes.findIndex((mode) => mode.omega > 0);
    this.choose(wishes.mode >= 1 ? Math.min(data.modes.length, Math.round(wishes.mode)) - 1 : Math.max(0, first));
    if (wishes.play !== "0" && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.toggle();
  }

  /** Returns a frequency as a text. */
  static said(omega) {
    if (omega > 0) return `${flexarm.digits(omega / (2 * Math.PI), 4)} Hz, ${flexarm.digits(omega, 4)} rad/s`;
    return omega < 0 ? "falls: no frequency" : "moves freely: 0 Hz";
  }

  choose(k) {
    if (k < 0 || k >= this.data.modes.length) return;
    this.chosen = k;
    this.inputs[k].checked = true;
    this.inputs[k].scrollIntoView({ block: "nearest" });
    this.recolour();
    this.say();
    this.draw();
  }

  say() {
    const { omega } = this.data.modes[this.chosen], times = omega / (2 * Math.PI * this.rate);
    const slower = times >= 1 ? `${flexarm.digits(times, 2)} times slower than it is` : `${flexarm.digits(1 / times, 2)} times faster than it is`;
    this.slowed.textContent = omega > 0 ? slower : "";
  }

  /** Returns the configuration at a fraction of a swing. */
  at(phase) {
    const { shape } = this.data.modes[this.chosen], x = this.amplitude * Math.sin(2 * Math.PI * phase);
    return flexarm.moved(this.data, shape, x);
  }

  solid() {
    return [this.main];
  }

  draw() {
    if (this.chosen === undefined) return;
    this.main.update(this.at(this.phase), 1);
    this.scene.invalidate();
  }

  recolour() {
    const most = this.colouring === "plain" ? [0] : [0.25, 0.75].map((phase) => {
      this.main.update(this.at(phase), 1);
      return this.main.most(this.colouring);
    });
    this.coloured(Math.max(...most));
  }

  fit() {
    const points = this.points(this.program_, this.data.q);
    for (const { shape } of this.data.modes) {
      for (const sign of [-1, 1]) points.push(...this.points(this.program_, flexarm.moved(this.data, shape, sign)));
    }
    this.scene.fit(points);
  }

  toggle() {
    this.playing = !this.playing;
    flexarm.Player.said(this.play, this.playing);
    this.before = undefined;
    this.scene.invalidate();
  }

  tick(now) {
    if (!this.playing) return false;
    if (this.before !== undefined) this.phase = (this.phase + Math.min(0.25, (now - this.before) / 1000) * this.rate) % 1;
    this.before = now;
    this.draw();
    return true;
  }
};

/** Page of an arm at rest, with a slider for each of its coordinates. */
flexarm.Still = class extends flexarm.Alone {
  constructor(data) {
    super(data);
    const { element } = flexarm;
    this.common(() => this.draw());
    this.tools.append(this.magnifier.object, this.colours.object, this.framing.object);
    const groups = { joint: "Joints", flexible: "Bending" };
    this.sliders = [];
    for (const [role, title] of Object.entries(groups)) {
      const own = data.sliders.filter((each) => each.role === role);
      if (!own.length) continue;
      const made = own.map((each) => new flexarm.Slider(
        each.name, { min: each.low, max: each.high, value: data.q[each.moves[0]] },
        (x) => `${flexarm.digits(x)} ${each.unit}`,
        (x) => this.move(each.moves, x),
      ));
      this.sliders.push(...made.map((slider, i) => [slider, own[i]]));
      this.side.append(element("section.sliders", {}, element("h2", {}, title), ...made.map((slider) => slider.object)));
    }
    const reset = element("button", { type: "button", click: () => this.reset() }, "At rest");
    this.side.append(reset);
    this.keys[" "] = ["Space", "at rest", () => this.reset()];
    this.ended();
    this.badge.hidden = !data.sliders.some((each) => each.role === "flexible");
    this.setMagnified(1);
    this.fit();
  }

  move(places, x) {
    for (const i of places) this.q[i] = x;
    this.recolour();
    this.draw();
  }

  reset() {
    this.q.set(this.data.q);
    for (const [slider, each] of this.sliders) slider.value = this.q[each.moves[0]];
    this.recolour();
    this.draw();
  }

  solid() {
    return [this.main];
  }

  draw() {
    this.main.update(this.q, this.magnified);
    this.scene.invalidate();
  }

  recolour() {
    this.main.update(this.q, 1);
    this.coloured(this.colouring === "plain" ? 0 : this.main.most(this.colouring));
  }

  fit() {
    this.scene.fit(this.points(this.program_, this.q));
  }
};
