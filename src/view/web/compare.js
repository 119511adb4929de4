// SPDX-License-Identifier: MIT
// compare.js - what is different between a span that was kept and the selection (or
// what is seen), or between two of the traces: what `sonde diff` says.
import { element } from "./paint.js";
import { Latest } from "./server.js";
import { keeps, Table } from "./table.js";
import { duration, relative } from "./time.js";

function words({ from, to }) {
  return `${duration(to - from)} from ${relative(from)} on`;
}

export class Compare {
  constructor(place, view, server) {
    this.view = view;
    this.question = new Latest(server, "diff", 200);
    this.sides = element("select", { title: "What is compared", id: "compare-sides" });
    this.take([]);
    this.sides.addEventListener("change", () => view.set({ traces: this.sides.value }));
    const keep = element("button", { textContent: "Compare with this", id: "compare-keep",
      title: "the selection, or what is seen, is A; what is chosen then is B (c)" });
    keep.addEventListener("click", () => this.keep());
    this.note = element("span", { className: "faint grow", id: "compare-note" });
    this.note.setAttribute("role", "status");
    this.wrap = element("div", { className: "wrap", id: "compare-tables" });
    place.append(element("div", { className: "bar" }, this.sides, keep, this.note), this.wrap);
    view.listen((changed) => {
      if (["tab", "compare", "traces", "select", "filter"].some((name) => changed.has(name)) ||
          (!view.select && !view.traces && (changed.has("from") || changed.has("to"))))
        this.load();
    });
  }

  /** The paths of traces that are shown as one: each two can be compared. */
  take(paths) {
    const pairs = paths.flatMap((first, a) => paths.map((second, b) => [a, b, first, second]))
      .filter(([a, b]) => a < b);
    this.sides.replaceChildren(element("option", { value: "", textContent: "two spans" }),
      ...pairs.map(([a, b, first, second]) => element("option", {
        value: `${a},${b}`, textContent: `A = ${first}, B = ${second}` })));
    this.sides.hidden = !pairs.length;
  }

  get span() {
    const { from, to } = this.view.select ?? this.view;
    return { from: Math.round(from), to: Math.round(to) };
  }

  keep() {
    this.view.set({ compare: this.span, traces: "", tab: "compare" });
  }

  load() {
    const { view } = this;
    this.sides.value = view.traces;
    if (view.tab !== "compare")
      return;
    const a = view.compare;
    if (!view.traces && !a) {
      this.clear("Select a span, press c; then select another: what is different stands here.");
      return;
    }
    const b = this.span;
    const asked = view.traces ? { traces: view.traces } :
      { a_from: a.from, a_to: a.to, ...b };
    this.note.textContent = "reading ...";
    this.question.ask({ ...asked, filter: view.filter }, (answer) => {
      this.note.textContent = (view.traces ? "" : `A: ${words(a)}; B: ${words(b)}`) +
        (view.filter ? `, of ${view.filter}` : "");
      this.show(answer);
    }, (refused) => this.clear(refused.message));
  }

  clear(text) {
    this.note.textContent = text;
    this.wrap.replaceChildren();
  }

  show({ notes, tables }) {
    const list = element("ul", {}, ...notes.map((textContent) => element("li", { textContent })));
    this.wrap.replaceChildren(list);
    for (const answer of tables) {
      const place = element("div");
      new Table(place, () => {}).take(answer);
      this.wrap.append(element("h2", { textContent: `${answer.title} ` }, ...keeps(() => answer.title, () => answer)), place);
    }
  }
}
