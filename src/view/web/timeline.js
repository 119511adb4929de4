// SPDX-License-Identifier: MIT
// timeline.js - states of rows over time. What the mouse and the keys do in it is
// in hands.js.
//
// The canvas stands still in a box that scrolls as high as all rows are; what is
// in sight is asked for, with half a width more on both sides. Until an answer is
// here the last one is drawn, stretched; what it doesn't hold stays empty.
import { Frame, isLight } from "./frame.js";
import { colours, fit, hatch, part, shorten } from "./paint.js";
import { Latest } from "./server.js";
import { amount, tickName, ticks } from "./time.js";

export const ROW = 20;
export const AXIS = 24;
const LETTER = 7; // px, about
const FLAG = 260; // px at most of a note's text
const FEW = 3; // arrows can be told apart, however close
const APART = 10; // px that one more must not share with them
const ARROWS = 60; // rows in sight more than these make arrows a tangle

function share(busy) {
  if (busy > 0 && busy < 0.0005)
    return "<0.1 %";
  return `${(busy * 100).toFixed(busy < 0.0995 ? 1 : 0)} %`;
}

/** Between what a counter is drawn. */
function scaleOf({ low, high, unit }) {
  return `${amount(low)}-${amount(high)} ${unit}`.trim();
}

export class Timeline {
  constructor(canvas, view, rows, server) {
    this.canvas = canvas;
    this.box = part("scroll");
    this.view = view;
    this.rows = rows;
    this.states = [];
    /** @type {string[]} */ this.names = []; // of what goes on within threads
    /** @type {Record<string, string>} */ this.chosen = {}; // colours of names
    this.frame = null;
    this.arrows = [];
    this.holes = null;
    this.frames = new Latest(server, "frame", 120);
    this.wakings = new Latest(server, "arrows", 120);
    this.losses = new Latest(server, "histogram", 120);
    /** @type {{from: number, to: number, row: ?string, text: string}[]} */
    this.notes = [];
    this.top = null; // the row to be scrolled to, once there are as many
    this.drawn = 0;
    this.pending = false;
    this.box.addEventListener("scroll", () => this.scrolled());
    view.listen((changed) => this.hear(changed));
  }

  scrolled() {
    if (this.top === null)
      this.view.set({ top: this.first });
    this.renew();
  }

  get first() {
    return Math.floor(this.box.scrollTop / ROW);
  }

  /** To where an address says, as soon as there are the rows. */
  settle() {
    const room = this.box.scrollHeight - this.box.clientHeight;
    if (this.top === null || this.top * ROW > room + ROW)
      return;
    this.box.scrollTop = this.top * ROW;
    this.top = null;
  }

  hear(changed) {
    const has = (...names) => names.some((name) => changed.has(name));
    if (has("top") && this.view.top !== this.first) {
      this.top = this.view.top;
      this.settle();
    }
    if (has("rows", "sort", "idle", "pinned", "folded"))
      this.rows.arrange();
    if (has("from", "to", "rows", "sort", "idle", "pinned", "folded"))
      this.renew();
    else if (has("select", "cursor", "row"))
      this.draw();
  }

  get labels() {
    return Math.min(230, this.canvas.clientWidth / 4);
  }

  get width() {
    return Math.max(1, this.canvas.clientWidth - this.labels);
  }

  x(time) {
    const { from, to } = this.view;
    return this.labels + (time - from) / (to - from) * this.width;
  }

  time(x) {
    const { from, to } = this.view;
    return from + (x - this.labels) / this.width * (to - from);
  }

  rowAt(y) {
    const index = Math.floor((y - AXIS + this.box.scrollTop) / ROW);
    return y < AXIS ? null : this.rows.shown[index] ?? null;
  }

  inSight() {
    const { first } = this;
    const n = Math.ceil(this.canvas.clientHeight / ROW) + 1;
    return this.rows.shown.slice(first, first + n);
  }

  scrollTo(id) {
    const y = this.rows.indexOf(id) * ROW;
    const room = this.canvas.clientHeight - AXIS - ROW;
    if (y >= 0 && (y < this.box.scrollTop || y > this.box.scrollTop + room))
      this.box.scrollTop = Math.max(0, y - room / 2);
  }

  /** Draws, and asks for what is in sight. */
  renew() {
    const height = Math.max(0, this.rows.shown.length * ROW + AXIS -
                               this.box.clientHeight);
    part("height").style.height = `${height}px`;
    this.settle();
    this.draw();
    const ids = [...new Set(this.inSight().map(({ row }) => row.id))];
    if (ids.length)
      this.ask(ids);
  }

