// SPDX-License-Identifier: MIT
// notes.js - what people noted about instants, spans and rows: a list to go from,
// and flags on the time line. The server keeps them beside the trace.
import { element, part } from "./paint.js";
import { Refused } from "./server.js";
import { duration, relative } from "./time.js";

export class Notes {
  /** @param {import("./detail.js").Detail} detail */
  constructor(place, view, server, timeline, detail) {
    this.view = view;
    this.server = server;
    this.timeline = timeline;
    this.detail = detail;
    /** @type {{id: number, from: number, to: number, row: ?string, text: string}[]} */
    this.all = [];
    /** The last of what was asked: each waits for the one before, so that an older
     * answer never replaces a newer one. @type {Promise<boolean>} */
    this.last = Promise.resolve(true);
    this.input = element("input", { type: "text", className: "grow", id: "note-text",
      maxLength: 300, placeholder: "A note on the selection, or on the cursor and its row" });
    this.input.setAttribute("aria-label", "A new note");
    this.add = element("button", { textContent: "Note", id: "note-add",
      title: "keep this note (Enter)" });
    this.say = element("span", { className: "faint", id: "notes-note" });
    this.say.setAttribute("role", "status");
    this.list = element("div", { className: "wrap", id: "notes-list" });
    this.add.addEventListener("click", () => void this.keep());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter")
        void this.keep();
      else if (event.key === "Escape")
        timeline.canvas.focus();
      event.stopPropagation();
    });
    place.append(element("div", { className: "bar" }, this.input, this.add, this.say), this.list);
    view.listen((changed) => {
      if (changed.has("tab") && view.tab === "notes")
        void this.load();
    });
  }

  load() {
    return this.change("GET", "notes", {});
  }

  /** To write one: the field is ready. */
  begin() {
    this.view.set({ tab: "notes" });
    requestAnimationFrame(() => this.input.focus());
  }

  async keep() {
    const { view } = this;
    const text = this.input.value.trim();
    const instant = Math.round(view.cursor ?? (view.from + view.to) / 2);
    const { from, to } = view.select ?? { from: instant, to: instant };
    const row = view.select ? null : this.timeline.rows.byId.get(view.row);
    if (text && await this.change("POST", "note", { text, from, to,
      row: row ? this.timeline.rows.word(row) : "" }))
      this.input.value = "";
  }

  /** Asks or changes, and shows what there is then; whether it went well. */
  change(method, path, params) {
    this.last = this.last.then(() => this.exchange(method, path, params));
    return this.last;
  }

  /** One question and its answer. */
  async exchange(method, path, params) {
    try {
      const answer = await this.server.ask(path, params, undefined, method);
      this.all = answer.notes;
      this.timeline.notes = answer.notes;
      this.say.textContent = answer.directory ?
        `in ${answer.directory}/${answer.file}` : "there is no place to keep notes";
      this.show();
      this.timeline.draw();
      return true;
    } catch (error) {
      if (error instanceof Refused)
        this.say.textContent = error.message;
      return false;
    }
  }

  show() {
    const body = element("tbody");
    for (const note of this.all)
      body.append(this.line(note));
    this.list.replaceChildren(this.all.length ? element("table", {}, body) :
      element("p", { className: "faint", textContent: "No notes yet: m begins one." }));
  }

  line(note) {
    const go = element("button", { textContent: relative(note.from), title: "go there" });
    go.addEventListener("click", () => this.go(note));
    const text = element("input", { type: "text", value: note.text, maxLength: 300,
      className: "note", title: note.text });
    text.setAttribute("aria-label", `Note at ${relative(note.from)}`);
    text.addEventListener("change", () => {
      if (text.value.trim())
        void this.change("POST", "note", { id: note.id, text: text.value.trim() });
      else
        text.value = note.text;
    });
    const drop = element("button", { textContent: "Remove", title: "remove this note" });
    drop.addEventListener("click", () => void this.change("POST", "note", { id: note.id }));
    const row = this.row(note);
    return element("tr", {}, element("td", { className: "number" }, go),
      element("td", { textContent: note.to > note.from ? duration(note.to - note.from) : "" }),
      element("td", { textContent: row?.name ?? "" }), element("td", {}, text),
      element("td", {}, drop));
  }

  row(note) {
    return note.row === null ? null : this.timeline.rows.ofWord(note.row);
  }

  go(note) {
    const { view } = this;
    if (note.to > note.from) {
      const room = (note.to - note.from) / 4;
      view.set({ select: { from: note.from, to: note.to } });
      if (note.from < view.from || note.to > view.to)
        view.set({ from: note.from - room, to: note.to + room });
    }
    this.detail.go(this.row(note)?.id, note.from);
    part("said").textContent = note.text;
  }

  /** To the next note of those after the cursor, or the one before. */
  step(by) {
    const at = this.view.cursor ?? (by > 0 ? -1 : Infinity);
    const found = by > 0 ? this.all.find(({ from }) => from > at) :
      this.all.findLast(({ from }) => from < at);
    if (found)
      this.go(found);
  }
}
