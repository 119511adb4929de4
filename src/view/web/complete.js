// SPDX-License-Identifier: MIT
// complete.js - what may stand at the caret of a field for filters: names of events in
// quotes behind `event ==`, else fields, those of the events that the filter names first.
// Nothing is chosen until an arrow, or the mouse, chose it: Enter stays Enter.
import { element } from "./paint.js";

const MOST = 10;
const NAMES = ["event", "cpu", "tid", "pid", "procname", "ppid", "prio", "nice", "policy", "cgroup", "container",
  "pid_ns", "time", "begin"];

/** What of the text before the caret is to be completed, and whether it is an event's name. */
export function wordAt(before) {
  const quotes = before.replaceAll(/\\./g, "  ").split("\"");
  if (quotes.length % 2)
    return { word: /(?:\$(?:ctx\.|payload\.)?)?[A-Za-z_]\w*$|\$$/.exec(quotes.at(-1))?.[0] ?? "", of: "fields" };
  const word = before.slice(before.length - quotes.at(-1).length);
  const outside = before.slice(0, before.length - word.length - 1);
  return { word, of: /\bevent\s*(==|!=)\s*$|\bevent\s+in\s*\([^)]*$/.test(outside) ? "events" : "" };
}

/** Of all words those that begin so, then those that have it within. */
export function matching(words, part) {
  const small = part.toLowerCase();
  const all = [...new Set(words)].filter((word) => word !== part);
  const begins = all.filter((word) => word.toLowerCase().startsWith(small));
  const within = all.filter((word) => word.toLowerCase().includes(small) && !begins.includes(word));
  return [...begins, ...within].slice(0, MOST);
}

export class Complete {
  /** @param {HTMLInputElement} input
   * @param {string[]} own words that may stand there as well */
  constructor(input, server, own = []) {
    this.input = input;
    this.own = own;
    this.server = server;
    /** @type {{name: string, fields: string[]}[]} */ this.classes = [];
    this.asked = false;
    this.at = -1; // the chosen line
    this.list = element("ul", { className: "complete", id: `${input.id}-words`, hidden: true });
    this.list.setAttribute("role", "listbox");
    document.body.append(this.list);
    input.autocomplete = "off";
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-controls", this.list.id);
    input.setAttribute("aria-expanded", "false");
    input.addEventListener("focus", () => void this.learn());
    input.addEventListener("input", () => this.offer());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.hide());
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the field keeps the focus
      const line = /** @type {HTMLElement} */ (event.target).closest("li");
      if (line)
        this.take(line.textContent);
    });
  }

  /** The names are asked for once. */
  async learn() {
    if (this.asked)
      return;
    this.asked = true;
    try {
      this.classes = await this.server.ask("fields");
    } catch {
      this.asked = false; // a server without them, or none
    }
    if (document.activeElement === this.input)
      this.offer();
  }

  words(of) {
    if (of === "events")
      return this.classes.map(({ name }) => name);
    const meant = this.classes.filter(({ name }) => this.input.value.includes(`"${name}"`));
    return [...meant, { fields: [...this.own, ...NAMES] }, ...(meant.length ? [] : this.classes)]
      .flatMap(({ fields }) => fields);
  }

  offer() {
    const caret = this.input.selectionStart ?? 0;
    const { word, of } = wordAt(this.input.value.slice(0, caret));
    const bare = word.replace(/^\$(ctx\.|payload\.)?/, "");
    const found = of && (bare || of === "events") ? matching(this.words(of), bare) : [];
    this.at = -1;
    this.list.replaceChildren(...found.map((textContent, at) => {
      const line = element("li", { textContent, id: `${this.list.id}-${at}` });
      line.setAttribute("role", "option");
      return line;
    }));
    this.show(found.length > 0);
  }

  show(open) {
    const { left, top, bottom } = this.input.getBoundingClientRect();
    this.list.hidden = !open;
    const height = this.list.offsetHeight;
    this.list.style.left = `${left}px`;
    this.list.style.top = `${bottom + 2 + height <= innerHeight ? bottom + 2 : Math.max(0, top - 2 - height)}px`;
    this.input.setAttribute("aria-expanded", String(open));
    this.choose(-1);
  }

  hide() {
    this.show(false);
  }

  choose(at) {
    this.at = at;
    [...this.list.children].forEach((line, n) => line.setAttribute("aria-selected", String(n === at)));
    if (at >= 0)
      this.input.setAttribute("aria-activedescendant", this.list.children[at].id);
    else
      this.input.removeAttribute("aria-activedescendant");
  }

  /** Keys of the list, while it is there. */
  key(event) {
    const n = this.list.children.length;
    if (this.list.hidden || !n)
      return;
    const act = { ArrowDown: () => this.choose((this.at + 1) % n),
      ArrowUp: () => this.choose(this.at > 0 ? this.at - 1 : n - 1), Escape: () => this.hide(),
      Tab: () => this.take(this.list.children[Math.max(0, this.at)].textContent),
      Enter: this.at >= 0 && (() => this.take(this.list.children[this.at].textContent)) }[event.key];
    if (event.key === "Enter" && !act)
      this.hide();
    if (!act)
      return;
    event.preventDefault();
    event.stopImmediatePropagation();
    act();
  }

  /** Puts a word in the place of the one that was begun; a name of an event ends there. */
  take(chosen) {
    const { input } = this;
    const caret = input.selectionStart ?? 0;
    const { word, of } = wordAt(input.value.slice(0, caret));
    const bare = word.replace(/^\$(ctx\.|payload\.)?/, "");
    const rest = input.value.slice(caret);
    const end = of === "events" && !rest.startsWith("\"") ? "\"" : "";
    const text = of === "events" ? chosen.replaceAll(/["\\*?[]/g, "\\$&") : chosen;
    const before = input.value.slice(0, caret - bare.length) + text + end;
    input.value = before + rest;
    input.setSelectionRange(before.length, before.length);
    this.hide();
    input.dispatchEvent(new Event("input", { bubbles: true }));
    this.hide();
  }
}
