// SPDX-License-Identifier: MIT
// flame.js - what called what in the selection, or in what is seen while nothing is
// selected, and what is different in it from a span that was kept, or from one trace to
// another. The picture is drawn by flamepicture.js.
import { FlamePicture } from "./flamepicture.js";
import { Tree } from "./flametree.js";
import { element } from "./paint.js";
import { keepSvg } from "./picture.js";
import { Latest } from "./server.js";
import { shown } from "./table.js";
import { duration } from "./time.js";

const OF = [["within", "time: functions, requests"], ["samples", "samples of what ran"],
  ["events", "call stacks of events"],
  ["live", "memory that is left"], ["peak", "memory at its peak"],
  ["waits", "waits for locks"], ["holders", "who held them"],
  ["offcpu", "where threads were blocked"], ["wakers", "who woke them"]];
const BY = [["second", "per second"], ["share", "by share of all"], ["sum", "by amount"]];

function choice(id, title, options) {
  return element("select", { id, title }, ...options.map(([value, textContent]) =>
    element("option", { value, textContent })));
}

export class Flame {
  constructor(place, view, server) {
    this.view = view;
    this.usual = "within";
    this.question = new Latest(server, "tree", 200);
    this.answer = null;
    this.span = { from: 0, to: 1 }; // of the answer
    this.build(place);
    view.listen((changed) => this.hear(changed));
    new ResizeObserver(() => this.draw()).observe(this.picture);
  }

  build(place) {
    const { view } = this;
    this.of = choice("flame-of", "What is drawn", OF);
    this.of.addEventListener("change", () => view.set({ flame: this.of.value, root: [] }));
    this.against = choice("flame-against", "What it is compared with", []);
    this.against.addEventListener("change", () => view.set({ against: this.against.value }));
    this.by = choice("flame-by", "How A and B are compared", BY);
    this.by.addEventListener("change", () => view.set({ flameby: this.by.value }));
    this.keeping = element("button", { textContent: "Compare with this", id: "flame-keep",
      title: "the selection, or what is seen, is A; what is chosen then is B (c)" });
    this.keeping.addEventListener("click", () => this.keep());
    this.find = element("input", { type: "search", placeholder: "Search", id: "flame-find" });
    this.find.setAttribute("aria-label", "Search for a part of a name");
    this.find.addEventListener("input", () => view.set({ find: this.find.value }));
    this.whole = element("button", { textContent: "Zoom out", id: "flame-whole", title: "draw all of it (Esc)" });
    this.whole.addEventListener("click", () => view.set({ root: [] }));
    this.file = element("button", { textContent: "SVG", id: "flame-svg", title: "what is seen, as an SVG picture" });
    this.file.addEventListener("click", () => keepSvg("flame.svg", this.picture.querySelector("svg")));
    this.note = element("span", { className: "faint", id: "flame-note" });
    this.note.setAttribute("role", "status");
    this.said = element("span", { className: "grow", id: "flame-said" });
    this.key = element("span", { id: "flame-key", hidden: true }, element("span", { className: "less", textContent: "▼ less" }),
      " ", element("span", { className: "more", textContent: "▲ more" }), " in B");
    this.picture = element("div", { className: "wrap", id: "flame-picture" });
    this.drawing = new FlamePicture(this.picture, { words: (node) => this.words(node),
      zoom: (root) => view.set({ root }), tell: (text) => { this.said.textContent = text; } });
    place.append(element("div", { className: "bar" }, this.of, this.against, this.by, this.keeping,
      this.find, this.whole, this.file), element("div", { className: "said" }, this.said, this.key, this.note), this.picture);
    this.take([]);
  }

  /** The paths of traces that are shown as one: each two can be compared. */
  take(paths) {
    const pairs = paths.flatMap((first, a) => paths.map((second, b) => [`${a},${b}`,
      `A = ${first}, B = ${second}`, a < b])).filter(([, , ordered]) => ordered);
    this.against.replaceChildren(...[["", "not compared"], ["span", "compared with A"], ...pairs]
      .map(([value, textContent]) => element("option", { value: String(value), textContent: String(textContent) })));
  }

