// SPDX-License-Identifier: MIT
// mock.mjs - a server that answers as `sonde view` does for a made trace, so that
// the page is tested with what is known beforehand: 4 CPUs, 8 processes of 7
// threads, one hole, one thread that waits for a lock until another wakes it.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";

export const END = 2_000_000_000;
export const HOLE = { from: 900_000_000, to: 960_000_000 };
/** The thread 1011 waits for a lock from 400 to 700 ms; 1012 wakes it. */
export const WAIT = { row: 111, tid: 1011, from: 400_000_000, to: 700_000_000, waker: 112 };
const WEB = new URL("../../src/view/web/", import.meta.url);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const STATES = [
  [0, "unknown", "#00000000"], [1, "running", "#0a7a52", "#06c28a"],
  [2, "waiting for a CPU", "#cb8500", "#fdcb52"], [4, "blocked", "#8d939c", "#6c7077"],
  [5, "blocked by a lock", "#8b3f80", "#ee8fd3"], [7, "idle", "#8d939c", "#6c7077"],
  [255, "lost", "#7f0000", "#ff8a80"],
].map(([id, name, colour, dark = colour]) => ({ id, name, colour, dark }));
const NAMES = ["database", "web-server", "compiler", "browser", "logger", "backup",
               "shell", "clock"];

export const ROWS = [
  ...[0, 1, 2, 3].map((cpu) => ({ id: 1 + cpu, kind: "cpu", parent: null,
    name: `CPU ${cpu}`, pid: null, tid: null, busy: 0.6 - cpu / 10 })),
  ...NAMES.flatMap((name, at) => [
    { id: 10 + at * 100, kind: "process", parent: null, name, pid: 1000 + at * 100,
      tid: null, busy: 0.5 / (at + 1) },
    ...[1, 2, 3, 4, 5, 6, 7].map((n) => ({ id: 10 + at * 100 + n + 100 * Number(at === 0),
      kind: "thread", parent: 10 + at * 100, name: `${name}/${n}`,
      pid: 1000 + at * 100, tid: 1010 + at * 100 + n,
      busy: at === 7 ? 0 : 0.5 / (at + 1) / (n + 1) })),
  ]),
];
for (const row of ROWS) // the threads of the first process: 111 to 117
  if (row.kind === "process" && row.id > 10)
    row.id += 1000;
  else if (row.kind === "thread" && row.parent > 10) {
    row.id += 2000;
    row.parent += 1000;
  }

/** A number that looks like chance, the same each time. */
function noise(seed) {
  let x = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35) >>> 0;
  return (x ^ (x >>> 16)) >>> 0;
}

/** What a row is at an instant: the state's interval. */
function intervalAt(row, time) {
  if (time < 0 || time >= END)
    return { from: time, to: time + 1, state: null };
  if (time >= HOLE.from && time < HOLE.to)
    return { ...HOLE, state: row.kind === "cpu" ? 255 : null };
  if (row.id === WAIT.row && time >= WAIT.from && time < WAIT.to)
    return { from: WAIT.from, to: WAIT.to, state: 5 };
  const step = 250_000 * (1 + row.id % 7);
  const index = Math.floor(time / step);
  const chance = (noise(row.id * 100_003 + index) % 1000) / 1000;
  const state = row.kind === "cpu" ? (chance < row.busy ? 1 : 7) :
    chance < row.busy ? 1 : chance < row.busy * 1.3 ? 2 : 4;
  return { from: index * step, to: (index + 1) * step, state };
}

