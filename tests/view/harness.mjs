// SPDX-License-Identifier: MIT
// harness.mjs - runs tests of the page in one browser, each in a page of its own, or
// without any: a test is a function whose name is the claim. Prints as
// tests/harness.py does.
import { chromium } from "playwright-core";

const TESTS = [];

export function test(claim, run) {
  TESTS.push({ claim, run });
}

export function check(truth, what) {
  if (!truth)
    throw new Error(what);
}

export function equal(got, wanted, what) {
  const [left, right] = [JSON.stringify(got), JSON.stringify(wanted)];
  check(left === right, `${what}: ${left}, not ${right}`);
}

/** What the page thinks it shows. */
export function view(page) {
  return page.evaluate(() => {
    const { from, to, select, cursor, row } = /** @type {any} */ (window).sonde.view;
    return { from, to, select, cursor, row };
  });
}

/** Waits until something in the page is true. */
export function until(page, condition, argument) {
  return page.waitForFunction(condition, argument, { timeout: 15000 });
}

async function one({ claim, run }, browser) {
  const page = await browser?.newPage({ viewport: { width: 1280, height: 720 } });
  const faults = [];
  page?.on("pageerror", (error) => faults.push(error.message));
  try {
    await run(page);
    equal(faults, [], "errors of scripts");
    console.log(`ok ${claim}`);
    return true;
  } catch (error) {
    console.log(`FAIL ${claim}: ${error.message}`);
    return false;
  } finally {
    await page?.close();
  }
}

/** Runs the tests with one of the words in their claims; all without words. */
export async function main(words) {
  await all(words, await chromium.launch({ executablePath: process.env.CHROMIUM,
                                           args: ["--no-sandbox"] }));
}

/** The same without a browser. */
export async function plain(words) {
  await all(words, null);
}

async function all(words, browser) {
  let passed = 0;
  const wanted = TESTS.filter(({ claim }) => !words.length ||
    words.some((word) => claim.includes(word)));
  for (const each of wanted)
    passed += Number(await one(each, browser));
  await browser?.close();
  console.log(`${passed} passed, ${wanted.length - passed} failed`);
  process.exit(passed === wanted.length ? 0 : 1);
}
