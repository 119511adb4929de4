// SPDX-License-Identifier: MIT
// made.mjs - the page on a trace that is known beforehand (mock.mjs).
import { readFile } from "node:fs/promises";
import { check, equal, main, test, until, view } from "./harness.mjs";
import { END, HOLE, NR_EVENTS, ROWS, serve, WAIT } from "./mock.mjs";

/** A test on a server of its own. */
function made(claim, run, hash = "") {
  test(claim, async (page) => {
    const mock = await serve();
    try {
      await page.goto(mock.url + hash);
      await until(page, () => window.sonde.timeline.frame && !window.sonde.timeline.pending &&
        window.sonde.overview.data); // and it is drawn
      await run(page, mock);
    } finally {
      await mock.stop();
    }
  });
}

/** Where a row is at an instant, on the screen. */
function place(page, row, time) {
  return page.evaluate(([id, t]) => {
    const { timeline } = window.sonde;
    const box = timeline.canvas.getBoundingClientRect();
    return { x: box.left + timeline.x(t),
             y: box.top + 24 + timeline.rows.indexOf(id) * 20 + 10 - timeline.box.scrollTop };
  }, [row, time]);
}

/** The colour of a pixel of a canvas: [red, green, blue, alpha]. */
function colour(page, id, { x, y }) {
  return page.evaluate(([name, left, top]) => {
    const canvas = document.getElementById(name);
    const box = canvas.getBoundingClientRect();
    const data = canvas.getContext("2d").getImageData(left - box.left, top - box.top, 1, 1).data;
    return [...data];
  }, [id, x, y]);
}

made("all rows are shown, with what they are", async (page) => {
  equal(await page.evaluate(() => window.sonde.rows.shown.length), ROWS.length, "rows");
  check((await page.textContent("#about")).includes("77 lost"), "losses in the head");
});

made("a state has its colour where it is, and nothing is drawn in a hole", async (page) => {
  const wait = await place(page, WAIT.row, 550_000_000);
  equal((await colour(page, "timeline", { x: wait.x, y: wait.y + 6 })).slice(0, 3),
        [0x8b, 0x3f, 0x80], "blocked by a lock");
  const hole = await place(page, WAIT.row, (HOLE.from + HOLE.to) / 2);
  const empty = await colour(page, "timeline", hole);
  check(empty[3] === 0 || empty.slice(0, 3).every((part) => part === 255),
        `something in the hole: ${empty}`);
});

made("the overview hatches what was lost, and only that", async (page) => {
  const red = (from, to) => page.evaluate(([begin, end]) => {
    const canvas = document.getElementById("overview");
    const width = Math.max(1, (end - begin) * canvas.width);
    const { data } = canvas.getContext("2d").getImageData(begin * canvas.width, 4, width, 20);
    return data.some((part, at) => at % 4 === 0 && part > 120 && data[at + 1] < 60 && data[at + 3] > 99);
  }, [from / END, to / END]);
  check(await red(HOLE.from, HOLE.to), "the hole isn't hatched");
  check(!await red(0, HOLE.from * 0.9), "hatched where nothing was lost");
});

made("keys and the wheel zoom about the mouse, and move", async (page) => {
  const at = await place(page, 1, 1_000_000_000);
  await page.mouse.move(at.x, at.y);
  await page.focus("#timeline");
  await page.keyboard.press("w");
  await until(page, (end) => window.sonde.view.to - window.sonde.view.from < end, END);
  const zoomed = await view(page);
  check(Math.abs(zoomed.to - zoomed.from - 0.75 * END) < 10, "three quarters");
  check(Math.abs((zoomed.from + zoomed.to) / 2 - 1e9) < 0.02 * END, "about the mouse");
  await page.keyboard.press("d");
  equal(Math.round((await view(page)).from), Math.round(Math.min(zoomed.from + 0.75 * END / 8,
    END - 0.75 * END)), "moved");
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await until(page, (least) => window.sonde.view.to - window.sonde.view.from < least, 0.75 * END - 1000);
  await page.keyboard.press("0");
  equal((await view(page)).to, END, "the whole trace");
});

made("letters go to the time line whatever has the focus", async (page) => {
  await page.click("#whole");
  await page.keyboard.press("w");
  await until(page, (end) => window.sonde.view.to - window.sonde.view.from < end, END);
  const { from } = await view(page);
  await page.click("#tab-statistics");
  await page.keyboard.press("a");
  await until(page, (before) => window.sonde.view.from < before, from);
  await page.focus("#row-filter");
  await page.keyboard.press("d");
  equal(await page.inputValue("#row-filter"), "d", "where one writes they are letters");
});

