// SPDX-License-Identifier: MIT
// flametree.js - the tree of a flame graph: how wide each node is, which are found,
// and, of two sides (A and B), what has become more or less.
//
// Of two sides a node is as wide as both of its weights together, so that what only
// one side has is seen, too. Weights are compared as they are ("sum"), per second of
// the side's span ("second"), or as shares of all of their side ("share").

/** From which change on, up or down, a node has a colour: as |B - A| / (A + B). */
const STEPS = [0.03, 0.2, 0.5];

export class Tree {
  /** @param answer the server's: unit, sides, nodes: [depth, name, total, self, count, ...]
   * @param {number[]} factors what a side's weights are multiplied by */
  constructor(answer, factors) {
    this.unit = answer.unit;
    this.hidden = answer.hidden;
    this.totals = answer.sides.map(({ total }) => total);
    this.factors = factors;
    /** @type {any[]} */ this.nodes = [];
    const path = [];
    for (const [depth, name, ...weights] of answer.nodes) {
      const sides = this.totals.map((_total, at) => ({ total: weights[3 * at],
        self: weights[3 * at + 1], count: weights[3 * at + 2] }));
      const node = { depth, name, sides, children: [], parent: path[depth - 1] ?? null,
        width: sides.reduce((sum, { total }, at) => sum + total * factors[at], 0), x: 0 };
      path[depth] = node;
      node.parent?.children.push(node);
      this.nodes.push(node);
    }
    this.place();
  }

  /** Where each begins, in the units of widths: siblings side by side. */
  place() {
    for (const node of this.nodes) {
      let { x } = node;
      for (const child of node.children) {
        child.x = x;
        x += child.width;
      }
    }
  }

  get root() {
    return this.nodes[0];
  }

  get compares() {
    return this.totals.length > 1;
  }

  /** The node of that path of names, or of as much of it as there is. */
  find(names) {
    let node = this.root;
    for (const name of names) {
      const next = node.children.find((child) => child.name === name);
      if (!next)
        break;
      node = next;
    }
    return node;
  }

  /** A node's weights, as they are compared. */
  weights(node) {
    return node.sides.map(({ total }, at) => total * this.factors[at]);
  }

  /** -3 to 3: how much less or more B has than A; 0: about the same, or no B. */
  step(node) {
    if (!this.compares)
      return 0;
    const [a, b] = this.weights(node);
    const change = a + b > 0 ? (b - a) / (a + b) : 0;
    return Math.sign(change) * STEPS.filter((least) => Math.abs(change) >= least).length;
  }

  /** "+25 %", "new", "gone". */
  change(node) {
    const [a, b] = this.weights(node);
    if (!a || !b)
      return a ? "gone" : b ? "new" : "";
    const percent = (b / a - 1) * 100;
    return `${percent < 0 ? "−" : "+"}${Number(Math.abs(percent).toPrecision(3))} %`;
  }

  /** The nodes with that in their names, and which share of all they have together:
   * what is within one that is found counts once. */
  search(words) {
    const hits = new Set();
    const wanted = words.toLowerCase();
    let sum = 0;
    let within = null; // the outermost one that was found
    for (const node of words ? this.nodes : []) {
      if (within && node.depth <= within.depth)
        within = null;
      if (!node.name.toLowerCase().includes(wanted))
        continue;
      hits.add(node);
      if (!within) {
        within = node;
        sum += node.width;
      }
    }
    return { hits, share: sum / (this.root?.width || 1) };
  }
}

/** The names from below the root to a node. */
export function pathOf(node) {
  const names = [];
  for (let at = node; at.parent; at = at.parent)
    names.unshift(at.name);
  return names;
}
