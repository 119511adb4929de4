// SPDX-License-Identifier: MIT
// overview.js - the events of the whole trace over time, always at full range, with
// what was lost hatched, and the span that the time line shows in a frame.
import { colours, fit, hatch } from "./paint.js";
import { Latest } from "./server.js";
import { duration } from "./time.js";

export class Overview {
  constructor(canvas, view, server) {
    this.canvas = canvas;
    this.view = view;
    this.question = new Latest(server, "histogram");
    this.data = null;
    view.listen((changed) => {
      if (["from", "to", "select", "cursor"].some((name) => changed.has(name)))
        this.draw();
    });
    this.hear();
  }

  load() {
    const pixels = Math.min(4000, Math.max(1, this.canvas.clientWidth));
    this.question.ask({ from: 0, to: this.view.end, pixels }, (data) => {
      this.data = data;
      this.draw();
    });
  }

  hear() {
    const { canvas, view } = this;
    const time = (event) => Math.min(1, Math.max(0,
      (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth)) * view.end;
    let began = null;
    canvas.addEventListener("pointerdown", (event) => {
      began = time(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (began !== null && Math.abs(time(event) - began) * canvas.clientWidth > 4 * view.end)
        view.set({ from: Math.min(began, time(event)), to: Math.max(began, time(event)) });
    });
    canvas.addEventListener("pointerup", (event) => {
      if (began !== null && Math.abs(time(event) - began) * canvas.clientWidth <= 4 * view.end) {
        const half = (view.to - view.from) / 2;
        view.set({ from: began - half, to: began + half });
      }
      began = null;
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** Moves and resizes the frame, as a slider. */
  key(event) {
    const { view } = this;
    const span = view.to - view.from;
    const middle = (view.from + view.to) / 2;
    const act = {
      ArrowLeft: () => view.move(-span / 8), ArrowRight: () => view.move(span / 8),
      PageUp: () => view.move(-span), PageDown: () => view.move(span),
      Home: () => view.move(-view.from), End: () => view.move(view.end - view.to),
      ArrowUp: () => view.zoom(0.75, middle), ArrowDown: () => view.zoom(1 / 0.75, middle),
    }[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey)
      return;
    event.preventDefault();
    act();
  }

  draw() {
    this.paint(fit(this.canvas));
    const { from, to } = this.view;
    this.canvas.setAttribute("aria-valuenow", String(Math.round(from / this.view.end * 100)));
    this.canvas.setAttribute("aria-valuetext",
      `${duration(to - from)} from ${duration(from)}`);
  }

  /** @param {{draw: any, width: number, height: number}} fitted the canvas, or what else
   * is to be drawn on (vectors.js) */
  paint({ draw, width, height }) {
    const colour = colours();
    this.bars(draw, width, height, colour);
    const x = (time) => time / this.view.end * width;
    const { from, to, select, cursor } = this.view;
    if (select) {
      draw.fillStyle = colour.select;
      draw.fillRect(x(select.from), 0, Math.max(1, x(select.to) - x(select.from)), height);
    }
    if (cursor !== null) {
      draw.fillStyle = colour.accent;
      draw.fillRect(x(cursor), 0, 1, height);
    }
    draw.fillStyle = colour.shade;
    draw.fillRect(0, 0, x(from), height);
    draw.fillRect(x(to), 0, width - x(to), height);
    draw.strokeStyle = colour.accent;
    draw.lineWidth = 2;
    draw.strokeRect(x(from) + 1, 1, Math.max(2, x(to) - x(from) - 2), height - 2);
  }

  /** Square roots: a burst doesn't hide what is quiet. */
  bars(draw, width, height, colour) {
    if (!this.data)
      return;
    const { counts, lost } = this.data;
    const most = Math.sqrt(counts.reduce((a, b) => Math.max(a, b), 1));
    const step = width / counts.length;
    draw.fillStyle = colour.bar;
    counts.forEach((count, at) => {
      const size = Math.sqrt(count) / most * (height - 6);
      if (count > 0)
        draw.fillRect(at * step, height - Math.max(1, size), Math.max(step, 0.5), size);
    });
    for (let at = 0; at < lost.length; at++) {
      const first = at;
      while (at < lost.length && lost[at])
        at++;
      if (at > first)
        hatch(draw, first * step, 0, Math.max(3, (at - first) * step), height);
    }
  }
}
