// SPDX-License-Identifier: MIT
// hands.js - what the mouse, the wheel and the keys do in the time line.
import { part } from "./paint.js";
import { Latest } from "./server.js";
import { duration } from "./time.js";
import { ROW } from "./timeline.js";

/** For the list of keys on the page: what is pressed, what it does. */
export const KEYS = [
  ["w, s", "zoom in, out (at the mouse)"], ["a, d", "earlier, later"],
  ["Ctrl + wheel", "zoom"], ["wheel", "scroll rows; sideways or with Shift: move"],
  ["drag", "move"], ["Shift + drag", "select a span"],
  ["click", "what the row did, why, who woke it"],
  ["↑, ↓", "choose a row"], ["←, →", "move the cursor"],
  ["Enter", "explain the row at the cursor"], ["j", "go to who woke it"],
  ["p", "pin the row"], ["Space", "fold or unfold what is below the row"],
  ["f", "fit the selection"], ["0", "the whole trace"], ["Esc", "drop the selection"],
  ["←, →, ↑, ↓ in the overview", "move its frame, make it smaller or larger"],
  ["n, Shift + n", "next, previous event of the filter"], ["/", "filter events"],
  ["c", "compare with the selection, or with what is seen; in Flame, its picture"],
  ["arrows, Enter, Esc in Flame", "go from box to box, zoom to it, show all"],
  ["m", "note on the selection, or on the cursor"], ["[, ]", "the note before, after"],
  ["?", "these keys"],
];

export class Hands {
  /** @param {import("./detail.js").Detail} detail
   * @param {import("./notes.js").Notes} notes */
  constructor(timeline, view, server, detail, notes) {
    this.timeline = timeline;
    this.canvas = timeline.canvas;
    this.view = view;
    this.detail = detail;
    this.notes = notes;
    this.question = new Latest(server, "at", 60);
    this.drag = null;
    this.mouse = null;
    this.waiting = 0;
    const on = (name, hear, options = {}) =>
      this.canvas.addEventListener(name, hear.bind(this), options);
    on("pointerdown", this.down);
    on("pointermove", this.moved);
    on("pointerup", this.up);
    on("pointerleave", this.left);
    on("wheel", this.wheel, { passive: false });
    on("keydown", this.key);
    on("dblclick", this.twice);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    return { x, y, time: this.timeline.time(x), line: this.timeline.rowAt(y),
             label: x < this.timeline.labels };
  }

