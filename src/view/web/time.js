// SPDX-License-Identifier: MIT
// time.js - durations and instants as text, and where an axis has its ticks.
// Times are whole nanoseconds since the trace's begin.

/** @type {[number, string][]} */
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** "1.25 ms": four digits of a duration in ns. */
export function duration(ns) {
  const size = Math.abs(ns);
  for (const [unit, name] of UNITS)
    if (size >= unit || unit === 1)
      return `${Number((ns / unit).toPrecision(4))} ${name}`;
  return "";
}

/** @type {[number, string][]} */
const SIZES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** "1.25 M": three digits of any number; as it is, if it is short. */
export function amount(number) {
  const size = Math.abs(number);
  const [unit, name] = SIZES.find(([least]) => size >= least && size < 1e15) ?? [1, ""];
  return String(number).length <= 4 ? String(number) :
    `${Number((number / unit).toPrecision(3))}${name && " "}${name}`;
}

/**
 * Whether it is known which of two events was first: of two machines, by how far their
 * times can be from the clock that both were put on.
 */
export function isOrdered(one, other) {
  if (one.host === other.host)
    return true;
  return one.on !== null && one.on === other.on && one.within !== null &&
    other.within !== null && Math.abs(one.t - other.t) > one.within + other.within;
}

/** Seconds with all nine digits, grouped by three. */
export function relative(ns) {
  const size = Math.abs(Math.round(ns));
  const rest = String(size % 1e9).padStart(9, "0");
  const groups = `${rest.slice(0, 3)} ${rest.slice(3, 6)} ${rest.slice(6)}`;
  return `${ns < 0 ? "-" : ""}${Math.floor(size / 1e9)}.${groups}`;
}

/** The local time of day, with nanoseconds; `origin` is since the epoch. */
export function absolute(ns, origin) {
  const at = BigInt(origin) + BigInt(Math.round(ns));
  const date = new Date(Number(at / 1000000n));
  const two = (number) => String(number).padStart(2, "0");
  const rest = String(at % 1000000000n).padStart(9, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:` +
    `${two(date.getSeconds())}.${rest}`;
}

/** Round instants in [from, to], at most `most` of them, and their distance. */
export function ticks(from, to, most) {
  const least = (to - from) / Math.max(1, most);
  let step = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  while (step < least)
    step *= String(step)[0] === "2" ? 2.5 : 2;
  const times = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step)
    times.push(time);
  return { step, times };
}

/** A tick's name: as many digits as the distance of ticks needs. */
export function tickName(time, step) {
  const [unit, name] = UNITS.find(([size]) => step >= size) ?? [1, "ns"];
  if (name === "ns" || name === "µs" || name === "ms") {
    const digits = Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(step))));
    return `${(time / 1e9).toFixed(digits)} s`;
  }
  return `${Number((time / unit).toPrecision(12))} s`;
}
