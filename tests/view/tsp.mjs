// SPDX-License-Identifier: MIT
// tsp.mjs - `sonde view --tsp` as the client library of Eclipse's front ends sees it,
// of a foreign trace and of one with kernel and user events and losses (run.py made
// both), against what the commands print.
import { execFileSync, spawn } from "node:child_process";
import protocol from "tsp-typescript-client/lib/protocol/http-tsp-client.js";
import models from "tsp-typescript-client";
import { check, equal, plain, test } from "./harness.mjs";

const { SONDE, FOREIGN, KERNEL_USER, COUNTERS } = process.env;
const TYPES = ["TIME_GRAPH", "TREE_TIME_XY", "TABLE", "DATA_TREE"];
const { QueryHelper } = models;

function sonde(...words) {
  return execFileSync(SONDE, words, { encoding: "utf8", maxBuffer: 1 << 28 });
}

/** What `sonde print --json` says of the events of a trace. */
function printed(trace, ...options) {
  return sonde("print", "--json", "--statedump", ...options, trace).split("\n").filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** `sonde view`, and the addresses that it printed. */
function start(...words) {
  const server = spawn(SONDE, ["view", "--no-browser", ...words], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((done, failed) => {
    let text = "";
    server.once("exit", () => failed(new Error("sonde view ended")));
    server.stdout.on("data", (more) => {
      text += more;
      const lines = text.split("\n");
      if (lines.length > (words.includes("--tsp") ? 2 : 1))
        done({ server, page: lines[0], url: lines[1] });
    });
  });
}

/** The model of an answer, asked again while it isn't whole. */
async function model(ask) {
  for (;;) {
    const answer = await ask();
    const got = answer.getModel();
    check(answer.isOk() && got, `${answer.getStatusCode()} ${answer.getText()}`);
    if (got.status !== "RUNNING" && got.indexingStatus !== "RUNNING") {
      check(got.status !== "FAILED", got.statusMessage);
      return got.status ? got.model : got;
    }
  }
}

/** A client that has opened the traces, as VS Code's extension does. */
async function open(client, ...paths) {
  const traces = [];
  for (const uri of paths)
    traces.push((await client.openTrace(QueryHelper.query({ name: uri, uri }))).getModel().UUID);
  const made = (await client.createExperiment(QueryHelper.query({ name: "all", traces }))).getModel();
  const experiment = await model(() => client.fetchExperiment(made.UUID));
  const outputs = (await client.experimentOutputs(made.UUID)).getModel();
  const ids = TYPES.map((wanted) => outputs.find(({ type }) => type === wanted).id);
  return { experiment, outputs, uuid: made.UUID, graph: ids[0], density: ids[1], table: ids[2] };
}

function tsp(claim, traces, run, ...options) {
  test(claim, async () => {
    const { server, page, url } = await start("--tsp", ...options, ...traces);
    try {
      const client = new protocol.HttpTspClient(url);
      await run(client, await open(client, ...traces), { page, url });
      equal((await client.checkHealth()).getModel(), { status: "UP" }, "alive");
    } finally {
      server.kill("SIGINT");
    }
  });
}

const EACH = [["a foreign", FOREIGN], ["a kernel and user", KERNEL_USER]];
const whole = ({ experiment }, nr = 8000) => [experiment.start, experiment.end, nr];

tsp("a counter is at each time what its events say, and from its least to its most until the next", [KERNEL_USER], async (client, opened) => {
  const id = "sonde.counters";
  const { entries: all } = await model(() => client.fetchXYTree(opened.uuid, id,
    QueryHelper.timeRangeQuery(...whole(opened))));
  const entries = all.slice(0, 3); // behind it those that each trace has
  equal(entries.map(({ labels, isDefault }) => [labels[0], isDefault]),
        [["step", true], ["least", false], ["most", false]], "entries");
  equal(entries.map(({ parentId }) => parentId), [-1, entries[0].id, entries[0].id], "below it");
  const { entries: graph } = await model(() => client.fetchTimeGraphTree(opened.uuid, opened.graph,
    QueryHelper.timeRangeQuery(...whole(opened))));
  check(!graph.some(({ labels }) => labels[0] === "step"), "it is no row of states");
  const start = opened.experiment.start;
  const [from, to] = [start, start + 4_900_000n]; // before events are lost
  const { series } = await model(() => client.fetchXY(opened.uuid, id,
    QueryHelper.selectionTimeRangeQuery(from, to, 700, entries.map((entry) => entry.id))));
  const steps = printed(KERNEL_USER, "-f", "event == \"app:step\"")
    .map(({ time_ns, payload }) => [BigInt(time_ns), Number(payload.n)]);
  equal(series.map(({ yValuesDescription: { label, unit } }) => [label, unit]),
        [["value", "steps"], ["least", "steps"], ["most", "steps"]], "axes");
  const [value, least, most] = series;
  check(value.xValues.length > 690, "values");
  for (const [at, x] of value.xValues.entries())
    equal(value.yValues[at], steps.findLast(([time]) => time <= x)[1], `at ${x}`);
  for (const [at, x] of least.xValues.entries()) {
    const end = least.xValues[at + 1] ?? to + 1n;
    const there = steps.filter(([time], i) => time < end && (steps[i + 1]?.[0] ?? end) > x)
      .map(([, n]) => n);
    equal([least.yValues[at], most.yValues[at]], [Math.min(...there), Math.max(...there)], `from ${x}`);
  }
  const { series: [lost] } = await model(() => client.fetchXY(opened.uuid, id,
    QueryHelper.selectionTimeRangeQuery(start, opened.experiment.end, 1000, [entries[0].id])));
  check(lost.xValues.length < 900, "where events were lost there are no values");
}, "--rows", COUNTERS);

/** Rows by id, with the states of each. */
async function rows(client, opened, start, end, nr) {
  const { entries } = await model(() => client.fetchTimeGraphTree(opened.uuid, opened.graph,
    QueryHelper.timeRangeQuery(start, end)));
  const ids = entries.filter(({ hasData }) => hasData).map(({ id }) => id);
  const got = await model(() => client.fetchTimeGraphStates(opened.uuid, opened.graph,
    QueryHelper.selectionTimeRangeQuery(start, end, nr, ids)));
  const states = new Map(got.rows.map((row) => [row.entryId, row.states]));
  return new Map(entries.map((entry) => [entry.id, { ...entry, states: states.get(entry.id) ?? [] }]));
}

for (const [name, trace] of EACH) {
  const stamps = () => printed(trace).map(({ time_ns }) => BigInt(time_ns));

  tsp(`${name} trace: it is in the list with its events and times`, [trace], async (client, opened) => {
    const [listed] = (await client.fetchTraces()).getModel();
    const times = stamps();
    equal([listed.nbEvents, opened.experiment.nbEvents], [times.length, times.length], "events");
    equal([listed.path, listed.indexingStatus], [trace, "COMPLETED"], "path");
    check(listed.start <= times[0] && listed.end >= times.at(-1), "times");
    check(opened.experiment.traces[0].UUID === listed.UUID, "the experiment's trace");
  });

  tsp(`${name} trace: threads run as long as sonde report activity says`, [trace], async (client, opened) => {
    const lossless = trace === FOREIGN ? [] : ["--to", "0.0048"];
    const end = trace === FOREIGN ? opened.experiment.end : opened.experiment.start + 4_800_000n;
    const { threads } = JSON.parse(sonde("report", "activity", "--json", "-q", ...lossless, trace));
    const got = [];
    for (const { labels, states } of (await rows(client, opened, opened.experiment.start, end, 8000)).values()) {
      const ran = states.filter(({ style }) => style.parentKey === "running")
        .reduce((sum, state) => sum + (state.end < end ? state.end : end) - state.start, 0n);
      if (labels[2] && ran)
        got.push([Number(labels[2]), Number(ran)]);
    }
    const wanted = threads.map(({ tid, run_time_ns }) => [tid, run_time_ns]).filter(([, time]) => time > 0);
    const order = (list) => list.sort((a, b) => a[0] - b[0]);
    check(wanted.length > 0, "nothing to compare");
    equal(order(got), order(wanted), "running, by thread");
  });

  tsp(`${name} trace: values over time add up to the events that are printed`, [trace], async (client, opened) => {
    const times = stamps();
    for (const nr of [1, 7, 500]) {
      const { series: [one] } = await model(() => client.fetchXY(opened.uuid, opened.density,
        QueryHelper.selectionTimeRangeQuery(...whole(opened, nr), [0])));
      equal(one.xValues.length, nr, "times");
      const wanted = one.xValues.map((x, i) => times.filter((time) => time >= x &&
        (i + 1 === nr || time < one.xValues[i + 1])).length);
      equal(one.yValues, wanted, `values at ${nr} times`);
    }
  });

  tsp(`${name} trace: the counters that need no words of the user are series`, [trace], async (client, opened) => {
    const { entries } = await model(() => client.fetchXYTree(opened.uuid, "sonde.counters",
      QueryHelper.timeRangeQuery(...whole(opened))));
    const names = entries.filter(({ parentId }) => parentId === -1).map(({ labels }) => labels[0]);
    check(names.length && names.every((each) => (trace === KERNEL_USER ? /^lost events$/ : /^queue of \d+:\d+$/).test(each)),
      `entries: ${names}`);
  });

  tsp(`${name} trace: the table has the events that are printed`, [trace], async (client, opened) => {
    const { uuid, table } = opened;
    const columns = await model(() => client.fetchTableColumns(uuid, table, QueryHelper.query({})));
    const ids = ["Timestamp ns", "Event type"].map((wanted) => columns.find((column) => column.name === wanted).id);
    const lines = [];
    for (;;) {
      const got = await model(() => client.fetchTableLines(uuid, table, QueryHelper.tableQuery(ids, lines.length, 333)));
      lines.push(...got.lines);
      if (lines.length === got.size)
        break;
    }
    equal(lines.map(({ index }) => index), lines.map((_, i) => i), "numbers");
    equal(lines.map(({ cells }) => cells.map(({ content }) => content)),
          printed(trace).map(({ time_ns, event }) => [String(time_ns), event]), "lines");
  });

  tsp(`${name} trace: counts by name are those of sonde report top`, [trace], async (client, opened) => {
    const { top } = JSON.parse(sonde("report", "top", "--json", "-q", "--limit", "0", trace));
    const { entries } = await model(() => client.fetchDataTree(opened.uuid, "sonde.top", QueryHelper.query({})));
    equal(entries.map(({ labels }) => [labels[0], Number(labels[1])]), top.map(({ key, count }) => [key, count]), "counts");
  });
}

tsp("system calls are those of sonde report syscalls", [FOREIGN], async (client, opened) => {
  const { calls } = JSON.parse(sonde("report", "syscalls", "--json", "-q", FOREIGN));
  const { entries } = await model(() => client.fetchDataTree(opened.uuid, "sonde.syscalls", QueryHelper.query({})));
  check(calls.length > 0, "nothing to compare");
  equal(entries.map(({ labels }) => [labels[0], Number(labels[1])]), calls.map(({ call, count }) => [call, count]), "calls");
});

tsp("any place of the table is found by a time, and by what is searched", [KERNEL_USER], async (client, opened) => {
  const { uuid, table } = opened;
  const events = printed(KERNEL_USER);
  const ask = async (index, more) => {
    const query = index === null ? QueryHelper.query({ requested_table_count: 1, ...more }) :
      QueryHelper.tableQuery([], index, 1, more);
    query.parameters.requested_table_column_ids = [0];
    const got = await model(() => client.fetchTableLines(uuid, table, query));
    return got.lines[0] ? [got.lines[0].index, got.lines[0].cells[0].content, got.lines[0].tags] : null;
  };
  for (const at of [0, 1, 17, 800, events.length - 1]) {
    const { time_ns } = events[at];
    const first = events.findIndex((event) => event.time_ns === time_ns);
    equal(await ask(null, { requested_times: [BigInt(time_ns)] }), [first, String(time_ns), 0], "from a time");
  }
  const find = (direction, from, text) => ask(from, { table_search_direction: direction,
                                                      table_search_expressions: { 2: text } });
  const wakings = events.map(({ event }, i) => event === "sched_waking" ? i : -1).filter((i) => i >= 0);
  const line = (i) => [i, String(events[i].time_ns), 8];
  equal(await find("NEXT", wakings[3] + 1, "waking"), line(wakings[4]), "next");
  equal(await find("PREVIOUS", wakings[3] - 1, "waking"), line(wakings[2]), "previous");
  equal(await find("NEXT", 0, "app:big"), line(events.findIndex(({ event }) => event === "app:big")), "the only one");
  equal(await find("NEXT", 0, "w.*g"), null, "no regular expression");
  equal(await find("PREVIOUS", wakings[0] - 1, "waking"), null, "none before the first");
});

tsp("an arrow goes from who woke a thread to it, and a tooltip says so", [KERNEL_USER], async (client, opened) => {
  const { uuid, graph, experiment } = opened;
  const all = await rows(client, opened, ...whole(opened));
  const arrows = await model(() => client.fetchTimeGraphArrows(uuid, graph, QueryHelper.timeRangeQuery(...whole(opened))));
  const tid = (id) => Number(all.get(id).labels[2]);
  const { "Lost events": lost } = (await model(() => client.fetchAnnotations(uuid, graph,
    QueryHelper.timeRangeQuery(...whole(opened))))).annotations;
  const isLost = (at) => lost.some(({ time, duration }) => at >= time && at <= time + duration);
  const wakings = printed(KERNEL_USER, "-f", 'event == "sched_waking"').map(({ time_ns }) => time_ns)
    .filter((time_ns) => !isLost(BigInt(time_ns)));
  check(wakings.length > 5, "too few to tell");
  equal(arrows.map(({ start, sourceId, targetId }) => [String(start), tid(sourceId), tid(targetId)]),
        wakings.map((time_ns) => [String(time_ns), 21, 11]), "wakings");
  const one = [...all.values()].find(({ labels }) => labels[2] === "11");
  const tooltip = await model(() => client.fetchTimeGraphTooltip(uuid, graph,
    QueryHelper.selectionTimeQuery([experiment.start + 40_000n], [one.id])));
  equal([tooltip.State, tooltip["Woken by"], tooltip.Duration], ["blocked", "two", "20001 ns"], "what it says");
});

tsp("states have styles, are in order, and few times are enough for a picture", [KERNEL_USER], async (client, opened) => {
  const { styles } = await model(() => client.fetchStyles(opened.uuid, opened.graph, QueryHelper.query({})));
  for (const nr of [3, 8000])
    for (const { states, labels } of (await rows(client, opened, ...whole(opened, nr))).values()) {
      check(states.length <= Math.max(3 * nr, 3 * 64), `${labels[0]}: ${states.length} states`);
      states.forEach(({ start, end, style }, i) => {
        check(start < end && (!i || states[i - 1].end <= start), `${labels[0]}: state ${i}`);
        check(styles[style.parentKey]?.values["background-color"].startsWith("#"), style.parentKey);
      });
    }
});

tsp("lost events and notes are annotations, and nothing is drawn over a loss", [KERNEL_USER], async (client, opened, { page }) => {
  const { uuid, graph, experiment } = opened;
  const origin = new URL(page).origin;
  const note = new URLSearchParams({ from: 30000, to: 40000, text: "look <here>" });
  check((await fetch(`${page}api/note?${note}`, { method: "POST", headers: { Origin: origin } })).ok, "noted");
  const { annotationCategories } = await model(() => client.fetchAnnotationsCategories(uuid, graph));
  const got = (await model(() => client.fetchAnnotations(uuid, graph,
    QueryHelper.timeRangeQuery(...whole(opened))))).annotations;
  equal(Object.keys(got), annotationCategories, "categories");
  equal(got.Notes.map(({ label, time, duration }) => [label, String(time - experiment.start), String(duration)]),
        [["look <here>", "30000", "10000"]], "notes");
  const lost = got["Lost events"];
  check(lost.length > 0 && lost.every(({ label }) => label === "lost events of CPU 1"), "losses");
  const all = await rows(client, opened, ...whole(opened));
  const seen = [...all.values()].find(({ labels }) => labels[0] === "CPU 1").states;
  for (const { time, duration } of lost)
    check(seen.every(({ start, end, style }) => style.parentKey === "lost" || end <= time || start > time + duration),
          `something at ${time}`);
  check(seen.some(({ style }) => style.parentKey === "lost"), "the loss itself");
});

tsp("several traces are one experiment, or each its own", [FOREIGN, KERNEL_USER], async (client, both) => {
  const counts = [FOREIGN, KERNEL_USER].map((trace) => printed(trace).length);
  equal(both.experiment.nbEvents, counts[0] + counts[1], "together");
  const alone = await open(client, KERNEL_USER);
  equal(alone.experiment.nbEvents, counts[1], "alone");
  equal((await client.fetchExperiments()).getModel().map(({ traces }) => traces.length), [2, 1], "experiments");
  check((await client.deleteExperiment(alone.uuid)).isOk(), "deleted");
  equal((await client.fetchExperiment(alone.uuid)).getStatusCode(), 404, "it is gone");
  equal((await open(client, KERNEL_USER)).uuid, alone.uuid, "it is there again");
});

tsp("what isn't on the command line is refused, and so is what is no request", [FOREIGN], async (client, opened, { url }) => {
  const status = async (answer) => (await answer).getStatusCode();
  const refused = await client.openTrace(QueryHelper.query({ name: "x", uri: "/etc/passwd" }));
  equal(refused.getStatusCode(), 403, "another path");
  check(refused.getErrorResponse().title.includes("started with"), "says why");
  equal(await status(client.deleteTrace(opened.experiment.traces[0].UUID, true)), 403, "deleting");
  equal(await status(client.createExperiment(QueryHelper.query({ name: "x", traces: ["nobody"] }))), 404, "unknown trace");
  equal(await status(client.fetchXY(opened.uuid, "nobody", QueryHelper.query({}))), 404, "unknown output");
  equal(await status(client.fetchXY(opened.uuid, opened.table, QueryHelper.query({}))), 404, "output of another kind");
  const post = async (body, headers = {}, to = `${url}/experiments/${opened.uuid}/outputs/XY/${opened.density}/xy`) =>
    (await fetch(to, { method: "POST", body, headers })).status;
  equal(await post("{}"), 200, "an empty query");
  for (const bad of ["{", "[]", '{"parameters":7}', '{"parameters":{"requested_items":[-1]}}',
                     '{"parameters":{"requested_timerange":{"start":2,"end":1}}}',
                     '{"parameters":{"requested_times":[1.5]}}', "[".repeat(9)])
    equal(await post(bad), 400, bad);
  equal(await post(" ".repeat((1 << 20) + 1)), 413, "a long one");
  equal(await post("{}", { Origin: "http://example.com" }), 403, "another page");
  const stranger = url.replace(/\/[0-9a-f]{32}\//, `/${"0".repeat(32)}/`);
  equal(await post("{}", {}, `${stranger}/traces`), 403, "another token");
  equal((await fetch(`${url}/traces`, { method: "PUT", body: "{}" })).status, 405, "another method");
});

test("without --tsp nothing of it is answered", async () => {
  const { server, page } = await start(FOREIGN);
  try {
    equal((await fetch(`${page}tsp/api/traces`)).status, 404, "status");
  } finally {
    server.kill("SIGINT");
  }
});

await plain(process.argv.slice(2));