made("the frame in the overview moves by keys", async (page) => {
  await page.focus("#overview");
  await page.keyboard.press("ArrowUp");
  await until(page, (end) => window.sonde.view.to - window.sonde.view.from < end, END);
  const seen = await view(page);
  equal(seen.to - seen.from, 0.75 * END, "three quarters of it");
  await page.keyboard.press("Home");
  await until(page, () => window.sonde.view.from === 0);
  await page.keyboard.press("ArrowRight");
  await until(page, (to) => Math.abs(window.sonde.view.from - to) < 2, 0.75 * END / 8);
  await page.keyboard.press("End");
  await until(page, (end) => Math.abs(window.sonde.view.to - end) < 2, END);
});

made("a long name is cut, and its number and its share of time aren't", async (page) => {
  const [texts, room] = await page.evaluate(() => {
    const { timeline } = window.sonde;
    const texts = [];
    const row = { id: 1, kind: "thread", name: "a-very-long-name-of-a-thread/17", tid: 4194304,
      busy: 0.0001 };
    const draw = new Proxy(timeline.canvas.getContext("2d"), {
      get: (real, name) => name === "fillText" ?
        (text, x) => texts.push([text, x, x + real.measureText(text).width]) :
        typeof real[name] === "function" ? real[name].bind(real) : real[name],
      set: () => true });
    timeline.label(draw, { row, depth: 2, folded: null }, 100, {});
    return [texts, timeline.labels];
  });
  const [busy, name] = texts;
  equal(busy[0], "<0.1 %", "its share");
  check(/^a-very.*… {2}4194304$/.test(name[0]), name[0]);
  check(name[2] < busy[1] && busy[2] < room, JSON.stringify(texts));
});

made("no number of the axis is cut", async (page) => {
  const [texts, room] = await page.evaluate(() => {
    const { timeline } = window.sonde;
    const texts = [];
    const draw = new Proxy(timeline.canvas.getContext("2d"), {
      get: (real, name) => name === "fillText" ? (text, x) => texts.push(x + real.measureText(text).width) :
        typeof real[name] === "function" ? real[name].bind(real) : real[name],
      set: (real, name, value) => Reflect.set(real, name, value) });
    timeline.axis(draw, timeline.canvas.clientWidth, { line: "#000", panel: "#000" });
    return [texts, timeline.canvas.clientWidth];
  });
  check(texts.length === 4 && texts.every((end) => end <= room), JSON.stringify([texts, room]));
});

made("tabs stay where they are when another is chosen", async (page) => {
  const tabs = ["events", "statistics", "latency", "flame", "compare", "notes"];
  const places = () => page.evaluate((names) => names.map((name) =>
    document.getElementById(`tab-${name}`).getBoundingClientRect().left), tabs);
  const before = await places();
  for (const tab of tabs) {
    await page.click(`#tab-${tab}`);
    await page.waitForSelector(`#tab-${tab}[aria-selected=true]`);
    equal(await places(), before, tab);
  }
});

made("what is cut says so", async (page) => {
  const long = "a note that is longer than any flag on the time line has room for";
  await page.click("#tab-notes");
  await page.fill("#note-text", long);
  await page.keyboard.press("Enter");
  const told = await page.evaluate(() => new Promise((done) => {
    const { timeline } = window.sonde;
    const real = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function tell(text, ...rest) {
      if (text.startsWith("a note"))
        done(text);
      return real.call(this, text, ...rest);
    };
    setInterval(() => timeline.draw(), 50);
  }));
  check(told.length < long.length && told.endsWith("…"), told);
});

made("a dark page has a dark flame graph, and the legend's colours are those drawn", async (page, mock) => {
  await page.click("#tab-flame");
  await page.waitForSelector("#flame-picture rect");
  const look = () => page.evaluate(() => {
    const style = (what) => getComputedStyle(document.querySelector(what));
    const key = [...document.querySelectorAll(".key")].find(({ textContent }) => textContent === "blocked");
    return { back: style("body").backgroundColor, text: style("#flame-said").color, frame: style("#flame-picture g text").fill,
             key: [key.style.getPropertyValue("--key"), parseInt(key.style.getPropertyValue("--tall"), 10)] };
  });
  equal(await look(), { back: "rgb(255, 255, 255)", text: "rgb(27, 32, 39)", frame: "rgb(17, 17, 17)",
                        key: ["rgb(141 147 156 / 1)", 33] }, "light");
  await page.emulateMedia({ colorScheme: "dark" });
  await until(page, () => getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 27)");
  await until(page, () => document.querySelector(".key[style*='108 112 119']"));
  equal(await look(), { back: "rgb(20, 23, 27)", text: "rgb(228, 231, 235)", frame: "rgb(17, 17, 17)",
                        key: ["rgb(108 112 119 / 1)", 33] }, "dark");
  check(!(await page.textContent("#legend")).includes("contended"), "a trace without locks");
  mock.trace.states = [...mock.trace.states, { id: 12, name: "contended", colour: "#8a1f66", dark: "#d0529f" }];
  ROWS.push({ id: 5000, kind: "lock", parent: 10, name: "mutex", pid: 1000, tid: null, busy: 0 });
  try {
    await page.reload();
    await until(page, () => document.querySelector("#legend").textContent.includes("contended"));
  } finally {
    ROWS.pop();
  }
});

