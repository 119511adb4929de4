// SPDX-License-Identifier: MIT
// app.js - the page's begin: asks what the trace is, makes the parts, and goes on
// asking, since an index grows, a trace may grow, and a server may go.
import { Compare } from "./compare.js";
import { Detail } from "./detail.js";
import { Events } from "./events.js";
import { Flame } from "./flame.js";
import { BAND, heightOf, LOST, shade } from "./frame.js";
import { Hands, KEYS } from "./hands.js";
import { Latency } from "./latency.js";
import { Notes } from "./notes.js";
import { Overview } from "./overview.js";
import { element, part } from "./paint.js";
import { keepDrawn, keepPng } from "./picture.js";
import { Rows } from "./rows.js";
import { Refused, Server } from "./server.js";
import { View } from "./state.js";
import { Statistics } from "./statistics.js";
import { duration } from "./time.js";
import { Timeline } from "./timeline.js";

const SOON = 500; // ms; between questions while the index grows
const LATER = 2000;

class Page {
  constructor() {
    this.view = new View();
    this.server = new Server((gone) => this.banner("server", gone));
    this.rows = new Rows(this.view);
    this.timeline = new Timeline(part("timeline"), this.view, this.rows, this.server);
    this.overview = new Overview(part("overview"), this.view, this.server);
    this.detail = new Detail(this.view, this.timeline, this.server);
    this.events = new Events(part("events"), this.view, this.server, this.detail);
    this.statistics = new Statistics(part("statistics"), this.view, this.server);
    this.latency = new Latency(part("latency"), this.view, this.server, this.detail);
    this.flame = new Flame(part("flame"), this.view, this.server);
    this.compare = new Compare(part("compare"), this.view, this.server);
    this.notes = new Notes(part("notes"), this.view, this.server, this.timeline, this.detail);
    this.hands = new Hands(this.timeline, this.view, this.server, this.detail, this.notes);
    this.trace = null;
    this.words = new Map();
    this.asked = false; // for rows, after the last change of the index
    this.controls();
  }

  /** What is wrong, by what it is about; "" takes it back. */
  banner(about, text) {
    const back = about === "server" && this.words.get(about) && !text;
    this.words.set(about, text);
    const all = [...this.words.values()].filter(Boolean);
    part("banner").textContent = all.join(" ");
    part("banner").hidden = !all.length;
    if (back)
      this.refresh();
  }

  refresh() {
    this.overview.load();
    this.timeline.renew();
    void this.events.load();
    this.statistics.load();
    this.flame.load();
    this.compare.load();
    void this.notes.load();
  }

  async run() {
    for (;;) {
      let wait = LATER;
      try {
        const trace = await this.server.ask("trace");
        await this.take(trace);
        if (!trace.index.ready || trace.live)
          wait = SOON;
      } catch (error) {
        if (error instanceof Refused)
          this.banner("trace", error.status === 403 || error.status === 404 ?
            "This address isn't known to the server that is here now: open the " +
            "one that `sonde view` printed." : error.message);
        wait = SOON;
      }
      await new Promise((done) => setTimeout(done, wait));
    }
  }

  async take(trace) {
    const before = this.trace;
    this.trace = trace;
    this.banner("trace", trace.trouble ?? "");
    this.tell(trace);
    const past = trace.end + 1; // spans end before their `to`
    const end = this.view.end;
    this.view.end = past;
    if (!before)
      this.begin(trace);
    const grew = before && end !== past;
    if (before && before.number !== trace.number)
      sessionStorage.setItem("changed", "1");
    if (before && (before.origin !== trace.origin || before.number !== trace.number)) {
      location.reload(); // all times are others, or all there is
      return;
    }
    const went = !before || before.index.done !== trace.index.done ||
      before.index.ready !== trace.index.ready;
    if (grew && this.view.to === end)
      this.view.set({ from: this.view.from && this.view.from + past - end, to: past });
    if (grew)
      this.events.chunks.last = false;
    if (went || grew) {
      await this.loadRows();
      this.overview.load();
      this.timeline.renew();
      this.statistics.load();
    }
    if (!before) {
      this.view.set({ filter: this.view.filter });
      await this.notes.load();
    }
  }

  begin(trace) {
    if (sessionStorage.getItem("changed"))
      this.noteChange();
    document.title = `${trace.name} - sonde view`;
    part("name").textContent = trace.name;
    part("name").title = trace.path;
    this.timeline.states = trace.states;
    this.flame.usual = trace.flame ?? "within";
    this.detail.origin = this.events.origin = trace.origin;
    for (const each of [this.compare, this.flame])
      each.take(trace.traces?.length > 1 ? trace.traces : []);
    this.view.read(location.hash);
    window.addEventListener("hashchange", () => this.view.read(location.hash));
  }

  /** Another trace was shown before: says so until one has done something. */
  noteChange() {
    sessionStorage.removeItem("changed");
    this.banner("changed", "The trace has changed on disk: this is what is there now.");
    for (const name of ["pointerdown", "keydown"])
      document.addEventListener(name, () => this.banner("changed", ""), { once: true });
  }

