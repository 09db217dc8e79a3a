"use strict";

/**
 * Common parts of the pages of results, of modes and of an arm at rest: layout, scene, magnification and colours of
 * deflections.
 *
 * `data.arms` has the geometry of each different arm, and the name of the program that draws it.
 */
flexarm.View = class {
  static GREY = "#8b95a1"; // colour of ghosts without an owner
  static STEPS = [1, 2, 3, 5, 10, 20, 30, 50, 100]; // magnifications from which the first one is chosen
  static VISIBLE = 0.06; // share of the arm's reach by which links bend visibly and still plausibly
  static FAR = 0.2; // share of the arm's reach beyond which a drawn arm would be far from where it is
  static FIT = "M4 9V4h5v2H6v3zm11-5h5v5h-2V6h-3zM4 15h2v3h3v2H4zm14 0h2v5h-5v-2h3z";
  static KEYS = "M3 6h18v12H3zm2 2v8h14V8zm1.5 1.5h2v2h-2zm3.5 0h2v2h-2zm3.5 0h2v2h-2zm3 0h2v2h-2zM8 13h8v2H8z";
  static THEME = "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2v14a7 7 0 0 1 0-14z";

  constructor(data) {
    const { element } = flexarm;
    this.data = data;
    this.magnified = 1;
    this.colouring = "plain";
    this.framed = false;
    this.keys = {};
    this.head = element("header.head", {}, element("div.words", {}, element("h1", {}, data.title), element("p.about", {}, data.about)));
    this.canvas = element("div.canvas3d");
    this.legend = element("div.legend");
    this.tools = element("div.tools", { role: "group", "aria-label": "What is shown" });
    const show = element("details.show", {}, element("summary", {}, "Show"), this.tools);
    const wide = matchMedia("(min-width: 801px)"), unfolded = () => (show.open = wide.matches);
    wide.addEventListener("change", unfolded);
    unfolded();
    this.side = element("aside.side");
    this.foot = element("footer.foot");
    this.under = element("div.under");
    this.badge = element("span.badge", { hidden: true, title: "Deflections are drawn as many times as large as they are" });
    this.pale = element("span.note", { hidden: true });
    this.legend.append(this.badge, this.pale);
    const stage = element("div.stage", {}, this.legend, this.canvas, this.under);
    document.body.append(element(`main.view.${data.kind}`, {}, this.head, element("div.front", {}, stage, show, this.foot), this.side));
    this.scene = new flexarm.Scene(this.canvas);
    this.scene.buttons.hidden = true; // the head has its own buttons
    this.under.append(this.scene.squares, this.scene.scale.element); // beside the scene, where they hide nothing
  }

  /** Returns the drawing program of an arm of the page: (q, s, out), with its own `out`. */
  program(k) {
    const made = globalThis[this.data.arms[k].program];
    const draw = made.p ? (q, s, out) => made(q, s, made.p, out) : made;
    const { base, links } = this.data.arms[k].description;
    return { draw, out: made.out(), base, links };
  }

  /** Adds an arm to the scene, drawn at a configuration. */
  arm(k, look, q) {
    const arm = new flexarm.Arm(this.data.arms[k].description, this.program(k).draw, look);
    arm.frames(this.framed && !look.ghost);
    arm.update(q, 1);
    return this.scene.add(arm);
  }

  /** Returns points of an arm at a configuration, x, y, z of each: its frames, its tip, the middles of its links. */
  points(program, q, s = 1) {
    program.draw(q, [s], program.out);
    const { frames, stations } = program.out, found = [0, 0, 0];
    if (program.base.free) found.splice(0, 3, ...flexarm.corners(program.base.box, flexarm.pose(q, new Float64Array(12)), 0));
    program.links.forEach(({ box, panel, base: [width, thickness] }, i) => {
      if (box) found.push(...flexarm.corners(box, frames, 12 * i));
      if (!panel) return;
      for (const at of [189 * i, 189 * i + 180]) {
        const half = [width / 2, -width / 2, thickness / 2, -thickness / 2];
        half.forEach((x, k) => {
          for (let c = 0; c < 3; c++) found.push(stations[at + c] + x * (k < 2 ? stations[at + 3 + c] : frames[12 * i + 4 * c + 2]));
        });
      }
    });
    for (let i = 0; i < frames.length; i += 12) found.push(frames[i + 3], frames[i + 7], frames[i + 11]);
    for (let i = 9 * 10; i < stations.length; i += 9 * 10 + (i % 189 === 90 ? 0 : 9)) found.push(stations[i], stations[i + 1], stations[i + 2]);
    return found;
  }

  /** Sets colours over a range, and the scale beside them. */
  coloured(most) {
    for (const arm of this.solid()) arm.colour(this.colouring, [0, most]);
    this.scene.scale.set(this.colouring, [0, most]);
  }

  /** Creates the controls of every page. `changed` redraws. */
  common(changed, name = "Magnified") {
    const steps = [1, 3, 10, 30, 100];
    this.magnifier = new flexarm.Slider(
      name, { min: 0, max: 1, value: 0 },
      (x) => `${flexarm.digits(flexarm.View.power(x), 2)}×`,
      (x) => this.setMagnified(flexarm.View.power(x)),
      "Deflections as many times as large as they are (M)",
    );
    this.colours = new flexarm.Choice(
      "Colour", { plain: "plain", moment: "bending moment", deflection: "deflection" }, "plain",
      (x) => this.setColouring(x), "What the colour of the links shows (C)",
    );
    this.framing = new flexarm.Check("frames", false, (x) => this.setFramed(x), "Axes of every link (F)");
    this.changed = changed;
    Object.assign(this.keys, {
      m: ["M", "magnify deflections: 1, 3, 10, 30, 100", () => this.setMagnified(steps.find((x) => x > this.magnified * 1.01) ?? 1)],
      c: ["C", "colour: plain, bending moment, deflection", () => this.colours.next()],
      f: ["F", "frames of the links", () => this.framing.toggle()],
      t: ["T", "light or dark", () => flexarm.turn()],
      r: ["R", "the whole arm in view", () => this.fit()],
    });
  }

  /**
   * Returns the magnification at which bending is visible: the largest at which no link bends by more than `VISIBLE` of
   * the arm's reach, and no point moves by more than `FAR` of it.
   * @param {Array<{bend: number, away: number, reach: number}>} sizes results of `flexes`
   */
  static fitting(sizes) {
    const { STEPS, VISIBLE, FAR } = flexarm.View;
    const fits = (s) => sizes.every(({ bend, away, reach }) => s * bend <= VISIBLE * reach && s * away <= FAR * reach);
    return STEPS.findLast(fits) ?? 1;
  }

  /** Returns how far links bend at some configurations, and how far points are from the rigid arm's, at most [m]. */
  flexes(program, configurations, reach) {
    const { out, draw } = program;
    let [bend, away] = [0, 0];
    for (const q of configurations) {
      draw(q, [0], out);
      const rigid = out.stations.slice();
      draw(q, [1], out);
      for (let i = 0; i < rigid.length; i += 9) {
        bend = Math.max(bend, out.stations[i + 8]);
        away = Math.max(away, Math.hypot(...[0, 1, 2].map((c) => out.stations[i + c] - rigid[i + c])));
      }
    }
    return { bend, away, reach };
  }

  /** Maps a slider's position from 0 to 1 to a factor from 1 to 100 with two digits, as displayed. */
  static power(x) {
    return Number((100 ** x).toPrecision(2));
  }

  setMagnified(s) {
    this.magnified = Math.min(100, Math.max(1, s));
    this.badge.textContent = `deflection ×${flexarm.digits(this.magnified, 3)}`;
    const place = Math.log(this.magnified) / Math.log(100);
    if (flexarm.View.power(this.magnifier.value) !== this.magnified) this.magnifier.value = place;
    this.changed();
  }

  setColouring(what) {
    this.colouring = what;
    this.colours.value = what;
    this.recolour();
    this.changed();
  }

  setFramed(framed) {
    this.framed = framed;
    this.framing.value = framed;
    for (const arm of this.solid()) arm.frames(framed);
    this.scene.invalidate();
  }

  /** Adds buttons and keys to the completed page. */
  ended() {
    const { button, View } = flexarm;
    const keys = flexarm.keys(this.keys);
    this.head.append(flexarm.element("div.buttons", {},
      button("Whole arm in view (R)", View.FIT, () => this.fit()),
      button("Light or dark (T)", View.THEME, () => flexarm.turn()),
      button("Keys (?)", View.KEYS, keys),
    ));
    flexarm.page = this;
  }

  /** Returns the options after # in the address, such as #t=2.5&magnified=10&colour=moment, for links to a moment. */
  static wishes() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }
};
