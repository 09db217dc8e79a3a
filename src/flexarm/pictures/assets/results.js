"use strict";

/** One result on the page: its motion, its arm with ghosts, and the path of its tip. */
flexarm.Run = class {
  static PATH = 1000; // largest number of points of a path

  constructor(view, data, index) {
    const width = data.q.shape[1];
    Object.assign(this, { view, data, index, name: data.name, visible: true, offset: new THREE.Vector3() });
    this.motion = new flexarm.Motion(data.time, data.q);
    this.free = view.data.arms[data.arm].description.base.free;
    this.wanted = data.reference ? new flexarm.Motion(data.time, data.reference) : null;
    this.q = Float64Array.from(data.q.subarray(0, width));
    this.ghostly = new Float64Array(width);
    this.program = view.program(data.arm);
    this.ghosts = {};
    this.main = view.arm(data.arm, { color: index, pattern: index }, this.q);
    const step = Math.max(1, Math.ceil(data.time.length / flexarm.Run.PATH));
    this.rows = [];
    for (let i = 0; i < data.time.length; i += step) this.rows.push(i);
    if (this.rows[this.rows.length - 1] !== data.time.length - 1) this.rows.push(data.time.length - 1);
  }

  /** Yields some of the samples, q of each. */
  *samples(count) {
    const width = this.q.length, step = Math.max(1, Math.floor(this.rows.length / count));
    for (let k = 0; k < this.rows.length; k += step) {
      const i = this.rows[k];
      yield this.data.q.subarray(i * width, (i + 1) * width);
    }
  }

  /** Returns the position of its base at a configuration, [x, y, z]. */
  place(q) {
    return this.free ? [q[0], q[1], q[2]] : [0, 0, 0];
  }

  /** Returns a ghost: "true", "reference" or "rigid". It is created on first use. */
  ghost(kind) {
    if (!this.ghosts[kind]) {
      const color = kind === "true" || this.view.runs.length > 1 ? this.index : flexarm.View.GREY;
      this.ghosts[kind] = this.view.arm(this.data.arm, { color, ghost: true }, this.q);
      if (this.free) this.ghosts[kind].bus.visible = false; // it would coincide with the existing one
      this.move(this.offset);
    }
    return this.ghosts[kind];
  }

  /** All objects that are drawn for it. */
  get parts() {
    return [this.main, ...Object.values(this.ghosts), ...[this.path, this.way].filter(Boolean)];
  }

  /** Shows or hides its arms according to the page's controls. */
  get wishes() {
    const { magnified, beside, haunted } = this.view;
    return {
      true: this.visible && beside && magnified > 1,
      rigid: this.visible && haunted === "rigid",
      reference: this.visible && haunted === "reference" && this.wanted !== null,
    };
  }

  /** Draws it at a time. */
  update(time) {
    this.motion.at(time, this.q);
    this.main.object.visible = this.visible;
    if (this.visible) this.main.update(this.q, this.view.magnified);
    const wishes = this.wishes;
    for (const [kind, wanted] of Object.entries(wishes)) {
      if (wanted || this.ghosts[kind]) this.ghost(kind).object.visible = wanted;
    }
    if (wishes.true) this.ghosts.true.update(this.q, 1);
    if (wishes.rigid) this.ghosts.rigid.update(this.q, 0);
    if (wishes.reference) this.ghosts.reference.update(this.wanted.at(time, this.ghostly), 0);
    const i = this.motion.piece(time) + (time >= this.motion.end ? 1 : 0);
    for (const path of [this.path, this.way].filter(Boolean)) {
      path.object.visible = this.visible && this.view.paths.value;
      path.upto(flexarm.nearest(this.rows, i));
    }
  }

  /** Draws the tip's path with deflections as they are drawn. */
  trace(radius) {
    const { out, draw } = this.program, width = this.q.length, last = out.frames.length - 12;
    const points = new Float64Array(3 * this.rows.length);
    this.rows.forEach((i, k) => {
      draw(this.data.q.subarray(i * width, (i + 1) * width), [this.view.magnified], out);
      points.set([out.frames[last + 3], out.frames[last + 7], out.frames[last + 11]], 3 * k);
    });
    if (this.path) this.path.set(points);
    else {
      this.path = new flexarm.Path(points, { color: this.index, radius });
      this.view.scene.add(this.path);
      if (this.free) this.lead(0.6 * radius);
      this.move(this.offset);
    }
  }

  /** Draws the path of a free base, in grey if there is only one result. */
  lead(radius) {
    const points = new Float64Array(this.rows.flatMap((i) => [...this.data.q.subarray(i * this.q.length, i * this.q.length + 3)]));
    this.way = new flexarm.Path(points, { color: this.view.runs.length > 1 ? this.index : flexarm.View.GREY, radius });
    this.view.scene.add(this.way);
  }

  /** Hides all of it while another case is shown. */
  hide() {
    for (const { object } of this.parts) object.visible = false;
  }

  /** Moves it away from the origin. */
  move(offset) {
    this.offset = offset;
    for (const { object } of this.parts) {
      object.position.copy(offset);
      object.updateMatrix();
      object.matrixWorldNeedsUpdate = true;
    }
  }
};