  hear(changed) {
    const has = (...names) => names.some((name) => changed.has(name));
    const { view } = this;
    if (has("tab", "flame", "against", "compare", "select", "filter") ||
        (!view.select && has("from", "to")))
      this.load();
    else if (has("root", "find", "flameby"))
      this.draw();
    this.reflect();
  }

  reflect() {
    const { view } = this;
    this.of.value = this.what;
    this.against.value = view.against;
    this.by.value = this.compared;
    this.by.hidden = !view.against;
    this.whole.disabled = !view.root.length;
    this.file.disabled = !this.drawing.boxes.size;
    if (document.activeElement !== this.find)
      this.find.value = view.find;
  }

  get what() {
    return this.view.flame || this.usual;
  }

  get traces() {
    return /^\d+,\d+$/.test(this.view.against);
  }

  /** Two spans of a trace may be of different lengths; memory is none of a time. */
  get compared() {
    return BY.some(([name]) => name === this.view.flameby) ? this.view.flameby :
      this.traces || this.answer?.unit === "bytes" ? "sum" : "second";
  }

  keep() {
    const { from, to } = this.view.select ?? this.view;
    this.view.set({ compare: { from: Math.round(from), to: Math.round(to) }, against: "span", tab: "flame" });
  }

  load() {
    const { view } = this;
    if (view.tab !== "flame")
      return;
    const { from, to } = view.select ?? view;
    const span = { from: Math.round(from), to: Math.round(to) };
    const a = view.compare;
    if (view.against && !this.traces && !a) {
      this.fail("Select a span, press c; then select another: what is different is drawn here.");
      return;
    }
    const asked = this.traces ? { traces: view.against } :
      { ...span, ...(view.against ? { a_from: a.from, a_to: a.to } : {}) };
    this.note.textContent = "reading ...";
    this.question.ask({ ...asked, of: this.what, filter: view.filter }, (answer) => {
      this.answer = answer;
      this.lengths = this.traces ? [1, 1] : view.against ? [a.to - a.from, span.to - span.from] : [1];
      this.about = this.traces ? "two traces" : view.against ?
        `A: ${duration(a.to - a.from)}, B: ${duration(span.to - span.from)}` :
        `${view.select ? "selection" : "what is seen"}: ${duration(span.to - span.from)}`;
      this.draw();
    }, (refused) => this.fail(refused.message));
  }

  fail(text) {
    this.question.cancel();
    this.answer = null;
    this.note.textContent = text;
    this.said.textContent = "";
    this.drawing.clear("");
    this.reflect();
  }

  draw() {
    const { answer, view } = this;
    if (!answer || view.tab !== "flame")
      return;
    const factors = answer.sides.map(({ total }, at) => ({ sum: 1, second: 1e9 / this.lengths[at],
      share: 1 / (total || 1) })[answer.sides.length > 1 ? this.compared : "sum"]);
    const tree = this.tree = new Tree(answer, factors);
    const { hits, share } = tree.search(view.find);
    this.drawing.tree = tree;
    this.drawing.draw(tree, view.root, hits);
    this.key.hidden = !tree.compares;
    this.reflect();
    const notes = [...new Set(answer.sides.flatMap((side) => side.notes))];
    this.note.textContent = [this.about + (view.filter ? `, of ${view.filter}` : ""), view.find &&
      `"${view.find}": ${hits.size} frames, ${(100 * share).toFixed(1)} % of all`,
    answer.hidden && `${answer.hidden} small ones left out`, ...notes].filter(Boolean).join("; ");
    this.note.title = this.note.textContent;
  }

  /** "parse: 30 ms, 33 % of all, self 5 ms, 3 times"; of two sides both, and the change. */
  words(node) {
    const { tree } = this;
    const side = ({ total, self, count }, at) => [shown(total, tree.unit),
      `${(100 * total / (tree.totals[at] || 1)).toFixed(2)} %`,
      tree.unit === "count" ? "" : `self ${shown(self, tree.unit)}`,
      count ? `${count} times` : ""].filter(Boolean).join(", ");
    if (!tree.compares)
      return `${node.name}: ${side(node.sides[0], 0)}`;
    return `${node.name}: ${tree.change(node)} ${BY.find(([name]) => name === this.compared)[1]}; ` +
      node.sides.map((each, at) => `${"AB"[at]}: ${side(each, at)}`).join("; ");
  }
}