  tell(trace) {
    const { events, lost, index } = trace;
    const number = (n) => n.toLocaleString("en").replaceAll(",", " ");
    part("about").textContent = [duration(trace.end),
      events === null ? "" : `${number(events)} events`,
      lost ? `${number(lost)} lost` : "nothing lost"].filter(Boolean).join(" · ");
    part("index").textContent = index.ready ? trace.live ? "growing" :
      this.rows.all.length ? trace.why ?? "" : "" :
      `indexing: ${Math.floor(index.done * 100)} %`;
    this.banner("index", index.error ?? "");
  }

  /** A server that knows no states has no rows: the list gets their room. */
  async loadRows() {
    let rows = [];
    let why = this.trace.why ?? "";
    try {
      rows = await this.server.ask("rows");
    } catch (error) {
      if (!(error instanceof Refused))
        return;
      why = why || "this sonde shows no states over time yet";
    }
    if (rows.some(({ kind }) => /^(within|own)$/.test(kind)))
      this.timeline.names = await this.server.ask("names");
    if (rows.some(({ kind }) => kind === "own"))
      this.timeline.chosen = await this.server.ask("colours");
    this.rows.take(rows);
    this.legend(this.trace.states);
    part("scroll").hidden = !rows.length;
    part("lines").style.flex = rows.length ? "" : "none";
    for (const name of ["row-filter", "sort", "idle", "picture", "drawing", "legend"])
      (part(name).closest("label") ?? part(name)).hidden = !rows.length;
    part("rows-note").textContent = rows.length ? "" :
      `No time line${why ? `: ${why}` : ""}.`;
  }

  legend(states) {
    // What goes on within threads has a colour of each name; few traces have locks.
    const locks = this.rows.all.some(({ kind }) => kind === "lock");
    const told = states.filter(({ id, name }) => id !== 0 && !/^(within|value)$/.test(name) &&
      (locks || !/^(held|contended)$/.test(name)));
    part("legend").replaceChildren(...told.map((state) => {
      const key = element("span", { className: "key", textContent: state.name });
      const [red, green, blue, alpha] = shade(state);
      key.style.setProperty("--key", `rgb(${red} ${green} ${blue} / ${alpha / 255})`);
      key.style.setProperty("--tall", `${100 * heightOf(state.name) / BAND}%`);
      key.classList.toggle("hatched", state.id === LOST);
      return key;
    }));
  }

  controls() {
    const { view } = this;
    part("whole").addEventListener("click", () => view.set({ from: 0, to: view.end }));
    part("fit").addEventListener("click", () => this.fit());
    part("keys").addEventListener("click", () => part("help").showModal());
    part("picture").addEventListener("click", () =>
      keepPng("timeline.png", [this.overview.canvas, this.timeline.canvas]));
    part("drawing").addEventListener("click", () =>
      keepDrawn("timeline.svg", [this.overview, this.timeline]));
    part("row-filter").addEventListener("input", () => view.set({ rows: part("row-filter").value }));
    part("sort").addEventListener("change", () => view.set({ sort: part("sort").value }));
    part("idle").addEventListener("change", () => view.set({ idle: part("idle").checked }));
    for (const tab of document.querySelectorAll("[data-tab]"))
      tab.addEventListener("click", () => view.set({ tab: tab.getAttribute("data-tab") }));
    for (const [keys, does] of KEYS)
      part("help-keys").append(element("tr", {}, element("td", {},
        element("kbd", { textContent: keys })), element("td", { textContent: does })));
    window.addEventListener("resize", () => this.resized());
    document.addEventListener("keydown", (event) => this.key(event));
    view.listen(() => this.reflect());
  }

  resized() {
    if (this.trace)
      this.legend(this.trace.states);
    this.overview.load();
    this.overview.draw();
    this.timeline.renew();
    this.latency.draw();
  }

  fit() {
    if (this.view.select)
      this.view.set({ ...this.view.select });
  }

  /** Keys that hold everywhere but where one writes; others go to the time line. */
  key(event) {
    const { target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey ||
        /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || part("help").open)
      return;
    const act = {
      "0": () => this.view.set({ from: 0, to: this.view.end }), f: () => this.fit(),
      c: () => (this.view.tab === "flame" ? this.flame : this.compare).keep(), m: () => this.notes.begin(), "[": () => this.notes.step(-1), "]": () => this.notes.step(1),
      n: () => this.events.step(1), N: () => this.events.step(-1),
      "?": () => part("help").showModal(), "/": () => this.toFilter(),
    }[event.key];
    if (act) {
      event.preventDefault();
      act();
    } else if (target === document.body ||
               (target !== this.timeline.canvas && /^[wasdjp]$/i.test(event.key)))
      this.hands.key(event);
  }

  toFilter() {
    this.view.set({ tab: "events" });
    this.events.input.focus();
  }

  /** The page's own controls say what the view says. */
  reflect() {
    const { view } = this;
    part("span").textContent = view.select ?
      `selected: ${duration(view.select.to - view.select.from)}` :
      `seen: ${duration(view.to - view.from)}`;
    part("fit").disabled = !view.select;
    if (document.activeElement !== part("row-filter"))
      part("row-filter").value = view.rows;
    part("sort").value = view.sort;
    part("idle").checked = view.idle;
    for (const tab of document.querySelectorAll("[data-tab]")) {
      const name = tab.getAttribute("data-tab");
      tab.setAttribute("aria-selected", String(name === view.tab));
      part(name).hidden = name !== view.tab;
    }
  }
}

const page = new Page();
// For tests, and for whoever looks with the browser's tools.
Object.assign(window, { sonde: page });
void page.run();
