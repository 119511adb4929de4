// SPDX-License-Identifier: MIT
// rows.js - which rows the time line shows, in which order: pinned ones, CPUs,
// those of the user's rules and counters, then processes with their threads, and below
// these what goes on within them; a process's locks are behind its threads. All without those folded, filtered out, idle.

export class Rows {
  constructor(view) {
    this.view = view;
    this.all = [];
    this.byId = new Map();
    /** @type {{row: any, depth: number, folded: ?boolean}[]} */
    this.shown = [];
  }

  take(all) {
    const before = this.byId;
    this.all = all;
    this.byId = new Map(all.map((row) => [row.id, row]));
    this.renumber(before);
    this.arrange();
  }

  /** A trace that grows has other numbers for the same rows. */
  renumber(before) {
    const { view } = this;
    const numbers = new Map(this.all.map((row) => [this.word(row), row.id]));
    const now = (id) => (before.has(id) ? numbers.get(this.word(before.get(id))) ?? id : id);
    const [pinned, folded] = [view.pinned.map(now), view.folded.map(now)];
    const row = view.row === null ? null : now(view.row);
    if (row !== view.row || pinned.some((id, at) => id !== view.pinned[at]) ||
        folded.some((id, at) => id !== view.folded[at]))
      view.set({ pinned, folded, row });
  }

  /** Rows in view order. A process stays while one of its threads does. */
  arrange() {
    const { view, all } = this;
    const children = new Map();
    for (const row of all) {
      const parent = this.byId.has(row.parent) ? row.parent : null;
      children.set(parent, [...(children.get(parent) ?? []), row]);
    }
    this.shown = [];
    for (const id of view.pinned)
      if (this.byId.has(id))
        this.shown.push({ row: this.byId.get(id), depth: 0, folded: null });
    for (const row of this.sorted(children.get(null) ?? []))
      this.add(row, 0, children);
  }

  add(row, depth, children) {
    const below = this.sorted(children.get(row.id) ?? []);
    const folded = below.length > 0 && this.folded(row);
    const at = this.shown.length;
    this.shown.push({ row, depth, folded: below.length ? folded : null });
    if (!folded)
      for (const child of below)
        this.add(child, depth + 1, children);
    const kept = this.shown.length > at + 1 || this.wanted(row) ||
      (folded && below.some((child) => this.wanted(child)));
    if (!kept)
      this.shown.length = at;
  }

  /** A CPU's interrupts are folded away, a process's threads aren't, until one
   * wants it otherwise: view.folded has those rows. */
  folded(row) {
    return (row.kind === "cpu") !== this.view.folded.includes(row.id);
  }

  wanted(row) {
    if (this.view.idle && row.busy === 0)
      return false;
    const parent = row.kind === "within" && this.byId.get(row.parent);
    if (parent)
      return this.wanted(parent);
    const words = this.view.rows.toLowerCase().split(/\s+/).filter(Boolean);
    const numbers = [row.pid, row.tid].filter((number) => number >= 0); // those known
    const text = [row.name, ...numbers].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  }

  /** CPUs stay in the server's order; the others by what was chosen. */
  sorted(rows) {
    const order = {
      busy: (a, b) => b.busy - a.busy,
      name: (a, b) => a.name.localeCompare(b.name),
      tid: (a, b) => (a.tid ?? a.pid ?? 0) - (b.tid ?? b.pid ?? 0),
    }[this.view.sort] ?? (() => 0);
    const rank = ({ kind }) => ({ cpu: 0, own: 1, counter: 1, lock: 4 }[kind] ?? 3);
    return [...rows].sort((a, b) => rank(a) - rank(b) ||
      (/^(cpu|own|counter|span|within)$/.test(a.kind) ? 0 : order(a, b)));
  }

  /** What a row is called in what is kept: the same as long as the trace is. */
  word(row) {
    return `${row.kind}:${row.tid ?? row.pid ?? ""}:` +
      (/^(thread|process)$/.test(row.kind) ? "" : row.name);
  }

  ofWord(word) {
    return this.all.find((row) => this.word(row) === word) ?? null;
  }

  indexOf(id) {
    return this.shown.findIndex(({ row }) => row.id === id);
  }

  /** Unfolds and unfilters what hides a row. */
  reveal(id) {
    const row = this.byId.get(id);
    if (!row || this.indexOf(id) >= 0)
      return;
    let { folded } = this.view;
    for (let at = this.byId.get(row.parent); at; at = this.byId.get(at.parent))
      if (this.folded(at))
        folded = at.kind === "cpu" ? [...folded, at.id] :
          folded.filter((other) => other !== at.id);
    this.view.set({ rows: "", idle: false, folded });
    this.arrange();
  }
}
