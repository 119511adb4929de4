// SPDX-License-Identifier: MIT
// chunks.js - the events about a place in the trace, of any number: a stretch of
// them that grows on the side one scrolls to and is cut on the other.
//
// Events are known by their place in time only, and several may share an instant.
// So what follows is asked from the last instant on, what comes before up to the
// first one, and as many as are held of that instant are left out.

const CHUNK = 200;
const MOST = 1200; // held; 2000 is the most the server gives at once

export class Chunks {
  constructor(server) {
    this.server = server;
    this.control = new AbortController();
    this.filter = "";
    this.columns = "";
    /** @type {?string[]} */ this.heads = null; // what the server calls these columns
    this.events = [];
    this.first = false; // held is the trace's first event
    this.last = false;
    this.reached = { after: null, before: null }; // by a filter out of patience
    this.busy = false;
  }

  ask(params) {
    return this.server.ask("events", { filter: this.filter, columns: this.columns, ...params },
                           this.control.signal);
  }

  /** Events from an instant on, and some before it; where it is in them, or null
   * if another place was asked for meanwhile. What was held stays until then. */
  async go(time, filter, columns = "") {
    this.control.abort();
    const control = this.control = new AbortController();
    this.filter = filter;
    this.columns = columns;
    this.busy = true;
    try {
      return await this.fill(Math.round(time), control);
    } finally {
      if (control === this.control)
        this.busy = false;
    }
  }

  async fill(at, control) {
    const [after, before] = [await this.ask({ from: at, n: CHUNK, direction: 1 }),
                             await this.ask({ from: at, n: CHUNK / 4, direction: -1 })];
    if (control.signal.aborted)
      return null;
    this.events = [...before.events, ...after.events];
    this.heads = after.columns ?? null;
    this.first = !before.more;
    this.last = !after.more;
    this.reached = { after: after.scanned ?? null, before: before.scanned ?? null };
    return before.events.length;
  }

  /** How many events share the instant at that end. */
  shared(end) {
    const time = this.events.at(end)?.t;
    const step = end < 0 ? -1 : 1;
    let n = 0;
    while (n < this.events.length && this.events.at(end + n * step)?.t === time)
      n++;
    return n;
  }

  /** Some more at one end: how many rows came (or went, negative) before. */
  async grow(direction) {
    if (this.busy || (direction > 0 ? this.last : this.first))
      return 0;
    this.busy = true;
    const control = this.control;
    try {
      return await (direction > 0 ? this.append() : this.prepend());
    } finally {
      if (control === this.control)
        this.busy = false;
    }
  }

  async append() {
    const control = this.control;
    const known = this.shared(-1);
    const edge = this.events.at(-1)?.t;
    const from = edge ?? this.reached.after;
    if (from === null || known > 1700) {
      this.last = true;
      return 0;
    }
    const answer = await this.ask({ from: Math.max(from, this.reached.after ?? from),
                                    n: CHUNK + known, direction: 1 });
    if (control.signal.aborted)
      return 0;
    const more = answer.events.filter((event) => edge === undefined || event.t > edge);
    const again = answer.events.filter((event) => event.t === edge).slice(known);
    this.events.push(...again, ...more);
    this.reached = { ...this.reached, after: answer.scanned ?? null };
    this.last = !answer.more;
    const cut = Math.max(0, this.events.length - MOST);
    this.events.splice(0, cut);
    this.first &&= cut === 0;
    return -cut;
  }

  async prepend() {
    const control = this.control;
    const known = this.shared(0);
    const edge = this.events[0]?.t;
    const to = edge ?? this.reached.before;
    if (to === null || known > 1700) {
      this.first = true;
      return 0;
    }
    const from = Math.min(to + 1, this.reached.before ?? to + 1);
    const answer = await this.ask({ from, n: CHUNK + known, direction: -1 });
    if (control.signal.aborted)
      return 0;
    const same = answer.events.filter((event) => event.t === edge);
    const before = answer.events.filter((event) => edge === undefined || event.t < edge)
      .concat(same.slice(0, Math.max(0, same.length - known)));
    this.events.unshift(...before);
    this.reached = { ...this.reached, before: answer.scanned ?? null };
    this.first = !answer.more;
    const cut = Math.max(0, this.events.length - MOST);
    this.events.length -= cut;
    this.last &&= cut === 0;
    return before.length;
  }
}