/** The boxes of the flame graph: how wide they are, in hundredths, and their text. */
function boxes(page) {
  return page.evaluate(() => {
    const all = [...document.querySelectorAll("#flame-picture g.f")];
    const width = (box) => Number(box.querySelector("rect").getAttribute("width"));
    return Object.fromEntries(all.map((box) => [box.getAttribute("data-name"),
      [Math.round(100 * width(box) / width(all[0])), box.querySelector("text").textContent]]));
  });
}

made("a box of the flame graph is as wide as there is room by a click or Enter, and the address says so", async (page) => {
  await page.click("#tab-flame");
  await page.waitForSelector("#flame-picture g");
  equal(await boxes(page), { all: [100, "all"], main: [100, "main"], new: [11, "new"], parse: [67, "parse"],
    "read <b>": [33, "read <b>"], same: [11, "same"] }, "all of it");
  await page.click("#flame-picture g[data-name=parse]");
  await until(page, () => document.querySelectorAll("#flame-picture g").length === 4);
  equal(await boxes(page), { all: [100, "all"], main: [100, "main"], parse: [100, "parse"], "read <b>": [50, "read <b>"] },
    "what is below it");
  await until(page, () => location.hash.includes("root="));
  await page.reload();
  await until(page, () => document.querySelectorAll("#flame-picture g").length === 4);
  await page.focus("#flame-picture g[tabindex='0']");
  await page.keyboard.press("Escape");
  await until(page, () => document.querySelectorAll("#flame-picture g").length === 6);
  for (const key of ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown", "ArrowRight"])
    await page.keyboard.press(key);
  equal(await page.evaluate(() => document.activeElement.getAttribute("data-name")), "same", "arrows");
  check((await page.textContent("#flame-said")).startsWith("same: 100 ns, 11.11 %"), "what it is");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelectorAll("#flame-picture g").length === 3);
  equal((await boxes(page)).same, [100, "same"], "Enter");
  await page.click("#flame-whole");
  await until(page, () => document.querySelectorAll("#flame-picture g").length === 6);
});

made("what is searched for in the flame graph is marked, and its share of all counts once", async (page) => {
  await page.click("#tab-flame");
  await page.waitForSelector("#flame-picture g");
  await page.fill("#flame-find", "R");
  await until(page, () => document.querySelectorAll("#flame-picture g.hit").length);
  equal(await page.evaluate(() => [...document.querySelectorAll("#flame-picture g.hit")]
    .map((box) => box.getAttribute("data-name"))), ["parse", "read <b>"], "marked");
  check((await page.textContent("#flame-note")).includes('"R": 2 frames, 66.7 % of all'),
        await page.textContent("#flame-note"));
  await until(page, () => location.hash.includes("find=R"));
});

made("a flame graph says by colour and by a sign what has become more or less", async (page) => {
  await page.click("#tab-flame");
  await page.evaluate(() => window.sonde.view.set({ select: { from: 0, to: 1e9 } }));
  await page.focus("#flame-find");
  await page.focus("#tab-flame");
  await page.keyboard.press("c");
  await page.evaluate(() => window.sonde.view.set({ select: { from: 1e9, to: 2e9 } }));
  await until(page, () => document.querySelectorAll("#flame-picture g").length === 7);
  const texts = async () => Object.fromEntries(Object.entries(await boxes(page)).map(([name, [, text]]) => [name, text]));
  equal(await texts(), { all: "▲ all +80 %", main: "▲ main +80 %", new: "▲ new new", old: "▼ old go…",
    parse: "▲ parse +100 %", "read <b>": "read <b>", same: "same" }, "per second of spans that are equally long");
  const fill = (name) => page.getAttribute(`#flame-picture g[data-name="${name}"] rect`, "fill");
  equal([await fill("new"), await fill("old"), await fill("same")], ["#ee8f22", "#4f9fd1", "#ededed"], "colours");
  await page.selectOption("#flame-by", "share");
  await until(page, () => document.querySelector("#flame-picture g[data-name=same] text").textContent.includes("▼"));
  equal((await texts()).same, "▼ same −44.4 %", "by share of all");
  await until(page, () => location.hash.includes("flameby=share") && location.hash.includes("against=span"));
  await page.reload();
  await until(page, () => document.querySelectorAll("#flame-picture g").length === 7);
  equal((await texts()).same, "▼ same −44.4 %", "from the address");
});

