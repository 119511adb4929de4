// SPDX-License-Identifier: MIT
// flamepicture.js - a tree (flametree.js) as boxes, callers above what they call. A
// click or Enter makes a box as wide as there is room; arrows go from box to box.
import { element } from "./paint.js";
import { pathOf } from "./flametree.js";

const ROW = 18;
const LETTER = 6.7; // px
const LEAST = 0.5; // px; narrower boxes aren't drawn
const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes))
    made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** Warm, and the same for the same name. */
function warm(name) {
  let hash = 5381;
  for (const letter of name)
    hash = (Math.imul(hash, 33) ^ letter.codePointAt(0)) >>> 0;
  hash = Math.imul(hash, 0x9e3779b1) >>> 0;
  return `rgb(${205 + (hash >>> 8) % 50} ${90 + (hash >>> 16) % 130} ${40 + (hash >>> 24) % 50})`;
}

/** Less is blue, more is orange: the colour-blind tell these apart, and the sign in the
 * name says it, too. */
const CHANGES = { "-3": "#4f9fd1", "-2": "#93c6e4", "-1": "#cfe5f2", 0: "#ededed",
  1: "#fde3bd", 2: "#fbbf6b", 3: "#ee8f22" };

function cut(text, room) {
  const letters = Math.floor(room / LETTER);
  const all = Array.from(text);
  return all.length <= letters ? text : letters < 3 ? "" : `${all.slice(0, letters - 1).join("")}…`;
}

export class FlamePicture {
  /** @param {{words: (node: any) => string, zoom: (path: string[]) => void,
   *   tell: (text: string) => void}} does says what a node is; is told that a box
   *   shall be as wide as the room, and what is pointed at */
  constructor(place, does) {
    this.place = place;
    this.words = does.words;
    this.zoom = does.zoom;
    this.tell = does.tell;
    this.tree = null;
    /** @type {Map<any, any>} boxes by their nodes */ this.boxes = new Map();
    this.at = null; // the node that has, or will have, the focus
    place.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {string[]} path of the node that fills the width
   * @param {Set<any>} hits nodes that were searched for */
  draw(tree, path, hits) {
    const held = this.place.contains(document.activeElement);
    const names = this.at ? pathOf(this.at) : path;
    const top = tree.find(path);
    const width = Math.max(1, this.place.clientWidth - 20);
    this.tree = tree;
    this.boxes.clear();
    let depth = 0;
    for (const node of tree.nodes) {
      const box = this.box(node, top, width, hits);
      if (!box)
        continue;
      this.boxes.set(node, box);
      depth = Math.max(depth, node.depth);
    }
    const height = (depth + 1) * ROW;
    const svg = shape("svg", { xmlns: SVG, class: tree.compares ? "compares" : "", role: "tree", "aria-label": "Flame graph", width, height,
      viewBox: `0 0 ${width} ${height}` }, ...this.boxes.values());
    this.place.replaceChildren(svg);
    this.focus(this.boxes.has(tree.find(names)) ? tree.find(names) : top, held);
  }

  clear(text) {
    this.boxes.clear();
    this.tree = this.at = null;
    this.place.replaceChildren(element("p", { className: "faint", textContent: text }));
  }

  /** Null: it isn't in sight. */
  box(node, top, room, hits) {
    const scale = room / (top.width || 1);
    const around = node !== top && this.holds(node, top);
    const x = around ? 0 : (node.x - top.x) * scale;
    const width = around || node === top ? room : node.width * scale;
    if (width < LEAST || (!around && node !== top && !this.holds(top, node)))
      return null;
    const step = this.tree.step(node);
    const sign = step > 0 ? "▲ " : step < 0 ? "▼ " : "";
    const change = this.tree.compares && sign ? ` ${this.tree.change(node)}` : "";
    const words = this.words(node);
    const box = shape("g", { class: `f${around ? " dim" : ""}${hits.has(node) ? " hit" : ""}`,
      "data-name": node.name, role: "treeitem", tabindex: -1, "aria-label": words,
      "aria-level": node.depth + 1 },
    shape("title", {}, words),
    shape("rect", { x: x.toFixed(2), y: node.depth * ROW, width: width.toFixed(2), height: ROW - 1,
      fill: this.tree.compares ? CHANGES[step] : warm(node.name) }),
    shape("text", { x: (x + 3).toFixed(2), y: node.depth * ROW + 13 }, cut(`${sign}${node.name}${change}`, width - 6)));
    box.addEventListener("click", () => {
      this.focus(node, true);
      this.zoom(pathOf(node));
    });
    box.addEventListener("mouseenter", () => this.tell(words));
    box.addEventListener("focus", () => this.tell(words));
    return box;
  }

  /** Whether one is the other's caller, however far up. */
  holds(outer, inner) {
    let at = inner;
    while (at && at.depth > outer.depth)
      at = at.parent;
    return at === outer;
  }

  focus(node, now) {
    this.boxes.get(this.at)?.setAttribute("tabindex", "-1");
    this.at = node;
    const box = this.boxes.get(node);
    box?.setAttribute("tabindex", "0");
    if (now)
      box?.focus({ preventScroll: false });
  }

  /** The next box of the same depth to one side. */
  beside(by) {
    const level = [...this.boxes.keys()].filter(({ depth }) => depth === this.at.depth);
    return level[level.indexOf(this.at) + by];
  }

  /** The widest of what it calls. */
  below() {
    return this.at.children.filter((child) => this.boxes.has(child))
      .reduce((best, child) => (best && best.width >= child.width ? best : child), undefined);
  }

  key(event) {
    if (!this.at || event.ctrlKey || event.altKey || event.metaKey)
      return;
    const go = { ArrowLeft: () => this.beside(-1), ArrowRight: () => this.beside(1),
      ArrowUp: () => this.at.parent, ArrowDown: () => this.below() }[event.key];
    const act = { Enter: () => this.zoom(pathOf(this.at)), " ": () => this.zoom(pathOf(this.at)),
      Escape: () => this.zoom([]), Backspace: () => this.zoom([]) }[event.key];
    if (!go && !act)
      return;
    event.preventDefault();
    event.stopPropagation();
    const next = go?.();
    if (next)
      this.focus(next, true);
    act?.();
  }
}
