// SPDX-License-Identifier: MIT
// latency.js - how long it took from a begin to its end: a distribution on a
// logarithmic axis, its quantiles, when which began (scatter.js), and the worst, each
// one click away.
//
// A drag in either drawing is a box of begins and durations: it selects their time, and
// the worst are those in the box. That, or going to one of the worst, selects what is
// another time than that of the drawings, which stay. The address has it as view.box: the
// span of the drawings, then the box, if there is one: begins from and to, the least and
// the most duration.
import { Complete } from "./complete.js";
import { colours, element, fit } from "./paint.js";
import { dragged, Scatter } from "./scatter.js";
import { Latest } from "./server.js";
import { keeps } from "./table.js";
import { duration, relative } from "./time.js";

const HINT = "Choose what begins and ends, or write conditions of both.";
const COLUMNS = 300;

export class Latency {
  constructor(place, view, server, detail) {
    this.view = view;
    this.detail = detail;
    this.server = server;
    this.question = new Latest(server, "latency");
    this.blame = new Latest(server, "report");
    this.data = null;
    this.pairs = null; // that the trace's events are
    const field = (name, text, title) => element("input", { type: "text", className: "grow",
      id: `latency-${name}`, placeholder: text, spellcheck: false, title });
    this.fields = { begin: field("begin", "begins with", "what begins it, such as: event == \"server:begin\""),
      end: field("end", "ends with", "what ends it, such as: event == \"server:end\""),
      key: field("key", "same: tid", "what is the same in both, such as: tid") };
    const show = element("button", { textContent: "Show", id: "latency-show" });
    show.addEventListener("click", () => this.chosen());
    this.pair = element("select", { id: "latency-pair", title: "What the trace's events begin and end" });
    this.pair.addEventListener("change", () => this.take(this.pairs[Number(this.pair.value)]));
    this.note = element("div", { className: "bar faint", id: "latency-note" });
    this.canvas = element("canvas", { id: "latency-plot" });
    this.scatter = new Scatter((box) => this.drag(box));
    this.worst = element("div", { className: "wrap", id: "worst" });
    this.whyButton = element("button", { id: "latency-why", textContent: "Why the longest?",
      title: "what took its time, as sonde report blame says" });
    this.whyButton.addEventListener("click", () => this.why());
    const bar = element("div", { className: "bar" }, this.pair, ...Object.values(this.fields), show,
      ...keeps(() => "latency", () => this.answer()));
    place.append(bar, this.note,
      element("div", { id: "latency-plots" }, this.canvas, this.scatter.canvas, this.worst));
    this.listen();
  }

  listen() {
    for (const input of Object.values(this.fields)) {
      void new Complete(input, this.server);
      input.addEventListener("keydown", (event) => {
        event.stopPropagation();
        if (event.key === "Enter")
          this.chosen();
      });
    }
    dragged(this.canvas, (from, to) => this.drag({ ...this.over, ...this.lengths(from.x, to.x) }));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.view.listen((changed) => this.hear(changed));
  }

  hear(changed) {
    // The drawings stay while it is they that select.
    if (changed.has("select") && !changed.has("box") && this.view.box.length)
      this.view.set({ box: [] });
    else if (["tab", "latency", "select", "box"].some((name) => changed.has(name)))
      this.load();
  }

  chosen() {
    const { begin, end, key } = this.fields;
    this.take({ begin: begin.value, end: end.value, key: key.value });
  }

  take({ begin, end, key }) {
    this.view.set({ latency: { begin, end, key }, box: [] });
  }

  /** Which pairs there are is asked for once: it depends on the trace's classes. */
  async offer() {
    if (this.pairs)
      return;
    this.pairs = [];
    try {
      this.pairs = await this.server.ask("pairs");
    } catch {
      this.pairs = null;
      return;
    }
    const option = (name, value) => element("option", { value, textContent: name });
    this.pair.replaceChildren(option("Time of ...", ""),
      ...this.pairs.map(({ name }, at) => option(name, String(at))));
    this.known();
  }

  /** The list says what the fields do, if it has that. */
  known() {
    const { latency } = this.view;
    const at = (this.pairs ?? []).findIndex((pair) => latency &&
      ["begin", "end", "key"].every((name) => pair[name] === latency[name]));
    this.pair.value = at < 0 ? "" : String(at);
  }

  get boxed() {
    const [, , from, to, least, most] = this.view.box;
    return this.view.box.length === 6 ? { from, to, least, most } : null;
  }

  /** What the drawings are of: the selection, until they made another. */
  get over() {
    const [from, to] = this.view.box;
    return to > from ? { from, to } : this.view.select ?? { from: 0, to: this.view.end };
  }

  drag({ from, to, least, most }) {
    const { over } = this;
    const select = { from: Math.round(from), to: Math.max(Math.round(to), Math.round(from) + 1) };
    this.view.set({ select, box: [over.from, over.to, select.from, select.to, Math.floor(least),
                                  Math.ceil(most)].map(Math.round) });
  }

