"use strict";

/**
 * The view of arms: camera, light, ground, gravity and labels. A frame is drawn only on request.
 * Callbacks of `onframe` that return true request the next frame.
 */
{
  const { Group, Mesh, Vector3 } = THREE;
  const FIELD = 32; // field of view, in degrees
  const SVG = "http://www.w3.org/2000/svg";
  const AXES = ["#d55e00", "#009e73", "#0072b2"];
  const EDGE = 8; // smallest distance of an arm from the compass [px]
  const LETTER = 13; // smallest distance of the compass's letters, in its units

  /** True if software draws instead of a graphics card. Edges are then smooth only when nothing moves. */
  function slow() {
    const gl = document.createElement("canvas").getContext("webgl2");
    if (!gl) return false;
    const names = gl.getExtension("WEBGL_debug_renderer_info");
    const name = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    gl.getExtension("WEBGL_lose_context")?.loseContext();
    return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
  }

  /** Returns 1, 2 or 5 times a power of ten, near x. */
  function nice(x) {
    const power = 10 ** Math.floor(Math.log10(x));
    const digit = x / power;
    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
  }

  flexarm.Scene = class Scene {
    /** @param {HTMLElement} element the element that the scene fills */
    constructor(element) {
      this.element = element;
      this.callbacks = [];
      this.arms = [];
      this.labels = [];
      this.shadows = [];
      this.pending = 0;
      this.last = null;
      this.frames = 0; // number of frames drawn so far
      this.up = new Vector3(0, 0, 1);
      this.plane = null;
      this.reach = 1;
      this.staged = false;
      this.level = 0;
      element.classList.add("scene");
      this.render = this.render.bind(this);
      this.furnish();
      this.illuminate();
      this.control();
      flexarm.themed(() => this.paint());
      new ResizeObserver(() => this.resize()).observe(element);
      this.resize();
    }

    /* -- parts of the scene */

    furnish() {
      const canvas = flexarm.element("canvas", {
        tabindex: 0,
        role: "img",
        "aria-label": "the arm; drag to turn, shift and arrows too, plus and minus to zoom, Home for all of it",
      });
      this.canvas = canvas;
      this.words = flexarm.element("div.words");
      this.unit = flexarm.element("span");
      this.squares = flexarm.element("div.corner.grid", { title: "side of a square of the grid" }, this.unit);
      this.scale = new flexarm.Scale();
      this.buttons = flexarm.element(
        "div.corner.buttons",
        {},
        flexarm.element("button", { title: "show all (Home)", "aria-label": "show all", click: () => this.home() }, "\u2302"),
        flexarm.element("button", { title: "light or dark", "aria-label": "light or dark", click: () => flexarm.turn() }, "\u25d0"),
      );
      this.element.append(
        canvas,
        this.words,
        this.compass(),
        this.squares,
        this.scale.element,
        this.buttons,
      );
      try {
        this.slow = slow();
        this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.slow, stencil: true });
      } catch (error) {
        this.words.append(flexarm.element("p", {}, "This browser does not draw in three dimensions (WebGL)."));
        throw error;
      }
      this.scene = new THREE.Scene();
      this.camera = new THREE.PerspectiveCamera(FIELD, 1, 0.01, 1000);
      this.turned = this.camera.quaternion.clone().set(0, 0, 0, 0); // orientation at which the compass was last drawn
    }

    /** Draws the directions of the axes in a corner. */
    compass() {
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("class", "corner compass");
      svg.setAttribute("viewBox", "-40 -40 80 80");
      svg.setAttribute("aria-hidden", "true");
      this.needles = AXES.map((colour, i) => {
        const line = document.createElementNS(SVG, "line");
        const text = document.createElementNS(SVG, "text");
        line.setAttribute("stroke", colour);
        text.setAttribute("fill", colour);
        text.textContent = "xyz"[i];
        svg.append(line, text);
        return { line, text, direction: new Vector3().setComponent(i, 1) };
      });
      this.rose = svg;
      return svg;
    }

    illuminate() {
      this.ground = new Group(); // its z axis is up
      this.scene.add(this.ground);
      this.shade = new THREE.MeshBasicMaterial({
        color: "#000000",
        transparent: true,
        opacity: 0.16,
        depthWrite: false,
        stencilWrite: true, // once per pixel, even if several solids lie above it
        stencilFunc: THREE.EqualStencilFunc,
        stencilRef: 0,
        stencilZPass: THREE.IncrementStencilOp,
      });
      this.flat = new Group(); // all solids again, projected onto the ground
      this.flat.matrixAutoUpdate = false;
      this.scene.add(this.flat);
    }

    control() {
      this.steer();
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      this.canvas.addEventListener("dblclick", () => this.home());
    }

    /** Lets mouse and touch turn, move and zoom the camera about the upward direction. */
    steer() {
      if (this.controls) this.controls.dispose();
      const controls = new THREE.OrbitControls(this.camera, this.canvas);
      Object.assign(controls, { enableDamping: true, dampingFactor: 0.18, zoomToCursor: true, rotateSpeed: 0.8 });
      controls.addEventListener("change", () => this.invalidate());
      this.controls = controls;
    }

    key(event) {
      const turns = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (event.shiftKey && turns[event.key]) this.orbit(...turns[event.key].map((x) => 0.12 * x));
      else if (event.key === "+" || event.key === "=") this.zoom(1 / 1.15);
      else if (event.key === "-") this.zoom(1.15);
      else if (event.key === "Home") this.home();
      else return;
      event.preventDefault();
      event.stopPropagation();
    }

    /** Sets colours by the page's style. */
    paint() {
      const style = flexarm.style;
      this.scene.background = new THREE.Color(style("--sky"));
      const dark = flexarm.theme() === "dark";
      this.shade.opacity = dark ? 0.42 : 0.16;
      flexarm.light.strengths.value.set(...(dark ? [0.55, 0.42, 0.2] : [0.62, 0.62, 0.32]));
      flexarm.light.floor.value.setStyle(dark ? "#39424d" : "#9aa3ad");
      if (this.staged) this.pave();
      this.invalidate();
    }

    /* -- objects in the scene */

    /** Adds an arm, another object with an `object`, or a three.js object. */
    add(thing) {
      const object = thing.object || thing;
      this.scene.add(object);
      if (thing.description) {
        this.arms.push(thing);
        if (!this.staged) this.stage(thing.description);
        thing.settle(this.level);
        if (!thing.ghost && !thing.description.base.free) this.flat.add(this.pressed(object)); // a free arm has none
      }
      this.invalidate();
      return thing;
    }

    /** Removes an object that `add` has added. */
    remove(thing) {
      const object = thing.object || thing;
      this.scene.remove(object);
      this.arms = this.arms.filter((arm) => arm !== thing);
      this.shadows = this.shadows.filter((shadow) => {
        if (shadow.root === object) this.flat.remove(shadow.copy);
        return shadow.root !== object;
      });
      this.invalidate();
    }

    /** Returns the same solids in one dark colour, with the geometry and positions of the originals. */
    pressed(root) {
      const copied = (object) => {
        const copy = object.isMesh ? new Mesh(object.geometry, this.shade) : new Group();
        copy.frustumCulled = false;
        copy.matrixAutoUpdate = false;
        copy.matrix = object.matrix;
        this.shadows.push({ root, object, copy });
        for (const child of object.children) if (!child.userData.pale) copy.add(copied(child));
        return copy;
      };
      return copied(root);
    }

    /** Sets the upward direction, the size and gravity from the description of an arm. */
    stage({ up, plane, reach, gravity }) {
      this.staged = true;
      this.up.set(...up).normalize();
      this.plane = plane && new Vector3(...plane);
      this.reach = reach;
      this.camera.up.copy(this.up);
      this.steer(); // the controls read the upward direction only once
      this.ground.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), this.up);
      const size = Math.hypot(...gravity);
      this.pull = size > 0 ? this.arrow(size) : null;
      this.fit([0, 0, 0, reach, reach, 0, -reach, -reach, 0].map((x) => 0.6 * x));
    }

    /** Returns the default direction towards the viewer. */
    outlook() {
      const { up, plane } = this;
      const lies = plane && Math.abs(plane.dot(up)) > 0.9;
      if (plane && lies) {
        // from above, slightly from the side at the bottom of the screen
        const low = Math.abs(up.z) > 0.9 ? new Vector3(0, -1, 0) : new Vector3(0, 0, -1).projectOnPlane(up).normalize();
        return new Vector3().addScaledVector(plane, Math.sign(plane.dot(up)) * 0.87).addScaledVector(low, 0.5).normalize();
      }
      if (plane) {
        const side = new Vector3().crossVectors(up, plane);
        return plane.clone().addScaledVector(side, 0.34).addScaledVector(up, 0.24).normalize();
      }
      const [across, back] = this.sides();
      return new Vector3().addScaledVector(across, 0.52).addScaledVector(back, -0.86).addScaledVector(up, 0.44).normalize();
    }

    /** Returns two horizontal directions: along x (or y) of the base frame, and perpendicular to it. */
    sides() {
      const across = new Vector3(1, 0, 0).projectOnPlane(this.up);
      if (across.length() < 0.1) across.set(0, 1, 0).projectOnPlane(this.up);
      across.normalize();
      return [across, new Vector3().crossVectors(this.up, across)];
    }

    /**
     * Moves camera and ground so that all points are visible, and the arm is above the ground.
     * @param {ArrayLike<number>} points x, y, z of each point in sequence
     */
    fit(points) {
      const { up, reach } = this;
      let lowest = Infinity;
      const at = new Vector3();
      for (let i = 0; i < points.length; i += 3) lowest = Math.min(lowest, at.set(points[i], points[i + 1], points[i + 2]).dot(up));
      const depth = Math.max(0.035 * reach, ...this.arms.map((arm) => arm.depth()));
      const standing = !this.arms.length || this.arms.some((arm) => !arm.description.base.free);
      this.level = standing ? Math.min(lowest - (lowest < -0.02 * reach ? 0.06 * reach : 0), 0) - depth : lowest - 0.1 * reach;
      for (const arm of this.arms) arm.settle(this.level);
      this.points = Float64Array.from(points);
      if (this.pull) this.hang();
      this.home();
      this.pave();
    }

    /** Moves the camera back to where it shows everything. */
    home() {
      const { camera, controls } = this;
      if (!this.points) return;
      const forward = this.outlook().negate();
      const right = new Vector3().crossVectors(forward, camera.up).normalize();
      const axes = [right, new Vector3().crossVectors(right, forward), forward];
      const all = [...this.points, ...this.footprint(), ...(this.pull ? this.arrowed : [])];
      const seen = []; // all points along the camera's axes
      const p = new Vector3();
      for (let i = 0; i < all.length; i += 3) {
        p.set(all[i], all[i + 1], all[i + 2]);
        seen.push(axes.map((axis) => p.dot(axis)));
      }
      const { at, distance } = this.framed(seen);
      const world = (x, y, z) => new Vector3().addScaledVector(axes[0], x).addScaledVector(axes[1], y).addScaledVector(forward, z);
      controls.enableDamping = false; // stops the rest of a rotation
      controls.update();
      controls.enableDamping = true;
      camera.position.copy(world(...at));
      controls.target.copy(world(at[0], at[1], at[2] + distance));
      camera.near = distance / 200;
      camera.far = distance * 20;
      controls.minDistance = distance / 40;
      controls.maxDistance = distance * 6;
      camera.updateProjectionMatrix();
      this.loosen();
      controls.update();
      if (this.steadied) this.steady(this.steadied);
      this.invalidate();
    }

    /**
     * Returns the camera's position along its axes, and its distance from the middle of the points [m]: the nearest one
     * that shows all of them, with a margin, and none behind the compass. If the compass is in the way, the points are
     * fitted beside it or above it, whichever shows them larger.
     * @param {number[][]} points positions along the camera's axes: right, up, forward
     */
    framed(points) {
      const [width, height] = [this.element.clientWidth || 1, this.element.clientHeight || 1];
      const margin = 0.05 * Math.min(width, height);
      const [host, rose] = [this.element, this.rose].map((element) => element.getBoundingClientRect());
      const [wide, high] = [rose.right - host.left + EDGE, host.bottom - rose.top + EDGE]; // the compass's corner
      const free = { left: margin, right: margin, top: margin, bottom: margin };
      const found = (room) => this.nearest(points, room, width, height);
      const whole = found(free);
      const hidden = points.some((p) => {
        const [x, y] = this.projected(p, whole.at, width, height);
        return x < wide && y > height - high;
      });
      if (!hidden) return whole;
      const beside = found({ ...free, left: wide });
      const above = found({ ...free, bottom: high });
      return beside.distance < above.distance ? beside : above;
    }

    /** Returns the nearest camera that shows all points within margins in pixels. */
    nearest(points, { left, right, top, bottom }, width, height) {
      const around = Math.max(0, ...this.arms.map((arm) => arm.thickness()));
      const tan = Math.tan((FIELD * Math.PI) / 360);
      const across = (tan * width) / height;
      const slopes = [
        [across * (1 - (2 * left) / width), across * (1 - (2 * right) / width)],
        [tan * (1 - (2 * bottom) / height), tan * (1 - (2 * top) / height)],
      ]; // of the planes that bound what is visible
      const bounds = slopes.map(([low, high], k) => [
        Math.max(...points.map((p) => p[k] + around - high * p[2])),
        Math.min(...points.map((p) => p[k] - around + low * p[2])),
      ]);
      const depth = Math.min(...bounds.map(([a, b], k) => (b - a) / (slopes[k][0] + slopes[k][1])));
      const middle = points.reduce((sum, p) => sum + p[2], 0) / points.length;
      const distance = Math.max(middle - depth, 0.3 * this.reach);
      const z = middle - distance;
      const at = bounds.map(([a, b], k) => (a + slopes[k][1] * z + b - slopes[k][0] * z) / 2);
      return { at: [...at, z], distance };
    }

    /** Returns the position in pixels of a point along the camera's axes, for a camera at a position. */
    projected([x, y, z], at, width, height) {
      const size = height / (2 * Math.tan((FIELD * Math.PI) / 360) * (z - at[2]));
      return [width / 2 + size * (x - at[0]), height / 2 - size * (y - at[1])];
    }

    /**
     * Keeps the camera's direction within an angle of home, so that a planar arm is never seen edge-on.
     * @param {number} most largest rotation [rad]
     */
    steady(most) {
      const { controls } = this;
      this.steadied = most;
      const [around, lift] = [controls.getAzimuthalAngle(), controls.getPolarAngle()];
      if (this.plane && Math.abs(this.plane.dot(this.up)) < 0.9) {
        controls.minAzimuthAngle = around - most;
        controls.maxAzimuthAngle = around + most;
      }
      controls.minPolarAngle = Math.max(0, lift - most);
      controls.maxPolarAngle = Math.min(Math.PI, lift + most);
    }

    /** Removes the limits of the camera's direction. */
    loosen() {
      const { controls } = this;
      [controls.minPolarAngle, controls.maxPolarAngle] = [0, Math.PI];
      [controls.minAzimuthAngle, controls.maxAzimuthAngle] = [-Infinity, Infinity];
    }

    /** Returns points around the feet of all arms. */
    footprint() {
      const points = [];
      const [across, back] = this.sides();
      for (const { description } of this.arms) {
        const { base, links } = description;
        for (const { origin, link } of base.free ? [] : base.roots) {
          const p = new Vector3(...origin);
          p.addScaledVector(this.up, this.level - p.dot(this.up));
          for (const [a, b] of [[1, 0], [0, 1], [-1, 0], [0, -1]]) {
            const size = 2.5 * links[link].joint.radius;
            points.push(...p.clone().addScaledVector(across, a * size).addScaledVector(back, b * size).toArray());
          }
        }
      }
      return points;
    }

    /** Moves the camera with its target and home, and gravity's arrow. @param {number[]} by [m] */
    carry(by) {
      const moved = new Vector3(...by);
      this.camera.position.add(moved);
      this.controls.target.add(moved);
      this.points = this.points.map((x, i) => x + by[i % 3]);
      if (this.pull) this.pull.position.add(moved);
      this.invalidate();
    }

    /** Turns the camera about its target to the right and upwards [rad]. */
    orbit(right, up) {
      const offset = this.camera.position.clone().sub(this.controls.target);
      const across = new Vector3().crossVectors(this.camera.up, offset).normalize();
      const lift = offset.angleTo(this.camera.up);
      offset.applyAxisAngle(across, -Math.max(Math.min(up, lift - 0.01), lift - Math.PI + 0.01));
      offset.applyAxisAngle(this.camera.up, right);
      this.camera.position.copy(this.controls.target).add(offset);
      this.invalidate();
    }

    /** Moves the camera away from its target by a factor. */
    zoom(factor) {
      const offset = this.camera.position.clone().sub(this.controls.target).multiplyScalar(factor);
      this.camera.position.copy(this.controls.target).add(offset);
      this.invalidate();
    }

    /* -- ground and gravity */

    /** Draws the ground: a pale disc and a grid of round numbers of metres, both fading outwards. */
    pave() {
      const { ground, reach } = this;
      for (const child of [...ground.children]) {
        ground.remove(child);
        child.geometry.dispose();
        child.material.dispose();
      }
      const radius = 2.1 * reach;
      const side = nice(reach / 6);
      ground.position.copy(this.up).multiplyScalar(this.level);
      ground.add(this.grid(radius, side));
      this.unit.textContent = `grid ${flexarm.number(side, "m")}`;
    }

    grid(radius, side) {
      const colour = new THREE.Color(flexarm.style("--grid"));
      const [xyz, colours] = [[], []];
      const lines = Math.floor(radius / side);
      const pieces = 6;
      const point = (x, y, strong) => {
        xyz.push(x, y, 0);
        const fade = Math.max(0, 1 - Math.hypot(x, y) / radius);
        colours.push(colour.r, colour.g, colour.b, (strong ? 0.7 : 0.36) * fade ** 1.5);
      };
      for (let i = -lines; i <= lines; i++) {
        const at = i * side;
        const half = Math.sqrt(Math.max(radius * radius - at * at, 0));
        for (let k = 0; k < pieces; k++) {
          const [a, b] = [(2 * k) / pieces - 1, (2 * (k + 1)) / pieces - 1];
          point(at, a * half, i % 5 === 0);
          point(at, b * half, i % 5 === 0);
          point(a * half, at, i % 5 === 0);
          point(b * half, at, i % 5 === 0);
        }
      }
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(xyz), 3));
      geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(colours), 4));
      return new THREE.LineSegments(
        geometry,
        new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }),
      );
    }

    /** Draws an arrow in the direction of gravity, with its size. */
    arrow(size) {
      const group = new Group();
      const material = flexarm.surface({ rough: 0.5 });
      flexarm.themed(() => material.color.setStyle(flexarm.style("--gravity")));
      const length = 0.16 * this.reach;
      const shaft = new Mesh(new THREE.CylinderGeometry(0.035 * length, 0.035 * length, 0.75 * length, 14), material);
      const head = new Mesh(new THREE.CylinderGeometry(0, 0.11 * length, 0.28 * length, 20), material);
      shaft.geometry.rotateX(Math.PI / 2).translate(0, 0, -0.375 * length);
      head.geometry.rotateX(-Math.PI / 2).translate(0, 0, -0.86 * length);
      group.add(shaft, head);
      group.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), this.up);
      this.scene.add(group);
      this.label(`g  ${flexarm.number(size, "m/s\u00b2")}`, () => group.position, "gravity");
      return group;
    }

    /** Places gravity's arrow to the left of everything. */
    hang() {
      const right = new Vector3().crossVectors(this.outlook().negate(), this.camera.up).normalize();
      let [left, high] = [Infinity, -Infinity];
      const p = new Vector3();
      const all = [...this.points, ...this.footprint()];
      for (let i = 0; i < all.length; i += 3) {
        p.set(all[i], all[i + 1], all[i + 2]);
        left = Math.min(left, p.dot(right));
        high = Math.max(high, p.dot(this.up));
      }
      left = Math.max(left, -this.reach) - 0.14 * this.reach;
      this.pull.position.copy(right).multiplyScalar(left).addScaledVector(this.up, Math.max(0.62 * high, this.level + 0.25 * this.reach));
    }

    /** Returns points around gravity's arrow and its label. */
    get arrowed() {
      const { position } = this.pull, [up, down] = [0.06, -0.16].map((x) => position.clone().addScaledVector(this.up, x * this.reach));
      return [...up.toArray(), ...down.toArray()];
    }

    /* -- labels */

    /**
     * Adds a label that follows a position in the scene.
     * @param {string} text
     * @param {function(): (Vector3|number[])} where
     * @returns {{element: HTMLElement, show: function(boolean), say: function(string)}}
     */
    label(text, where, kind = "") {
      const element = flexarm.element(kind ? `div.word.${kind}` : "div.word", {}, text);
      this.words.append(element);
      const label = {
        element,
        where,
        visible: true,
        place: "",
        beside: kind === "gravity" ? "translate(-50%, -130%)" : "translate(8px, -120%)",
        show: (visible) => {
          label.visible = visible;
          element.hidden = !visible;
          this.invalidate();
        },
        say: (other) => {
          element.textContent = other;
        },
      };
      this.labels.push(label);
      return label;
    }

    /** Places labels and compass at their positions on the screen. */
    spell() {
      const [width, height] = [this.element.clientWidth, this.element.clientHeight];
      const p = new Vector3();
      for (const label of this.labels) {
        const { element, where, visible } = label;
        if (!visible) continue;
        const at = where();
        if (at.isVector3) p.copy(at);
        else p.set(at[0], at[1], at[2]);
        p.project(this.camera);
        const [x, y] = [Math.min(Math.max(((p.x + 1) / 2) * width, 44), width - 44), ((1 - p.y) / 2) * height];
        const place = p.z < 1 ? `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)` : "translate(-9999px)";
        if (place === label.place) continue;
        label.place = place;
        element.style.transform = `${place} ${label.beside}`;
      }
      if (this.turned.equals(this.camera.quaternion)) return;
      this.turned.copy(this.camera.quaternion);
      this.point();
    }

    /** Turns the compass. A letter that would lie on another one goes to the side of its axis. */
    point() {
      const inverse = this.camera.quaternion.clone().invert();
      const ends = this.needles.map(({ direction }) => direction.clone().applyQuaternion(inverse)).map(({ x, y }) => [26 * x, -26 * y]);
      const taken = [];
      const longest = [0, 1, 2].sort((i, k) => Math.hypot(...ends[k]) - Math.hypot(...ends[i]));
      for (const i of longest) {
        const { line, text } = this.needles[i], [x, y] = ends[i];
        const size = Math.hypot(x, y);
        const [c, s] = size > 1 ? [x / size, y / size] : [-Math.SQRT1_2, Math.SQRT1_2];
        const places = [[c, s], [s, -c], [-s, c], [-c, -s]].map(([a, b]) => [x + 9 * a, y + 9 * b]);
        const room = (place) => Math.min(...taken.map((other) => Math.hypot(place[0] - other[0], place[1] - other[1])), LETTER);
        const best = places.reduce((a, b) => (room(b) > room(a) ? b : a));
        taken.push(best);
        line.setAttribute("x2", x.toFixed(1));
        line.setAttribute("y2", y.toFixed(1));
        text.setAttribute("x", best[0].toFixed(1));
        text.setAttribute("y", best[1].toFixed(1));
      }
    }

    /* -- frames */

    /** Adds a callback before every frame, with the seconds since the last. Returning true requests another frame. */
    onframe(callback) {
      this.callbacks.push(callback);
      this.invalidate();
    }

    /** Requests a new frame. */
    invalidate() {
      if (!this.pending) this.pending = requestAnimationFrame(this.render);
    }

    render(now) {
      this.pending = 0;
      const dt = this.last === null ? 0 : Math.min((now - this.last) / 1000, 0.1);
      let more = false;
      for (const callback of this.callbacks) more = callback(dt) === true || more;
      this.controls.update(); // requests a frame while the camera still moves
      this.sharpen(1);
      this.draw();
      this.frames++;
      this.last = more ? now : null;
      if (more) this.invalidate();
      else if (this.slow) this.resting = setTimeout(() => this.still(), 150);
    }

    draw() {
      this.light();
      this.renderer.render(this.scene, this.camera);
      this.spell();
    }

    /** Draws one picture with smooth edges, after moving pictures without. */
    still() {
      if (this.pending) return;
      this.sharpen(2);
      this.draw();
    }

    /** Sets the number of pixels of the picture per pixel of the page. */
    sharpen(times) {
      clearTimeout(this.resting);
      const wanted = Math.min(this.slow ? times : devicePixelRatio, 2);
      if (this.renderer.getPixelRatio() !== wanted) this.renderer.setPixelRatio(wanted);
    }

    /** Sets the light from above the left shoulder of the viewer. Shadows fall from almost straight above. */
    light() {
      const { up, camera, controls } = this;
      const right = new Vector3().setFromMatrixColumn(camera.matrixWorld, 0);
      const eye = camera.position.clone().sub(controls.target).normalize();
      flexarm.light.sun.value.copy(up).multiplyScalar(2).addScaledVector(right, -0.9).addScaledVector(eye, 0.8).normalize();
      flexarm.light.above.value.copy(up);
      const [across, back] = this.sides();
      const down = new Vector3().copy(up).negate().addScaledVector(across, 0.22).addScaledVector(back, 0.16);
      const n = up;
      const d = down.dot(n);
      const level = this.level + 0.0015 * this.reach;
      // x -> x - down (n . x - level) / d
      const m = this.flat.matrix.elements;
      for (let r = 0; r < 3; r++) {
        for (let c = 0; c < 3; c++) m[4 * c + r] = Number(r === c) - (down.getComponent(r) * n.getComponent(c)) / d;
        m[12 + r] = (down.getComponent(r) * level) / d;
      }
      this.flat.matrixWorldNeedsUpdate = true;
      for (const { object, copy } of this.shadows) copy.visible = object.visible;
      const below = camera.position.dot(up) < this.level;
      this.ground.visible = !below;
      this.flat.visible = !below;
    }

    resize() {
      const [width, height] = [this.element.clientWidth || 1, this.element.clientHeight || 1];
      this.sharpen(1);
      this.renderer.setSize(width, height, false);
      const wide = width / height;
      if (Math.abs(this.camera.aspect - wide) > 0.2 && this.points) {
        this.camera.aspect = wide;
        this.home();
      }
      this.camera.aspect = wide;
      this.camera.updateProjectionMatrix();
      this.invalidate();
    }

    /* -- pointer */

    /** Returns the ray under a pointer event. @returns {THREE.Ray} */
    pick(event) {
      const box = this.canvas.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * 2 - 1;
      const y = 1 - ((event.clientY - box.top) / box.height) * 2;
      const caster = new THREE.Raycaster();
      caster.setFromCamera(new THREE.Vector2(x, y), this.camera);
      return caster.ray;
    }

    /** Returns the position of a point in pixels of the page. @param {number[]} point @returns {number[]} */
    seen(point) {
      const box = this.canvas.getBoundingClientRect();
      const p = new Vector3(...point).project(this.camera);
      return [box.left + ((p.x + 1) / 2) * box.width, box.top + ((1 - p.y) / 2) * box.height];
    }
  };
}
