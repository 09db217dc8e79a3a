"use strict";

/**
 * A motion between its samples, by cubic interpolation. The slope at each sample is that of the parabola through it and
 * its neighbours. At a sample the value is exact.
 */
flexarm.Motion = class {
  /**
   * @param {Float64Array} time times in ascending order [s]
   * @param {Float32Array} q rows of samples, with a column for each coordinate
   */
  constructor(time, q) {
    this.time = time;
    this.q = q;
    this.width = q.length / time.length;
    this.start = time[0];
    this.end = time[time.length - 1];
    this.last = 0;
  }

  /** Returns the largest i with time[i] <= t, except the last: the interval that contains t. */
  piece(t) {
    const time = this.time, most = Math.max(0, time.length - 2);
    let i = this.last;
    if (!(time[i] <= t && t < time[i + 1])) {
      let low = 0, high = most;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (time[middle] <= t) low = middle;
        else high = middle - 1;
      }
      i = low;
    }
    this.last = i;
    return i;
  }

  /** Returns the sample nearest to t. */
  nearest(t) {
    const i = this.piece(t), after = Math.min(i + 1, this.time.length - 1);
    return this.time[after] - t < t - this.time[i] ? after : i;
  }

  /** Returns the coordinates at t, constant before the start and after the end. */
  at(t, out) {
    const { time, q, width } = this;
    const i = this.piece(t), j = Math.min(i + 1, time.length - 1);
    const h = time[j] - time[i];
    const u = h > 0 ? Math.min(1, Math.max(0, (t - time[i]) / h)) : t < time[j] ? 0 : 1;
    const a = u * u * (3 - 2 * u), b = u * (1 - u) * (1 - u) * h, c = u * u * (u - 1) * h;
    for (let k = 0; k < width; k++) {
      const x = q[i * width + k], y = q[j * width + k];
      out[k] = x + a * (y - x);
      if (b || c) out[k] += b * this.slope(i, k) + c * this.slope(j, k);
    }
    return out;
  }

  /** Returns the rate of coordinate k at sample i. */
  slope(i, k) {
    const { time, q, width } = this;
    const rate = (a, b) => (time[b] > time[a] ? (q[b * width + k] - q[a * width + k]) / (time[b] - time[a]) : 0);
    const last = time.length - 1;
    if (last < 2) return rate(0, last);
    if (i === 0) return 2 * rate(0, 1) - this.slope(1, k);
    if (i === last) return 2 * rate(i - 1, i) - this.slope(i - 1, k);
    const before = time[i] - time[i - 1], after = time[i + 1] - time[i];
    if (!(before > 0)) return rate(i, i + 1);
    if (!(after > 0)) return rate(i - 1, i);
    return (rate(i - 1, i) * after + rate(i, i + 1) * before) / (before + after);
  }
};