  load() {
    const { latency, tab } = this.view;
    const { boxed } = this;
    if (tab !== "latency")
      return;
    void this.offer();
    if (!latency) {
      this.note.textContent = HINT;
      return;
    }
    for (const [name, input] of Object.entries(this.fields))
      if (document.activeElement !== input)
        input.value = latency[name];
    this.known();
    this.note.textContent = "reading ...";
    const limits = boxed ? { box_from: boxed.from, box_to: boxed.to, least: boxed.least,
                             most: boxed.most } : {};
    this.question.ask({ ...latency, ...this.over, columns: COLUMNS, ...limits },
      (answer) => this.show(answer), (refused) => {
        this.show(null);
        this.note.textContent = refused.message;
      });
  }

  show(answer) {
    this.data = answer;
    this.say(answer ?? {});
    this.list();
    this.draw();
  }

  say(answer) {
    const quantiles = Object.entries(answer.quantiles ?? {})
      .map(([name, value]) => `${name.replace("_", ".")}: ${duration(value)}`);
    const alone = [[answer.unended, "without an end"], [answer.unbegun, "without a begin"]]
      .filter(([n]) => n).map(([n, what]) => `${n} ${what}`);
    const many = answer.count && [`${answer.count} times`,
      `min: ${duration(answer.min)}`, `mean: ${duration(answer.mean)}`, ...quantiles,
      `max: ${duration(answer.max)}`];
    this.note.replaceChildren(...[...(many || [answer.why ?? "none"]), ...alone]
      .map((textContent) => element("span", { textContent })));
  }

  /** The longest as a table's answer. */
  answer() {
    const names = [["begin", "ns"], ["duration", "ns"], ["tid", "id"], ["key", "text"]];
    return { columns: names.map(([name, unit]) => ({ name, unit })),
             rows: (this.data?.worst ?? []).map(({ t, duration: length, tid, key }) =>
               [t, length, tid, key]) };
  }

  list() {
    const { rows } = this.detail.timeline;
    const body = element("tbody");
    for (const { t, duration: length, row } of (this.data?.worst ?? []).slice(0, 10)) {
      const go = element("button", { textContent: duration(length), title: "go there" });
      go.addEventListener("click", () => {
        const { over, view } = this;
        view.set({ select: { from: t, to: t + length }, from: t - length / 2, to: t + length * 1.5,
                   box: view.box.length ? view.box : [over.from, over.to].map(Math.round) });
        this.detail.go(row, t);
        if (row !== null)
          this.detail.explain(row, Math.round(t + length / 2)); // what takes long is there
      });
      body.append(element("tr", {}, element("td", { className: "number" }, go),
        element("td", { textContent: `at ${relative(t)}` }),
        element("td", { textContent: rows.byId.get(row)?.name ?? "" })));
    }
    const { boxed } = this.data?.scatter ?? {};
    const head = this.boxed && boxed !== undefined ?
      [element("p", { id: "boxed", className: "faint",
        textContent: boxed > 10 ? `the longest of ${boxed} in the box` : `${boxed} in the box` })] :
      this.data?.worst?.length ? [this.whyButton] : [];
    this.worst.replaceChildren(...head, element("table", {}, body));
  }

  /** What took the time of the longest, in words: `sonde report blame`. */
  why() {
    const say = (text) => this.detail.say("Why the longest", text);
    say("reading ...");
    this.blame.ask({ name: "blame", ...this.view.latency, ...this.over },
      ({ notes }) => say(notes[0] ?? "Nothing is known of it."), ({ message }) => say(message));
  }

  bins() {
    return (this.data?.bins ?? []).filter(({ count }) => count > 0);
  }

  /** The logarithms of the axis. */
  range() {
    const bins = this.bins();
    const low = Math.log10(Math.max(1, bins[0]?.from ?? 1));
    return { low, high: Math.max(low + 0.1, Math.log10(bins.at(-1)?.to ?? 10)) };
  }

  /** The durations between two places of the axis. */
  lengths(a, b) {
    const { low, high } = this.range();
    const ns = (x) => 10 ** (low + (x - 10) / (this.canvas.clientWidth - 20) * (high - low));
    return { least: ns(Math.min(a, b)), most: ns(Math.max(a, b)) };
  }

  draw() {
    const { draw, width, height } = fit(this.canvas);
    const bins = this.bins();
    const box = this.boxed;
    this.scatter.show(this.data?.scatter ?? null, box);
    if (!bins.length)
      return;
    const { low, high } = this.range();
    const x = (ns) => 10 + (Math.log10(Math.max(1, ns)) - low) / (high - low) * (width - 20);
    const most = Math.max(...bins.map(({ count }) => count));
    draw.fillStyle = colours().bar;
    for (const { from, to, count } of bins)
      draw.fillRect(x(from), height - 20 - count / most * (height - 30),
                    Math.max(1, x(to) - x(from) - 1), count / most * (height - 30));
    if (box) {
      draw.fillStyle = colours().select;
      draw.fillRect(x(box.least), 0, Math.max(1, x(box.most) - x(box.least)), height - 20);
    }
    draw.fillStyle = colours().faint;
    draw.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    let free = 0; // where the last text ended
    for (let power = Math.ceil(low); power <= high; power++) {
      draw.fillRect(x(10 ** power), height - 20, 1, 5);
      const text = duration(10 ** power);
      if (x(10 ** power) < free || x(10 ** power) + 3 + draw.measureText(text).width > width)
        continue;
      draw.fillText(text, x(10 ** power) + 3, height - 6);
      free = x(10 ** power) + draw.measureText(text).width + 9;
    }
  }
}
