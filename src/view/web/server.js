// SPDX-License-Identifier: MIT
// server.js - questions to the server. One that was overtaken by a later of its
// kind is cancelled; a server that is gone is asked again until it is back.

/** What the server refused, and the column of the filter where it is wrong. */
export class Refused extends Error {
  constructor(status, text, at) {
    super(text);
    this.status = status;
    this.at = at;
  }
}

export class Server {
  /** @param {(gone: string) => void} tell "" once the server is back */
  constructor(tell) {
    this.tell = tell;
    this.gone = false;
  }

  /** @returns {Promise<any>} JSON; an ArrayBuffer of "frame" and "export", text of
   * "flame" */
  async ask(path, params = {}, signal = undefined, method = "GET") {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params))
      if (value !== null && value !== undefined && value !== "")
        query.set(name, String(value));
    let answer;
    let body;
    try {
      answer = await fetch(`api/${path}?${query}`, { signal, method });
      body = await (answer.ok && /^(frame|export)$/.test(path) ? answer.arrayBuffer() :
        answer.text());
    } catch (error) {
      if (!signal?.aborted)
        this.lose("The server doesn't answer: was `sonde view` ended? " +
                  "This page goes on as soon as it is back.");
      throw error;
    }
    if (this.gone && answer.ok)
      this.back();
    return answer.ok && /^(frame|flame|export)$/.test(path) ? body : read(answer, body);
  }

  lose(why) {
    this.gone = true;
    this.tell(why);
  }

  back() {
    this.gone = false;
    this.tell("");
  }
}

/** Integers that a double can't hold stay what was sent, where the browser tells;
 * elsewhere they are marked. */
const exactly = /** @type {any} */ ((_name, value, context) =>
  (typeof value !== "number" || !Number.isInteger(value) ||
   Number.isSafeInteger(value) ? value : context?.source ?? `≈ ${value}`));

function read(answer, text) {
  let value;
  try {
    value = JSON.parse(text, exactly);
  } catch {
    throw new Refused(answer.status, `not an answer (${answer.status})`, null);
  }
  if (!answer.ok)
    throw new Refused(answer.status, value.error ?? `status ${answer.status}`,
                      value.at ?? null);
  return value;
}

/** Questions of one kind: only the last matters. One under way is let finish
 * for `patience` ms, since while the mouse moves each would be overtaken. */
export class Latest {
  constructor(server, path, patience = 0) {
    this.server = server;
    this.path = path;
    this.patience = patience;
    this.busy = null;
    this.since = 0;
    this.next = null;
  }

  /** `done` gets the answer, `failed` a Refused; neither if overtaken. */
  ask(params, done, failed = (_refused) => {}) {
    this.next = { params, done, failed };
    if (!this.busy)
      void this.run();
    else if (performance.now() - this.since >= this.patience)
      this.busy.abort();
  }

  cancel() {
    this.next = null;
    this.busy?.abort();
  }

  async run() {
    while (this.next) {
      const { params, done, failed } = this.next;
      const control = new AbortController();
      this.next = null;
      this.busy = control;
      this.since = performance.now();
      try {
        const answer = await this.server.ask(this.path, params, control.signal);
        if (!control.signal.aborted)
          done(answer);
      } catch (error) {
        if (error instanceof Refused && !control.signal.aborted)
          failed(error);
        else if (!control.signal.aborted && !this.server.gone)
          console.error(error);
      }
      this.busy = null;
    }
  }
}
