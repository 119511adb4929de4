// SPDX-License-Identifier: MIT
// events.js - the list of events: of those held (chunks.js) only what is in sight
// is in the document. Follows the cursor, and leads it.
import { Chunks } from "./chunks.js";
import { Complete } from "./complete.js";
import { element } from "./paint.js";
import { Refused } from "./server.js";
import { download } from "./table.js";
import { absolute, isOrdered, relative } from "./time.js";

const LINE = 20;
/** What the events can be kept as: the format, and the file's ending. */
const KEEP = [["csv", "csv"], ["jsonl", "jsonl"], ["perfetto", "pftrace"], ["chrome", "json"],
  ["ctf", "tar"], ["folded", "txt"]];

/** Columns that the page makes itself: what is in them, and how wide they are. */
const OWN = { time: ["Time", "175px"], host: ["Host", "minmax(50px, 120px)"], cpu: ["CPU", "42px"],
  thread: ["Thread", "minmax(120px, 180px)"], event: ["Event", "minmax(140px, 240px)"],
  fields: ["Fields", "minmax(0, 1fr)"] };
const WORDS = Object.keys(OWN);
/** Those of one machine's events. */
const ALONE = WORDS.filter((name) => name !== "host");
const USUAL = ALONE.join(", ");

export class Events {
  constructor(place, view, server, detail) {
    this.view = view;
    this.server = server;
    this.detail = detail;
    this.chunks = new Chunks(server);
    this.chosen = null;
    this.origin = "0";
    this.build(place);
    view.listen((changed) => this.hear(changed));
  }

  build(place) {
    const make = element;
    this.input = make("input", { type: "text", className: "grow", spellcheck: false,
      id: "event-filter", placeholder: "Filter: event == \"name\"",
      title: "as of sonde print -f: event == \"sched_switch\" && next_tid == 4711" });
    this.input.setAttribute("aria-label", "Filter of events");
    const button = (text, title, act) => {
      const made = make("button", { textContent: text, title });
      made.addEventListener("click", act);
      return made;
    };
    this.clock = make("select", { title: "How times are shown" });
    for (const name of ["relative", "absolute", "delta"])
      this.clock.append(make("option", { value: name, textContent: name }));
    this.keeps = make("select", { title: "Keep the events of the selection, or of what is seen", id: "keep" });
    this.keeps.append(make("option", { value: "", textContent: "Keep as ..." }));
    for (const [name] of KEEP)
      this.keeps.append(make("option", { value: name, textContent: name }));
    this.columns = make("input", { type: "text", id: "columns", spellcheck: false, value: USUAL, size: USUAL.length,
      title: "Columns, with commas between them: these, fields, or expressions of them" });
    this.columns.setAttribute("aria-label", "Columns of events");
    this.wrong = make("div", { className: "wrong", hidden: true, id: "wrong" });
    this.wrong.setAttribute("role", "alert");
    this.note = make("span", { className: "faint", id: "events-note" });
    this.list = make("div", { className: "list", tabIndex: 0, id: "list" });
    this.list.setAttribute("role", "grid");
    this.list.setAttribute("aria-label", "Events");
    this.inner = make("div");
    this.list.append(this.inner);
    this.head = make("div", { className: "head" });
    place.append(make("div", { className: "bar" }, this.input,
      button("Previous", "the event before (Shift + n)", () => this.step(-1)),
      button("Next", "the event after (n)", () => this.step(1)), this.clock,
      this.columns, this.keeps, this.note),
      this.wrong, this.head, this.list);
    this.setHeads();
    this.listen();
  }

