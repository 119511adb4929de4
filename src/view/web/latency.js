// SPDX-License-Identifier: MIT
// latency.js - how long it took from a begin to its end: a distribution on a
// logarithmic axis, its quantiles, and the worst, each one click away.
import { colours, element, fit } from "./paint.js";
import { Latest } from "./server.js";
import { duration, relative } from "./time.js";

export class Latency {
  constructor(place, view, server, detail) {
    this.view = view;
    this.detail = detail;
    this.question = new Latest(server, "latency");
    this.data = null;
    const field = (name, text) => element("input", { type: "text", className: "grow",
      id: `latency-${name}`, placeholder: text, spellcheck: false, title: name });
    this.fields = { begin: field("begin", "begins with: event == \"server:begin\""),
      end: field("end", "ends with: event == \"server:end\""),
      key: field("key", "same: tid") };
    const show = element("button", { textContent: "Show", id: "latency-show" });
    show.addEventListener("click", () => this.chosen());
    this.note = element("div", { className: "bar faint", id: "latency-note" });
    this.canvas = element("canvas", { id: "latency-plot" });
    this.worst = element("div", { className: "wrap", id: "worst" });
    place.append(element("div", { className: "bar" }, ...Object.values(this.fields), show),
                 this.note, this.canvas, this.worst);
    for (const input of Object.values(this.fields))
      input.addEventListener("keydown", (event) => {
        event.stopPropagation();
        if (event.key === "Enter")
          this.chosen();
      });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    view.listen((changed) => {
      if (["tab", "latency", "select"].some((name) => changed.has(name)))
        this.load();
    });
  }

  chosen() {
    const { begin, end, key } = this.fields;
    this.view.set({ latency: { begin: begin.value, end: end.value, key: key.value } });
  }

  load() {
    const { latency, select, tab } = this.view;
    if (tab !== "latency" || !latency)
      return;
    for (const [name, input] of Object.entries(this.fields))
      if (document.activeElement !== input)
        input.value = latency[name];
    this.question.ask({ ...latency, ...(select ?? {}) }, (answer) => {
      this.data = answer;
      this.say(answer);
      this.list(answer.worst ?? []);
      this.draw();
    }, (refused) => {
      this.data = null;
      this.note.textContent = refused.message;
      this.list([]);
      this.draw();
    });
  }

  say(answer) {
    const quantiles = Object.entries(answer.quantiles ?? {})
      .map(([name, value]) => `${name}: ${duration(value)}`);
    this.note.textContent = answer.count ? [`${answer.count} times`,
      `min: ${duration(answer.min)}`, `mean: ${duration(answer.mean)}`, ...quantiles,
      `max: ${duration(answer.max)}`].join("   ") : answer.why ?? "none";
  }

  list(worst) {
    const body = element("tbody");
    for (const { t, duration: length, row } of worst.slice(0, 10)) {
      const go = element("button", { textContent: duration(length) });
      go.addEventListener("click", () => {
        this.view.set({ select: { from: t, to: t + length },
                        from: t - length / 2, to: t + length * 1.5 });
        this.detail.go(row, t);
      });
      body.append(element("tr", {}, element("td", { className: "number" }, go),
                          element("td", { textContent: `at ${relative(t)}` })));
    }
    this.worst.replaceChildren(element("table", {}, body));
  }

  draw() {
    const { draw, width, height } = fit(this.canvas);
    const bins = (this.data?.bins ?? []).filter(({ count }) => count > 0);
    if (!bins.length)
      return;
    const low = Math.log10(Math.max(1, bins[0].from));
    const high = Math.max(low + 0.1, Math.log10(bins.at(-1).to));
    const x = (ns) => 10 + (Math.log10(Math.max(1, ns)) - low) / (high - low) * (width - 20);
    const most = Math.max(...bins.map(({ count }) => count));
    draw.fillStyle = colours().bar;
    for (const { from, to, count } of bins)
      draw.fillRect(x(from), height - 20 - count / most * (height - 30),
                    Math.max(1, x(to) - x(from) - 1), count / most * (height - 30));
    draw.fillStyle = colours().faint;
    draw.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    for (let power = Math.ceil(low); power <= high; power++) {
      draw.fillRect(x(10 ** power), height - 20, 1, 5);
      draw.fillText(duration(10 ** power), x(10 ** power) + 3, height - 6);
    }
  }
}
