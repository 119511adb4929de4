// SPDX-License-Identifier: MIT
// state.js - what is seen: one span of time, one selection, one cursor, one row,
// for all parts of the page. It is in the address, whole, so that an address
// shows another what is seen.
//
// Parts change it by set() and hear of changes by listen(), once per picture of
// the browser's, however many changes there were.

const LEAST = 50; // ns; nothing is seen of less

const FIRST = {
  from: 0, to: 1, select: null, cursor: null, row: null, filter: "", rows: "",
  sort: "busy", idle: false, tab: "events", clock: "relative", columns: "", by: "thread",
  pinned: [], folded: [], latency: null, flame: "", top: 0, order: [],
  compare: null, traces: "", box: [], against: "", flameby: "", find: "", root: [],
};

export class View {
  constructor() {
    Object.assign(this, structuredClone(FIRST));
    /** @type {number} */ this.from = 0;
    /** @type {number} */ this.to = 1;
    /** @type {?{from: number, to: number}} */ this.select = null;
    /** @type {?number} */ this.cursor = null;
    /** @type {?number} */ this.row = null;
    /** @type {number[]} */ this.pinned = [];
    /** @type {number[]} */ this.folded = [];
    /** @type {?{begin: string, end: string, key: string}} */ this.latency = null;
    this.filter = ""; this.rows = ""; this.sort = "busy"; this.tab = "events";
    this.clock = "relative"; this.columns = ""; this.by = "thread"; this.idle = false;
    this.flame = ""; // what the flame graph is of; "": what the trace is best for
    /** @type {?{from: number, to: number}} */ this.compare = null; // with what
    this.traces = ""; // or which two: "0,1"
    this.top = 0; // the first row in sight
    /** @type {number[]} */ this.order = []; // the table's: a column, 1 for down
    this.against = ""; this.flameby = ""; this.find = ""; // of the flame graph (flame.js)
    /** @type {string[]} */ this.root = []; // the names down to what fills its width
    /** @type {number[]} */ this.box = []; // in the drawings of latencies (latency.js)
    this.end = 1; // of the trace
    this.listeners = [];
    this.changed = new Set();
    this.saving = 0;
  }

  listen(hear) {
    this.listeners.push(hear);
  }

  /** @param {Record<string, any>} changes */
  set(changes) {
    Object.assign(this, changes);
    if ("from" in changes || "to" in changes)
      this.clamp();
    if (!this.changed.size)
      requestAnimationFrame(() => this.tell());
    for (const name of Object.keys(changes))
      this.changed.add(name);
  }

  clamp() {
    const width = Math.min(Math.max(this.to - this.from, LEAST),
                           Math.max(this.end, LEAST));
    const from = Math.min(Math.max(this.from, 0), Math.max(0, this.end - width));
    this.from = from;
    this.to = from + width;
  }

  tell() {
    const changed = this.changed;
    this.changed = new Set();
    for (const hear of this.listeners)
      hear(changed);
    clearTimeout(this.saving);
    this.saving = setTimeout(() => history.replaceState(null, "", this.address()), 150);
  }

  /** Zooms by a factor about an instant, which stays where it is. */
  zoom(factor, about) {
    const width = Math.max((this.to - this.from) * factor, LEAST);
    const part = (about - this.from) / (this.to - this.from);
    this.set({ from: about - part * width, to: about + (1 - part) * width });
  }

  move(by) {
    this.set({ from: this.from + by, to: this.to + by });
  }

  /** Makes an instant visible; a span that shows it already stays. */
  show(time) {
    const width = this.to - this.from;
    if (time < this.from || time > this.to)
      this.set({ from: time - width / 2, to: time + width / 2 });
  }

  address() {
    const words = new URLSearchParams();
    for (const [name, first] of Object.entries(FIRST)) {
      const value = this[name];
      if (JSON.stringify(value) !== JSON.stringify(first))
        words.set(name, typeof value === "number" ? String(Math.round(value)) :
          typeof value === "string" ? value : JSON.stringify(value));
    }
    return "#" + words;
  }

  /** What an address says; what isn't of its kind is left out. */
  read(hash) {
    const changes = structuredClone(FIRST);
    changes.to = this.end;
    for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
      if (!(name in FIRST))
        continue;
      if (typeof FIRST[name] === "string") {
        changes[name] = text;
        continue;
      }
      try {
        const value = JSON.parse(text);
        if (kindOf(value) === KINDS[name])
          changes[name] = value;
      } catch { /* an address that somebody broke */ }
    }
    this.set(changes);
  }
}

const KINDS = { from: "number", to: "number", select: "span", cursor: "number",
  row: "number", idle: "boolean", pinned: "list", folded: "list", top: "number",
  order: "list", compare: "span", box: "list", root: "words",
  latency: "pair" };

function kindOf(value) {
  if (Array.isArray(value))
    return value.every(Number.isFinite) ? "list" :
      value.every((text) => typeof text === "string") ? "words" : "";
  if (value && typeof value === "object") {
    if (Number.isFinite(value.from) && value.to > value.from)
      return "span";
    return [value.begin, value.end, value.key]
      .every((text) => typeof text === "string") ? "pair" : "";
  }
  return typeof value;
}
