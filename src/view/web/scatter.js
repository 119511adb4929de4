// SPDX-License-Identifier: MIT
// scatter.js - which spans began when, and how long they took, on a logarithmic axis:
// the server's grid of counts, darker where there are more. A drag chooses a box.
import { colours, element, fit } from "./paint.js";
import { duration, relative } from "./time.js";

const LEFT = 52; // px for durations
const FOOT = 16; // px for times
const HEAD = 6;

/** Tells of drags: `done` gets the places of their begin and end, `meanwhile` too. */
export function dragged(canvas, done, meanwhile = (_from, _to) => {}) {
  let began = null;
  const at = (event) => ({ x: event.offsetX, y: event.offsetY });
  const far = (to) => Math.abs(to.x - began.x) > 4 || Math.abs(to.y - began.y) > 4;
  canvas.addEventListener("pointerdown", (event) => {
    began = at(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (began && far(at(event)))
      meanwhile(began, at(event));
  });
  canvas.addEventListener("pointerup", (event) => {
    if (began && far(at(event)))
      done(began, at(event));
    began = null;
  });
}

export class Scatter {
  /** @param {(box: {from: number, to: number, least: number, most: number}) => void} chosen */
  constructor(chosen) {
    this.canvas = element("canvas", { id: "scatter" });
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "When it began, and how long it took. The longest are in the list beside.");
    this.data = null;
    this.box = null;
    dragged(this.canvas, (from, to) => this.data && chosen(this.between(from, to)), (from, to) => {
      this.box = this.data && this.between(from, to);
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  show(data, box) {
    this.data = data?.cells.length ? data : null;
    this.box = box;
    this.draw();
  }

  /** The axis of durations: logarithms of its ends. */
  get range() {
    const { lower } = this.data;
    const low = Math.log10(Math.max(1, lower[0]));
    return { low, high: Math.max(low + 0.1, Math.log10(lower.at(-1))) };
  }

  x(time) {
    const { from, to } = this.data;
    return LEFT + (time - from) / (to - from) * (this.canvas.clientWidth - LEFT);
  }

  y(ns) {
    const { low, high } = this.range;
    const height = this.canvas.clientHeight - FOOT - HEAD;
    return HEAD + height - (Math.log10(Math.max(1, ns)) - low) / (high - low) * height;
  }

  between(a, b) {
    const { from, to } = this.data;
    const { low, high } = this.range;
    const width = this.canvas.clientWidth - LEFT;
    const height = this.canvas.clientHeight - FOOT - HEAD;
    const time = (x) => from + Math.min(1, Math.max(0, (x - LEFT) / width)) * (to - from);
    const ns = (y) => 10 ** (low + Math.min(1, Math.max(0, (height + HEAD - y) / height)) * (high - low));
    return { from: time(Math.min(a.x, b.x)), to: time(Math.max(a.x, b.x)),
             least: ns(Math.max(a.y, b.y)), most: ns(Math.min(a.y, b.y)) };
  }

  draw() {
    const { draw, width, height } = fit(this.canvas);
    if (!this.data)
      return;
    const colour = colours();
    draw.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    this.axes(draw, width, height, colour);
    this.cells(draw, colour);
    if (!this.box)
      return;
    const { from, to, least, most } = this.box;
    draw.fillStyle = colour.select;
    draw.strokeStyle = colour.accent;
    const place = [this.x(from), this.y(most), Math.max(2, this.x(to) - this.x(from)),
                   Math.max(2, this.y(least) - this.y(most))];
    draw.fillRect(...place);
    draw.strokeRect(...place);
  }

  cells(draw, colour) {
    const { cells, lower, columns } = this.data;
    const step = (this.canvas.clientWidth - LEFT) / columns;
    let most = 1;
    for (let at = 2; at < cells.length; at += 3)
      most = Math.max(most, cells[at]);
    draw.fillStyle = colour.accent;
    for (let at = 0; at < cells.length; at += 3) {
      const [column, row, count] = cells.slice(at, at + 3);
      const top = this.y(lower[row + 1]);
      draw.globalAlpha = 0.45 + 0.55 * Math.log(count) / Math.max(1, Math.log(most));
      draw.fillRect(LEFT + column * step, top, Math.max(2.5, step), Math.max(2.5, this.y(lower[row]) - top));
    }
    draw.globalAlpha = 1;
  }

  axes(draw, width, height, colour) {
    const { from, to } = this.data;
    const { low, high } = this.range;
    draw.textBaseline = "middle";
    let free = Infinity; // above the last text
    for (let power = Math.ceil(low); power <= high; power++) {
      const y = this.y(10 ** power);
      draw.fillStyle = colour.line;
      draw.fillRect(LEFT, y, width - LEFT, 0.5);
      draw.fillStyle = colour.faint;
      if (y > 6 && y < free - 12) {
        draw.fillText(duration(10 ** power), 2, y);
        free = y;
      }
    }
    draw.fillStyle = colour.line;
    draw.fillRect(LEFT, height - FOOT, width - LEFT, 1);
    draw.fillStyle = colour.faint;
    draw.fillText(relative(from), LEFT, height - 7);
    const end = relative(to);
    draw.fillText(end, width - draw.measureText(end).width - 2, height - 7);
  }
}