made("PNG keeps the overview and the time line as they are seen", async (page) => {
  const wait = await place(page, WAIT.row, 550_000_000);
  const [file] = await Promise.all([page.waitForEvent("download"), page.click("#picture")]);
  equal(file.suggestedFilename(), "timeline.png", "name");
  const bytes = await readFile(await file.path(), "base64");
  const got = await page.evaluate(async ([data, x, y]) => {
    const { timeline, overview } = window.sonde;
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const draw = canvas.getContext("2d");
    draw.drawImage(image, 0, 0);
    const box = timeline.canvas.getBoundingClientRect();
    const at = (left, top) => [...draw.getImageData(left, top, 1, 1).data];
    return { size: [image.width, image.height],
      wanted: [timeline.canvas.width, timeline.canvas.height + overview.canvas.height],
      state: at(x - box.left, y - box.top + overview.canvas.height), back: at(x - box.left, y - box.top + overview.canvas.height - 12) };
  }, [bytes, wait.x, wait.y + 6]);
  equal(got.size, got.wanted, "size");
  equal(got.state, [0x8b, 0x3f, 0x80, 255], "a state");
  equal(got.back, [255, 255, 255, 255], "where nothing is drawn");
});

made("SVG keeps the overview and the time line as they are seen: rows, names, axis, notes", async (page) => {
  const wait = await place(page, WAIT.row, 550_000_000);
  await page.evaluate(() => {
    window.sonde.timeline.notes = [{ from: 540_000_000, to: 550_000_000, row: null, text: "slow <here>" }];
  });
  const [file] = await Promise.all([page.waitForEvent("download"), page.click("#drawing")]);
  equal(file.suggestedFilename(), "timeline.svg", "name");
  const text = await readFile(await file.path(), "utf8");
  const got = await page.evaluate(async ([svg, x, y]) => {
    const { timeline, overview } = window.sonde;
    const { documentElement } = new DOMParser().parseFromString(svg, "image/svg+xml");
    const texts = [...documentElement.querySelectorAll("text")].map(({ textContent }) => textContent);
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const draw = canvas.getContext("2d");
    draw.drawImage(image, 0, 0);
    const box = timeline.canvas.getBoundingClientRect();
    const at = (left, top) => [...draw.getImageData(left, top, 1, 1).data];
    return { texts, size: [image.width, image.height],
      wanted: [timeline.canvas.clientWidth, timeline.canvas.clientHeight + overview.canvas.clientHeight],
      state: at(x - box.left, y - box.top + overview.canvas.clientHeight),
      back: at(x - box.left, y - box.top + overview.canvas.clientHeight - 12),
      rows: timeline.inSight().map(({ row }) => row.name) };
  }, [text, wait.x, wait.y + 6]);
  equal(got.size, got.wanted, "size");
  equal(got.state, [0x8b, 0x3f, 0x80, 255], "a state");
  equal(got.back, [255, 255, 255, 255], "where nothing is drawn");
  check(got.texts.includes("slow <here>"), "the note's text");
  check(got.texts.some((each) => /^[\d.]+ ?m?s$/.test(each)), `the axis: ${got.texts}`);
  const missing = got.rows.filter((name) => !got.texts.some((each) => each.includes(name)));
  equal(missing, [], "names of rows");
});

made("SVG keeps the flame graph as it is seen, with its look", async (page) => {
  await page.click("#tab-flame");
  await page.waitForSelector("#flame-picture g");
  await page.click("#flame-picture g[data-name=parse]");
  await until(page, () => document.querySelectorAll("#flame-picture g").length === 4);
  const [file] = await Promise.all([page.waitForEvent("download"), page.click("#flame-svg")]);
  const text = await readFile(await file.path(), "utf8");
  const got = await page.evaluate((svg) => {
    const { documentElement } = new DOMParser().parseFromString(svg, "image/svg+xml");
    const boxes = [...documentElement.querySelectorAll("g")];
    return { names: boxes.map((box) => box.querySelector("text").textContent), size: boxes[0].querySelector("text").style.fontSize,
      dim: boxes[0].style.opacity };
  }, text);
  equal(got, { names: ["all", "main", "parse", "read <b>"], size: "11px", dim: "0.6" }, "SVG");
});