  down(event) {
    const at = this.place(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { ...at, from: this.view.from, to: this.view.to, far: false,
                  select: event.shiftKey };
    this.hide();
  }

  moved(event) {
    const at = this.place(event);
    this.mouse = at;
    if (!this.drag)
      return this.hover(event, at);
    const by = at.x - this.drag.x;
    this.drag.far ||= Math.abs(by) > 4;
    if (!this.drag.far || this.drag.label)
      return undefined;
    if (this.drag.select)
      this.view.set({ select: this.spanTo(at.time) });
    else {
      const time = by / this.timeline.width * (this.drag.to - this.drag.from);
      this.view.set({ from: this.drag.from - time, to: this.drag.to - time });
    }
    return undefined;
  }

  spanTo(time) {
    const from = Math.round(Math.max(0, Math.min(time, this.drag.time)));
    const to = Math.round(Math.min(this.view.end, Math.max(time, this.drag.time)));
    return { from, to: Math.max(to, from + 1) };
  }

  up(event) {
    const drag = this.drag;
    this.drag = null;
    if (drag && !drag.far)
      this.click(this.place(event));
  }

  click({ x, y, line, label, time }) {
    const note = label ? null : this.timeline.noteAt(x, y);
    if (note)
      this.notes.go(note);
    else if (!line) {
      if (!label)
        this.view.set({ cursor: Math.round(time) });
    } else if (label) {
      this.view.set({ row: line.row.id });
      if (line.folded !== null)
        this.fold(line.row.id);
    } else {
      this.view.set({ row: line.row.id, cursor: Math.round(time) });
      this.detail.explain(line.row.id, Math.round(time));
    }
  }

  /** A double click zooms to the interval. */
  twice() {
    const found = this.detail.last;
    if (found && Number.isFinite(found.from) && Number.isFinite(found.to))
      this.view.set({ from: found.from - (found.to - found.from) / 4,
                      to: found.to + (found.to - found.from) / 4 });
  }

  left() {
    this.mouse = null;
    this.hide();
  }

  hide() {
    clearTimeout(this.waiting);
    this.question.cancel();
    part("tip").hidden = true;
  }

  hover(event, { line, time, label }) {
    this.hide();
    if (!line || label)
      return;
    const { clientX, clientY } = event;
    this.waiting = setTimeout(() => this.question.ask(
      { row: line.row.id, t: Math.round(time) },
      (found) => this.tip(line.row, found, clientX, clientY)), 60);
  }

  tip(row, found, x, y) {
    const tip = part("tip");
    const fields = Object.entries(found.detail ?? {}).slice(0, 8)
      .map(([name, value]) => `${name}: ${value}`);
    tip.textContent = [row.name, !found.state ? "no record here" :
      `${this.stateName(found.state)}, ${duration(found.to - found.from)}`,
      ...fields].join("\n");
    tip.hidden = false;
    tip.style.left = `${Math.min(x + 14, innerWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.min(y + 14, innerHeight - tip.offsetHeight - 4)}px`;
  }

  stateName(state) {
    return this.timeline.states.find(({ id }) => id === state)?.name ?? String(state);
  }

  wheel(event) {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    const span = this.view.to - this.view.from;
    if (event.ctrlKey)
      this.view.zoom(Math.exp(Math.max(-0.7, Math.min(0.7, event.deltaY / 400))),
                     this.place(event).time);
    else if (sideways)
      this.view.move(sideways / this.timeline.width * span);
    else
      return; // the box scrolls
    event.preventDefault();
    this.hide();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey)
      return;
    const act = this.acts()[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act)
      return;
    event.preventDefault();
    act();
  }

  acts() {
    const { view } = this;
    const span = view.to - view.from;
    const about = this.mouse?.time ?? view.cursor ?? (view.from + view.to) / 2;
    return {
      w: () => view.zoom(0.75, about), s: () => view.zoom(1 / 0.75, about),
      a: () => view.move(-span / 8), d: () => view.move(span / 8),
      ArrowUp: () => this.choose(-1), ArrowDown: () => this.choose(1),
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      Enter: () => this.explain(), j: () => this.detail.jump(), p: () => this.pin(),
      " ": () => this.fold(view.row), Escape: () => view.set({ select: null }),
    };
  }

  choose(by) {
    const { shown } = this.timeline.rows;
    const at = this.timeline.rows.indexOf(this.view.row);
    const line = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (!line)
      return;
    this.view.set({ row: line.row.id });
    this.timeline.scrollTo(line.row.id);
    part("said").textContent = line.row.name;
  }

  step(by) {
    const pixel = (this.view.to - this.view.from) / this.timeline.width;
    const now = this.view.cursor ?? (this.view.from + this.view.to) / 2;
    const cursor = Math.round(Math.min(this.view.end, Math.max(0, now + by * 8 * pixel)));
    this.view.set({ cursor });
    this.view.show(cursor);
  }

  explain() {
    const { row, cursor } = this.view;
    if (row !== null && cursor !== null)
      this.detail.explain(row, cursor);
  }

  pin() {
    const { row, pinned } = this.view;
    if (row !== null)
      this.view.set({ pinned: pinned.includes(row) ?
        pinned.filter((id) => id !== row) : [...pinned, row] });
    this.timeline.box.scrollTop += pinned.includes(row) ? -ROW : 0;
  }

  fold(id) {
    const { folded } = this.view;
    if (id !== null)
      this.view.set({ folded: folded.includes(id) ?
        folded.filter((other) => other !== id) : [...folded, id] });
  }
}