  listen() {
    let waiting = 0;
    this.complete = new Complete(this.input, this.server);
    this.input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.view.set({ filter: this.input.value }), 250);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter")
        this.view.set({ filter: this.input.value });
      event.stopPropagation();
    });
    this.completeColumns = new Complete(this.columns, this.server, WORDS);
    this.columns.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.takeColumns(), 250);
    });
    this.columns.addEventListener("keydown", (event) => {
      if (event.key === "Enter")
        this.takeColumns();
      event.stopPropagation();
    });
    this.columns.addEventListener("blur", () => {
      this.columns.value ||= USUAL;
    });
    this.clock.addEventListener("change", () => this.view.set({ clock: this.clock.value }));
    this.keeps.addEventListener("change", () => void this.keep(this.keeps.value));
    this.list.addEventListener("scroll", () => this.scrolled());
    this.list.addEventListener("click", (event) => {
      const line = event.target.closest(".row");
      if (line)
        this.choose(Number(line.dataset.at));
    });
    this.list.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
      if (!by)
        return;
      event.preventDefault();
      event.stopPropagation();
      this.step(by);
    });
    new ResizeObserver(() => this.draw()).observe(this.list);
  }

  /** The selection, or what is seen, as a file. */
  async keep(format) {
    const { from, to } = this.view.select ?? this.view;
    this.keeps.value = "";
    this.note.textContent = "reading ...";
    try {
      const file = await this.server.ask("export", { format, filter: this.view.filter,
        from: Math.round(from), to: Math.round(to) });
      download(`events.${KEEP.find(([name]) => name === format)[1]}`,
               "application/octet-stream", file);
      this.note.textContent = "";
    } catch (error) {
      this.note.textContent = error.message;
    }
  }

  /** What the field says; nothing: the usual ones. */
  takeColumns() {
    const text = this.columns.value.trim();
    this.view.set({ columns: text === USUAL ? "" : text });
  }

  hear(changed) {
    if (changed.has("clock")) {
      this.clock.value = this.view.clock;
      this.draw();
    }
    if (changed.has("columns")) {
      if (document.activeElement !== this.columns)
        this.columns.value = this.view.columns || USUAL;
      void this.load();
    }
    if (changed.has("filter")) {
      if (document.activeElement !== this.input)
        this.input.value = this.view.filter;
      void this.load();
    } else if (changed.has("cursor") && this.view.cursor !== this.chosen?.t)
      void this.load();
  }

  /** Shows what is at the cursor, or at the begin of what is seen. */
  async load() {
    const time = this.view.cursor ?? (this.view.from > 0 ? this.view.from : 0);
    this.note.textContent = "…";
    try {
      const at = await this.chunks.go(time, this.view.filter, this.view.columns);
      if (at === null)
        return;
      this.error(null);
      this.chosen = null;
      this.setHeads();
      this.height();
      this.list.scrollTop = Math.max(0, (at - 2) * LINE);
      this.draw();
    } catch (error) {
      if (error instanceof Refused)
        this.error(error);
      else if (error.name !== "AbortError" && !this.server.gone)
        throw error;
    }
  }

  /** The columns that are held, and how wide they are. */
  setHeads() {
    const hosts = this.chunks.events[0]?.host !== undefined;
    this.heads = this.chunks.heads ?? (hosts ? WORDS : ALONE);
    const widths = this.heads.map((name) => OWN[name]?.[1] ?? "minmax(60px, 180px)");
    if (!this.heads.includes("fields"))
      widths.push("minmax(0, 1fr)");
    for (const place of [this.head, this.list])
      place.style.setProperty("--columns", widths.join(" "));
    this.head.replaceChildren(...this.heads.map((name) =>
      element("span", { textContent: OWN[name]?.[0] ?? name, title: name })));
  }

  /** The mark stands under the column that the server complains of. */
  error(refused) {
    this.wrong.hidden = !refused;
    this.note.textContent = "";
    if (!refused)
      return;
    const at = refused.at ?? 0;
    this.wrong.textContent = refused.at === null ? refused.message :
      `${refused.message.startsWith("columns: ") ? this.view.columns : this.view.filter}\n${" ".repeat(Math.max(0, at - 1))}^ ${refused.message}`;
  }

  height() {
    this.inner.style.height = `${this.chunks.events.length * LINE}px`;
    const { events, first, last } = this.chunks;
    this.note.textContent = !events.length && first && last ? "no event matches" :
      [first ? "from the first" : "", last ? "to the last" : ""].filter(Boolean).join(" ");
  }

  scrolled() {
    this.draw();
    const { scrollTop, clientHeight } = this.list;
    const room = 40 * LINE;
    if (scrollTop + clientHeight > this.inner.offsetHeight - room)
      void this.grow(1);
    else if (scrollTop < room)
      void this.grow(-1);
  }

  async grow(direction) {
    try {
      const moved = await this.chunks.grow(direction);
      const top = this.list.scrollTop;
      this.height();
      if (moved)
        this.list.scrollTop = top + moved * LINE;
      this.draw();
    } catch (error) {
      if (error instanceof Refused)
        this.error(error);
    }
  }

  time(event, before) {
    if (event.t === null)
      return "no clock";
    if (this.view.clock === "absolute")
      return absolute(event.t, this.origin);
    if (this.view.clock === "delta" && before && !isOrdered(before, event))
      return "?";
    if (this.view.clock === "delta" && before)
      return `+${relative(event.t - before.t)}`;
    return relative(event.t);
  }

  draw() {
    const { events } = this.chunks;
    const first = Math.max(0, Math.floor(this.list.scrollTop / LINE) - 3);
    const last = Math.min(events.length,
      first + Math.ceil(this.list.clientHeight / LINE) + 6);
    const lines = [];
    for (let at = first; at < last; at++)
      lines.push(this.line(events[at], events[at - 1], at));
    this.inner.replaceChildren(...lines);
  }

  line(event, before, at) {
    const cell = (text) => element("span", { textContent: text, title: text });
    const who = event.tid === null || event.tid === undefined ? "" :
      `${event.comm ?? ""} ${event.tid}`.trim();
    const own = { time: this.time(event, before), host: event.host, cpu: String(event.cpu ?? ""), thread: who,
      event: event.name, fields: event.text ?? "" };
    const line = element("div", { className: "row" }, ...this.heads.map((name, column) =>
      cell(own[name] ?? event.columns?.[column] ?? "")));
    line.setAttribute("role", "row");
    line.style.top = `${at * LINE}px`;
    line.dataset.at = String(at);
    line.classList.toggle("chosen", event === this.chosen);
    return line;
  }

  choose(at) {
    const event = this.chunks.events[at];
    if (!event)
      return;
    this.chosen = event;
    this.detail.event(event);
    if (event.t !== null) {
      this.view.set({ cursor: event.t });
      this.view.show(event.t);
    }
    this.draw();
  }

  /** The next or previous event of those that match. */
  async step(by) {
    const { events } = this.chunks;
    const now = this.chosen ? events.indexOf(this.chosen) :
      events.findIndex((event) => event.t >= (this.view.cursor ?? this.view.from)) -
      (by > 0 ? 1 : 0);
    if (now + by >= events.length || now + by < 0)
      await this.grow(by);
    const from = this.chosen ? this.chunks.events.indexOf(this.chosen) : now;
    const at = Math.max(0, Math.min(this.chunks.events.length - 1, from + by));
    this.choose(at);
    const top = at * LINE;
    if (top < this.list.scrollTop || top > this.list.scrollTop + this.list.clientHeight - LINE)
      this.list.scrollTop = top - this.list.clientHeight / 2;
  }
}
