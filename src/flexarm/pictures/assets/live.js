"use strict";

/**
 * A live arm: its equations with a controller, integrated by the classical Runge-Kutta method with a fixed step. This
 * file does not use elements of the page. `play.js` shows the motion, and tests run this file in Node.
 *
 * The state y is (q, qd, work of the inputs, energy lost in dampers, work of the push). On a free base, q begins with
 * the seven entries of its pose and qd with its six rates. Everything else is over local coordinates x, one for each
 * rate. The programs are written by Python: motion, energy, seen, measured, rigid, joint_pd, regulator, statics, and
 * composite if the arm has a design of it.
 */
flexarm.Live = class {
  static WATCHED = 0.005; // longest time between two looks at the tip [s]
  static STAYS = 0.5; // time for which the tip must stay near its target before it has settled [s]

  /**
   * @param {object} given data from Python, see pictures/play.py
   * @param {object} programs functions by name
   */
  constructor(given, programs) {
    this.given = given;
    this.programs = programs;
    const { n, m } = given;
    this.nq = given.q.length;
    const size = this.nq + n + 3;
    this.y = new Float64Array(size);
    this.p = Float64Array.from(given.p);
    this.known = Float64Array.from(given.p); // parameters that the controller uses
    this.force = new Float64Array(3); // push [N], in the base frame, or in the world frame for a free base
    this.goal = new Float64Array(m); // targets of the joints, and of the base for wheels,
    this.r = new Float64Array(m); // and the reference on its path to them
    this.rd = new Float64Array(m);
    this.rdd = new Float64Array(m);
    this.u = new Float64Array(m);
    this.controller = "pd";
    this.informed = true; // true if the controller knows payload and gravity as they are set
    this.compensates = true; // true if it compensates the weight of the rigid arm
    this.pace = 1;
    this.values = Object.fromEntries(given.sliders.map((slider) => [slider.key, slider.value]));

    // buffers of a step, allocated once
    this.stage = new Float64Array(size);
    this.slopes = given.tableau.map(() => new Float64Array(size));
    this.views = new Map([this.y, this.stage].map((y) => [y, [y.subarray(0, this.nq), y.subarray(this.nq, this.nq + n)]]));
    this.rStage = new Float64Array(m);
    this.rShaped = new Float64Array(m);
    this.rdShaped = new Float64Array(m);
    this.zero = new Float64Array(m);
    this.out = Object.fromEntries(Object.entries(programs).map(([name, program]) => [name, program.out()]));
    this.every = Math.max(1, Math.floor(flexarm.Live.WATCHED / given.step)); // steps between two looks at the tip
    this.eased = new Float64Array(m); // gravity torque that is subtracted where it is not wanted
    this.standing = { x: new Float64Array(n), u: new Float64Array(m), goal: new Float64Array(m), stale: true };
    this.shaping = "zvd"; // kind of the shaper
    this.gains(given.kp, given.kd);
    this.designs = { lqr: given.lqr, composite: given.composite };
    this.places = { lqr: given.lqr?.usual, composite: given.composite?.usual };
    this.wrong = this.checked();
    this.reset();
  }

  /** Tests the programs with values from Python. Returns "", or the name of a program with wrong results. */
  checked() {
    for (const { name, inputs, outputs, within } of this.given.checks) {
      const found = Object.values(this.programs[name](...inputs)).map((values) => Array.from(values));
      const expected = outputs.map((values) => Array.from(values));
      const sizes = expected.flat().map((value) => (Number.isFinite(value) ? Math.abs(value) : 0));
      const largest = sizes.reduce((a, b) => Math.max(a, b), 1e-300);
      for (const [i, values] of expected.entries()) {
        for (const [j, value] of values.entries()) {
          if (Number.isFinite(value) && !(Math.abs(found[i][j] - value) <= within * largest)) {
            return `This browser computes "${name}" wrongly: ${found[i][j]} in the place of ${value}. Try another browser.`;
          }
        }
      }
    }
    return "";
  }

  get time() {
    return this.steps * this.given.step;
  }

  get q() {
    return this.views.get(this.y)[0];
  }

  get qd() {
    return this.views.get(this.y)[1];
  }

  /** Resets the arm to the start, at rest. Sliders, controller and gains stay unchanged. */
  reset() {
    const { target, start } = this.given;
    this.y.fill(0);
    this.y.set(this.given.q);
    this.steps = 0;
    this.force.fill(0);
    this.fault = this.wrong;
    this.r.set(start);
    this.rd.fill(0);
    this.rdd.fill(0);
    this.goal.set(target);
    this.disturbed();
    this.standing.x.set(this.given.x);
    this.standing.goal.set(start);
    this.standing.u.fill(0);
    this.standing.stale = true;
    this.forgetPath();
    this.begin = 0;
    this.begin = this.balance();
    this.moved = 0;
  }

  /* -- settings -------------------------------------------------------------------------------------------------- */

  /** Sets a slider of the arm. The energy that this adds or removes does not count as an integration error. */
  set(key, value) {
    const slider = this.given.sliders.find((each) => each.key === key);
    const before = this.balance();
    this.disturbed();
    slider.entries.forEach((i, k) => (this.p[i] = slider.offset[k] + slider.slope[k] * value));
    this.values[key] = value;
    this.inform();
    this.begin += this.balance() - before;
  }

  /** Sets the controller's gains: multiples of the usual ones, by their index among the stops. */
  gains(kp, kd) {
    const { given } = this;
    [this.kp, this.kd] = [kp, kd];
    this.Kp = given.Kp.map((x) => x * given.kpStops[kp]);
    this.Kd = given.Kd.map((x) => x * given.kdStops[kd]);
    this.shape();
  }

  /** Sets the kind of the shaper, "zv", "zvd" and so on. Its impulses from Python are those for the present gains. */
  shape(kind = this.shaping) {
    this.shaping = kind;
    const design = this.given.shapers[kind].designs[this.kp * this.given.kdStops.length + this.kd];
    this.shaper = design.times ? design : null;
    this.unshaped = this.shaper ? "" : design; // the reason why there is no shaper, or "" if no slow mode swings
    this.forgetPath();
  }

  /** Sets the bandwidth of the controller, "lqr" or "composite", by its index among the designs from Python. */
  bandwidth(place, controller = this.controller) {
    this.places[controller] = place;
  }

  /** Returns the gains of the present controller at its bandwidth. */
  get K() {
    return this.designs[this.controller].K[this.places[this.controller]];
  }

  /** Sets the controller: "none", "pd", "shaped", "lqr" or "composite". */
  use(controller) {
    this.controller = controller;
    this.disturbed();
    this.forgetPath();
    this.standing.stale = true;
  }

  /** Sets if the controller knows the current payload and gravity, or those of the description. */
  inform(informed = this.informed) {
    this.informed = informed;
    this.known.set(informed ? this.p : this.given.p);
    this.standing.stale = true;
  }

  /** Returns the controlled coordinates, (m). */
  seen() {
    this.programs.seen(this.q, this.out.seen);
    return this.out.seen.y;
  }

  /** Returns the rigid arm at the target: its coordinates, with a free base at its present pose, and its tip. */
  aimed(goal = this.goal) {
    this.programs.rigid(this.q, goal, this.out.rigid);
    return this.out.rigid;
  }

  /** Sets the joint targets. */
  aim(goal) {
    const { low, high } = this.given;
    for (let j = 0; j < goal.length; j++) this.goal[j] = Math.min(high[j], Math.max(low[j], goal[j]));
    this.standing.stale = true;
    this.disturbed();
  }

  /**
   * Moves the tip of the rigid arm to a position by damped least squares with its Jacobian, within the joint ranges.
   * @param {ArrayLike<number>} place position (3) in the base frame, or in the world frame for a free base
   * @returns {number} remaining distance [m]
   */
  aimTip(place) {
    const { m, reach, low, high } = this.given;
    const r = Float64Array.from(this.goal);
    const { place: x, J } = this.out.rigid;
    const damping = (0.02 * reach) ** 2;
    let best = Infinity;
    for (let round = 0; round < 60; round++) {
      this.aimed(r);
      const e = [0, 1, 2].map((i) => place[i] - x[i]);
      const left = Math.hypot(...e);
      if (left < best) this.aim(r);
      best = Math.min(best, left);
      if (left < 1e-5 * reach) break;
      // J J' + damping, (3, 3): a limit of the tip's motion keeps the steps small
      const A = [0, 1, 2].map((i) => [0, 1, 2].map((k) => (i === k ? damping * Math.min(1, left / reach) + 1e-9 : 0)));
      for (let i = 0; i < 3; i++)
        for (let k = 0; k < 3; k++) for (let j = 0; j < m; j++) A[i][k] += J[i * m + j] * J[k * m + j];
      const w = flexarm.solved(A, e);
      if (!w) break;
      let largest = 0;
      const step = new Float64Array(m);
      for (let j = 0; j < m; j++) {
        for (let i = 0; i < 3; i++) step[j] += J[i * m + j] * w[i];
        largest = Math.max(largest, Math.abs(step[j]));
      }
      const share = Math.min(1, 0.3 / largest);
      for (let j = 0; j < m; j++) r[j] = Math.min(high[j], Math.max(low[j], r[j] + share * step[j]));
    }
    return best;
  }

  /* -- reference ------------------------------------------------------------------------------------------------ */

  /** Advances the reference by a step: full acceleration, constant speed, full deceleration. */
  lead() {
    const { m, step: h, acceleration, speed } = this.given;
    const shaped = this.controller === "shaped" && this.shaper;
    if (shaped && !this.path) this.startPath();
    const calm = this.controller === "composite" ? this.designs.composite.calm : 1; // it follows all of the acceleration
    for (let j = 0; j < m; j++) {
      const a = acceleration[j] * this.pace * calm;
      const e = this.goal[j] - this.r[j];
      const before = this.rd[j];
      if (Math.abs(e) <= a * h * h && Math.abs(before) <= 2 * a * h) {
        [this.r[j], this.rd[j], this.rdd[j]] = [this.goal[j], 0, 0];
        continue;
      }
      // the speed from which braking must begin half a step before the goal
      const most = Math.min(speed[j] * this.pace * Math.sqrt(calm), Math.sqrt((a * h * a * h) / 4 + 2 * a * Math.abs(e)) - (a * h) / 2);
      const wanted = Math.sign(e) * Math.max(0, most);
      this.rd[j] += Math.min(a * h, Math.max(-a * h, wanted - this.rd[j]));
      this.r[j] += h * this.rd[j];
      this.rdd[j] = (this.rd[j] - before) / h;
    }
    if (shaped) this.remember();
  }

  forgetPath() {
    this.path = null;
  }

  /** Starts the ring of r and rd for the longest delay of the shaper. Until now the reference was constant. */
  startPath() {
    const { m, step: h } = this.given;
    const { times } = this.shaper;
    const length = Math.ceil(times[times.length - 1] / h) + 2;
    this.path = { length, r: new Float64Array(length * m), rd: new Float64Array(length * m), now: 0 };
    for (let k = 0; k < length; k++) this.path.r.set(this.r, k * m);
    this.delays = Array.from(times, (t) => [Math.floor(t / h), t / h - Math.floor(t / h)]);
  }

  /**
   * Stores the reference in the ring, and adds its delayed parts.
   *
   * The reference has a constant rate within a step. A part whose delay ends within a step is therefore interpolated
   * between two entries of the ring, without error, and its rate is the mean rate of the part during the step.
   */
  remember() {
    const { m } = this.given;
    const { path } = this;
    path.now = (path.now + 1) % path.length;
    path.r.set(this.r, path.now * m);
    path.rd.set(this.rd, path.now * m);
    this.rShaped.fill(0);
    this.rdShaped.fill(0);
    this.delays.forEach(([delay, part], i) => {
      const at = ((path.now - delay + path.length) % path.length) * m;
      const before = ((path.now - delay - 1 + path.length) % path.length) * m;
      const A = this.shaper.amplitudes[i];
      for (let j = 0; j < m; j++) {
        this.rShaped[j] += A * ((1 - part) * path.r[at + j] + part * path.r[before + j]);
        this.rdShaped[j] += A * ((1 - part) * path.rd[at + j] + part * path.rd[before + j]);
      }
    });
  }

  /** Computes the reference of the controller and its rate, with or without shaper. */
  get reference() {
    const shaped = this.controller === "shaped" && this.path;
    return shaped ? [this.rShaped, this.rdShaped] : [this.r, this.rd];
  }

  /* -- controllers ---------------------------------------------------------------------------------------------- */

  /** Computes u at a state, a fraction of a step after the reference was advanced. */
  command(q, qd, part) {
    const { m, step: h } = this.given;
    const { controller, programs, out } = this;
    if (controller === "none") {
      this.u.fill(0);
      return;
    }
    const [r, rd] = this.reference;
    for (let j = 0; j < m; j++) this.rStage[j] = r[j] - (1 - part) * h * rd[j];
    if (controller === "lqr") {
      const { x, u } = this.standing;
      programs.regulator(q, qd, this.rStage, rd, this.goal, x, u, this.K, out.regulator);
      this.u.set(out.regulator.u);
      return;
    }
    if (controller === "composite") {
      const { x, u } = this.standing, omega = this.designs.composite.stops[this.places.composite];
      programs.composite(q, qd, this.rStage, rd, this.rdd, this.goal, x, u, [omega * omega], [2 * omega], this.K, out.composite);
      this.u.set(out.composite.u);
      return;
    }
    programs.joint_pd(q, qd, this.rStage, rd, this.Kp, this.Kd, this.known, out.joint_pd);
    for (let j = 0; j < m; j++) this.u[j] = out.joint_pd.u[j] + (this.compensates ? out.joint_pd.carried[j] : 0);
  }

  /** Computes the equilibrium at the goal and its inputs, by Newton's method from the previous one. */
  settle() {
    const { n, m, base, settling, moved, inputs } = this.given;
    const { x, u, goal } = this.standing;
    this.standing.stale = false;
    if (!this.designs[this.controller]) return;
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) x[i] += moved[i * m + j] * (this.goal[j] - goal[j]);
    goal.set(this.goal);
    const { force, slope } = this.out.statics;
    const rows = Array.from({ length: n - base }, (_, k) => base + k); // a free base carries no weight
    for (let round = 0; round < 20; round++) {
      this.programs.statics(x, this.known, this.out.statics);
      const b = rows.map((i) => inputs.reduce((sum, row, j) => sum + row[i] * u[j], -force[i]));
      const A = rows.map((i) => [...settling.map((c) => slope[i * n + c]), ...inputs.map((row) => -row[i])]);
      const dx = flexarm.solved(A, b);
      if (!dx || !dx.every(Number.isFinite)) return;
      settling.forEach((c, k) => (x[c] += dx[k]));
      for (let j = 0; j < m; j++) u[j] += dx[settling.length + j];
      if (Math.max(...settling.map((_, k) => Math.abs(dx[k])), 0) < 1e-12) return;
    }
  }

  /* -- integration ---------------------------------------------------------------------------------------------- */

  /** Computes dy/dt at a state into dy. */
  rate(y, part, dy) {
    const { n } = this.given;
    const { nq } = this;
    const [q, qd] = this.views.get(y);
    const out = this.out.motion;
    this.command(q, qd, part);
    this.programs.motion(q, qd, this.u, this.force, this.p, out);
    for (let i = 0; i < nq; i++) dy[i] = out.rates[i];
    for (let i = 0; i < n; i++) dy[nq + i] = out.qdd[i];
    for (let k = 0; k < 3; k++) dy[nq + n + k] = out.power[k];
  }

  /** Makes one step. If it diverges, or a telescope leaves its range, the arm stops and `fault` is the reason. */
  step() {
    if (this.fault) return;
    const { step: h, tableau, times } = this.given;
    const { y, stage, slopes } = this;
    const size = y.length;
    if (this.standing.stale) this.settle();
    this.lead();
    this.rate(y, 0, slopes[0]);
    tableau.forEach((row, s) => {
      // the state at the next stage, or at the end of the step
      for (let i = 0; i < size; i++) {
        let moved = 0;
        for (let k = 0; k <= s; k++) moved += row[k] * slopes[k][i];
        stage[i] = y[i] + h * moved;
      }
      if (s + 1 < tableau.length) this.rate(stage, times[s + 1], slopes[s + 1]);
    });
    let sum = 0;
    for (let i = 0; i < size; i++) sum += stage[i] * 0;
    const fault = sum === 0 ? this.beyond(stage) : "The motion ran away.";
    if (fault) {
      this.fault = fault; // y stays the last valid state
      return;
    }
    y.set(stage);
    this.steps++;
    if (this.steps % this.every === 0) this.watch();
  }

  /** Returns the reason why a state is not valid, or "". */
  beyond(y) {
    const { n, limits, coordinates, largest } = this.given;
    for (const [c, low, high] of limits) {
      if (!(y[c] > low && y[c] <= high)) return `${coordinates[c]} has left its range.`;
    }
    // only rates: the angle of a wheel and the position of a base are unlimited
    for (let i = this.nq; i < this.nq + n; i++) if (!(Math.abs(y[i]) < largest)) return "The motion ran away.";
    return "";
  }

  /**
   * Advances by some time, as far as a deadline allows.
   * @param {number} seconds
   * @param {function(): boolean} [late] returns true to stop earlier
   * @returns {number} advanced time [s]
   */
  advance(seconds, late = () => false) {
    const count = Math.round((seconds + (this.rest || 0)) / this.given.step);
    this.rest = seconds + (this.rest || 0) - count * this.given.step;
    let done = 0;
    while (done < count && !this.fault) {
      this.step();
      done++;
      if (done % 16 === 0 && late()) {
        this.rest = 0;
        break;
      }
    }
    return done * this.given.step;
  }

  /* -- the tip -------------------------------------------------------------------------------------------------- */

  /** Returns the position of the tip and the signed deflections of links: a `tip` (3) and perhaps a `deflection`. */
  measured() {
    this.programs.measured(this.q, this.p, this.out.measured);
    return this.out.measured;
  }

  /** Returns the distance of the tip from that of the rigid arm at the target [m]. */
  tipError() {
    const { tip } = this.measured(), { place } = this.aimed();
    return Math.hypot(tip[0] - place[0], tip[1] - place[1], tip[2] - place[2]);
  }

  /** Starts the settling time anew: a target, an arm or a controller has changed, or a push. */
  disturbed() {
    this.since = this.steps * this.given.step;
    this.outside = this.since; // last time at which the tip was farther from its target than the tolerance
  }

  /** Looks at the tip. A push is a disturbance for as long as it lasts. */
  watch() {
    if (this.force.some((x) => x !== 0)) this.disturbed();
    else if (!(this.tipError() <= this.given.tolerance)) this.outside = this.time;
  }

  /** Returns the time from the last disturbance until the tip stayed within the tolerance [s], or null before. */
  settled() {
    return this.time - this.outside >= flexarm.Live.STAYS ? this.outside - this.since : null;
  }

  /* -- energy --------------------------------------------------------------------------------------------------- */

  /** Returns kinetic and potential energy [J]. */
  energies() {
    this.programs.energy(this.q, this.qd, this.p, this.out.energy);
    return this.out.energy.E;
  }

  /** Returns the energy less the work of inputs and push, plus losses. It is constant, up to errors [J]. */
  balance() {
    const { n } = this.given;
    const [kinetic, potential] = this.energies();
    const [work, lost, pushed] = this.y.subarray(this.nq + n);
    this.moved = Math.max(this.moved || 0, kinetic, Math.abs(work), Math.abs(pushed), lost);
    return kinetic + potential - work - pushed + lost - (this.begin || 0);
  }

  /** Returns the integration's energy error [J], and its ratio to the largest energy exchanged. */
  drift() {
    const error = this.balance();
    return { error, relative: this.moved > 0 ? error / this.moved : 0 };
  }
};

/** Returns the solution of a small linear system, by elimination with pivoting, or null if there is none. */
flexarm.solved = (A, b) => {
  const rows = A.map((row, i) => [...row, b[i]]);
  const n = rows.length;
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(rows[r][c]) > Math.abs(rows[pivot][c])) pivot = r;
    if (!(Math.abs(rows[pivot][c]) > 0)) return null;
    [rows[c], rows[pivot]] = [rows[pivot], rows[c]];
    for (let r = c + 1; r < n; r++) {
      const share = rows[r][c] / rows[c][c];
      for (let k = c; k <= n; k++) rows[r][k] -= share * rows[c][k];
    }
  }
  const x = new Array(n).fill(0);
  for (let r = n - 1; r >= 0; r--) {
    let sum = rows[r][n];
    for (let k = r + 1; k < n; k++) sum -= rows[r][k] * x[k];
    x[r] = sum / rows[r][r];
  }
  return x;
};
