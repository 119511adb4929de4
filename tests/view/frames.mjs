// SPDX-License-Identifier: MIT
// frames.mjs - pictures a second while the page zooms and moves, 60 rows in sight:
// node tests/view/frames.mjs [URL], by default on the made server; the span in the
// URL (#from=...&to=...) is where it begins. For five seconds
// each, the view changes before every picture; the times between pictures are those
// that requestAnimationFrame tells.
import { chromium } from "playwright-core";
import { serve } from "./mock.mjs";

const url = process.argv[2];
const mock = url ? null : await serve();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
                                        args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1920, height: 2300 } });
await page.goto(url ?? mock.url);
await page.waitForFunction(() => window.sonde.timeline.frame);

/** What the address says is seen at first. */
const span = await page.evaluate(() => ({ from: window.sonde.view.from, to: window.sonde.view.to }));

function measure(kind) {
  return page.evaluate(([what, start]) => new Promise((done) => {
    const { view, timeline } = window.sonde;
    const times = [];
    const begin = performance.now();
    let last = begin;
    const drawn = timeline.drawn;
    view.set(start);
    const middle = (start.from + start.to) / 2;
    const step = (now) => {
      times.push(now - last);
      last = now;
      if (now - begin > 5000) {
        times.sort((a, b) => a - b);
        done({ rows: timeline.inSight().length, pictures: timeline.drawn - drawn,
               perSecond: Math.round(times.length / (now - begin) * 10000) / 10,
               median: times[times.length >> 1].toFixed(1),
               p99: times[Math.floor(times.length * 0.99)].toFixed(1),
               longest: times.at(-1).toFixed(1) });
        return;
      }
      const phase = Math.sin((now - begin) / 400);
      if (what === "zoom")
        view.zoom(1 + phase / 20, middle);
      else
        view.move(phase * (view.to - view.from) / 40);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }), [kind, span]);
}

for (const kind of ["zoom", "move"])
  console.log(kind, JSON.stringify(await measure(kind)));
await browser.close();
await mock?.stop();