  ask(ids) {
    const { from, to } = this.view;
    const scale = Math.min(2, window.devicePixelRatio || 1);
    const span = { from: Math.round(from - (to - from) / 2),
                   to: Math.round(to + (to - from) / 2) };
    const pixels = Math.min(8192, Math.round(this.width * 2 * scale));
    this.frames.ask({ ...span, pixels, rows: ids.join(",") }, (buffer) => {
      this.frame = new Frame(buffer, span.from, span.to, pixels, this.states,
                             this.chosen);
      this.draw();
    });
    this.losses.ask({ from: Math.round(from), to: Math.round(to),
                      pixels: Math.round(this.width) }, (answer) => {
      this.holes = answer;
      this.draw();
    });
    if (ids.length > ARROWS) {
      this.wakings.cancel();
      this.arrows = [];
      return;
    }
    this.wakings.ask({ from: Math.round(from), to: Math.round(to),
                       rows: ids.join(",") }, (answer) => {
      const more = answer.at(-1)?.more === true; // some of them would mislead
      this.arrows = more ? [] : answer;
      part("rows-note").textContent = more ? "Too many wakings to draw: zoom in." : "";
      this.draw();
    }, () => { this.arrows = []; });
  }

  /** Once per picture, however often it is called for. */
  draw() {
    if (this.pending)
      return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
      this.drawn++;
    });
  }

  /** On the canvas, or on what else is to be drawn on (vectors.js). */
  paint({ draw, width, height } = fit(this.canvas)) {
    const colour = colours();
    const top = AXIS - (this.box.scrollTop % ROW);
    draw.imageSmoothingEnabled = false;
    draw.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    draw.textBaseline = "middle";
    const seen = this.inSight();
    seen.forEach(({ row }, at) => this.row(draw, row, top + at * ROW, width, colour));
    this.marks(draw, height, colour);
    this.wakes(draw, seen, top, colour);
    draw.fillStyle = colour.back;
    draw.fillRect(0, 0, this.labels, height);
    seen.forEach((line, at) => this.label(draw, line, top + at * ROW, colour));
    this.axis(draw, width, colour);
    this.flags(draw, seen, top, colour);
  }

  row(draw, row, y, width, colour) {
    const { from, to } = this.view;
    if (row.id === this.view.row) {
      draw.fillStyle = colour.chosen;
      draw.fillRect(this.labels, y, width, ROW);
    }
    draw.fillStyle = colour.line;
    draw.fillRect(this.labels, y + ROW - 1, width, 0.5);
    this.frame?.copy(draw, row.id, from, to, this.labels, y + 3, this.width, ROW - 5);
    if (/^(within|own)$/.test(row.kind))
      this.within(draw, row, y);
  }

  /** The names, as far as they fit. */
  within(draw, row, y) {
    const { from, to } = this.view;
    const edge = this.labels + this.width;
    this.frame?.named(row.id, (to - from) / this.width * LETTER * 3, (begin, end, name) => {
      const x = Math.max(this.x(begin), this.labels) + 3;
      const letters = Math.floor((Math.min(this.x(end), edge) - x) / LETTER);
      draw.fillStyle = isLight(this.chosen[name] ?? "#ffffff") ? "#111" : "#fff";
      const text = this.names[name - 1] ?? "";
      if (letters > 1)
        draw.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text,
          x, y + ROW / 2);
    });
  }

  /** The selection and the cursor, over the rows. */
  marks(draw, height, colour) {
    const { select, cursor } = this.view;
    if (select) {
      draw.fillStyle = colour.select;
      draw.fillRect(this.x(select.from), AXIS,
        Math.max(1, this.x(select.to) - this.x(select.from)), height);
    }
    if (cursor !== null) {
      draw.fillStyle = colour.accent;
      draw.fillRect(this.x(cursor), 0, 1.5, height);
    }
  }

  /** The arrows in sight, from and to which row in pixels, but those that lie so close
   * that who woke whom can't be told, and what is below them is hidden. */
  wakesApart(place) {
    const all = this.arrows.map(({ t, from_row, to_row }) => ({ x: this.x(t),
      begin: place.get(from_row), end: place.get(to_row) }))
      .filter(({ begin, end }) => begin !== undefined && end !== undefined && begin !== end)
      .sort((a, b) => a.x - b.x);
    const close = new Set();
    for (let at = 0; at + FEW < all.length; at++)
      if (all[at + FEW].x - all[at].x < APART)
        all.slice(at, at + FEW + 1).forEach((arrow) => close.add(arrow));
    return all.filter((arrow) => !close.has(arrow));
  }

  /** Arrows from who woke to who was woken, at the instant. */
  wakes(draw, seen, top, colour) {
    const place = new Map(seen.map(({ row }, at) => [row.id, top + at * ROW + ROW / 2]));
    draw.strokeStyle = draw.fillStyle = colour.text;
    draw.lineWidth = 1;
    for (const { x, begin, end } of this.wakesApart(place)) {
      const way = Math.sign(end - begin);
      draw.globalAlpha = 0.75;
      draw.beginPath();
      draw.moveTo(x, begin);
      draw.lineTo(x, end - way * 5);
      draw.stroke();
      draw.beginPath();
      draw.moveTo(x, end);
      draw.lineTo(x - 3.5, end - way * 7);
      draw.lineTo(x + 3.5, end - way * 7);
      draw.fill();
    }
    draw.globalAlpha = 1;
  }

  label(draw, { row, depth, folded }, y, colour) {
    const x = 10 + depth * 14;
    const pinned = this.view.pinned.includes(row.id);
    if (row.id === this.view.row) {
      draw.fillStyle = colour.chosen;
      draw.fillRect(0, y, this.labels, ROW);
    }
    const mark = folded === null ? "" : folded ? "▸ " : "▾ ";
    const busy = row.kind === "counter" ? scaleOf(row) :
      Number.isFinite(row.busy) ? share(row.busy) : "";
    const edge = this.labels - 6 - draw.measureText(busy).width;
    draw.fillStyle = colour.faint;
    draw.fillText(busy, edge, y + ROW / 2);
    draw.fillStyle = colour.text;
    draw.fillText(this.named(draw, row, `${pinned ? "★ " : ""}${mark}`, edge - 6 - x),
      x, y + ROW / 2);
  }

  /** A row's name in that room: the number tells those of one name apart, so it is
   * the name that is cut. */
  named(draw, row, mark, room) {
    const number = row.kind === "thread" ? row.tid : row.kind === "process" ? row.pid : -1;
    const end = number >= 0 ? `  ${number}` : "";
    return shorten(draw, mark + row.name, room - draw.measureText(end).width) + end;
  }

  axis(draw, width, colour) {
    const { from, to } = this.view;
    draw.fillStyle = colour.panel;
    draw.fillRect(0, 0, width, AXIS);
    const { step, times } = ticks(from, to, this.width / 120);
    draw.fillStyle = colour.faint;
    for (const time of times) {
      draw.fillRect(this.x(time), AXIS - 5, 1, 5);
      const text = tickName(time, step);
      if (this.x(time) + 4 + draw.measureText(text).width <= width)
        draw.fillText(text, this.x(time) + 4, AXIS / 2 - 1);
    }
    draw.fillStyle = colour.line;
    draw.fillRect(0, AXIS - 1, width, 1);
    draw.fillRect(this.labels, 0, 1, this.canvas.clientHeight);
    if (this.view.cursor !== null && this.view.cursor >= from && this.view.cursor <= to) {
      draw.fillStyle = colour.accent;
      draw.fillRect(this.x(this.view.cursor) - 1, 0, 3, AXIS);
    }
    this.lost(draw);
  }

  /** Notes: a flag below the axis, with its text where there is room; the span; a
   * ring at the row. */
  flags(draw, seen, top, colour) {
    const { from, to } = this.view;
    let free = this.labels; // where the last one's text ended
    draw.save();
    draw.beginPath();
    draw.rect(this.labels, 0, this.width, this.canvas.clientHeight);
    draw.clip();
    for (const note of this.notes) {
      if (note.to < from || note.from > to)
        continue;
      const x = this.x(note.from);
      draw.fillStyle = draw.strokeStyle = colour.note;
      draw.fillRect(x, AXIS - 4, Math.max(1, this.x(note.to) - x), 4);
      draw.fillRect(x - 0.5, AXIS - 10, 1.5, 24);
      const at = seen.findIndex(({ row }) => this.rows.word(row) === note.row);
      if (at >= 0) {
        draw.lineWidth = 2;
        draw.beginPath();
        draw.arc(x, top + at * ROW + ROW / 2, 6, 0, 7);
        draw.stroke();
      }
      if (x < free)
        continue;
      const text = shorten(draw, note.text, FLAG);
      const width = draw.measureText(text).width + 8;
      draw.fillRect(x, AXIS, width, 16);
      draw.fillStyle = colour.back;
      draw.fillText(text, x + 4, AXIS + 8);
      free = x + width + 4;
    }
    draw.restore();
  }

  /** The note whose flag is there. */
  noteAt(x, y) {
    return y > AXIS + 16 ? null :
      this.notes.find(({ from }) => Math.abs(this.x(from) - x) < 5) ?? null;
  }

  /** Where events of some stream were lost: under the axis' numbers. */
  lost(draw) {
    if (!this.holes)
      return;
    const { from, to, lost } = this.holes;
    const step = (to - from) / Math.max(1, lost.length);
    for (let at = 0; at < lost.length; at++) {
      const first = at;
      while (at < lost.length && lost[at])
        at++;
      if (at === first)
        continue;
      const x = Math.max(this.labels, this.x(from + first * step));
      const end = this.x(from + at * step);
      if (end > x)
        hatch(draw, x, AXIS - 7, Math.max(3, end - x), 7);
    }
  }
}