made("wakings that lie on one another are left out, and others aren't", async (page) => {
  const drawn = await page.evaluate(() => {
    const { timeline } = window.sonde;
    const at = (x) => timeline.time(timeline.labels + x);
    timeline.arrows = [100, 102, 104, 106, 300, 303, 500].map((x) =>
      ({ t: at(x), from_row: 111, to_row: 112 }));
    const place = new Map([[111, 40], [112, 60]]);
    return timeline.wakesApart(place).map(({ x }) => Math.round(x - timeline.labels));
  });
  equal(drawn, [300, 303, 500], "arrows");
});

made("a number that isn't known is no number to filter rows by", async (page) => {
  const shown = await page.evaluate(() => {
    const { rows, view } = window.sonde;
    view.rows = "-1";
    return rows.wanted({ kind: "cpu", name: "CPU 0", pid: -1, tid: -1, busy: 1 });
  });
  equal(shown, false, "wanted");
});

made("shift and drag select, and statistics are of the selection", async (page) => {
  const from = await place(page, 1, 500_000_000);
  const to = await place(page, 1, 1_500_000_000);
  await page.keyboard.down("Shift");
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const { select } = await view(page);
  check(Math.abs(select.from - 5e8) < 2e6 && Math.abs(select.to - 15e8) < 2e6,
        `selected ${select.from} to ${select.to}`);
  await page.click("#tab-statistics");
  await page.waitForSelector("#statistics td");
  const [event] = await Promise.all([page.waitForEvent("download"),
                                     page.click("#statistics button:text('CSV')")]);
  equal(await readFile(await event.path(), "utf8"),
        `thread,time (ns)\r\n"a, ""quoted""",${select.to - select.from}\r\nb,1000\r\n`, "CSV");
});

made("a blocked thread is followed to who woke it", async (page) => {
  const at = await place(page, WAIT.row, 550_000_000);
  await page.mouse.move(at.x, at.y);
  await page.waitForSelector("#tip:not([hidden])");
  check((await page.textContent("#tip")).includes("blocked by a lock, 300 ms"), "the tip");
  await page.mouse.click(at.x, at.y);
  equal(await page.textContent("#why"),
        "It waited for table_lock, which database/2 held.", "why");
  await page.click("#waker");
  await until(page, (row) => window.sonde.view.row === row, WAIT.waker);
  equal((await view(page)).cursor, WAIT.to, "the cursor");
  await until(page, () => document.querySelector("#detail h2").textContent === "database/2");
});

made("rows are filtered, folded, pinned, and without the idle", async (page) => {
  const names = () => page.evaluate(() => window.sonde.rows.shown.map(({ row }) => row.name));
  await page.fill("#row-filter", "1014");
  await until(page, () => window.sonde.rows.shown.length === 2);
  equal(await names(), ["database", "database/4"], "filtered");
  await page.fill("#row-filter", "");
  await page.check("#idle");
  await until(page, (n) => window.sonde.rows.shown.length === n, ROWS.length - 7);
  const label = await place(page, 10, 0);
  await page.mouse.click(40, label.y);
  await until(page, (n) => window.sonde.rows.shown.length === n, ROWS.length - 14);
  await page.focus("#timeline");
  await page.keyboard.press("p");
  await until(page, () => window.sonde.rows.shown[0].row.name === "database");
});

made("the list holds every event once, however far one scrolls", async (page) => {
  const got = await page.evaluate(async () => {
    const { events } = window.sonde;
    await events.load();
    const seen = new Map();
    const keep = () => events.chunks.events.forEach(({ t, fields }) =>
      seen.set(`${t} ${fields.k}`, t));
    const distinct = () => new Set(events.chunks.events.map(({ t, fields }) =>
      `${t} ${fields.k}`)).size === events.chunks.events.length;
    let fine = true;
    for (const direction of [1, -1])
      for (let n = 0; n < 40; n++) {
        await events.chunks.grow(direction);
        keep();
        fine &&= distinct();
      }
    const order = events.chunks.events.every(({ t }, at, all) => !at || all[at - 1].t <= t);
    return { n: seen.size, fine, order, held: events.chunks.events.length };
  });
  equal(got, { n: NR_EVENTS, fine: true, order: true, held: 1200 }, "events");
});

