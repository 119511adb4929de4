// SPDX-License-Identifier: MIT
// real.mjs - the page on `sonde view` of a foreign trace and of one with kernel and
// user events and losses (run.py made both), against what the commands print.
import { spawn, execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync,
  statSync } from "node:fs";
import { tmpdir } from "node:os";
import { check, equal, main, test, until, view } from "./harness.mjs";

const { SONDE, FOREIGN, KERNEL_USER, PROGRAM, LOCKING, GROWING, RULES,
  COUNTERS } = process.env;

/** `sonde view`, and the address that it printed. */
function start(trace, ...options) {
  const server = spawn(SONDE, ["view", "--no-browser", ...options, trace],
                       { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((done, failed) => {
    server.once("exit", () => failed(new Error("sonde view ended")));
    server.stdout.once("data", (text) => done({ server, url: String(text).trim() }));
  });
}

function real(claim, trace, run, ...options) {
  test(claim, async (page) => {
    const { server, url } = await start(trace, ...options);
    try {
      await page.goto(url);
      await until(page, () => window.sonde.trace?.index.ready &&
        window.sonde.events.chunks.events.length && window.sonde.overview.data?.unit === "events");
      await run(page, server);
    } finally {
      server.kill("SIGINT");
    }
  });
}

/** What `sonde print --json` says of the events of a trace. */
function printed(trace, ...options) {
  const text = execFileSync(SONDE, ["print", "--json", "--statedump", ...options, trace],
                            { encoding: "utf8", maxBuffer: 1 << 28 });
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** All events of the list, by scrolling through it. */
function listed(page) {
  return page.evaluate(async () => {
    const { events } = window.sonde;
    const seen = [...events.chunks.events];
    while (!events.chunks.last) {
      // The list itself may be growing; it needs a turn to end that.
      if (events.chunks.busy) {
        await new Promise(requestAnimationFrame);
        continue;
      }
      const before = events.chunks.events.at(-1);
      await events.chunks.grow(1);
      seen.push(...events.chunks.events.slice(events.chunks.events.indexOf(before) + 1));
    }
    return seen.map(({ name }) => name);
  });
}

for (const [name, trace] of [["a foreign", FOREIGN], ["a kernel and user", KERNEL_USER]]) {
  real(`${name} trace: the list, the head and the overview have the events that are printed`, trace,
    async (page) => {
      const wanted = printed(trace).map((event) => event.event ?? event.name);
      equal(await listed(page), wanted, "names in order");
      const { events, sum } = await page.evaluate(() => ({
        events: window.sonde.trace.events,
        sum: window.sonde.overview.data.counts.reduce((a, b) => a + b, 0) }));
      equal([events, sum], [wanted.length, wanted.length], "events in the head, in the overview");
    });
}

real("a filter leaves what sonde print -f leaves", KERNEL_USER, async (page) => {
  const filter = 'event == "app:step" && n < 4';
  const wanted = printed(KERNEL_USER, "-f", filter).map((event) => event.event ?? event.name);
  check(wanted.length > 5, "too few to tell");
  await page.fill("#event-filter", filter);
  await until(page, (n) => window.sonde.events.chunks.filter && !window.sonde.events.chunks.busy &&
    window.sonde.events.chunks.events.length === n, wanted.length);
  equal(await listed(page), wanted, "names in order");
});

real("an error in a filter stands under its column", KERNEL_USER, async (page) => {
  await page.fill("#event-filter", "cpu === 4");
  await page.waitForSelector("#wrong:not([hidden])");
  const [filter, mark] = (await page.textContent("#wrong")).split("\n");
  equal(filter, "cpu === 4", "the filter");
  equal(mark.indexOf("^"), filter.lastIndexOf("="), "the mark's column");
});

real("what is offered for a filter are the events and fields of the trace", KERNEL_USER, async (page) => {
  await page.focus("#event-filter");
  await until(page, () => window.sonde.events.complete.classes.length);
  await page.keyboard.type('event == "app:b');
  await page.keyboard.press("Tab");
  await page.keyboard.type(" && b");
  await page.keyboard.press("Tab");
  await page.keyboard.type(" > 4");
  equal(await page.inputValue("#event-filter"), 'event == "app:big" && big > 4', "the filter");
  await until(page, () => window.sonde.events.chunks.events.length === 1 &&
    window.sonde.events.chunks.events[0].name === "app:big");
});

test("the page asks nothing that the server refuses", async (page) => {
  const { server, url } = await start(PROGRAM);
  const refused = [];
  page.on("response", (response) => response.status() >= 400 && refused.push(response.url()));
  page.on("console", (message) => message.type() === "error" && refused.push(message.text()));
  try {
    await page.goto(url);
    await until(page, () => window.sonde.trace?.index.ready && window.sonde.timeline.frame);
    for (const [tab, shows] of [["statistics", "td"], ["latency", "option"], ["flame", "#flame-picture g"],
      ["compare", "#compare-note"], ["notes", "#notes-list p"], ["events", ".row"]]) {
      await page.click(`#tab-${tab}`);
      await page.waitForSelector(`#${tab} ${shows}`, { state: "attached" });
    }
  } finally {
    server.kill("SIGINT");
  }
  equal(refused, [], "refused");
});

real("losses are told in the head and hatched in the overview", KERNEL_USER, async (page) => {
  check((await page.textContent("#about")).includes(" 7 lost"), "the head");
  const { lost, exact } = await page.evaluate(() => ({
    lost: window.sonde.overview.data.lost.indexOf(1), exact: window.sonde.overview.data.lost.includes(0) }));
  check(lost > 0 && exact, `lost from pixel ${lost} on`);
});

real("an event's fields are shown exactly, whatever their size", KERNEL_USER, async (page) => {
  await page.fill("#event-filter", 'event == "app:big"');
  await until(page, () => window.sonde.events.chunks.filter && !window.sonde.events.chunks.busy &&
    window.sonde.events.chunks.events.length === 1);
  await page.click("#list .row");
  await until(page, () => document.querySelector("#detail").textContent.includes("18446744072105534430")); // all its digits
  equal((await view(page)).cursor, await page.evaluate(() => window.sonde.events.chosen.t), "cursor");
});

/** The row of that kind and tid. */
function rowOf(page, tid) {
  return page.evaluate((wanted) => window.sonde.rows.all.find((row) =>
    row.kind === "thread" && row.tid === wanted)?.id ?? null, tid);
}

real("a blocked thread is followed to who woke it", KERNEL_USER, async (page) => {
  const [one, two] = [await rowOf(page, 11), await rowOf(page, 21)];
  check(one !== null && two !== null, "no rows of the threads");
  await page.evaluate(([row]) => {
    const { view, detail } = window.sonde;
    view.set({ from: 2_000_000, to: 2_100_000 });
    detail.go(row, 2_040_000);
  }, [one]);
  await page.waitForSelector("#waker");
  check((await page.textContent("#detail")).includes("blocked"), "the state");
  await page.focus("#timeline");
  await page.keyboard.press("j");
  await until(page, (row) => window.sonde.view.row === row, two);
  equal((await view(page)).cursor, 2_050_001, "the waking");
  await until(page, () => document.querySelector("#detail h2").textContent === "two" &&
    document.querySelector("#detail dd").textContent === "running");
  await until(page, ([from, to]) => window.sonde.timeline.arrows.some((arrow) =>
    arrow.from_row === from && arrow.to_row === to), [two, one]);
});

for (const [name, trace] of [["a foreign", FOREIGN], ["a kernel and user", KERNEL_USER]])
  real(`${name} trace: threads run as long on the page as sonde report activity says`, trace,
    async (page) => {
      const { threads } = JSON.parse(execFileSync(SONDE, ["report", "activity", "--json", "-q", trace],
                                                  { encoding: "utf8" }));
      await page.click("#tab-statistics");
      await page.waitForSelector("#statistics td");
      const got = await page.evaluate(() => {
        const { columns, rows } = window.sonde.statistics.table.answer;
        const at = (wanted) => columns.findIndex((column) => column.name === wanted);
        return rows.map((row) => [row[at("tid")], row[at("running")]]).sort((a, b) => a[0] - b[0]);
      });
      const ran = threads.map(({ tid, run_time_ns }) => [tid, run_time_ns])
        .filter(([, time]) => time > 0).sort((a, b) => a[0] - b[0]);
      check(ran.length > 0, "nothing to compare");
      equal(got.filter(([, time]) => time > 0), ran, "running, by thread");
    });

real("who ran longest is first in the statistics", KERNEL_USER, async (page) => {
  await page.click("#tab-statistics");
  await page.waitForSelector("#statistics td");
  equal(await page.evaluate(() => [...document.querySelectorAll("#statistics tbody tr")]
    .map((line) => line.children[1].textContent)), ["11", "21"], "threads");
  equal(await page.textContent("#statistics th >> nth=3"), "running ↓", "the head says so");
});

real("times that a trace doesn't tell are not known", PROGRAM, async (page) => {
  await page.click("#tab-statistics");
  await page.waitForSelector("#statistics td");
  equal(await page.evaluate(() => [...document.querySelectorAll("#statistics tbody tr")]
    .map((line) => [...line.children].slice(3).map(({ textContent }) => textContent))),
  [Array(6).fill("not known")], "the thread's");
});

real("a process that isn't known has no number in the statistics", KERNEL_USER, async (page) => {
  await page.click("#tab-statistics");
  await page.waitForSelector("#statistics td");
  const { pids, shown } = await page.evaluate(() => {
    const { columns, rows } = window.sonde.statistics.table.answer;
    const at = columns.findIndex(({ name }) => name === "pid");
    return { pids: rows.map((row) => row[at]),
             shown: [...document.querySelectorAll("#statistics tbody tr")].map((line) => line.children[at].textContent) };
  });
  check(pids.length > 0 && pids.every((pid) => pid === null), `pids: ${pids}`);
  check(shown.every((text) => text === ""), `shown: ${shown}`);
});

real("what a program begins and ends is below its thread, with its name", PROGRAM, async (page) => {
  await until(page, () => window.sonde.timeline.frame?.bands.size > 3);
  const { lines, told } = await page.evaluate(() => {
    const { rows, timeline } = window.sonde;
    const seen = {};
    for (const { row } of rows.shown)
      if (row.kind === "within")
        timeline.frame.named(row.id, 0, (begin, end, name) => {
          (seen[row.name] ??= []).push([timeline.names[name - 1],
            Math.round(begin / 1e6), Math.round(end / 1e6)]);
        });
    return { lines: rows.shown.map(({ row, depth }) => `${depth} ${row.kind}`), told: seen };
  });
  equal(lines, ["0 process", "1 thread", "2 within", "2 within"], "rows");
  equal(told, { "depth 1": [["app:request", 0, 90], ["app:request", 100, 190]],
                "depth 2": [["app:parse", 20, 50], ["app:parse", 120, 150]] }, "names");
  await page.evaluate(() => {
    const { rows, detail } = window.sonde;
    detail.go(rows.all.find(({ name }) => name === "depth 2").id, 130_000_000);
  });
  await until(page, () => document.querySelector("#detail")?.textContent.includes("app:parse"));
  check((await page.textContent("#detail")).includes("30"), "how long");
});

real("a row that one declares is above the processes, with names", PROGRAM, async (page) => {
  await until(page, () => window.sonde.timeline.frame?.bands.size > 4);
  const [first, told] = await page.evaluate(() => {
    const { rows, timeline } = window.sonde;
    const seen = [];
    timeline.frame.named(rows.shown[0].row.id, 0, (begin, end, name) => {
      seen.push([timeline.names[name - 1], Math.round(begin / 1e6), Math.round(end / 1e6)]);
    });
    return [rows.shown[0].row, seen];
  });
  equal([first.kind, first.name], ["own", "thread 31"], "the row");
  equal(told, [["app:parse_begin", 20, 50], ["app:parse_begin", 120, 150]], "names");
}, "--rows", RULES);

real("a counter is drawn as high as it is, with a hole where events were lost, and the mouse tells it", KERNEL_USER, async (page) => {
  await page.evaluate(() => window.sonde.view.set({ from: 0, to: 90_000 }));
  await until(page, () => window.sonde.timeline.frame?.bands.size > 4 &&
    window.sonde.timeline.frame.to < 200_000);
  const { kinds, row, heights } = await page.evaluate(() => {
    const { rows, timeline: { frame } } = window.sonde;
    const counter = rows.all.find(({ kind }) => kind === "counter");
    const draw = frame.picture.getContext("2d");
    const opaque = (time) => {
      const x = Math.floor((time - frame.from) / (frame.to - frame.from) * frame.pixels);
      const { data } = draw.getImageData(x, frame.bands.get(counter.id) * 12, 1, 12);
      return 12 - Array.from({ length: 12 }, (_, line) => data[line * 4 + 3]).findIndex(Boolean);
    };
    return { kinds: rows.shown.map(({ row: { kind } }) => kind), row: counter,
             heights: [2, 22, 40, 62, 89].map((n) => opaque(n * 1000 + 500)) };
  });
  equal([row.name, row.unit, row.min, row.max], ["step", "steps", 2, 178], "the row");
  equal(kinds.indexOf("counter"), kinds.lastIndexOf("cpu") + 1, "behind the CPUs");
  equal(heights, [2, 22, 40, 62, 89].map((n) => 1 + Math.round(n * 2 / 178 * 11)), "heights");
  const spot = await page.evaluate((id) => {
    const { timeline } = window.sonde;
    const box = timeline.canvas.getBoundingClientRect();
    return { x: box.left + timeline.x(40_500), y: box.top + 34 + timeline.rows.indexOf(id) * 20 };
  }, row.id);
  await page.mouse.move(spot.x, spot.y);
  await until(page, () => document.querySelector("#tip")?.textContent.includes("value: 80"));
  check((await page.textContent("#tip")).includes("steps"), "its unit");
  await page.click("#tab-statistics");
  await page.selectOption("#by", "counter");
  await until(page, () => document.querySelector("#statistics td")?.textContent === "step");
  equal(await page.evaluate(() => [...document.querySelectorAll("#statistics td")]
    .map(({ textContent }) => textContent)), ["step", "steps", "2", "178", "178", "lost events", "/s", "0", "0", "0"],
    "statistics");
  await page.evaluate(() => window.sonde.view.set({ from: 0, to: window.sonde.view.end }));
  await until(page, () => window.sonde.timeline.frame?.to > 9_000_000);
  const lost = await page.evaluate((id) => {
    const { frame } = window.sonde.timeline;
    const { n, at } = frame.rows[frame.bands.get(id)];
    const cells = Array.from({ length: n }, (_, cell) => at + cell * 8);
    return cells.filter((cell) => frame.bytes.getUint8(cell + 4) === 255)
      .map((cell) => Math.round((frame.from + frame.bytes.getUint16(cell, true) *
        (frame.to - frame.from) / frame.pixels) / 1e5));
  }, row.id);
  check(lost.length > 0 && lost.every((time) => time >= 49), `holes begin at ${lost}`);
}, "--rows", COUNTERS);

real("a lock has a row below its process, and leads to who held it", LOCKING, async (page) => {
  await until(page, () => window.sonde.rows.shown.some(({ row }) => row.kind === "lock") &&
    window.sonde.timeline.frame?.bands.size > 2);
  const { lock, holder, lines } = await page.evaluate(() => {
    const { rows } = window.sonde;
    return { lines: rows.shown.map(({ row, depth }) => `${depth} ${row.kind}`),
             lock: rows.all.find(({ kind }) => kind === "lock"),
             holder: rows.all.find(({ kind, tid }) => kind === "thread" && tid === 41)?.id };
  });
  equal([lock.name, lines.at(-1)], ["mutex 0x4711", "1 lock"], "the row, the last");
  const spot = await page.evaluate(([id, t]) => {
    const { timeline } = window.sonde;
    const box = timeline.canvas.getBoundingClientRect();
    return { x: box.left + timeline.x(t), y: box.top + 34 + timeline.rows.indexOf(id) * 20 };
  }, [lock.id, 60_000_000 - await page.evaluate(() => Number(window.sonde.trace.origin))]);
  await page.mouse.click(spot.x, spot.y);
  await page.waitForSelector("#holder");
  const told = await page.textContent("#detail");
  check(told.includes("contended") && told.includes("60 ms") && told.includes("(41)"), told);
  await page.focus("#timeline");
  await page.keyboard.press("j");
  await until(page, (row) => window.sonde.view.row === row, holder);
});

real("what a program begins and ends can be chosen, each is in the drawing, and a box has its own", PROGRAM, async (page) => {
  await page.click("#tab-latency");
  await until(page, () => document.querySelectorAll("#latency-pair option").length === 3);
  equal(await page.evaluate(() => [...document.querySelectorAll("#latency-pair option")].map(({ textContent }) => textContent)),
        ["Time of ...", "app:request", "app:parse"], "pairs");
  await page.selectOption("#latency-pair", { label: "app:request" });
  await until(page, () => window.sonde.latency.scatter.data);
  const cells = () => page.evaluate(() => {
    const { cells, lower, columns, from, to } = window.sonde.latency.scatter.data;
    const step = (to - from) / columns;
    return Array.from({ length: cells.length / 3 }, (_, at) => cells.slice(at * 3, at * 3 + 3))
      .map(([x, row, n]) => [Math.ceil((from + x * step) / 1e6), lower[row] <= 90e6 && lower[row + 1] > 90e6, n]);
  });
  equal(await cells(), [[0, true, 1], [100, true, 1]], "begins, that it is 90 ms, and how many");
  await page.evaluate(() => window.sonde.latency.drag({ from: 50e6, to: 150e6, least: 80e6, most: 100e6 }));
  await until(page, () => document.querySelector("#boxed")?.textContent === "1 in the box");
  check((await page.textContent("#worst")).includes("at 0.100 000 000"), "the second");
  await page.evaluate(() => window.sonde.latency.drag({ from: 0, to: 150e6, least: 1, most: 80e6 }));
  await until(page, () => document.querySelector("#boxed")?.textContent === "0 in the box");
  equal((await cells()).length, 2, "the drawing stays");
});

real("why the longest took so long is told as sonde report blame does", KERNEL_USER, async (page) => {
  const pair = ["sched_waking", "sched_switch"].map((name) => `event == "${name}"`);
  const { notes } = JSON.parse(execFileSync(SONDE, ["report", "blame", "--json", "-q", "--begin", pair[0],
    "--end", pair[1], "--key", "cpu", KERNEL_USER], { encoding: "utf8" }));
  await page.click("#tab-latency");
  await page.fill("#latency-begin", pair[0]);
  await page.fill("#latency-end", pair[1]);
  await page.fill("#latency-key", "cpu");
  await page.click("#latency-show");
  await page.click("#latency-why");
  await until(page, (text) => document.querySelector("#said-why")?.textContent === text, notes[0]);
});

real("the waits of a selection are summed up by lock", LOCKING, async (page) => {
  await page.evaluate(() => window.sonde.view.set({ select: { from: 0, to: 20_000_000 } }));
  await page.click("#tab-statistics");
  await page.selectOption("#by", "lock");
  const cell = (name) => page.evaluate((wanted) => {
    const { columns } = window.sonde.statistics.table.answer;
    return document.querySelector("#statistics tbody tr")
      ?.children[columns.findIndex((column) => column.name === wanted)].textContent;
  }, name);
  await until(page, () => window.sonde.statistics.table.answer.columns.some(({ name }) => name === "acquired"));
  equal([await cell("acquired"), await cell("waited"), await cell("max")], ["1", "1", "5 ms"], "of the first 20 ms");
  equal([await cell("waited_share"), await page.textContent("#statistics thead")]
    .map((text) => /^[\d.]+ %$|waited share.*p99\.9/.test(text)), [true, true], "units and heads");
  await page.selectOption("#by", "interrupt");
  await until(page, () => document.querySelector("#statistics-note").textContent.includes("interrupts"));
});

real("the flame graph of a selection is that of sonde flame", PROGRAM, async (page) => {
  await page.evaluate(() => window.sonde.view.set({ select: { from: 0, to: 95_000_000 } }));
  await page.click("#tab-flame");
  await page.waitForSelector("#flame-picture svg rect");
  const titles = await page.evaluate(() =>
    [...document.querySelectorAll("#flame-picture g.f")].map((frame) => frame.getAttribute("data-name")));
  equal(titles, ["all", "app:request", "app:parse"], "frames");
  check((await page.textContent("#flame-picture")).includes("app:parse: 30 ms, 33.33 %, self 30 ms, 1 times"),
        "how long it parsed");
  await page.selectOption("#flame-of", "live");
  await until(page, () => document.querySelector("#flame-note").textContent.includes("--stack"));
});

real("the flame graphs of two selections are compared, per second of each", PROGRAM, async (page) => {
  const set = (from, to) => page.evaluate((select) => window.sonde.view.set({ select }), { from, to });
  await set(0, 100_000_000);
  await page.click("#tab-flame");
  await page.waitForSelector("#flame-picture g");
  await page.click("#flame-keep");
  await set(100_000_000, 151_000_000);
  await until(page, () => document.querySelector("#flame-note").textContent.includes("B: 51 ms"));
  const titles = await page.evaluate(() => [...document.querySelectorAll("#flame-picture title")]
    .map(({ textContent }) => textContent));
  check(titles[2].startsWith("app:parse: +96.1 % per second; A: 30 ms, 33.33 %") && titles[2].includes("B: 30 ms"),
        titles[2]);
});

real("two selections are compared", PROGRAM, async (page) => {
  await page.evaluate(() => window.sonde.view.set({ select: { from: 0, to: 95_000_000 } }));
  await page.focus("#timeline");
  await page.keyboard.press("c");
  await page.evaluate(() => window.sonde.view.set({ select: { from: 95_000_000, to: 160_000_000 } }));
  await until(page, () => document.querySelector("#compare-note").textContent.includes("B: 65 ms"));
  const lines = await page.evaluate(() => [...document.querySelectorAll("#compare-tables tbody tr")]
    .map((line) => line.textContent));
  check(lines.some((line) => line.includes("app:request_end")), `tables: ${lines}`);
  check((await page.textContent("#compare-tables ul")).includes("3 events instead of 4"), "words");
  await until(page, () => location.hash.includes("160000000"));
  await page.reload();
  await until(page, () => document.querySelectorAll("#compare-tables tbody tr").length);
});

real("columns of the list are chosen, and are in the address", KERNEL_USER, async (page) => {
  const wanted = printed(KERNEL_USER).slice(0, 8)
    .map(({ event, payload }) => `${payload.n ?? ""}|${event}|${payload.next_comm ?? ""}`);
  const shown = () => page.evaluate(() => [...document.querySelectorAll("#list .row")].slice(0, 8)
    .map((line) => [...line.children].map((cell) => cell.textContent).join("|")));
  const heads = () => page.evaluate(() => [...document.querySelectorAll("#events .head span")]
    .map((head) => head.textContent));
  equal(await heads(), ["Time", "CPU", "Thread", "Event", "Fields"], "the usual ones");
  await page.focus("#columns");
  await until(page, () => window.sonde.events.completeColumns.classes.length);
  await page.fill("#columns", "n, event, next_c");
  await page.press("#columns", "Tab");
  equal(await page.inputValue("#columns"), "n, event, next_comm", "a field's name is offered");
  await until(page, () => document.querySelectorAll("#events .head span").length === 3);
  equal(await heads(), ["n", "Event", "next_comm"], "heads");
  equal(await shown(), wanted, "values");
  await until(page, () => location.hash.includes("columns="));
  await page.reload();
  await until(page, () => document.querySelectorAll("#list .row").length > 8);
  equal([await heads(), await shown(), await page.inputValue("#columns")],
        [["n", "Event", "next_comm"], wanted, "n, event, next_comm"], "again");
  await page.fill("#columns", "n, nonsense");
  await page.waitForSelector("#wrong:not([hidden])");
  const [columns, mark] = (await page.textContent("#wrong")).split("\n");
  equal([columns, mark.indexOf("^")], ["n, nonsense", 3], "what is wrong is marked");
  await page.fill("#columns", "");
  await page.focus("#list");
  await until(page, () => document.querySelectorAll("#events .head span").length === 5);
  equal(await page.inputValue("#columns"), "time, cpu, thread, event, fields", "the usual ones again");
});

real("the events of a selection are kept as a file", PROGRAM, async (page) => {
  await page.evaluate(() => window.sonde.view.set({ select: { from: 0, to: 95_000_000 } }));
  const keep = async (format) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.selectOption("#keep", format)]);
    return { name: file.suggestedFilename(), path: await file.path() };
  };
  const lines = await keep("jsonl");
  equal(lines.name, "events.jsonl", "name");
  const names = readFileSync(lines.path, "utf8").trim().split("\n").map((line) => JSON.parse(line).event);
  equal(names, ["app:request_begin", "app:parse_begin", "app:parse_end", "app:request_end"], "events");
  const archive = await keep("ctf");
  equal(archive.name, "events.tar", "name");
  const folder = mkdtempSync(`${tmpdir()}/sonde-kept-`);
  try {
    execFileSync("tar", ["-xf", archive.path, "-C", folder]);
    equal(printed(`${folder}/cut`).map(({ event }) => event), names, "events of the trace");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

real("a trace that is being written is followed to its end", GROWING, async (page) => {
  equal(await page.textContent("#index"), "growing", "told");
  const { end, from } = await page.evaluate(() => {
    const { view, rows } = window.sonde;
    const thread = rows.all.find(({ kind, tid }) => kind === "thread" && tid === 11).id;
    view.set({ from: view.end - 1_000_000, to: view.end, pinned: [thread] });
    return { end: view.end, from: view.end - 1_000_000 };
  });
  for (const file of readdirSync(KERNEL_USER).filter((name) => !name.startsWith(".")))
    appendFileSync(`${GROWING}/${file}`,
      readFileSync(`${KERNEL_USER}/${file}`).subarray(statSync(`${GROWING}/${file}`).size));
  await until(page, (before) => window.sonde.view.end > before, end);
  await until(page, () => window.sonde.view.to === window.sonde.view.end);
  const { view: now, last, pinned } = await page.evaluate(async () => {
    const { view, rows, events } = window.sonde;
    await events.chunks.go(view.end - 1, "");
    return { view: { from: view.from, end: view.end }, last: events.chunks.events.at(-1).name,
             pinned: rows.byId.get(view.pinned[0])?.tid };
  });
  equal(now.end - now.from, 1_000_000, "as wide as before");
  check(now.from > from + 5_000_000, "the end is seen");
  equal([last, pinned], ["app:big", 11], "the last event, the pinned row");
}, "--follow");

real("notes are there again when the trace is opened again", PROGRAM, async (page) => {
  const row = await page.evaluate(() => window.sonde.rows.all.find(({ kind }) => kind === "within").id);
  await page.evaluate((id) => window.sonde.view.set({ row: id, cursor: 30_000_000 }), row);
  await page.focus("#timeline");
  await page.keyboard.press("m");
  await page.fill("#note-text", "parses \u00fc <b>\tslowly");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#notes-list input");
  const { server, url } = await start(PROGRAM);
  try {
    await page.goto(url);
    await until(page, () => window.sonde.notes?.all.length && window.sonde.rows.all.length);
    equal(await page.evaluate(() => window.sonde.notes.all.map(({ id, from, to, text }) => [id, from, to, text])),
          [[1, 30_000_000, 30_000_000, "parses \u00fc <b> slowly"]], "notes");
    await page.click("#tab-notes");
    await page.click("#notes-list button >> nth=0");
    await until(page, (id) => window.sonde.view.row === id, row);
  } finally {
    server.kill("SIGINT");
  }
});

test("a trace that vanishes, comes back, and is replaced by another is told, and what is there is shown", async (page) => {
  const folder = mkdtempSync(`${tmpdir()}/sonde-gone-`);
  const trace = `${folder}/trace`;
  cpSync(KERNEL_USER, trace, { recursive: true });
  const { server, url } = await start(trace);
  const banner = () => page.textContent("#banner");
  const events = (n) => until(page, (wanted) => window.sonde.trace?.events === wanted &&
    window.sonde.events.chunks.events.length, n);
  try {
    await page.goto(url);
    await events(1801);
    renameSync(trace, `${trace}.away`);
    await page.waitForSelector("#banner:not([hidden])");
    check((await banner()).includes("can't be read any more"), await banner());
    renameSync(`${trace}.away`, trace);
    await page.waitForSelector("#banner", { state: "hidden" });
    rmSync(trace, { recursive: true });
    await page.waitForSelector("#banner:not([hidden])");
    cpSync(PROGRAM, trace, { recursive: true });
    await events(8);
    await until(page, () => document.querySelector("#banner").textContent.includes("has changed on disk"));
    await until(page, () => window.sonde.events.chunks.events[0]?.name === "app:request_begin");
    await page.keyboard.press("w");
    await page.waitForSelector("#banner", { state: "hidden" });
  } finally {
    server.kill("SIGINT");
    rmSync(folder, { recursive: true });
  }
});

real("a server that was killed is told", KERNEL_USER, async (page, server) => {
  server.kill("SIGKILL");
  await page.waitForSelector("#banner:not([hidden])");
  check((await page.textContent("#banner")).includes("doesn't answer"), "told");
});

await main(process.argv.slice(2));