function frame(query) {
  const from = Number(query.get("from"));
  const scale = (Number(query.get("to")) - from) / Number(query.get("pixels"));
  const pieces = [];
  for (const id of query.get("rows").split(",").map(Number)) {
    const row = ROWS.find((other) => other.id === id);
    const cells = [];
    for (let x = 0; row && x < Number(query.get("pixels")); x++) {
      const { state } = intervalAt(row, from + (x + 0.5) * scale);
      const last = cells.at(-1);
      if (last && last.state === state && last.x + last.width === x)
        last.width++;
      else if (state !== null)
        cells.push({ x, width: 1, state });
    }
    const bytes = Buffer.alloc(8 + cells.length * 8);
    bytes.writeUInt32LE(id, 0);
    bytes.writeUInt32LE(cells.length, 4);
    cells.forEach(({ x, width, state }, at) => {
      bytes.writeUInt16LE(x, 8 + at * 8);
      bytes.writeUInt16LE(width, 10 + at * 8);
      bytes.writeUInt8(state, 12 + at * 8);
      bytes.writeUInt8(255, 13 + at * 8);
    });
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}

function at(query) {
  const row = ROWS.find((other) => other.id === Number(query.get("row")));
  const found = intervalAt(row, Number(query.get("t")));
  found.state ??= 0;
  const waits = row.id === WAIT.row && found.state === 5;
  return { row: row.id, ...found, detail: waits ? { lock: "table_lock" } : {},
    waker: waits ? { row: WAIT.waker, t: WAIT.to, name: "database/2" } : null,
    why: waits ? "It waited for table_lock, which database/2 held." : null };
}

/** An event each ms but in the hole; 10 of them share each instant 500 ms on. */
const EVENTS = Array.from({ length: 2000 }, (_, n) => n * 1_000_000)
  .filter((t) => t < HOLE.from || t >= HOLE.to)
  .flatMap((t) => Array.from({ length: t === 500_000_000 ? 10 : 1 }, (_, k) => ({
    t, stream: 0, cpu: (t / 1_000_000) % 4, tid: 1011 + (t / 1_000_000) % 7,
    comm: "database", name: t % 3_000_000 ? "app:step" : "app:begin",
    text: `n = ${t / 1_000_000}, k = ${k}`, fields: { n: t / 1_000_000, k } })));

export const NR_EVENTS = EVENTS.length;

function events(query) {
  const filter = query.get("filter") ?? "";
  if (filter && !/^event == "[^"]*"$/.test(filter))
    return { status: 400, error: "expected a comparison", at: 7 };
  const wanted = filter && filter.slice(10, -1);
  const all = EVENTS.filter(({ name }) => !wanted || name === wanted);
  const from = Number(query.get("from") ?? 0);
  const n = Number(query.get("n") ?? 100);
  const found = all.filter(({ t }) => (query.get("direction") === "-1" ? t < from : t >= from));
  const cut = query.get("direction") === "-1" ? found.slice(-n) : found.slice(0, n);
  return { events: cut, first_index: null, more: found.length > n, scanned: null };
}

function histogram(query) {
  const [from, to, pixels] = ["from", "to", "pixels"].map((name) => Number(query.get(name)));
  const counts = new Array(pixels).fill(0);
  const lost = counts.map((_, x) => {
    const begin = from + x * (to - from) / pixels;
    return Number(begin + (to - from) / pixels > HOLE.from && begin < HOLE.to);
  });
  for (const { t } of EVENTS)
    if (t >= from && t < to)
      counts[Math.floor((t - from) / (to - from) * pixels)]++;
  return { from, to, counts, lost, unit: "events", exact: true };
}

function arrows(query) {
  const { from, to, rows } = Object.fromEntries(query);
  const seen = new Set(rows.split(",").map(Number));
  const all = [{ t: WAIT.to, from_row: WAIT.waker, to_row: WAIT.row }];
  return all.filter(({ t, from_row, to_row }) => t >= Number(from) && t < Number(to) &&
    seen.has(from_row) && seen.has(to_row));
}

function statistics(query) {
  const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
  return { columns: [{ name: query.get("by") }, { name: "time", unit: "ns" }],
           rows: [["a, \"quoted\"", to - from], ["b", 1000]] };
}

/** What filters may name. */
const FIELDS = [{ name: "app:begin", fields: ["n", "request_id"] }, { name: "app:step", fields: ["n", "k", "kind"] },
  { name: "odd\"name", fields: [] }];

/** What the events are, and of which no end came. */
const PAIRS = [{ name: "system calls", begin: "event == \"in_*\"", end: "event == \"out_*\"", key: "" },
  { name: "interrupts", begin: "event == \"irq\"", end: "event == \"end\"", key: "cpu" }];

/** Spans of 1 ms all along, and one of 300 ms at WAIT. */
function scatter(query) {
  const cells = Array.from({ length: 10 }, (_, x) => [x, 0, 100]).flat();
  const long = WAIT.from / END * 10;
  const boxed = Number(query.get("most") ?? Infinity) >= 3e8 ? 1 : 0;
  return { from: Number(query.get("from")), to: Number(query.get("to")), columns: 10, boxed,
           lower: [1e6, 1.2e6, 2.5e8, 3.1e8], cells: [...cells.slice(0, long * 3 + 3), long, 2, 1,
                                                      ...cells.slice(long * 3 + 3)] };
}

function latency(query) {
  const bins = Array.from({ length: 30 }, (_, at) => ({ from: 1000 * 1.5 ** at,
    to: 1000 * 1.5 ** (at + 1), count: Math.round(1000 * Math.exp(-((at - 9) ** 2) / 20)) }));
  return { count: 7000, min: 1000, max: 300_000_000, mean: 50_000, bins,
    quantiles: { p50: 40_000, p99: 2_000_000 },
    unended: 3, unbegun: 0, scatter: scatter(query),
    worst: [{ t: WAIT.from, duration: WAIT.to - WAIT.from, row: WAIT.row, tid: WAIT.tid, key: "7" }] };
}

/** Nodes of a tree, with what a side of that number weighs. In A, "old" took what "new"
 * takes in B, and "parse" half of what it does there. */
const NODES = [[0, "all", [500, 900]], [1, "main", [500, 900]], [2, "new", [0, 100]],
  [2, "old", [100, 0]], [2, "parse", [300, 600]], [3, "read <b>", [300, 300]], [2, "same", [100, 100]]];

function tree(query) {
  const sides = query.has("a_from") ? [0, 1] : [1];
  return { unit: "ns", hidden: 0, sides: sides.map((at) => ({ total: NODES[0][2][at], notes: [] })),
    nodes: NODES.filter(([, , totals]) => sides.some((at) => totals[at]))
      .map(([depth, name, totals]) => [depth, name,
        ...sides.flatMap((at) => [totals[at], totals[at], Number(totals[at] > 0)])]) };
}

/** Of the parts that sonde flame's have. */
const FLAME = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50" width="100" height="50">
<style>text { font: 11px monospace; fill: #111; }</style>
<rect width="100%" height="100%" fill="#f8f8f4"/><text x="1" y="9">made</text>
<g class="f" data-name="all"><title>all</title><rect x="1" y="20" width="90" height="12" fill="#e5c93f"/>
<text x="3" y="30">all</text></g></svg>`;

/** Notes as the server keeps them. */
function notebook() {
  const notes = [];
  return (query) => {
    const id = Number(query.get("id"));
    const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
    const at = notes.findIndex((note) => note.id === id);
    if (id && query.has("text"))
      notes[at].text = query.get("text");
    else if (id)
      notes.splice(at, 1);
    else if (query.has("text"))
      notes.push({ id: notes.length + 1, from, to, row: query.get("row"), text: query.get("text") });
    return { directory: "/made", file: ".sonde-notes", notes };
  };
}

/** Starts; `trace` may be changed by the test while it runs. */
export async function serve(port = 0) {
  const trace = { name: "made", path: "/made", origin: "1700000000000000000", begin: 0,
    end: END - 1, events: NR_EVENTS, lost: 77, index: { done: 1, ready: true, error: null },
    states: STATES, classes: [], live: false, why: null };
  const notes = notebook();
  const answers = { "api/notes": notes, "api/note": notes, "api/trace": () => trace, "api/rows": () => ROWS,
    "api/histogram": histogram, "api/at": at, "api/events": events, "api/arrows": arrows,
    "api/statistics": statistics, "api/latency": latency, "api/pairs": () => PAIRS, "api/fields": () => FIELDS, "api/tree": tree };
  const held = new Map();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const name = url.pathname.replace("/token/", "");
    const send = (status, type, body) => {
      response.writeHead(status, { "Content-Type": type });
      response.end(body);
    };
    if (name === "api/flame")
      return send(200, "image/svg+xml", FLAME);
    if (name === "api/frame")
      return send(200, "application/octet-stream", frame(url.searchParams));
    if (answers[name]) {
      const answer = answers[name](url.searchParams);
      const text = JSON.stringify(answer);
      await held.get(name);
      return send(answer.status ?? 200, "application/json", text);
    }
    return readFile(new URL(name || "index.html", WEB)).then(
      (body) => send(200, TYPES[extname(name || ".html")] ?? "text/html", body),
      () => send(404, "application/json", '{"error": "no such path", "at": null}'));
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  /** What is asked for from now on is answered, as of now, when the result is called. */
  const hold = (name) => {
    let free;
    held.set(name, new Promise((done) => { free = done; }));
    return () => { held.delete(name); free(); };
  };
  return { server, trace, hold, port: server.address().port,
           url: `http://127.0.0.1:${server.address().port}/token/`,
           stop: () => new Promise((done) => {
             server.close(done);
             server.closeAllConnections();
           }) };
}