made("an error in a filter is marked under its column", async (page) => {
  await page.fill("#event-filter", "cpu === 4");
  await page.waitForSelector("#wrong:not([hidden])");
  equal(await page.textContent("#wrong"), "cpu === 4\n      ^ expected a comparison", "mark");
  await page.fill("#event-filter", 'event == "app:begin"');
  await page.waitForSelector("#wrong", { state: "hidden" });
  await until(page, () => window.sonde.events.chunks.events.every(({ name }) => name === "app:begin"));
});

/** The words that are offered; none if the list is hidden. */
function offered(page) {
  return page.evaluate(() => [...document.querySelectorAll("#event-filter-words:not([hidden]) li")]
    .map(({ textContent }) => textContent));
}

made("a filter's names of events and fields are offered, and taken by keys or the mouse", async (page) => {
  await page.focus("#event-filter");
  await until(page, () => window.sonde.events.complete.classes.length);
  await page.keyboard.type("ev");
  equal(await offered(page), ["event"], "a name of all");
  await page.keyboard.press("Tab");
  equal(await page.inputValue("#event-filter"), "event", "Tab takes the first");
  await page.keyboard.type(' == "');
  equal(await offered(page), ["app:begin", "app:step", 'odd"name'], "events");
  await page.keyboard.type("ste");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  equal(await page.inputValue("#event-filter"), 'event == "app:step"', "the arrow and Enter");
  equal(await offered(page), [], "no list after that");
  await page.keyboard.type(" && k");
  equal(await offered(page), ["kind"], "fields of that event, but what is there; 'k' stands there");
  await page.keyboard.press("Escape");
  equal([await offered(page), await page.evaluate(() => document.activeElement.id)], [[], "event-filter"], "Escape");
  await page.fill("#event-filter", 'event == "app:step" && req');
  equal(await offered(page), [], "another event's field");
  await page.fill("#event-filter", "req");
  equal(await offered(page), ["request_id"], "of all events");
  await page.click("#event-filter-words li");
  equal(await page.inputValue("#event-filter"), "request_id", "the mouse");
  await page.fill("#event-filter", 'event == "odd');
  await page.keyboard.press("Tab");
  equal(await page.inputValue("#event-filter"), 'event == "odd\\"name"', "a quote in a name");
  await page.fill("#event-filter", 'procname == "app');
  equal(await offered(page), [], "text of another kind");
});

made("the words that are offered don't hide what is written", async (page) => {
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.focus("#event-filter");
  await until(page, () => window.sonde.events.complete.classes.length);
  await page.keyboard.type('event == "');
  await page.waitForSelector("#event-filter-words li");
  const [list, input] = await page.evaluate(() => ["event-filter-words", "event-filter"].map((id) => {
    const { top, bottom } = document.getElementById(id).getBoundingClientRect();
    return { top, bottom };
  }));
  check(list.bottom <= input.top || list.top >= input.bottom, JSON.stringify([list, input]));
});

made("Enter is the filter's while nothing of the list is chosen", async (page) => {
  await page.focus("#event-filter");
  await until(page, () => window.sonde.events.complete.classes.length);
  await page.keyboard.type("proc");
  equal(await offered(page), ["procname"], "the list");
  await page.keyboard.press("Enter");
  await until(page, () => window.sonde.view.filter === "proc");
  equal([await offered(page), await page.inputValue("#event-filter")], [[], "proc"], "what was written");
});

made("the list and the time line show the same instant", async (page) => {
  await page.click("#list .row >> nth=5");
  equal((await view(page)).cursor, 5_000_000, "from the list");
  const at = await place(page, 1, 1_500_000_000);
  await page.mouse.click(at.x, at.y);
  await until(page, () => Math.abs(window.sonde.events.chunks.events[50]?.t - 15e8) < 4e6);
  await page.keyboard.press("n");
  await until(page, () => window.sonde.events.chosen);
  const first = (await view(page)).cursor;
  await page.keyboard.press("n");
  await until(page, (t) => window.sonde.view.cursor === t, first + 1_000_000);
});

made("the worst of a latency is a click away", async (page) => {
  await page.click("#tab-latency");
  await page.fill("#latency-begin", "x");
  await page.click("#latency-show");
  await page.click("#worst td button");
  await until(page, (row) => window.sonde.view.row === row, WAIT.row);
  equal((await view(page)).select, { from: WAIT.from, to: WAIT.to }, "selected");
  equal(await page.evaluate(() => document.querySelectorAll("#worst td button").length), 1, "the list stays");
});

