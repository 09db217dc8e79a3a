"use strict";

/** Page of a run in real time: plots of the last seconds, which it asks for ten times a second. */
flexarm.Loop = class {
  static SPAN = 10; // time range of the plots [s]
  static PAUSE = 100; // time between two questions [ms]

  constructor(data) {
    const { element, Strip } = flexarm;
    this.data = data;
    this.next = 0; // number of the first sample that is not here yet
    this.counts = { count: 0, missed: 0, overruns: 0, safe: 0 };
    this.state = "running";
    this.strips = data.plots.map(({ title, unit, curves }) => new Strip(title, unit, curves.map((name, i) => ({ name, i })), Loop.SPAN));
    this.said = element("p.status", { role: "status" });
    document.body.append(element("main.loop", {}, element("header", {}, element("h1", {}, data.title), this.said), element("div.plots", {}, ...this.strips.map((strip) => strip.object))));
    this.show();
    this.ask();
  }

  async ask() {
    try {
      const answer = await fetch(`/rows?from=${this.next}`);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      this.take(await answer.json());
      if (this.state === "running") setTimeout(() => this.ask(), Loop.PAUSE);
    } catch {
      this.state = "ended early"; // the program of the run has ended
      this.show();
    }
  }

  take({ rows, finished, ...counts }) {
    this.counts = counts;
    this.next = counts.count;
    const { plots, period } = this.data;
    for (const row of rows) {
      plots.forEach(({ columns, factor }, i) => this.strips[i].add(row[0] * period, columns.map((column) => (row[column] === null ? NaN : factor * row[column]))));
    }
    for (const strip of this.strips) strip.draw();
    if (finished) this.state = "finished";
    this.show();
  }

  show() {
    const { count, missed, overruns, safe } = this.counts;
    const time = (count * this.data.period).toFixed(1);
    this.said.textContent = `${this.state}, ${time} s: ${count} samples, ${missed} missed deadlines, ${overruns} overruns, ${safe} with safe outputs`;
  }
};

const Loop = flexarm.Loop;
flexarm.page = new Loop(flexarm.data());
