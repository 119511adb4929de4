// SPDX-License-Identifier: MIT
// detail.js - beside the lists: what a row did at an instant, why it waited and who
// woke it, which is one click away; and all fields of an event.
import { element, part } from "./paint.js";
import { Latest } from "./server.js";
import { absolute, duration, relative } from "./time.js";

export class Detail {
  constructor(view, timeline, server) {
    this.view = view;
    this.timeline = timeline;
    this.question = new Latest(server, "at");
    this.place = part("detail");
    this.last = null;
    this.origin = "0";
  }

  explain(row, time) {
    this.question.ask({ row, t: time }, (found) => {
      this.last = found;
      this.fill(found, row, time);
    }, (refused) => this.place.replaceChildren(
      element("p", { textContent: refused.message })));
  }

  fill(found, row, time) {
    const name = this.timeline.rows.byId.get(row)?.name ?? `row ${row}`;
    const known = Boolean(found.state); // 0 is unknown
    const state = this.timeline.states.find(({ id }) => id === found.state);
    const facts = known ? [["State", state?.name ?? String(found.state)],
      ["Duration", duration(found.to - found.from)], ["From", relative(found.from)],
      ["To", relative(found.to)]] : [["At", relative(time)]];
    const text = [];
    if (!known)
      text.push(element("p", { textContent: "Nothing was recorded of this row here." }));
    else if (found.why)
      text.push(element("p", { id: "why", textContent: found.why }));
    if (found.waker) {
      const go = element("button", { id: "waker",
        textContent: `Woken by ${found.waker.name}: go there (j)` });
      go.addEventListener("click", () => this.jump());
      text.push(element("p", {}, go));
    } else if (found.holder) {
      const go = element("button", { id: "holder",
        textContent: `Held by ${found.holder.name}: go there (j)` });
      go.addEventListener("click", () => this.jump());
      text.push(element("p", {}, go));
    }
    this.place.replaceChildren(element("h2", { textContent: name }),
      this.pairs([...facts, ...Object.entries(found.detail ?? {})]), ...text);
  }

  pairs(facts) {
    const list = element("dl");
    for (const [name, value] of facts)
      list.append(element("dt", { textContent: name }),
                  element("dd", { textContent: String(value) }));
    return list;
  }

  /** Words instead, of what was asked elsewhere. */
  say(title, textContent) {
    this.place.replaceChildren(element("h2", { textContent: title }),
      element("p", { id: "said-why", textContent }));
  }

  /** To who woke it, at the instant of the waking; to who held the lock. */
  jump() {
    const to = this.last?.waker ?? this.last?.holder;
    if (to)
      this.go(to.row, to.t);
  }

  /** Shows a row at an instant, and explains it. */
  go(row, time) {
    if (row !== null && row !== undefined) {
      this.timeline.rows.reveal(row);
      this.view.set({ row, cursor: time });
      this.timeline.scrollTo(row);
      this.explain(row, time);
    } else
      this.view.set({ cursor: time });
    this.view.show(time);
  }

  event(event) {
    const value = (field) => (field && typeof field === "object" ?
      "label" in field && "value" in field ? `${field.label} (${field.value})` :
        JSON.stringify(field) : String(field));
    const facts = event.t === null ? [] : [["Time", relative(event.t)],
      ["Clock", absolute(event.t, this.origin)]];
    if (event.host !== undefined)
      facts.push(["Host", event.host], ["Within", event.within === null ? "unknown" :
        `${duration(event.within)} of the clock of ${event.on}`]);
    facts.push(["CPU", event.cpu ?? ""], ["Thread", event.tid ?? ""],
      ...Object.entries(event.fields ?? {}).map(([name, field]) => [name, value(field)]));
    this.place.replaceChildren(element("h2", { textContent: event.name }),
      this.pairs(facts), element("p", { className: "faint", textContent: event.text }));
  }
}