made("what the events begin and end is chosen from a list", async (page) => {
  await page.click("#tab-latency");
  await until(page, () => document.querySelector("#latency-note").textContent.includes("Choose")); // what to do
  await until(page, () => document.querySelectorAll("#latency-pair option").length === 3);
  await page.selectOption("#latency-pair", { label: "interrupts" });
  await until(page, () => document.querySelector("#latency-note").textContent.includes("7000 times"));
  equal(await page.evaluate(() => window.sonde.view.latency),
        { begin: 'event == "irq"', end: 'event == "end"', key: "cpu" }, "the pair");
  equal(await page.inputValue("#latency-key"), "cpu", "the fields");
  check((await page.textContent("#latency-note")).includes("3 without an end"), "what has no end");
  await until(page, () => location.hash.includes("irq"));
  await page.reload();
  await until(page, () => document.querySelector("#latency-pair")?.value === "1");
});

/** A place in the drawing of begins and durations, on the screen. */
function dot(page, time, ns) {
  return page.evaluate(([t, length]) => {
    const { scatter } = window.sonde.latency;
    const box = scatter.canvas.getBoundingClientRect();
    return { x: box.left + scatter.x(t), y: box.top + scatter.y(length) };
  }, [time, ns]);
}

made("a drag about what took long selects its time, and lists it; the drawings stay", async (page) => {
  await page.click("#tab-latency");
  await page.selectOption("#latency-pair", { label: "system calls" }, { timeout: 5000 });
  await until(page, () => window.sonde.latency.scatter.data);
  const at = await dot(page, 420_000_000, 280_000_000);
  const blue = (spot) => colour(page, "scatter", spot).then(([red, , , alpha]) => alpha > 0 && red < 160);
  check(await blue(at), "the one that took long");
  check(!await blue({ x: at.x + 60, y: at.y }), "nothing beside it");
  const [from, to] = [await dot(page, 380_000_000, 3.09e8), await dot(page, 620_000_000, 2.4e8)];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await page.mouse.up();
  await until(page, () => document.querySelector("#boxed")?.textContent === "1 in the box");
  const { select } = await view(page);
  check(Math.abs(select.from - 38e7) < 1e7 && Math.abs(select.to - 62e7) < 1e7, `selected ${JSON.stringify(select)}`);
  const drawn = () => page.evaluate(() => {
    const { from, to } = window.sonde.latency.scatter.data;
    return [from, to];
  });
  equal(await drawn(), [0, END], "the drawing's span");
  await page.click("#worst button");
  await until(page, (row) => window.sonde.view.row === row, WAIT.row);
  equal((await view(page)).select, { from: WAIT.from, to: WAIT.to }, "the long one is selected");
  await page.waitForSelector("#why"); // what it did in the middle
  equal(await page.textContent("#boxed"), "1 in the box", "the list stays");
  await page.evaluate(() => window.sonde.view.set({ select: { from: 5, to: 7e8 } }));
  await until(page, () => window.sonde.latency.scatter.data.to === 7e8);
  equal(await page.evaluate(() => window.sonde.view.box), [], "another selection is drawn itself");
});

made("the worst of a latency are kept as CSV and JSON", async (page) => {
  await page.click("#tab-latency");
  await page.fill("#latency-begin", "x");
  await page.click("#latency-show");
  await page.waitForSelector("#worst button");
  const keep = async (name) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.click(`#latency button:text("${name}")`)]);
    return readFile(await file.path(), "utf8");
  };
  equal(await keep("CSV"), `begin (ns),duration (ns),tid,key\r\n${WAIT.from},${WAIT.to - WAIT.from},${WAIT.tid},7\r\n`, "CSV");
  equal(JSON.parse(await keep("JSON")), [{ begin: WAIT.from, duration: WAIT.to - WAIT.from, tid: WAIT.tid, key: "7" }], "JSON");
});

test("the address carries the whole view", async (page) => {
  const mock = await serve();
  await page.goto(`${mock.url}#from=500000000&to=700000000&row=111&cursor=600000000&` +
    'select={"from":550000000,"to":650000000}&tab=statistics&pinned=[112]&to2=1&idle=7');
  await page.waitForSelector("#statistics td");
  equal(await view(page), { from: 5e8, to: 7e8, select: { from: 55e7, to: 65e7 },
                            cursor: 6e8, row: 111 }, "read");
  await page.click("#whole");
  await until(page, () => !location.hash.includes("from=5"));
  check(page.url().includes("pinned"), "written");
  await mock.stop();
});

test("the address says where rows are scrolled to, and how a table is sorted", async (page) => {
  const mock = await serve();
  await page.goto(`${mock.url}#top=20&tab=statistics&order=[1,0]`);
  await page.waitForSelector("#statistics td");
  await until(page, () => window.sonde.timeline.first === 20);
  equal(await page.textContent("#statistics td"), "b", "the least first");
  await page.evaluate(() => { document.getElementById("scroll").scrollTop = 100; });
  await page.click("#statistics th >> nth=1 >> button");
  await until(page, () => location.hash.includes("top=5") && location.hash.includes("order=%5B1%2C1"));
  equal(await page.textContent("#statistics td"), "a, \"quoted\"", "the most first");
  await mock.stop();
});