/** Page of results, or of cases with results. The page shows one case at a time. */
flexarm.Results = class extends flexarm.View {
  constructor(data) {
    super(data);
    this.beside = true;
    this.haunted = "none";
    this.following = "nothing";
    this.cases = (data.cases ?? [data]).map((each) => ({ name: each.name, data: each }));
    const all = this.cases.flatMap((each) => each.data.results);
    const finest = all.reduce((a, b) => (a.time.length >= b.time.length ? a : b));
    this.start = Math.min(...all.map(({ time }) => time[0]));
    this.end = Math.max(...all.map(({ time }) => time[time.length - 1]));
    this.most = Math.max(...this.cases.map((each) => each.data.results.length));
    this.wanted = all.some((each) => each.reference);
    this.player = new flexarm.Player(this.start, this.end, (time) => this.draw(time), new flexarm.Motion(finest.time, finest.q), this.scene);
    this.foot.append(this.player.object);
    Object.assign(this.keys, this.player.keys);
    this.begin(this.cases[0]);
    this.controls();
    this.ended();
    flexarm.themed(() => this.themed());
    this.look();
    this.obey(flexarm.View.wishes());
    this.fit();
  }

  /** Chooses the first magnification, and colours: moments of one arm that bends, else those that distinguish results. */
  look() {
    const sizes = this.runs.map((run) => this.flexes(run.program, run.samples(200), run.main.description.reach));
    this.badge.hidden = sizes.every(({ away }) => away === 0);
    this.setMagnified(flexarm.View.fitting(sizes));
    const bends = this.runs.some((run) => run.main.description.links.some((link) => link.flexible));
    this.setColouring(bends && this.most === 1 ? "moment" : "plain");
  }

  /** Creates the contents of a case on first use. */
  made(chosen) {
    if (chosen.runs) return;
    const { results, panels } = chosen.data;
    this.runs = chosen.runs = results.map((each, i) => new flexarm.Run(this, each, i));
    const timed = panels.map((panel) => ({
      ...panel, runs: panel.runs.map((items, r) => ({ items, time: results[r].time })),
    }));
    chosen.plots = new flexarm.Plots(timed, this.start, this.end, (time) => this.player.seek(time), chosen.runs.map((run) => run.name));
    chosen.chips = this.chipped(chosen.runs);
  }

  /** Shows a case's arms, names and plots. */
  begin(chosen) {
    this.made(chosen);
    this.case = chosen;
    this.runs = chosen.runs;
    this.plots = chosen.plots;
    this.chips = chosen.chips.map(({ chip }) => chip);
    this.side.replaceChildren(chosen.plots.object);
    this.legend.replaceChildren(...(this.chooser ? [this.chooser.object] : []), ...chosen.chips.map(({ row }) => row).filter(Boolean), this.badge, this.pale);
    this.themed();
  }

  /** Replaces the visible case. Hidden, magnified or coloured elements stay so. */
  setCase(k) {
    const hidden = this.runs.map((run) => !run.visible);
    for (const run of this.runs) run.hide();
    this.begin(this.cases[k]);
    this.chooser.value = String(k);
    this.runs.forEach((run, i) => run.visible === !(hidden[i] ?? false) || this.setVisible(i, !run.visible));
    this.traced = null;
    if (this.places) this.setPlaced(this.places.value);
    this.setFramed(this.framed);
    this.recolour();
    this.redraw();
  }

  controls() {
    this.common(() => this.redraw());
    const ghosts = { none: "none", rigid: "rigid arm" };
    if (this.wanted) ghosts.reference = "reference";
    this.truth = new flexarm.Check("true arm", true, (x) => this.setBeside(x), "The true arm as a ghost where deflections are magnified");
    this.ghost = new flexarm.Choice("Ghost", ghosts, "none", (x) => this.setHaunted(x), "Another arm, seen through (G)");
    this.paths = new flexarm.Check("path", true, () => this.redraw(), "Where the tip goes (P)");
    const controls = [this.magnifier, this.truth, this.colours, this.ghost, this.paths, this.framing];
    if (this.leader) {
      this.camera = new flexarm.Choice("Camera", { nothing: "stands still", base: "follows the base" }, "nothing", (x) => this.setFollowing(x), "Whether the camera moves along with the base (V)");
      controls.push(this.camera);
      this.keys.v = ["V", "camera: stands still, follows the base", () => this.camera.next()];
    }
    if (this.most > 1) {
      this.places = new flexarm.Choice("Results", { over: "in one place", beside: "side by side" }, "over", (x) => this.setPlaced(x), "In one place or side by side (B)");
      controls.push(this.places);
      this.keys.b = ["B", "results in one place or side by side", () => this.places.next()];
    }
    if (this.cases.length > 1) {
      this.chooser = new flexarm.Choice("Case", Object.fromEntries(this.cases.map(({ name }, k) => [k, name])), "0", (k) => this.setCase(k), "Which results are shown (N)");
      this.legend.prepend(this.chooser.object);
      this.keys.n = ["N", "the next case", () => this.chooser.next()];
    }
    this.keys.g = ["G", `ghost: ${Object.values(ghosts).join(", ")}`, () => this.ghost.next()];
    this.keys.p = ["P", "path of the tip", () => this.paths.toggle()];
    this.tools.append(...controls.map((control) => control.object));
  }

  /** Shows names, colours and notes of results, with a button and a row for each. */
  chipped(runs) {
    const { element } = flexarm, several = runs.length > 1;
    return runs.map((run, i) => {
      const chip = several
        ? element("button.run", { type: "button", "aria-pressed": "true", title: `Show or hide ${run.name}`, click: () => this.setVisible(i, !run.visible) }, element("span.swatch"), run.name)
        : element("span.run");
      const notes = run.data.notes.map((note) => element("span.note", {}, note));
      const row = several || notes.length ? element("div", {}, ...(several ? [chip] : []), ...notes) : null;
      return { chip, row };
    });
  }

  themed() {
    if (this.runs.length < 2) return;
    this.chips.forEach((chip, i) => (chip.firstChild.style.background = flexarm.colour(i)));
  }

  solid() {
    return this.runs.map((run) => run.main);
  }

  /** Draws everything at a time. */
  draw(time) {
    if (!this.plots) return; // the page is not complete yet
    for (const run of this.runs) run.update(time);
    this.explain();
    this.follow();
    this.plots.show(time);
    this.scene.invalidate();
  }

  /** Explains the pale arms that are visible. */
  explain() {
    const names = { true: "true deflection", rigid: "rigid arm", reference: "reference" };
    const seen = Object.keys(names).filter((kind) => this.runs.some((run) => run.wishes[kind]));
    const text = seen.length ? `pale: ${seen.map((kind) => names[kind]).join(", ")}` : "";
    if (this.pale.textContent !== text) this.pale.textContent = text;
    this.pale.hidden = !text;
  }

  /** The result whose base the camera follows: the first visible one. */
  get leader() {
    return this.runs.find((run) => run.free && run.visible) ?? this.runs.find((run) => run.free);
  }

  /** Returns the drawn position of that base, [x, y, z]. */
  get led() {
    const { q, offset } = this.leader;
    return this.leader.place(q).map((x, i) => x + offset.getComponent(i));
  }

  /** Moves the camera with the base, if requested. */
  follow() {
    if (this.following !== "base" || !this.leader) return;
    const now = this.led;
    this.scene.carry(now.map((x, i) => x - this.followed[i]));
    this.followed = now;
  }

  setFollowing(what) {
    this.following = what;
    this.camera.value = what;
    this.fit();
    this.draw(this.player.time);
  }

  /** Redraws everything, with the paths, which depend on the magnification. */
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.paths.value && this.traced !== this.magnified) {
        this.traced = this.magnified;
        for (const run of this.runs) run.trace(0.003 * run.main.description.reach);
      }
      this.draw(this.player.time);
    });
  }

  /** Moves the camera to show all of the motion. */
  fit() {
    this.scene.fit(this.extent().flat());
    if (this.following === "base" && this.leader) this.followed = this.led;
  }

  /** Returns points that the runs' arms reach at their places: x, y, z of each. */
  extent() {
    return this.runs.map((run) => {
      const offset = run.offset.toArray();
      const now = run.place(run.q);
      return [...run.samples(100)].flatMap((q) => {
        const back = this.following === "base" ? run.place(q).map((x, i) => x - now[i]) : [0, 0, 0];
        return this.points(run.program, q, this.magnified).map((x, i) => x - back[i % 3] + offset[i % 3]);
      });
    });
  }

  setBeside(x) {
    this.beside = x;
    this.truth.value = x;
    this.redraw();
  }

  setHaunted(kind) {
    this.haunted = kind;
    this.ghost.value = kind;
    this.redraw();
  }

  setVisible(i, visible) {
    const run = this.runs[i];
    run.visible = visible;
    this.chips[i].setAttribute("aria-pressed", String(visible));
    this.plots.setVisible(i, visible);
    this.redraw();
  }

  /** Places arms at one point, or side by side along the axis closest to the screen's horizontal. */
  setPlaced(how) {
    this.places.value = how;
    for (const run of this.runs) run.move(new THREE.Vector3());
    if (how === "beside") {
      const across = new THREE.Vector3(1, 0, 0).applyQuaternion(this.scene.camera.quaternion).toArray();
      const axis = across.map(Math.abs).indexOf(Math.max(...across.map(Math.abs)));
      const widths = this.extent().map((points) => points.filter((_, i) => i % 3 === axis)).map((x) => Math.max(...x) - Math.min(...x));
      const step = Math.sign(across[axis]) * Math.max(...widths) * 1.15;
      this.runs.forEach((run, i) => run.move(new THREE.Vector3().setComponent(axis, step * (i - (this.runs.length - 1) / 2))));
    }
    this.fit();
    this.redraw();
  }

  recolour() {
    let most = 0;
    if (this.colouring !== "plain") {
      for (const run of this.runs) {
        const { draw, out } = run.program;
        for (const q of run.samples(200)) {
          draw(q, [1], out);
          most = Math.max(most, run.main.most(this.colouring, out.stations));
        }
      }
    }
    this.coloured(most);
  }

  /** Applies the options in the address. */
  obey(wishes) {
    const number = (name) => (Number.isFinite(Number.parseFloat(wishes[name])) ? Number.parseFloat(wishes[name]) : null);
    if (number("magnified") !== null) this.setMagnified(number("magnified"));
    if (["plain", "moment", "deflection"].includes(wishes.colour)) this.setColouring(wishes.colour);
    if ([...this.ghost.select.options].some((option) => option.value === wishes.ghost)) this.setHaunted(wishes.ghost);
    const chosen = this.cases.findIndex(({ name }) => name === wishes.case);
    if (chosen > 0) this.setCase(chosen);
    if (wishes.results === "beside" && this.places) this.setPlaced("beside");
    if (wishes.camera === "base" && this.camera) this.setFollowing("base");
    if (number("speed") > 0 && flexarm.Player.SPEEDS.includes(number("speed"))) this.player.setSpeed(number("speed"));
    this.redraw();
    if (number("t") !== null) this.player.seek(number("t"));
    else if (wishes.play !== "0" && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.player.begin();
  }
};
