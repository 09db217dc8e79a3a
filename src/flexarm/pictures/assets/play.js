"use strict";

/**
 * Page of a live arm. `flexarm.page` is this object, and its `live` is the simulated arm.
 */
flexarm.Play = class {
  static SPAN = 10; // time range of the plots [s]
  static LONGEST = 0.1; // longest time between two frames that is made up [s]; a hidden tab does not advance
  static PATIENCE = 0.7; // largest share of the time for computing; above it the arm runs more slowly
  static NEAR = 26; // distance in pixels at which a handle is grabbed
  static TILT = 0.6; // largest rotation of the camera about a planar arm from where it starts [rad]
  static DEGREES = 180 / Math.PI;
  static CONTROLLERS = { none: "none", pd: "joint PD", shaped: "PD, shaped reference", composite: "Composite", lqr: "LQR" };
  static PLAY = "M7 4l13 8-13 8z";
  static PAUSE = "M6 4h4v16H6zm8 0h4v16h-4z";
  static RESET = "M12 5V1L6 6l6 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z";
  static FIT = "M4 9V4h5v2H6v3zm11-5h5v5h-2V6h-3zM4 15h2v3h3v2H4zm14 0h2v5h-5v-2h3z";
  static THEME = "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2v14a7 7 0 0 1 0-14z";

  /**
   * @param {object} data result of `played` in Python
   * @param {object} programs functions of the arm by name
   */
  constructor(data, programs) {
    this.data = data;
    this.programs = programs;
    this.live = new flexarm.Live(data.live, programs);
    this.wheeled = data.live.wheels.includes(true); // true if wheels turn the base
    this.running = true;
    this.drag = null;
    this.magnified = 1;
    this.speed = 1; // smoothed ratio of the arm's time to real time
    this.spoken = 0;
    this.drawn = 0;
    this.furnish();
    this.handles();
    this.live.use("pd");
    this.show();
    this.retarget();
    this.fit();
    this.scene.onframe((dt) => this.frame(dt));
    document.addEventListener("visibilitychange", () => (this.last = null));
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.run(false);
    flexarm.page = this;
  }

  /* -- parts of the page ---------------------------------------------------------------------------------------- */

  furnish() {
    const { element, button, Play } = flexarm;
    const { data } = this;
    const head = element(
      "header.head",
      {},
      element("div.words", {}, element("h1", {}, data.title), element("p.about", {}, data.description)),
      element(
        "div.buttons",
        {},
        button("Whole arm in view", Play.FIT, () => this.fit()),
        button("Light or dark", Play.THEME, () => flexarm.turn()),
      ),
    );
    this.canvas = element("div.canvas3d");
    this.under = element("div.under");
    this.notice = element("div.notice", { role: "alert", hidden: true });
    const hint = element("p.hint", {}, "Drag the ring to move the target of the tip, the ball to pull the tip itself.");
    const stage = element("div.stage", {}, hint, this.canvas, this.under, this.notice);
    this.toggle = button("Pause (space)", Play.PAUSE, () => this.run(!this.running));
    this.toggle.classList.add("main");
    const tolerance = flexarm.number(data.live.tolerance, "m");
    const names = { error: "Tip error", settled: `Settled within ${tolerance}`, time: "Time", speed: "Speed" };
    const rows = Object.entries(names).map(([key, name]) => {
      const value = element("span.number");
      return [key, value, element("span", {}, element("span.name", {}, `${name} `), value)];
    });
    this.status = Object.fromEntries(rows);
    const foot = element(
      "div.transport",
      {},
      this.toggle,
      button("Reset", Play.RESET, () => this.reset()),
      element("div.status", {}, ...rows.map(([, , object]) => object)),
    );
    this.plots = element("section.plots", { "aria-label": "Plots of the last seconds" });
    this.front = element("div.front", {}, stage, foot, this.plots);
    this.side = element("aside.side", {}, this.targets(), this.control(), this.arm(), this.about());
    document.body.append(element("main.view.play", {}, head, this.front, this.side));
    this.scene = new flexarm.Scene(this.canvas); // an error if there are no graphics, with nothing over it
    this.under.append(this.scene.squares);
    this.scene.buttons.hidden = true; // the head has its own buttons
    this.strip();
    const narrow = matchMedia("(max-width: 800px)");
    const place = () => (narrow.matches ? this.side : this.front).append(this.plots);
    narrow.addEventListener("change", place);
    place();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return; // keys of the browser, such as Ctrl+R
    if (event.target.closest("input, select, button, dialog")) return;
    if (event.key === " ") this.run(!this.running);
    else if (event.key === "r" || event.key === "R") this.reset();
    else return;
    event.preventDefault();
  }

  group(title, ...children) {
    return flexarm.element("section.group", {}, flexarm.element("h2", {}, title), ...children.map((x) => x.object || x));
  }

  /** Creates the controls of the joint targets. */
  targets() {
    const { names, units, low, high, wheels } = this.data.live;
    this.goals = names.map((name, j) => {
      const turns = units[j] === "rad";
      const said = (x) => (turns ? `${(x * flexarm.Play.DEGREES).toFixed(1)}\u00b0`.replace("-", "\u2212") : flexarm.number(x, "m"));
      const range = { min: low[j], max: high[j], value: this.live.goal[j] };
      const what = wheels[j] ? "turn" : "joint";
      return new flexarm.Slider(name, range, said, (x) => this.aim(j, x), `Target of the ${what} of ${name}`);
    });
    const pace = new flexarm.Slider("Pace", { min: -2, max: 2, value: 0 }, (x) => `${flexarm.number(2 ** x)}\u00d7`, (x) => (this.live.pace = 2 ** x), "How fast a target is approached");
    return this.group("Target", ...this.goals, pace);
  }

  /** Creates the choice of the controller, and its gains. */
  control() {
    const { live } = this.data;
    const { Play, Slider, Check } = flexarm;
    const { designs } = this.live;
    const kinds = Object.fromEntries(Object.entries(Play.CONTROLLERS).filter(([key]) => designs[key] !== null));
    if (this.wheeled) kinds.pd = "PD of joints and base";
    this.chosen = new flexarm.Choice("Controller", kinds, "pd", (x) => this.use(x));
    const shapers = Object.fromEntries(Object.entries(live.shapers).map(([kind, { label }]) => [kind, label]));
    this.shaper = new flexarm.Choice("Shaper", shapers, this.live.shaping, (x) => this.shape(x), "Input shaper of the reference");
    const times = (stops) => (i) => `${flexarm.number(stops[Math.round(i)])}\u00d7`;
    const stops = (list, at) => ({ min: 0, max: list.length - 1, step: 1, value: at });
    this.kp = new Slider("Stiffness Kp", stops(live.kpStops, live.kp), times(live.kpStops), () => this.tune());
    this.kd = new Slider("Damping Kd", stops(live.kdStops, live.kd), times(live.kdStops), () => this.tune());
    this.carry = new Check("carries the rigid arm's weight", true, (x) => (this.live.compensates = x));
    const hertz = (i) => {
      const omega = this.live.designs[this.live.controller]?.stops[Math.round(i)];
      return omega ? flexarm.number(omega / (2 * Math.PI), "Hz") : "";
    };
    this.bandwidth = new Slider("Bandwidth", { min: 0, max: 1, step: 1, value: 0 }, hertz, (i) => this.live.bandwidth(Math.round(i)));
    this.informed = new Check("knows payload and gravity", true, (x) => this.live.inform(x), "Otherwise those of the description");
    this.word = flexarm.element("p");
    const weighs = live.sliders.some((slider) => slider.key === "gravity");
    const known = live.base ? [] : [...(weighs ? [this.carry] : []), this.informed]; // a free base carries no weight
    return this.group("Controller", this.chosen, this.shaper, this.kp, this.kd, this.bandwidth, ...known, this.word);
  }

  /** Creates the sliders of the arm's parameters. */
  arm() {
    const { live } = this.data;
    this.sliders = live.sliders.map((slider) => {
      const [to, from] = slider.logarithmic ? [Math.log2, (x) => 2 ** x] : [(x) => x, (x) => x];
      const unit = slider.unit.replace("^2", "\u00b2");
      const said = (x) => (slider.unit === "x" ? `${flexarm.number(from(x))}\u00d7` : flexarm.number(from(x), unit));
      const range = { min: to(slider.low), max: to(slider.high), value: to(slider.value) };
      return new flexarm.Slider(slider.label, range, said, (x) => this.live.set(slider.key, from(x)));
    });
    const magnified = new flexarm.Slider("Magnified", { min: 0, max: 2, value: 0 }, (x) => `${flexarm.number(10 ** x)}\u00d7`, (x) => (this.magnified = 10 ** x), "Deflections drawn as many times as large as they are");
    return this.group("Arm", ...this.sliders, magnified);
  }

  /** Creates the information on the computation. */
  about() {
    const { live } = this.data;
    const left = live.leftOut.length ? ` To run in real time it has fewer modes than its description: ${live.leftOut.join("; ")}.` : "";
    const off = live.off.length ? " Its thrusters are off." : "";
    const modes = live.lasting > 0 ? `, for modes up to ${flexarm.number(live.lasting / (2 * Math.PI), "Hz")}` : "";
    const text =
      `The arm's own equations, ${live.n} coordinates, run in this page: Runge-Kutta steps of ` +
      `${flexarm.number(live.step, "s")}${modes}.${left}${off}`;
    const { element } = flexarm;
    this.energy = element("p.energy.number", { title: "Energy that the integration has added: a measure of its accuracy" });
    const reasons = Object.entries(live.without).filter(([, why]) => why);
    return this.group("How", element("p.how", {}, text), this.energy, ...reasons.map(([name, why]) => element("p", {}, `No ${name}: ${why}`)));
  }

  strip() {
    const { names, units, efforts, bends } = this.data.live;
    const { Strip, Play } = flexarm;
    this.shown = units.map((unit) => (unit === "rad" ? Play.DEGREES : 1));
    const kinds = [...new Set(units)].map((unit) => (unit === "rad" ? "\u00b0" : unit));
    this.strips = {
      joints: new Strip(this.wheeled ? "Joints, base" : "Joints", kinds.join(", "), [
        ...names.map((name, i) => ({ name, i })),
        ...names.map((name, i) => ({ name, i, reference: true })),
      ], Play.SPAN),
      bending: new Strip("Deflection", "mm", bends.map((name, i) => ({ name, i })), Play.SPAN),
      torques: new Strip(efforts.every((x) => x === "N m") ? "Torque" : "Torque, force", [...new Set(efforts)].join(", "), names.map((name, i) => ({ name, i })), Play.SPAN),
      energy: new Strip("Energy", "J", [{ name: "kinetic", i: 0 }, { name: "potential", i: 1 }], Play.SPAN),
    };
    if (!bends.length) delete this.strips.bending;
    this.plots.append(...Object.values(this.strips).map((strip) => strip.object));
  }

  /** Creates the arm, the ghost at its target, and the handles. */
  handles() {
    const { data, live, programs } = this;
    const draw = (q, s, out) => (programs.drawing.p ? programs.drawing(q, s, live.p, out) : programs.drawing(q, s, out));
    this.solid = this.scene.add(new flexarm.Arm(data.solids, draw, { color: 0 }));
    this.ghost = this.scene.add(new flexarm.Arm(data.solids, draw, { color: "#8b95a1", ghost: true }));
    const { reach } = data.solids;
    const material = (name) => {
      const made = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.9 });
      flexarm.themed(() => made.color.setStyle(flexarm.style(name)));
      return made;
    };
    this.ring = new THREE.Mesh(new THREE.TorusGeometry(0.03 * reach, 0.006 * reach, 12, 48), material("--focus"));
    this.ball = new THREE.Mesh(new THREE.SphereGeometry(0.014 * reach, 24, 16), material("--gravity"));
    this.shaft = new THREE.Mesh(new THREE.CylinderGeometry(0.006 * reach, 0.006 * reach, 1, 12), material("--gravity"));
    this.shaft.geometry.translate(0, 0.5, 0);
    this.shaft.visible = false;
    for (const thing of [this.ring, this.ball, this.shaft]) {
      thing.renderOrder = 10;
      this.scene.add(thing);
    }
    const canvas = this.scene.canvas;
    canvas.addEventListener("pointerdown", (event) => this.grab(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this.pull(event), { capture: true });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.drop(event), { capture: true });
  }

  /* -- actions -------------------------------------------------------------------------------------------------- */

  run(running) {
    const { Play } = flexarm;
    this.running = running;
    this.last = null;
    this.toggle.replaceChildren(flexarm.icon(running ? Play.PAUSE : Play.PLAY));
    this.toggle.title = running ? "Pause (space)" : "Go on (space)";
    this.toggle.setAttribute("aria-label", this.toggle.title);
    this.scene.invalidate();
  }

  reset() {
    this.live.reset();
    this.notice.hidden = true;
    for (const strip of Object.values(this.strips)) strip.clear();
    this.drawn = this.spoken = 0;
    this.retarget();
    this.run(true);
  }

  use(controller) {
    this.live.use(controller);
    this.chosen.value = controller;
    this.show();
  }

  shape(kind) {
    this.live.shape(kind);
    this.show();
  }

  tune() {
    this.live.gains(Math.round(this.kp.value), Math.round(this.kd.value));
    this.show();
  }

  /** Sets the target of joint j. */
  aim(j, x) {
    const goal = Float64Array.from(this.live.goal);
    goal[j] = x;
    this.live.aim(goal);
    this.retarget();
  }

  /** Shows the controls of the chosen controller, and a note on it. */
  show() {
    const { controller, shaper, shaping, unshaped, designs, places } = this.live;
    const pd = controller === "pd" || controller === "shaped";
    const design = designs[controller];
    for (const each of [this.kp, this.kd, this.carry]) each.object.hidden = !pd;
    this.shaper.object.hidden = controller !== "shaped";
    this.bandwidth.object.hidden = !design;
    if (design) this.bandwidth.range(design.stops.length - 1, places[controller]);
    this.informed.object.hidden = controller === "none";
    const times = shaper ? shaper.times : [];
    this.word.textContent = {
      none: "The drives are free.",
      pd: this.wheeled
        ? "Torques by the errors of joints and base and their rates; a wheel's turns the base."
        : "Torques by the errors of the joints and their rates.",
      shaped: shaper
        ? `${this.data.live.shapers[shaping].label} splits the reference into ${times.length} parts over ${flexarm.number(times[times.length - 1], "s")}, so that the slow modes of the arm as described come to rest.`
        : unshaped
          ? `The reference stays as it is, because there is no such shaper. ${unshaped}`
          : "With these gains no slow mode swings: the reference stays as it is.",
      composite: "Computed torque of the rigid arm for the joints, and optimal damping of the vibrations, designed for the arm as described at its first target.",
      lqr: "Torques by all coordinates and their rates, designed for the arm as described about its first target.",
    }[controller];
  }

  /** Moves ghost, ring and sliders to the target. */
  retarget() {
    const { live } = this;
    this.ghost.update(live.aimed().there, 0);
    this.goals.forEach((slider, j) => {
      if (slider.value !== live.goal[j]) slider.value = live.goal[j];
    });
    if (this.sunk()) this.fit();
    this.scene.invalidate();
  }

  /** Returns true if the ground hides a part of the target. */
  sunk() {
    const { up, level } = this.scene;
    if (this.data.live.base) return false; // a floating arm has no ground
    const { frames } = this.ghost.out;
    for (let i = 0; i < frames.length; i += 12) {
      if (up.x * frames[i + 3] + up.y * frames[i + 7] + up.z * frames[i + 11] < level) return true;
    }
    return false;
  }

  /** Returns the base of the arm: the origin, or the position of a free base. */
  foot() {
    return this.data.live.base ? Array.from(this.live.q.subarray(0, 3)) : [0, 0, 0];
  }

  /** Moves the camera and its target with a free base. */
  follow() {
    const foot = this.foot();
    const gone = foot.map((x, i) => x - this.stood[i]);
    if (gone.some((x) => x !== 0)) this.scene.carry(gone); // this requests another frame
    this.stood = foot;
    this.ghost.update(this.live.aimed().there, 0);
  }

  /** Moves the camera to show the arm, its target, and the reach of a rotation of the first joint. */
  fit() {
    const { live } = this;
    this.solid.update(live.q, 1);
    const { base } = this.data.solids;
    const points = base.free ? flexarm.corners(base.box, this.solid.ground, 0) : [0, 0, 0];
    points.push(...this.solid.tip());
    for (const arm of [this.solid, this.ghost]) {
      for (let i = 0; i < arm.out.stations.length; i += 90) points.push(...arm.out.stations.subarray(i, i + 3));
    }
    const turns = this.data.live.units[0] === "rad" ? [-0.8, 0, 0.8] : [0];
    for (const turn of turns) {
      const r = Float64Array.from(live.goal);
      r[0] += turn;
      points.push(...live.aimed(r).place);
    }
    this.stood = this.foot();
    this.scene.fit(points);
    if (this.scene.plane) this.scene.steady(flexarm.Play.TILT);
  }

  /* -- pointer -------------------------------------------------------------------------------------------------- */

  /** Returns the handle under the pointer: "target", "tip" or "". */
  near(event) {
    const far = (point) => {
      const [x, y] = this.scene.seen(point);
      return Math.hypot(event.clientX - x, event.clientY - y);
    };
    const reached = event.pointerType === "touch" ? 1.6 * flexarm.Play.NEAR : flexarm.Play.NEAR;
    const [tip, target] = [far(this.solid.tip()), far(this.ghost.tip())];
    if (Math.min(tip, target) > reached) return "";
    // if both are at one place, the outer part belongs to the ring
    return target < reached && (tip > reached || (target < tip + 4 && Math.max(tip, target) > 9)) ? "target" : "tip";
  }

  /** Returns the pointer's position in the plane through a point: that of a planar arm, else that of the screen. */
  over(event, point) {
    const ray = this.scene.pick(event);
    const normal = this.scene.plane || this.scene.camera.getWorldDirection(new THREE.Vector3());
    const along = ray.direction.dot(normal);
    if (Math.abs(along) < 1e-6) return null;
    const t = new THREE.Vector3(...point).sub(ray.origin).dot(normal) / along;
    return t > 0 ? ray.origin.clone().addScaledVector(ray.direction, t) : null;
  }

  grab(event) {
    const what = event.button === 0 && this.near(event);
    if (!what || this.drag) return;
    const from = what === "tip" ? this.solid.tip() : this.ghost.tip();
    const start = this.over(event, from);
    if (!start) return;
    this.drag = { what, from, start, stood: this.foot(), pointer: event.pointerId };
    this.scene.canvas.setPointerCapture(event.pointerId);
    this.scene.controls.enabled = false;
    this.scene.canvas.classList.add("grabbing");
    event.stopImmediatePropagation();
    event.preventDefault();
  }

  pull(event) {
    const { drag, live } = this;
    if (!drag) {
      this.scene.canvas.classList.toggle("grab", this.near(event) !== "");
      return;
    }
    if (event.pointerId !== drag.pointer) return;
    event.stopImmediatePropagation();
    const gone = this.foot().map((x, i) => x - drag.stood[i]); // with the base, and therefore with the camera
    const from = drag.from.map((x, i) => x + gone[i]);
    const now = this.over(event, from);
    if (!now) return;
    const moved = now.sub(drag.start).sub(new THREE.Vector3(...gone));
    if (drag.what === "tip") {
      const k = this.data.live.push;
      live.force.set([moved.x * k, moved.y * k, moved.z * k]);
      drag.moved = moved;
    } else {
      live.aimTip([from[0] + moved.x, from[1] + moved.y, from[2] + moved.z]);
      this.retarget();
    }
    this.scene.invalidate();
  }

  drop(event) {
    if (!this.drag || event.pointerId !== this.drag.pointer) return;
    event.stopImmediatePropagation();
    this.live.force.fill(0);
    this.drag = null;
    this.scene.controls.enabled = true;
    this.scene.canvas.classList.remove("grabbing");
    this.scene.invalidate();
  }

  /* -- time ----------------------------------------------------------------------------------------------------- */

  /** Draws one frame: advances the arm by the elapsed time, and updates the page. */
  frame() {
    const { Play } = flexarm;
    const { live } = this;
    const now = performance.now() / 1000;
    if (this.running && !live.fault) {
      const passed = this.last === null || this.last === undefined ? 0 : Math.min(now - this.last, Play.LONGEST);
      const end = now + Play.PATIENCE * passed;
      const done = live.advance(passed, () => performance.now() / 1000 > end);
      if (passed > 0) this.speed += 0.1 * (done / passed - this.speed);
      if (live.fault) this.stop();
    }
    this.last = this.running ? now : null;
    this.draw();
    this.record();
    return this.running && !live.fault;
  }

  /** Handles a stop of the arm: shows the reason, and how to continue. */
  stop() {
    this.notice.replaceChildren(
      flexarm.element("span", {}, this.live.fault),
      flexarm.element("button.primary", { type: "button", click: () => this.reset() }, "Reset"),
    );
    this.notice.hidden = false;
  }

  draw() {
    const { scene, live, drag } = this;
    this.solid.update(live.q, this.magnified);
    if (this.data.live.base) this.follow();
    const tip = this.solid.tip();
    this.ball.position.set(...tip);
    this.ring.position.set(...this.ghost.tip());
    this.ring.quaternion.copy(scene.camera.quaternion);
    const pulled = Boolean(drag && drag.moved && drag.moved.length() > 0);
    this.shaft.visible = pulled;
    if (pulled) {
      this.shaft.position.set(...tip);
      this.shaft.scale.set(1, drag.moved.length(), 1);
      this.shaft.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), drag.moved.clone().normalize());
    }
  }

  /** Updates plots thirty times per second of simulated time, and texts four times per second of real time. */
  record() {
    const { live, strips } = this;
    const t = live.time;
    if (t >= this.drawn + 1 / 30 || t === 0) {
      this.drawn = t;
      const [kinetic, potential] = live.energies();
      const [reference] = live.reference;
      const degrees = (values) => Array.from(values, (x, j) => this.shown[j] * x);
      strips.joints.add(t, [...degrees(live.seen()), ...degrees(reference)]);
      if (strips.bending) strips.bending.add(t, Array.from(live.measured().deflection, (x) => 1e3 * x));
      strips.torques.add(t, [...live.u]);
      strips.energy.add(t, [kinetic, potential]);
      for (const strip of Object.values(strips)) strip.draw();
    }
    const now = performance.now();
    if (now < this.spoken + 250 && this.running) return;
    this.spoken = now;
    this.say(t);
  }

  /** Updates the texts below the scene, and the energy error. */
  say(t) {
    const { live, status } = this;
    const { error, relative } = live.drift();
    const settled = live.settled();
    status.error.textContent = flexarm.number(live.tipError(), "m");
    status.settled.textContent = settled === null ? "not yet" : `after ${settled.toFixed(2)} s`;
    status.time.textContent = `${t.toFixed(2)} s`;
    const slow = this.running && this.speed < 0.97 && t > 1;
    status.speed.textContent = this.running ? (slow ? `${this.speed.toFixed(2)}\u00d7, this machine is slow` : "real time") : "paused";
    this.energy.textContent = `Energy error ${flexarm.number(error, "J")} (${flexarm.number(100 * relative)} %)`;
  }

  /** Measures the seconds of motion per second of computing, as the best of several times. */
  measure(seconds = 0.5, times = 5) {
    const other = new flexarm.Live(this.data.live, this.programs);
    other.use(this.live.controller);
    other.aim(this.live.goal);
    other.advance(seconds); // until the code is optimized
    const factors = [];
    for (let k = 0; k < times; k++) {
      const start = performance.now();
      const done = other.advance(seconds);
      factors.push((1000 * done) / (performance.now() - start));
    }
    return Math.max(...factors);
  }
};

new flexarm.Play(flexarm.data(), {
  motion, drawing, energy, seen, measured, rigid, joint_pd, regulator, statics,
  ...(typeof composite === "undefined" ? {} : { composite }), // not every arm has a design of it
});