/** Writes a note as with the keyboard. */
async function note(page, text) {
  await page.focus("#timeline");
  await page.keyboard.press("m");
  await until(page, () => document.activeElement.id === "note-text");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
  await until(page, (wanted) => [...document.querySelectorAll("input.note")]
    .some((input) => /** @type {any} */ (input).value === wanted), text);
}

made("notes are of the row and the cursor, or of the selection, and lead there", async (page) => {
  const at = await place(page, WAIT.row, 550_000_000);
  await page.mouse.click(at.x, at.y);
  await note(page, "it waits here");
  await page.evaluate(() => window.sonde.view.set({ select: { from: 1e9, to: 1.5e9 }, cursor: 7, row: 1 }));
  await note(page, "a busy time");
  const kept = await page.evaluate(() => window.sonde.notes.all);
  equal(kept[0].row, "thread:1011:", "row");
  check(Math.abs(kept[0].from - 55e7) < 2e6 && kept[0].to === kept[0].from, "the cursor");
  equal([kept[1].from, kept[1].to, kept[1].row ?? ""], [1e9, 1.5e9, ""], "the selection");
  await page.click("#notes-list button >> nth=0");
  await until(page, (row) => window.sonde.view.row === row, WAIT.row);
  equal((await view(page)).cursor, kept[0].from, "the cursor again");
  await page.focus("#timeline");
  await page.keyboard.press("]");
  await until(page, () => window.sonde.view.select?.to === 1.5e9 && window.sonde.view.cursor === 1e9);
});

made("a note has a flag, which a click leads to; it is changed, and removed", async (page) => {
  await page.evaluate(() => window.sonde.view.set({ cursor: 2e8, row: 111 }));
  await note(page, "first");
  await page.evaluate(() => window.sonde.view.set({ cursor: 9e8, row: 1 }));
  const flag = await place(page, 1, 2e8);
  await until(page, ([left, top]) => {
    const { canvas } = window.sonde.timeline;
    const box = canvas.getBoundingClientRect();
    const [red, green, blue] = canvas.getContext("2d").getImageData(left - box.left, top - box.top, 1, 1).data;
    return red > 100 && blue < 90 && green < red;
  }, [flag.x, flag.y - 16]);
  await page.mouse.click(flag.x, flag.y - 16);
  await until(page, () => window.sonde.view.cursor === 2e8 && window.sonde.view.row === 111);
  await page.fill("#notes-list input", "second");
  await page.keyboard.press("Enter");
  await until(page, () => window.sonde.notes.all[0].text === "second");
  await page.click("#notes-list button:text('Remove')");
  await until(page, () => window.sonde.notes.all.length === 0 &&
    window.sonde.timeline.notes.length === 0);
});

made("an answer that comes late doesn't take a newer note away", async (page, mock) => {
  const free = mock.hold("api/notes");
  const late = page.waitForResponse((response) => response.url().includes("api/notes"));
  await page.focus("#timeline");
  await page.keyboard.press("m");
  await until(page, () => document.activeElement.id === "note-text");
  await page.keyboard.type("it stays");
  await page.keyboard.press("Enter");
  free();
  await (await late).finished();
  await until(page, () => window.sonde.notes.all.length === 1);
  await page.evaluate(() => new Promise(requestAnimationFrame));
  equal(await page.evaluate(() => window.sonde.notes.all.length), 1, "notes");
});

made("a server that is gone is told, and found again", async (page, mock) => {
  await mock.stop();
  await page.waitForSelector("#banner:not([hidden])");
  check((await page.textContent("#banner")).includes("doesn't answer"), "told");
  const again = await serve(mock.port);
  await page.waitForSelector("#banner", { state: "hidden" });
  await again.stop();
});

made("a trace that grows, and one that fails, are told", async (page, mock) => {
  mock.trace.end = END * 2 - 1;
  mock.trace.index = { done: 0.5, ready: false, error: null };
  await until(page, (end) => window.sonde.view.to === end, END * 2);
  equal(await page.textContent("#index"), "indexing: 50 %", "progress");
  mock.trace.index = { done: 0.5, ready: false, error: "the trace is gone" };
  await page.waitForSelector("#banner:not([hidden])");
  equal(await page.textContent("#banner"), "the trace is gone", "told");
});

await main(process.argv.slice(2));
