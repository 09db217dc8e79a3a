"use strict";

/**
 * Solids of an arm: links swept along their sections, joints, payload and base.
 * Sizes are from `solids(model)` in Python, and positions from the program `drawing`. Nothing is computed twice.
 */
{
  const STATIONS = 21; // number of sections of a link, at equal distances
  const NOWHERE = new THREE.Vector3();
  const HUB = 0.3; // length of a telescope's hub, as a share of its beam
  const CLEAR = 0.6; // opacity of a base whose inside is visible
  const SECTION = 9; // size of a section: position, y axis, two moments, deflection
  const { Group, Mesh, Object3D } = THREE;

  /* -- colours: of materials, and of a scale -------------------------------------------------------------------- */

  /** Viridis (van der Walt & Smith): equal steps look equal, also in grey and to colour-blind readers. */
  const VIRIDIS = [
    "#440154", "#481a6c", "#472f7d", "#414487", "#39568c", "#31688e", "#2a788e", "#23888e", "#1f988b", "#22a884",
    "#35b779", "#54c568", "#7ad151", "#a5db36", "#d2e21b", "#fde725",
  ];
  const SHADES = 256;
  const scale = new Float32Array(3 * SHADES); // linear, as vertices require

  /** Colours of the scale on this page. A dark page leaves out two that would be invisible. */
  function ramp() {
    return flexarm.theme() === "dark" ? VIRIDIS.slice(2) : VIRIDIS;
  }

  /** Calls a function at each change of the scale's colours. */
  function scaled(callback) {
    flexarm.themed(() => {
      const colours = ramp();
      const [low, high] = [new THREE.Color(), new THREE.Color()];
      for (let k = 0; k < SHADES; k++) {
        const x = (k / (SHADES - 1)) * (colours.length - 1);
        const i = Math.min(Math.floor(x), colours.length - 2);
        low.setStyle(colours[i]).lerp(high.setStyle(colours[i + 1]), x - i);
        low.toArray(scale, 3 * k);
      }
      callback();
    });
  }

  /** Quantities that colours can show: name, unit, and index of the value in a section. */
  flexarm.quantities = {
    moment: { title: "bending moment", unit: "N m" },
    deflection: { title: "deflection", unit: "m" },
  };

  function value(stations, at, mode) {
    return mode === "moment" ? Math.hypot(stations[at + 6], stations[at + 7]) : stations[at + 8];
  }

  /**
   * The light of all scenes: a sun, a sky above and a floor below, and studio lamps that reflect in lacquer and metal.
   * Our own shader computes it in a third of the time of three.js's physical material with software rendering.
   */
  flexarm.light = {
    above: { value: new THREE.Vector3(0, 0, 1) },
    sun: { value: new THREE.Vector3(0, 0, 1) }, // direction towards the sun
    strengths: { value: new THREE.Vector3(1, 1, 1) }, // of sun, sky and lamps
    floor: { value: new THREE.Color("#a3a9b1") },
  };

  const VERTEX = `
    #include <common>
    #include <color_pars_vertex>
    varying vec3 facing;
    varying vec3 sight;
    void main() {
      #include <color_vertex>
      vec4 place = modelMatrix * vec4(position, 1.0);
      facing = mat3(modelMatrix) * normal;
      sight = place.xyz - cameraPosition;
      gl_Position = projectionMatrix * viewMatrix * place;
    }
  `;
  const FRAGMENT = `
    #include <common>
    #include <color_pars_fragment>
    uniform vec3 tone;
    uniform float opacity;
    uniform float rough;
    uniform float metal;
    uniform vec3 above;
    uniform vec3 sun;
    uniform vec3 strengths;
    uniform vec3 floor_;
    varying vec3 facing;
    varying vec3 sight;
    void main() {
      vec4 diffuseColor = vec4(tone, opacity);
      #include <color_fragment>
      vec3 n = normalize(facing);
      vec3 v = normalize(sight);
      vec3 r = reflect(v, n);
      float upward = dot(n, above);
      float facingSun = max(dot(n, sun), 0.0);
      vec3 light = strengths.x * facingSun * vec3(1.0, 0.985, 0.95) + strengths.y * mix(floor_, vec3(1.0), 0.5 + 0.5 * upward);
      float soft = 0.06 + 0.6 * rough;
      float high = dot(r, above);
      float lamps = 0.25 + 0.35 * high + 1.7 * smoothstep(0.62 - soft, 0.62 + soft, high);
      lamps += (1.0 - rough) * 2.2 * strengths.x * pow(max(dot(r, sun), 0.0), 6.0 + 60.0 * (1.0 - rough));
      float grazing = 1.0 + dot(v, n); // Schlick's term, less steep
      float fresnel = 0.045 + 0.5 * (1.0 - rough) * grazing * grazing * grazing * grazing;
      vec3 mirrored = mix(vec3(fresnel), diffuseColor.rgb, metal);
      vec3 seen = diffuseColor.rgb * light * (1.0 - 0.65 * metal) + strengths.z * lamps * mirrored;
      gl_FragColor = vec4(seen, diffuseColor.a);
      #include <colorspace_fragment>
    }
  `;

  /**
   * Creates a material like lacquer (metal 0) or metal (1). Its `color` is set later.
   * @param {{rough: number, metal: number, opacity: number, vertexColors: boolean, behind: boolean}} given `behind`
   *   hides it where another solid is at the same place
   */
  function surface({ rough = 0.45, metal = 0, opacity = 1, vertexColors = false, behind = false }) {
    const color = new THREE.Color();
    const material = new THREE.ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      vertexColors,
      transparent: opacity < 1,
      polygonOffset: behind,
      polygonOffsetFactor: 2,
      polygonOffsetUnits: 4,
      uniforms: {
        tone: { value: color },
        opacity: { value: opacity },
        rough: { value: rough },
        metal: { value: metal },
        above: flexarm.light.above,
        sun: flexarm.light.sun,
        strengths: flexarm.light.strengths,
        floor_: flexarm.light.floor,
      },
    });
    material.color = color;
    return material;
  }
  flexarm.surface = surface;

  /** Sets the colours common to all arms by the page's style. */
  function shades() {
    const dark = flexarm.theme() === "dark";
    const found = { metal: dark ? "#c3ccd6" : "#b9c2cb", dark: dark ? "#11161b" : "#28313a", white: "#ffffff" };
    for (const name of ["rigid", "housing", "bus", "spring", "load"]) found[name] = flexarm.style(`--${name}`);
    return Object.fromEntries(Object.entries(found).map(([name, css]) => [name, new THREE.Color(css)]));
  }

  /**
   * Joins solids that move together into one mesh. Each part has its shade in its vertices.
   * @param {Array} parts list of [geometry, shade, object with the part's position]
   */
  function joined(parts, material) {
    const [xyz, normals, index, ranges] = [[], [], [], []];
    const p = new THREE.Vector3();
    for (const [geometry, shade, object] of parts) {
      if (object) object.updateMatrix();
      const { position, normal } = geometry.attributes;
      const first = xyz.length / 3;
      for (let i = 0; i < position.count; i++) {
        p.fromBufferAttribute(position, i);
        xyz.push(...(object ? p.applyMatrix4(object.matrix) : p).toArray());
        p.fromBufferAttribute(normal, i);
        normals.push(...(object ? p.transformDirection(object.matrix) : p).toArray());
      }
      for (let i = 0; i < geometry.index.count; i++) index.push(first + geometry.index.getX(i));
      ranges.push([shade, first, first + position.count]);
    }
    const mesh = new Mesh(solid(xyz, normals, index), material);
    mesh.frustumCulled = false;
    mesh.userData.ranges = ranges;
    return mesh;
  }

  /** Sets the colours of the parts of a joined mesh. */
  function shade(mesh, colours) {
    const { color } = mesh.geometry.attributes;
    for (const [name, from, to] of mesh.userData.ranges) {
      for (let i = from; i < to; i++) colours[name].toArray(color.array, 3 * i);
    }
    color.needsUpdate = true;
  }

  /* -- profiles ------------------------------------------------------------------------------------------------ */

  /** Returns points (y, z) and normals once around a section's edge. A box has round edges. */
  function profile(round, [width, height], sides, corner = 0.16) {
    const points = [];
    if (round) {
      for (let k = 0; k < sides; k++) {
        const [c, s] = [Math.cos((2 * Math.PI * k) / sides), Math.sin((2 * Math.PI * k) / sides)];
        points.push([(c * width) / 2, (s * height) / 2, c, s]);
      }
      return points;
    }
    const r = corner * Math.min(width, height);
    for (let n = 0; n < 4; n++) {
      const y = (n === 0 || n === 3 ? 1 : -1) * (width / 2 - r);
      const z = (n < 2 ? 1 : -1) * (height / 2 - r);
      for (let k = 0; k < 3; k++) {
        const angle = (n + k / 2) * (Math.PI / 2);
        const [c, s] = [Math.cos(angle), Math.sin(angle)];
        points.push([y + r * c, z + r * s, c, s]);
      }
    }
    return points;
  }

  /**
   * A solid swept along sections, whose buffers are updated in place.
   * The rings come first, then the rims and middles of both ends.
   */
  class Sweep {
    constructor(link, rings, material, sides = 18) {
      const [base, tip] = [link.base, link.tip].map((size) => profile(link.round, size, sides, link.corner));
      this.rings = rings;
      this.sides = base.length;
      this.edge = new Float32Array(5 * this.sides); // y, z and normal at the base, slope of the taper
      this.taper = new Float32Array(2 * this.sides); // y and z at the tip, minus those at the base
      base.forEach(([y, z, ny, nz], k) => {
        const [dy, dz] = [tip[k][0] - y, tip[k][1] - z];
        this.edge.set([y, z, ny, nz, link.length > 0 ? (dy * ny + dz * nz) / link.length : 0], 5 * k);
        this.taper.set([dy, dz], 2 * k);
      });
      this.count = (rings + 2) * this.sides + 2;
      this.geometry = new THREE.BufferGeometry();
      for (const name of ["position", "normal", "color"]) {
        const attribute = new THREE.BufferAttribute(new Float32Array(3 * this.count), 3);
        this.geometry.setAttribute(name, attribute.setUsage(THREE.DynamicDrawUsage));
        this[name] = attribute;
      }
      this.color.array.fill(1);
      this.geometry.setIndex(this.faces());
      this.mesh = new Mesh(this.geometry, material);
      this.mesh.frustumCulled = false;
    }

    faces() {
      const { rings, sides } = this;
      const index = [];
      for (let j = 0; j + 1 < rings; j++) {
        for (let k = 0; k < sides; k++) {
          const [a, b] = [j * sides + k, j * sides + ((k + 1) % sides)];
          index.push(a, b, a + sides, b, b + sides, a + sides);
        }
      }
      for (const end of [0, 1]) {
        const [rim, middle] = [(rings + end) * sides, (rings + 2) * sides + end];
        for (let k = 0; k < sides; k++) {
          const [a, b] = [rim + k, rim + ((k + 1) % sides)];
          if (end) index.push(middle, a, b);
          else index.push(middle, b, a);
        }
      }
      return index;
    }

    /** Places every ring at the link's sections. `from` is their beginning in `stations`. */
    update(stations, from) {
      const { rings, sides, edge, taper } = this;
      const [xyz, normals] = [this.position.array, this.normal.array];
      const last = rings - 1;
      for (let j = 0; j < rings; j++) {
        const at = from + SECTION * j;
        const [a, b] = [at - (j > 0 ? SECTION : 0), at + (j < last ? SECTION : 0)];
        // tangent: central differences; at the ends those of the parabola through three sections
        let tx = stations[b] - stations[a];
        let ty = stations[b + 1] - stations[a + 1];
        let tz = stations[b + 2] - stations[a + 2];
        if (j === 0 || j === last) {
          const sign = j === 0 ? 1 : -1;
          const [near, far] = [at + sign * SECTION, at + 2 * sign * SECTION];
          tx = sign * (4 * stations[near] - 3 * stations[at] - stations[far]);
          ty = sign * (4 * stations[near + 1] - 3 * stations[at + 1] - stations[far + 1]);
          tz = sign * (4 * stations[near + 2] - 3 * stations[at + 2] - stations[far + 2]);
        }
        let size = Math.hypot(tx, ty, tz) || 1;
        tx /= size;
        ty /= size;
        tz /= size;
        // third axis perpendicular to tangent and y axis, then y perpendicular to both
        let yx = stations[at + 3];
        let yy = stations[at + 4];
        let yz = stations[at + 5];
        let zx = ty * yz - tz * yy;
        let zy = tz * yx - tx * yz;
        let zz = tx * yy - ty * yx;
        size = Math.hypot(zx, zy, zz) || 1;
        zx /= size;
        zy /= size;
        zz /= size;
        yx = zy * tz - zz * ty;
        yy = zz * tx - zx * tz;
        yz = zx * ty - zy * tx;
        const u = j / last;
        for (let k = 0; k < sides; k++) {
          const e = 5 * k;
          const y = edge[e] + u * taper[2 * k];
          const z = edge[e + 1] + u * taper[2 * k + 1];
          const [ny, nz, slope] = [edge[e + 2], edge[e + 3], edge[e + 4]];
          const v = 3 * (j * sides + k);
          xyz[v] = stations[at] + y * yx + z * zx;
          xyz[v + 1] = stations[at + 1] + y * yy + z * zy;
          xyz[v + 2] = stations[at + 2] + y * yz + z * zz;
          const steep = 1 / Math.sqrt(1 + slope * slope);
          normals[v] = (ny * yx + nz * zx - slope * tx) * steep;
          normals[v + 1] = (ny * yy + nz * zy - slope * ty) * steep;
          normals[v + 2] = (ny * yz + nz * zz - slope * tz) * steep;
          if (j === 0 || j === last) {
            const w = v + 3 * sides * (j === 0 ? rings : 2); // the rim: the same position with another normal
            const sign = j === 0 ? -1 : 1;
            xyz[w] = xyz[v];
            xyz[w + 1] = xyz[v + 1];
            xyz[w + 2] = xyz[v + 2];
            normals[w] = sign * tx;
            normals[w + 1] = sign * ty;
            normals[w + 2] = sign * tz;
          }
        }
        if (j === 0 || j === last) {
          const w = 3 * ((rings + 2) * sides + (j === 0 ? 0 : 1));
          const sign = j === 0 ? -1 : 1;
          xyz[w] = stations[at];
          xyz[w + 1] = stations[at + 1];
          xyz[w + 2] = stations[at + 2];
          normals[w] = sign * tx;
          normals[w + 1] = sign * ty;
          normals[w + 2] = sign * tz;
        }
      }
      this.position.needsUpdate = true;
      this.normal.needsUpdate = true;
    }

    /** Sets the colour of ring j and its end: three numbers of `from` at `i`. */
    paint(j, from, i) {
      const { rings, sides } = this;
      const colours = this.color.array;
      const [r, g, b] = [from[i], from[i + 1], from[i + 2]];
      for (let v = 3 * j * sides; v < 3 * (j + 1) * sides; v += 3) {
        colours[v] = r;
        colours[v + 1] = g;
        colours[v + 2] = b;
      }
      if (j === 0 || j === rings - 1) {
        const end = j === 0 ? 0 : 1;
        const rim = 3 * (rings + end) * sides;
        for (let v = rim; v < rim + 3 * sides; v += 3) {
          colours[v] = r;
          colours[v + 1] = g;
          colours[v + 2] = b;
        }
        const middle = 3 * ((rings + 2) * sides + end);
        colours[middle] = r;
        colours[middle + 1] = g;
        colours[middle + 2] = b;
      }
      this.color.needsUpdate = true;
    }
  }

  /* -- parts of joints ----------------------------------------------------------------------------------------- */

  /** Returns a cylinder about z with bevelled rims, from -half to half: flat ends, sharp edges. */
  function drum(radius, half, sides = 24) {
    const bevel = 0.14 * Math.min(radius, half);
    const d = Math.SQRT1_2;
    const rings = [
      [radius - bevel, -half, 0, -1], // radius, z, and the share of each in the normal
      [radius - bevel, -half, d, -d],
      [radius, bevel - half, d, -d],
      [radius, bevel - half, 1, 0],
      [radius, half - bevel, 1, 0],
      [radius, half - bevel, d, d],
      [radius - bevel, half, d, d],
      [radius - bevel, half, 0, 1],
    ];
    const [xyz, normals, index] = [[], [], []];
    for (const [r, z, across, along] of rings) {
      for (let k = 0; k < sides; k++) {
        const [c, s] = [Math.cos((2 * Math.PI * k) / sides), Math.sin((2 * Math.PI * k) / sides)];
        xyz.push(r * c, r * s, z);
        normals.push(across * c, across * s, along);
      }
    }
    for (let k = 0; k < sides; k++) {
      const next = (k + 1) % sides;
      for (const j of [1, 3, 5]) {
        const [a, b] = [j * sides + k, j * sides + next];
        index.push(a, b, a + sides, b, b + sides, a + sides);
      }
      if (k > 0 && k + 1 < sides) index.push(0, next, k, 7 * sides, 7 * sides + k, 7 * sides + next);
    }
    return solid(xyz, normals, index);
  }

  function solid(xyz, normals, index) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(xyz), 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(new Float32Array(normals), 3));
    geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(xyz.length).fill(1), 3));
    geometry.setIndex(index);
    return geometry;
  }

  /** Returns a tube about the points (x, y, z) of a curve. */
  function wire(points, radius, sides = 7) {
    const stations = new Float64Array(SECTION * points.length);
    points.forEach(([x, y, z, yx, yy, yz], j) => stations.set([x, y, z, yx, yy, yz, 0, 0, 0], SECTION * j));
    const link = { round: true, base: [2 * radius, 2 * radius], tip: [2 * radius, 2 * radius], length: 1 };
    const sweep = new Sweep(link, points.length, null, sides);
    sweep.update(stations, 0);
    return sweep.geometry;
  }

  /** Returns the spring of an elastic joint: a coil about z. */
  function coil(radius, half) {
    const [turns, steps] = [3.5, 16];
    const points = [];
    for (let k = 0; k <= turns * steps; k++) {
      const angle = (2 * Math.PI * k) / steps;
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      points.push([radius * c, radius * s, half * ((2 * k) / (turns * steps) - 1), c, s, 0]);
    }
    return wire(points, 0.11 * radius);
  }

  /** Returns a straight solid along x from `from` to `to`, with the section at a link's base times a factor. */
  function bar(link, from, to, larger) {
    const size = link.base.map((x) => x * larger);
    const sweep = new Sweep({ ...link, base: size, tip: size, length: to - from }, 3, null);
    const stations = new Float64Array(3 * SECTION);
    for (let j = 0; j < 3; j++) stations.set([from + ((to - from) * j) / 2, 0, 0, 0, 1, 0, 0, 0, 0], SECTION * j);
    sweep.update(stations, 0);
    return sweep.geometry;
  }

  /** Turns an object's z axis to a direction. */
  function along(object, axis) {
    object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...axis).normalize());
    return object;
  }

  const AXES = ["#d55e00", "#009e73", "#0072b2"]; // x, y, z

  /** Returns three arrows along the axes of a frame. */
  function triad(size) {
    const group = new Group();
    group.userData.pale = true; // no shadow
    AXES.forEach((colour, i) => {
      const axis = new Group();
      const material = surface({ rough: 0.5 });
      material.color.setStyle(colour);
      const shaft = new Mesh(new THREE.CylinderGeometry(0.03 * size, 0.03 * size, size, 10), material);
      const head = new Mesh(new THREE.CylinderGeometry(0, 0.08 * size, 0.2 * size, 14), material);
      shaft.geometry.rotateX(Math.PI / 2).translate(0, 0, size / 2);
      head.geometry.rotateX(Math.PI / 2).translate(0, 0, 1.08 * size);
      axis.add(shaft, head);
      group.add(along(axis, [0, 1, 2].map((k) => Number(k === i))));
    });
    return group;
  }

  /* -- the arm ------------------------------------------------------------------------------------------------- */

  /**
   * An arm in a scene.
   *
   *     const arm = new flexarm.Arm(description, (q, s, out) => drawing(q, s, out));
   *     scene.add(arm);
   *     arm.update(q, 1); // true deflections; 10: ten times as large; 0: rigid
   */
  flexarm.Arm = class Arm {
    /**
     * @param {object} description result of `solids(model)` in Python
     * @param {function} evaluate the program `drawing` with its parameters: evaluate(q, [s], out)
     * @param {object} [options]
     * @param {number|string} [options.color] colour of its links: an index in `flexarm.colours`, or a CSS colour
     * @param {boolean} [options.ghost] true for a pale arm without shadow and base
     * @param {number} [options.pattern] number of rings on its links, which identify arms without colour: 0, 1, 2, ...
     * @param {boolean} [options.base] true to draw its base
     */
    constructor(description, evaluate, { color = 0, ghost = false, pattern = 0, base = !ghost } = {}) {
      this.description = description;
      this.evaluate = evaluate;
      this.ghost = ghost;
      this.pattern = pattern;
      this.color = color;
      const count = description.links.length;
      this.out = {
        stations: new Float64Array(count * STATIONS * SECTION),
        frames: new Float64Array((count + 1) * 12),
      };
      this.out.frames_ = this.out.frames; // name in the program, because a window has its own `frames`
      this.s = new Float64Array(1);
      this.object = new Group();
      this.object.matrixAutoUpdate = false;
      this.mode = "plain";
      this.range = [0, 1];
      this.triads = [];
      this.dress();
      this.links = description.links.map((link) => (link.length > 0 ? this.sweep(link) : null));
      this.mounts = description.links.map((link, i) => this.mount(link, i));
      // struts to links that are apart from their carrier; the last is at the arm's tip (-1)
      const apart = description.links.map((_, i) => i).filter((i) => description.links[i].parent >= 0 || description.base.box);
      this.ends = [...apart, -1];
      this.struts = this.ends.map((i) => this.strut(i));
      this.from = new Float64Array(3);
      this.end = this.hand();
      this.loads = description.links.map((link) => (link.payload ? this.load(link.payload.radius) : null));
      this.ground = new Float64Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]); // frame of the base, rows R | p
      this.bus = description.base.box ? this.body() : null;
      this.foot = base && !description.base.free ? this.stand() : null;
      this.stripes();
      scaled(() => this.tint());
    }

    /** Creates its materials: its colour for flexible links, a tint of it for rigid ones, and common ones for the rest.
    */
    dress() {
      const common = { opacity: this.ghost ? 0.26 : 1, vertexColors: true, behind: this.ghost };
      this.material = surface({ ...common, rough: 0.4 });
      this.rigid = surface({ ...common, rough: 0.5, metal: 0.1 });
      this.hard = surface({ ...common, rough: 0.42, metal: 0.3 });
      const clear = this.description.base.open && !this.ghost;
      this.shell = surface({ ...common, rough: 0.5, metal: 0.15, ...(clear ? { opacity: CLEAR } : {}) });
      this.share = this.ghost || !this.description.links.some((link) => link.flexible) ? 1 : 0.22;
      this.joined = [];
    }

    /** Sets colours by the page's style, and its own. */
    tint() {
      const css = typeof this.color === "number" ? flexarm.colour(this.color) : this.color;
      const own = new THREE.Color(css);
      const colours = shades();
      this.rigid.color.copy(colours.rigid).lerp(own, this.share);
      if (this.mode === "plain") this.material.color.copy(own);
      else this.material.color.setRGB(1, 1, 1);
      this.hard.color.copy(this.ghost ? own : colours.white);
      this.shell.color.copy(this.hard.color);
      if (this.ghost) for (const name of Object.keys(colours)) colours[name] = colours.white;
      for (const mesh of this.joined) shade(mesh, colours);
      if (this.mode !== "plain") this.paint();
    }

    /** Adds parts that move together, each [geometry, shade, its position], in a common material or another. */
    parts(parts, material = this.hard) {
      const mesh = joined(parts, material);
      this.joined.push(mesh);
      return mesh;
    }

    sweep(link) {
      const material = link.flexible ? this.material : this.rigid;
      const sweep = new Sweep(link, STATIONS, material);
      sweep.flexible = link.flexible;
      this.object.add(sweep.mesh);
      return sweep;
    }

    /** Adds the parts on a link's base frame: its joint, a hub, the part of a beam inside a telescope's hub. */
    mount(link) {
      const group = new Group();
      group.matrixAutoUpdate = false;
      const { kind, axis, radius, half, elastic } = link.joint;
      const turned = along(new Object3D(), axis);
      if (link.box) group.add(this.parts([cuboid(link.box, "white")], this.rigid));
      if (link.wheel) {
        group.add(this.rotor(link.wheel, axis));
      } else if (kind === "revolute") {
        const parts = [
          [drum(radius, half), "housing", turned],
          [drum(0.62 * radius, 1.1 * half, 20), "metal", turned],
          [drum(0.2 * radius, 1.28 * half, 10), "dark", turned],
        ];
        if (elastic) parts.push([coil(1.12 * radius, 0.78 * half), "spring", turned]);
        group.add(this.parts(parts));
      } else if (kind === "prismatic") {
        const parts = [[drum(radius, 1.5 * half), "housing", turned]];
        if (elastic) parts.push([coil(1.15 * radius, 1.1 * half), "spring", turned]);
        const sleeve = this.parts(parts);
        const rod = along(this.parts([[drum(0.5 * radius, 0.5, 20), "metal", null]]), axis);
        group.add(sleeve, rod, this.parts([[drum(0.85 * radius, 0.35 * half), "housing", turned]]));
        group.userData = { rod, sleeve, axis };
      } else if (kind === "telescope") {
        const hub = HUB * link.length;
        const larger = 1.45;
        const parts = [
          [bar(link, -hub, 0, larger), "housing", null],
          [bar(link, -0.05 * hub, 0.012 * hub, 1.12 * larger), "metal", null],
          [bar(link, -1.01 * hub, -0.95 * hub, 1.12 * larger), "metal", null],
        ];
        if (elastic) {
          const lying = along(new Object3D(), [1, 0, 0]);
          lying.position.x = -hub / 2;
          parts.push([coil(0.6 * larger * Math.max(...link.base), 0.4 * hub), "spring", lying]);
        }
        const inner = this.parts([[bar(link, -1, 0, 0.999), "white", null]], this.material);
        group.add(this.parts(parts), inner);
        group.userData = { inner };
      }
      group.add(this.triad());
      this.object.add(group);
      return group;
    }

    /** Adds a disc that turns about an axis, with a mark that shows its rotation. */
    rotor({ radius, half }, axis) {
      const mark = along(new Object3D(), axis);
      mark.position.set(0.62 * radius, 0, 0).applyQuaternion(mark.quaternion);
      const turned = along(new Object3D(), axis);
      return this.parts([
        [drum(radius, half, 32), "metal", turned],
        [drum(0.86 * radius, 1.06 * half, 32), "housing", turned],
        [drum(0.16 * radius, 2 * half, 12), "dark", turned],
        [drum(0.16 * radius, 1.14 * half, 12), "spring", mark],
      ]);
    }

    /** Adds a free base: its box, and a nozzle for each force on it. */
    body() {
      const { box, nozzles } = this.description.base;
      const group = new Group();
      group.matrixAutoUpdate = false;
      const length = 0.16 * Math.min(...box.size);
      const cone = new THREE.CylinderGeometry(0.16 * length, 0.5 * length, length, 20).rotateX(Math.PI / 2).translate(0, 0, -length / 2);
      const parts = nozzles.map(({ at, direction }) => {
        const placed = along(new Object3D(), direction); // the gas leaves against the force
        placed.position.set(...at);
        return [cone, "dark", placed];
      });
      group.add(this.parts([cuboid(box, "bus")], this.shell), ...(parts.length ? [this.parts(parts)] : []), this.triad());
      if (!this.ghost) group.add(edges(box));
      this.object.add(group);
      return group;
    }

    /** Adds a ball for the payload of a link other than the last. */
    load(radius) {
      const band = along(new Object3D(), [1, 0, 0]);
      const ball = this.parts([
        [new THREE.SphereGeometry(radius, 24, 16), "load", null],
        [new THREE.TorusGeometry(radius, 0.06 * radius, 6, 32), "dark", band],
      ]);
      this.object.add(ball);
      return ball;
    }

    /** Adds the axes of a frame, shown on demand. */
    triad() {
      const frame = triad(0.075 * this.description.reach);
      frame.visible = false;
      this.triads.push(frame);
      return frame;
    }

    /** Adds a straight connection between a link and its carrier, if they are apart. -1: from the tip to its frame. */
    strut(i) {
      const { links, hand } = this.description;
      const before = links[i < 0 ? hand : links[i].parent];
      const thick = (link, end) => (link.panel ? 0.12 : 1) * Math.max(...link[end]); // a panel is held in its middle
      const width = 0.8 * Math.min(before && !before.box ? thick(before, "tip") : Infinity, i < 0 ? Infinity : thick(links[i], "base"));
      const mesh = this.parts([[drum(width / 2, 0.5, 20), "white", null]], this.rigid);
      mesh.matrixAutoUpdate = false;
      mesh.visible = false;
      this.object.add(mesh);
      return mesh;
    }

    /** Adds the payload, or a mark at the tip of the arm. */
    hand() {
      const group = new Group();
      group.matrixAutoUpdate = false;
      const { payload, tip } = this.description;
      const lying = along(new Object3D(), [1, 0, 0]);
      const [sphere, band] = [new THREE.SphereGeometry(1, 24, 16), new THREE.TorusGeometry(1, 0.06, 6, 32)];
      const ball = this.parts([
        [sphere, "load", null],
        [band, "dark", lying],
      ]);
      const mark = this.parts([[sphere, "metal", null]]);
      mark.scale.setScalar(tip);
      group.add(ball, mark, this.triad());
      group.userData = { ball, mark };
      this.object.add(group);
      this.end = group;
      this.payload(payload ? payload.radius : 0);
      return group;
    }

    /** Adds the base: a foot below each place with joints on it. */
    stand() {
      const places = new Map(); // the first joint at each place
      for (const root of this.description.base.roots) if (!places.has(String(root.origin))) places.set(String(root.origin), root);
      return [...places.values()].map((root) => this.support(root));
    }

    /** Adds a foot on the ground with a column up to a joint, or beside a horizontal one. */
    support(base) {
      const { up, links } = this.description;
      const { radius, half } = links[base.link].joint;
      const vertical = new THREE.Vector3(...up);
      const axis = new THREE.Vector3(...base.axis);
      const lies = axis.length() > 0 && Math.abs(axis.dot(vertical)) < 0.5;
      const origin = new THREE.Vector3(...base.origin);
      if (lies) origin.addScaledVector(axis, -(half + 1.25 * radius));
      const column = this.parts([[drum(1.25 * radius, 0.5), "rigid", null]]);
      const foot = this.parts([[drum(2.3 * radius, 0.16 * radius, 32), "housing", null]]);
      const group = along(new Group(), up);
      group.add(column, foot);
      group.position.copy(origin);
      const held = along(new Object3D(), lies ? base.axis : up); // a bracket from the side, or a collar below
      held.position.set(...base.origin);
      if (lies) held.position.addScaledVector(axis, -(half + 0.7 * radius));
      const below = links[base.link].joint.kind === "revolute" && !lies ? half : 0;
      if (!lies) held.position.addScaledVector(vertical, -below - 0.14 * radius);
      const holder = lies ? [drum(0.7 * radius, 0.75 * radius), "rigid", held] : [drum(1.5 * radius, 0.14 * radius), "housing", held];
      const top = lies ? 0.9 * radius : -below;
      this.object.add(group, this.parts([holder]));
      group.userData = { column, foot, top, radius, height: vertical.dot(origin) };
      return group;
    }

    /** Moves the base to the ground. @param {number} level height of the ground along `up` */
    settle(level) {
      for (const each of this.foot || []) {
        const { column, foot, top, radius, height } = each.userData;
        const bottom = Math.min(level - height, top - 0.3 * radius);
        column.scale.z = top - bottom;
        column.position.z = (top + bottom) / 2;
        foot.position.z = bottom + 0.16 * radius;
      }
    }

    /** Draws the arm at q with deflections times s. @param {ArrayLike<number>} q @param {number} [s] */
    update(q, s = 1) {
      this.s[0] = s;
      this.evaluate(q, this.s, this.out);
      const { stations, frames } = this.out;
      const { links } = this.description;
      if (this.bus) {
        flexarm.pose(q, this.ground);
        place(this.bus, this.ground, 0);
      }
      for (let i = 0; i < links.length; i++) {
        if (this.links[i]) this.links[i].update(stations, i * STATIONS * SECTION);
        place(this.mounts[i], frames, 12 * i);
        this.slide(i, q, s);
        const at = ((i + 1) * STATIONS - 1) * SECTION;
        if (this.loads[i]) this.loads[i].position.set(stations[at], stations[at + 1], stations[at + 2]);
      }
      this.ends.forEach((i, k) => this.join(this.struts[k], i));
      place(this.end, frames, 12 * links.length);
      this.object.matrixWorldNeedsUpdate = true;
      if (this.mode !== "plain") this.paint();
    }

    /** Writes the point of its carrier that holds link i into `from`. -1: the tip of the hand's link. */
    hold(i) {
      const { stations, frames } = this.out;
      const { links, base, hand } = this.description;
      const parent = i < 0 ? hand : links[i].parent;
      const { box } = i < 0 ? {} : parent < 0 ? base : links[parent];
      if (box) {
        const at = 12 * i;
        const joint = [frames[at + 3], frames[at + 7], frames[at + 11]];
        const [frame, first] = parent < 0 ? [this.ground, 0] : [frames, 12 * parent];
        flexarm.onto(box, frame, first, joint, this.from);
        return;
      }
      const x = (i < 0 ? 1 : links[i].at) * (STATIONS - 1);
      const k = Math.min(Math.floor(x), STATIONS - 2);
      const at = (parent * STATIONS + k) * SECTION;
      for (let c = 0; c < 3; c++) this.from[c] = stations[at + c] + (x - k) * (stations[at + SECTION + c] - stations[at + c]);
    }

    /** Places a strut between the point that holds a link and its joint: the sleeve of a slide, else the frame. */
    join(mesh, i) {
      const { frames } = this.out;
      const { from } = this;
      this.hold(i);
      const b = 12 * (i < 0 ? this.mounts.length : i);
      const sleeve = i < 0 ? undefined : this.mounts[i].userData.sleeve;
      const { x: u, y: v, z: w } = sleeve ? sleeve.position : NOWHERE;
      const x = frames[b + 3] + frames[b] * u + frames[b + 1] * v + frames[b + 2] * w - from[0];
      const y = frames[b + 7] + frames[b + 4] * u + frames[b + 5] * v + frames[b + 6] * w - from[1];
      const z = frames[b + 11] + frames[b + 8] * u + frames[b + 9] * v + frames[b + 10] * w - from[2];
      const size = Math.hypot(x, y, z);
      mesh.visible = size > 1e-3 * this.description.reach;
      if (mesh.visible) stretch(mesh.matrix, from[0], from[1], from[2], x / size, y / size, z / size, size);
    }

    /** Moves a joint's rail and sleeve, or the beam inside a telescope's hub, with its coordinate. */
    slide(i, q, s) {
      const { joint, length } = this.description.links[i];
      const { rod, sleeve, axis, inner } = this.mounts[i].userData;
      if (!rod && !inner) return;
      const moved = joint.motor === null ? q[joint.coordinate] : q[joint.motor] + s * (q[joint.coordinate] - q[joint.motor]);
      if (inner) {
        inner.scale.x = Math.max(length - moved, 1e-6);
        return;
      }
      sleeve.position.set(-moved * axis[0], -moved * axis[1], -moved * axis[2]);
      rod.scale.z = Math.max(Math.abs(moved), 1e-6);
      rod.position.copy(sleeve.position).multiplyScalar(0.5);
    }

    /** Colours its links. @param {"plain"|"moment"|"deflection"} mode @param {number[]} [range] range of the scale */
    colour(mode, range = [0, 1]) {
      this.mode = mode;
      this.range = range;
      if (mode === "plain") this.stripes();
      this.tint();
    }

    paint() {
      const { stations } = this.out;
      const [low, high] = this.range;
      const span = high - low || 1;
      this.links.forEach((sweep, i) => {
        if (!sweep || !sweep.flexible) return;
        for (let j = 0; j < STATIONS; j++) {
          const x = (value(stations, (i * STATIONS + j) * SECTION, this.mode) - low) / span;
          const shade = Math.round(Math.min(Math.max(x, 0), 1) * (SHADES - 1));
          sweep.paint(j, scale, 3 * shade);
        }
      });
    }

    /** Draws rings on the links of the second and later arms, and the cells of panels. */
    stripes() {
      const [light, dark, edge] = [1, 0.3, 0.45].map((x) => new Float32Array([x, x, x]));
      this.links.forEach((sweep, i) => {
        if (!sweep) return;
        const { panel } = this.description.links[i];
        for (let j = 0; j < STATIONS; j++) {
          const ring = this.pattern > 0 && j > 1 && j < STATIONS - 2 && (j - 2) % 8 < 2 * this.pattern && (j - 2) % 2 === 0;
          const cell = panel && !this.ghost && j % 4 === 0;
          sweep.paint(j, ring ? dark : cell ? edge : light, 0);
        }
      });
    }

    /** Returns the largest value of a quantity along its links. @param {"moment"|"deflection"} mode */
    most(mode, stations = this.out.stations) {
      let found = 0;
      this.description.links.forEach((link, i) => {
        for (let j = 0; link.flexible && j < STATIONS; j++) {
          found = Math.max(found, value(stations, (i * STATIONS + j) * SECTION, mode));
        }
      });
      return found;
    }

    /** Returns the reach below its base in every configuration [m]: joints, and hubs of telescopes that point down. */
    depth() {
      const { links, base, up } = this.description;
      const standing = base.roots.map(({ link }) => links[link]);
      const hubs = links.map((link) => (link.joint.kind === "telescope" ? 1.1 * HUB * link.length : 0));
      const boxes = standing.map(({ box }) => (box ? below(box, up) : 0));
      return Math.max(...standing.map(({ joint: { half, radius } }) => 1.3 * half + 0.4 * radius), ...hubs, ...boxes);
    }

    /** Returns the largest radius of its joints and payload [m]: how far it reaches around the points of its axes. */
    thickness() {
      const { links, payload } = this.description;
      return Math.max(payload ? payload.radius : 0, ...links.map(({ joint }) => joint.radius));
    }

    /** Returns the position of its base as last drawn, [x, y, z]. */
    base() {
      return [this.ground[3], this.ground[7], this.ground[11]];
    }

    /** Shows or hides the frames of links and tip. @param {boolean} visible */
    frames(visible) {
      for (const frame of this.triads) frame.visible = visible;
    }

    /** Returns the position of its tip as drawn, [x, y, z]. */
    tip() {
      const at = 12 * this.description.links.length;
      const { frames } = this.out;
      return [frames[at + 3], frames[at + 7], frames[at + 11]];
    }

    /** Returns the position of joint i as drawn, [x, y, z]. @param {number} i */
    joint(i) {
      const { frames } = this.out;
      return [frames[12 * i + 3], frames[12 * i + 7], frames[12 * i + 11]];
    }

    /** Sets another payload: a ball of this radius [m], or none for zero. @param {number} radius */
    payload(radius) {
      const { ball, mark } = this.end.userData;
      ball.visible = radius > 0;
      mark.visible = !ball.visible;
      if (radius > 0) ball.scale.setScalar(radius);
    }
  };

  /** Returns the twelve edges of a box as lines, so that it is visible on any background. */
  function edges(box) {
    const corners = flexarm.corners(box, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], 0);
    const points = [];
    for (let a = 0; a < 8; a++) {
      for (const bit of [1, 2, 4]) if (!(a & bit)) points.push(...corners.slice(3 * a, 3 * a + 3), ...corners.slice(3 * (a | bit), 3 * (a | bit) + 3));
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(points), 3));
    const material = new THREE.LineBasicMaterial({ transparent: true, opacity: 0.6 });
    flexarm.themed(() => material.color.setStyle(flexarm.style("--text")));
    return new THREE.LineSegments(geometry, material);
  }

  /** Returns a box of the description as a part: [geometry, shade, its position]. */
  function cuboid({ size: [x, y, z], xyz, R }, shade = "housing") {
    const placed = new Object3D();
    const [a, b, c] = R;
    placed.quaternion.setFromRotationMatrix(new THREE.Matrix4().set(...a, 0, ...b, 0, ...c, 0, 0, 0, 0, 1));
    placed.position.set(...xyz);
    return [bar({ round: false, corner: 0.03, base: [y, z] }, -x / 2, x / 2, 1), shade, placed];
  }

  /** Returns the reach of a box below its frame's origin [m]. */
  function below({ size, xyz, R }, up) {
    const down = up.map((x, i) => -x * xyz[i]).reduce((a, b) => a + b);
    return down + size.reduce((sum, x, k) => sum + (x / 2) * Math.abs(up[0] * R[0][k] + up[1] * R[1][k] + up[2] * R[2][k]), 0);
  }

  /** Returns the frame of a free base at q, rows R | p. Its quaternion may have any length. */
  flexarm.pose = (q, out) => {
    const [w, x, y, z] = [q[3], q[4], q[5], q[6]];
    const f = 2 / (w * w + x * x + y * y + z * z);
    out[0] = 1 - f * (y * y + z * z);
    out[1] = f * (x * y - w * z);
    out[2] = f * (x * z + w * y);
    out[4] = f * (x * y + w * z);
    out[5] = 1 - f * (x * x + z * z);
    out[6] = f * (y * z - w * x);
    out[8] = f * (x * z - w * y);
    out[9] = f * (y * z + w * x);
    out[10] = 1 - f * (x * x + y * y);
    for (let r = 0; r < 3; r++) out[4 * r + 3] = q[r];
    return out;
  };

  /** Returns the corners of a box in the frame that begins at `at`: x, y, z of each. */
  flexarm.corners = ({ size, xyz, R }, frame, at) => {
    const found = [];
    for (let corner = 0; corner < 8; corner++) {
      const half = size.map((x, c) => ((corner >> c) & 1 ? x : -x) / 2);
      const p = xyz.map((x, k) => x + R[k][0] * half[0] + R[k][1] * half[1] + R[k][2] * half[2]);
      for (let r = at; r < at + 12; r += 4) found.push(frame[r + 3] + frame[r] * p[0] + frame[r + 1] * p[1] + frame[r + 2] * p[2]);
    }
    return found;
  };

  /** Writes the point of a box nearest to a given point into `out` (3), with the box in the frame at `at`. */
  flexarm.onto = ({ size, xyz, R }, frame, at, point, out) => {
    const away = [0, 0, 0]; // from the box's centre, in the axes of the frame
    for (let k = 0; k < 3; k++) {
      for (let r = 0; r < 3; r++) away[k] += frame[at + 4 * r + k] * (point[r] - frame[at + 4 * r + 3]);
      away[k] -= xyz[k];
    }
    const near = [xyz[0], xyz[1], xyz[2]];
    for (let c = 0; c < 3; c++) {
      const x = R[0][c] * away[0] + R[1][c] * away[1] + R[2][c] * away[2];
      const kept = Math.min(Math.max(x, -size[c] / 2), size[c] / 2);
      for (let k = 0; k < 3; k++) near[k] += R[k][c] * kept;
    }
    for (let r = 0; r < 3; r++) out[r] = frame[at + 4 * r + 3] + frame[at + 4 * r] * near[0] + frame[at + 4 * r + 1] * near[1] + frame[at + 4 * r + 2] * near[2];
    return out;
  };

  /** Sets a group's matrix to a frame of the drawing: rows R | p. */
  function place(group, frames, at) {
    const m = group.matrix.elements;
    for (let r = 0; r < 3; r++) {
      for (let c = 0; c < 4; c++) m[4 * c + r] = frames[at + 4 * r + c];
    }
  }

  /** Returns a matrix from the unit cylinder about z to one from (x, y, z) along a unit vector (a, b, c). */
  function stretch(matrix, x, y, z, a, b, c, size) {
    // a perpendicular direction, from the coordinate axis farthest from the vector
    let [u, v, w] = [0, 0, 0];
    if (Math.abs(a) < 0.6) u = 1;
    else if (Math.abs(b) < 0.6) v = 1;
    else w = 1;
    const dot = u * a + v * b + w * c;
    u -= dot * a;
    v -= dot * b;
    w -= dot * c;
    const norm = Math.hypot(u, v, w);
    u /= norm;
    v /= norm;
    w /= norm;
    matrix.set(
      u, b * w - c * v, size * a, x + (size * a) / 2,
      v, c * u - a * w, size * b, y + (size * b) / 2,
      w, a * v - b * u, size * c, z + (size * c) / 2,
      0, 0, 0, 1,
    );
  }

  /* -- lines --------------------------------------------------------------------------------------------------- */

  /**
   * A curve in space, such as the path of the tip: faint as a whole, strong up to a point.
   * @param {ArrayLike<number>} points x, y, z of each point in sequence
   */
  flexarm.Path = class Path {
    constructor(points, { color = 0, radius = 0.005 } = {}) {
      this.count = points.length / 3;
      this.color = color;
      this.object = new Group();
      this.sides = 4;
      const geometry = new THREE.BufferGeometry();
      this.position = new THREE.BufferAttribute(new Float32Array(3 * this.sides * this.count), 3);
      geometry.setAttribute("position", this.position.setUsage(THREE.DynamicDrawUsage));
      const index = [];
      for (let j = 0; j + 1 < this.count; j++) {
        for (let k = 0; k < this.sides; k++) {
          const [a, b] = [j * this.sides + k, j * this.sides + ((k + 1) % this.sides)];
          index.push(a, b, a + this.sides, b, b + this.sides, a + this.sides);
        }
      }
      geometry.setIndex(index);
      const past = geometry.clone();
      past.setAttribute("position", this.position);
      this.radius = radius;
      this.faint = new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.3, depthWrite: false });
      this.strong = new THREE.MeshBasicMaterial();
      this.all = new Mesh(geometry, this.faint);
      this.past = new Mesh(past, this.strong);
      this.all.frustumCulled = this.past.frustumCulled = false;
      this.object.add(this.all, this.past);
      this.set(points);
      this.upto(this.count - 1);
      flexarm.themed(() => {
        const css = typeof color === "number" ? flexarm.colour(color) : color;
        this.faint.color.setStyle(css);
        this.strong.color.setStyle(css);
      });
    }

    /** Sets other points, as many as before. @param {ArrayLike<number>} points */
    set(points) {
      const { count, sides, radius } = this;
      const xyz = this.position.array;
      let [ux, uy, uz] = [0, 0, 1]; // perpendicular to the curve, transported along it
      for (let j = 0; j < count; j++) {
        const [a, b] = [3 * Math.max(j - 1, 0), 3 * Math.min(j + 1, count - 1)];
        let [tx, ty, tz] = [points[b] - points[a], points[b + 1] - points[a + 1], points[b + 2] - points[a + 2]];
        const size = Math.hypot(tx, ty, tz);
        if (size > 0) [tx, ty, tz] = [tx / size, ty / size, tz / size];
        if (Math.abs(ux * tx + uy * ty + uz * tz) > 0.9) [ux, uy, uz] = [uy, uz, ux];
        const dot = ux * tx + uy * ty + uz * tz;
        [ux, uy, uz] = [ux - dot * tx, uy - dot * ty, uz - dot * tz];
        const norm = Math.hypot(ux, uy, uz) || 1;
        [ux, uy, uz] = [ux / norm, uy / norm, uz / norm];
        const [vx, vy, vz] = [ty * uz - tz * uy, tz * ux - tx * uz, tx * uy - ty * ux];
        for (let k = 0; k < sides; k++) {
          const [c, s] = [radius * Math.cos((2 * Math.PI * k) / sides), radius * Math.sin((2 * Math.PI * k) / sides)];
          const at = 3 * (j * sides + k);
          xyz[at] = points[3 * j] + c * ux + s * vx;
          xyz[at + 1] = points[3 * j + 1] + c * uy + s * vy;
          xyz[at + 2] = points[3 * j + 2] + c * uz + s * vz;
        }
      }
      this.position.needsUpdate = true;
    }

    /** Makes the curve strong up to point k. @param {number} k */
    upto(k) {
      this.past.geometry.setDrawRange(0, 6 * this.sides * Math.max(Math.min(k, this.count - 1), 0));
    }
  };

  /* -- a scale ------------------------------------------------------------------------------------------------- */

  /** The bar with the colour scale, hidden until it is set. */
  flexarm.Scale = class Scale {
    constructor() {
      this.title = flexarm.element("span.title");
      this.low = flexarm.element("span.low.number");
      this.high = flexarm.element("span.high.number");
      const bar = flexarm.element("canvas", { width: SHADES, height: 1, role: "img", "aria-label": "colour scale" });
      const context = bar.getContext("2d");
      scaled(() => {
        const gradient = context.createLinearGradient(0, 0, SHADES, 0);
        ramp().forEach((colour, i, { length }) => gradient.addColorStop(i / (length - 1), colour));
        context.fillStyle = gradient;
        context.fillRect(0, 0, SHADES, 1);
      });
      this.element = flexarm.element("div.corner.scale", { hidden: true }, this.title, bar, this.low, this.high);
    }

    /** @param {"plain"|"moment"|"deflection"} mode @param {number[]} range */
    set(mode, [low, high] = [0, 1]) {
      this.element.hidden = mode === "plain";
      if (mode === "plain") return;
      const { title, unit } = flexarm.quantities[mode];
      this.title.textContent = title;
      this.low.textContent = flexarm.number(low, unit);
      this.high.textContent = flexarm.number(high, unit);
    }
  };

  Object3D.DEFAULT_UP.set(0, 0, 1);
}
