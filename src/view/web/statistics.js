// SPDX-License-Identifier: MIT
// statistics.js - sums of the selection, or of what is seen while nothing is
// selected: by thread, state, counter, event and what reports sum up; to keep as CSV or JSON.
import { element } from "./paint.js";
import { Latest } from "./server.js";
import { keeps, Table } from "./table.js";
import { duration } from "./time.js";

/** Those of reports, which read the events and so may be filtered. */
const REPORTS = ["syscall", "lock", "function", "wake-up", "interrupt", "soft interrupt"];

export class Statistics {
  constructor(place, view, server) {
    this.view = view;
    this.question = new Latest(server, "statistics", 200);
    this.by = element("select", { title: "What a line is", id: "by" });
    for (const name of ["thread", "state", "counter", "event", ...REPORTS])
      this.by.append(element("option", { value: name, textContent: `by ${name}` }));
    this.by.addEventListener("change", () => view.set({ by: this.by.value }));
    this.note = element("span", { className: "faint grow", id: "statistics-note" });
    const wrap = element("div", { className: "wrap" });
    this.table = new Table(wrap, (order) => view.set({ order }));
    place.append(element("div", { className: "bar" }, this.by, this.note,
      ...keeps(() => view.by, () => this.table.answer)),
      wrap);
    view.listen((changed) => {
      if (["tab", "by", "select", "filter"].some((name) => changed.has(name)) ||
          (!view.select && (changed.has("from") || changed.has("to"))))
        this.load();
      if (changed.has("order"))
        this.order();
    });
  }

  /** As it comes, most of what matters first; of threads, until one wishes otherwise, who
   * ran longest. */
  order() {
    const [by, down] = this.view.order;
    const { columns } = this.table.answer;
    this.table.order(by ?? columns.findIndex(({ name }) => name === "running"), down !== 0);
  }

  load() {
    this.by.value = this.view.by;
    if (this.view.tab !== "statistics")
      return;
    const { from, to } = this.view.select ?? this.view;
    const span = { from: Math.round(from), to: Math.round(to) };
    const filtered = ["event", ...REPORTS].includes(this.view.by) && this.view.filter;
    const note = `${this.view.select ? "selection" : "what is seen"}: ` +
      duration(span.to - span.from) + (filtered ? `, of ${this.view.filter}` : "");
    this.question.ask({ ...span, by: this.view.by, filter: filtered || "" }, (answer) => {
      this.note.textContent = note + (answer.why ? `: ${answer.why}` : "");
      this.table.take({ columns: answer.columns ?? [], rows: answer.rows ?? [] });
      this.order();
    }, (refused) => {
      this.note.textContent = refused.message;
      this.table.take({ columns: [], rows: [] });
    });
  }
}
