// Zooming of the time series: drag across a plot, double-click to go back, ctrl and wheel.
// Curves are in whole units of an inner drawing; its view box is what is changed.
(() => {
  "use strict";
  const W = 20000, H = 10000, LEFT = 74, INNER = 994, NS = "http://www.w3.org/2000/svg";
  const minus = (s) => s.replace("-", "\u2212");

  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 5].find((k) => k * power >= raw * (1 - 1e-9)) || 10);
    const marks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) marks.push(i * step);
    return [marks, step];
  }

  function label(x, step) {
    const digits = Math.floor(Math.log10(step * 1.0000001));
    if (digits < -4 || Math.log10(Math.max(Math.abs(x), step)) > 6) return minus(x.toPrecision(4));
    return minus(x.toFixed(Math.max(0, -digits)));
  }

  function element(parent, name, attributes, text) {
    const e = document.createElementNS(NS, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  }

  // Points of a path: [x, y] pairs, null where the pen is lifted. Read once, when first needed.
  function points(path) {
    if (path.points) return path.points;
    const out = [];
    for (const run of path.getAttribute("d").split("M").slice(1)) {
      const [start, rest] = run.split("l");
      let [x, y] = start.split(" ").map(Number);
      out.push(null, [x, y]);
      const steps = (rest || "").trim().split(" ");
      for (let i = 0; i + 1 < steps.length; i += 2) out.push([x += +steps[i], y += +steps[i + 1]]);
    }
    return (path.points = out);
  }

  class Panel {
    constructor(view, axis) {
      Object.assign(this, { view, axis, v0: +view.dataset.v0, v1: +view.dataset.v1, top: +axis.dataset.y, height: +axis.dataset.h });
      this.paths = [...view.querySelectorAll("path")];
    }
    show(a, b) {
      let low = 0, high = H;
      if (a > 0 || b < W) {
        low = Infinity; high = -Infinity;
        for (const path of this.paths) {
          if (path.classList.contains("before")) continue;
          for (const p of points(path)) if (p && p[0] >= a && p[0] <= b) { low = Math.min(low, p[1]); high = Math.max(high, p[1]); }
        }
        if (!(high >= low)) { low = 0; high = H; }
        const margin = Math.max(0.08 * (high - low), 4);
        low -= margin; high += margin;
      }
      this.view.setAttribute("viewBox", `${a} ${low} ${b - a} ${high - low}`);
      this.axis.replaceChildren();
      const value = (y) => this.v1 - (y / H) * (this.v1 - this.v0);
      const v0 = value(high), v1 = value(low), [marks, step] = ticks(v0, v1, this.height > 100 ? 4 : 5);
      for (const v of marks) {
        const y = this.top + ((v1 - v) / (v1 - v0)) * this.height;
        element(this.axis, "line", { x1: LEFT, x2: LEFT + INNER, y1: y, y2: y });
        element(this.axis, "text", { x: LEFT - 7, y: y + 4 }, label(v, step));
      }
    }
  }

  class Series {
    constructor(svg) {
      this.svg = svg;
      this.t0 = +svg.dataset.t0; this.t1 = +svg.dataset.t1;
      this.axis = svg.querySelector(".tx");
      this.cursor = svg.querySelector(".cursor");
      this.output = svg.closest("figure").querySelector("output");
      const axes = svg.querySelectorAll(".ty");
      this.panels = [...svg.querySelectorAll("svg.view")].map((v, i) => new Panel(v, axes[i]));
      this.a = 0; this.b = W;
    }
    time(x) { return this.t0 + (x / W) * (this.t1 - this.t0); }
    show(ta, tb) {
      const at = (t) => ((t - this.t0) / (this.t1 - this.t0)) * W;
      this.a = Math.max(0, at(ta)); this.b = Math.min(W, at(tb));
      if (this.b - this.a < 8) { this.a = 0; this.b = W; }
      for (const panel of this.panels) panel.show(this.a, this.b);
      this.axis.replaceChildren();
      const low = this.time(this.a), high = this.time(this.b), y = +this.axis.dataset.y, [marks, step] = ticks(low, high, 9);
      for (const t of marks) {
        const x = LEFT + ((t - low) / (high - low)) * INNER;
        element(this.axis, "line", { x1: x, x2: x, y1: y, y2: y + 4 });
        element(this.axis, "text", { x, y: y + 16 }, label(t, step));
      }
    }
    // Inner coordinate under the pointer, kept inside the frame.
    place(event) {
      const box = this.svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * (LEFT + INNER + 12);
      return this.a + Math.min(1, Math.max(0, (x - LEFT) / INNER)) * (this.b - this.a);
    }
    screen(x) { return LEFT + ((x - this.a) / (this.b - this.a)) * INNER; }
    read(x) {
      const panel = this.panels[0], span = panel.v1 - panel.v0, words = [`${label(this.time(x), (this.t1 - this.t0) / 2000)} s`];
      for (const path of panel.paths) {
        let best = null, gap = (this.b - this.a) / 100;
        for (const p of points(path)) if (p && Math.abs(p[0] - x) < gap) { best = p; gap = Math.abs(p[0] - x); }
        if (best) words.push(`${path.getAttribute("class")} ${label(panel.v1 - (best[1] / H) * span, span / 2000)}`);
      }
      this.output.textContent = words.join("   ");
      this.cursor.toggleAttribute("hidden", false);
      const sx = this.screen(x);
      this.cursor.setAttribute("x1", sx); this.cursor.setAttribute("x2", sx);
    }
    quiet() { this.output.textContent = ""; this.cursor.toggleAttribute("hidden", true); }
  }

  const all = [...document.querySelectorAll("svg.series")].map((svg) => new Series(svg));
  const mates = (s) => all.filter((o) => o.svg.dataset.group === s.svg.dataset.group);
  for (const s of all) {
    let start = null, brush = null;
    s.svg.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      start = s.place(e);
      s.svg.setPointerCapture(e.pointerId);
      brush = element(s.svg, "rect", { class: "brush", y: 8, height: 254, x: s.screen(start), width: 0 });
    });
    s.svg.addEventListener("pointermove", (e) => {
      const x = s.place(e);
      s.read(x);
      if (start === null) return;
      const [u, v] = [s.screen(Math.min(start, x)), s.screen(Math.max(start, x))];
      brush.setAttribute("x", u); brush.setAttribute("width", v - u);
    });
    const end = (e) => {
      if (start === null) return;
      const [u, v] = [Math.min(start, s.place(e)), Math.max(start, s.place(e))], from = s.time(u), to = s.time(v);
      brush.remove(); start = null;
      if (e.type === "pointerup" && v - u > (s.b - s.a) / 100) for (const o of mates(s)) o.show(from, to);
    };
    s.svg.addEventListener("pointerup", end);
    s.svg.addEventListener("pointercancel", end);
    s.svg.addEventListener("pointerleave", () => s.quiet());
    s.svg.addEventListener("dblclick", () => { for (const o of mates(s)) o.show(o.t0, o.t1); });
    s.svg.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      const x = s.place(e), k = Math.exp(Math.max(-1, Math.min(1, e.deltaY / 200)));
      const from = s.time(x + (s.a - x) * k), to = s.time(x + (s.b - x) * k);
      for (const o of mates(s)) o.show(Math.max(from, o.t0), Math.min(to, o.t1));
    }, { passive: false });
  }
})();
