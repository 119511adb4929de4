// SPDX-License-Identifier: MIT
// flame.js - what called what in the selection, or in what is seen while nothing is
// selected: the picture of `sonde flame`, by what is chosen.
import { element } from "./paint.js";
import { Latest } from "./server.js";
import { duration } from "./time.js";

const OF = [["within", "time: functions, requests"], ["events", "call stacks of events"],
  ["live", "memory that is left"], ["peak", "memory at its peak"],
  ["waits", "waits for locks"], ["holders", "who held them"],
  ["offcpu", "where threads were blocked"]];

export class Flame {
  constructor(place, view, server) {
    this.view = view;
    this.question = new Latest(server, "flame", 200);
    this.of = element("select", { title: "What is drawn", id: "flame-of" });
    for (const [value, textContent] of OF)
      this.of.append(element("option", { value, textContent }));
    this.of.addEventListener("change", () => view.set({ flame: this.of.value }));
    this.note = element("span", { className: "faint grow", id: "flame-note" });
    this.picture = element("div", { className: "wrap", id: "flame-picture" });
    place.append(element("div", { className: "bar" }, this.of, this.note), this.picture);
    view.listen((changed) => {
      if (["tab", "flame", "select", "filter"].some((name) => changed.has(name)) ||
          (!view.select && (changed.has("from") || changed.has("to"))))
        this.load();
    });
  }

  load() {
    const { view } = this;
    this.of.value = view.flame;
    if (view.tab !== "flame")
      return;
    const { from, to } = view.select ?? view;
    const span = { from: Math.round(from), to: Math.round(to) };
    this.note.textContent = "reading ...";
    this.question.ask({ ...span, of: view.flame, filter: view.filter }, (svg) => {
      this.note.textContent = `${view.select ? "selection" : "what is seen"}: ` +
        duration(span.to - span.from) + (view.filter ? `, of ${view.filter}` : "");
      this.show(svg);
    }, (refused) => {
      this.note.textContent = refused.message;
      this.picture.replaceChildren();
    });
  }

  /** The drawing alone: its script is for a file of its own, and not run here. */
  show(svg) {
    const drawing = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    for (const script of drawing.querySelectorAll("script"))
      script.remove();
    drawing.setAttribute("width", "100%");
    drawing.removeAttribute("height");
    this.picture.replaceChildren(document.importNode(drawing, true));
  }
}
