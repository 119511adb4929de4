// SPDX-License-Identifier: MIT
// table.js - a table of an answer's columns and rows, sorted by a click on a head,
// and the same as a file of CSV or JSON.
import { element } from "./paint.js";
import { duration } from "./time.js";

/** What a file of CSV has for a value (RFC 4180). */
function quoted(value) {
  const text = String(value ?? "");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

export function csv({ columns, rows }) {
  const names = columns.map(({ name, unit }) =>
    (unit && !/^(id|text)$/.test(unit) ? `${name} (${unit})` : name));
  return [names, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

export function json({ columns, rows }) {
  return JSON.stringify(rows.map((row) =>
    Object.fromEntries(columns.map(({ name }, at) => [name, row[at]]))), null, 1) + "\n";
}

/** Gives the browser a file to keep. */
export function download(name, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })),
                              download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function keep(name, act) {
  const button = element("button", { textContent: name, title: `this table as ${name}` });
  button.addEventListener("click", act);
  return button;
}

/** Buttons that keep a table as a file.
 * @param {() => string} file what it is called
 * @param {() => {columns: any[], rows: any[][]}} answer what the table has now */
export function keeps(file, answer) {
  return [keep("CSV", () => download(`${file()}.csv`, "text/csv", csv(answer()))),
    keep("JSON", () => download(`${file()}.json`, "application/json", json(answer())))];
}

export function shown(value, unit) {
  if (value === null && unit === "ns")
    return "not known";
  if (typeof value !== "number")
    return String(value ?? "");
  if (unit === "ns")
    return duration(value);
  if (unit === "id")
    return String(value);
  if (unit === "share")
    return `${(value * 100).toFixed(1)} %`;
  if (unit === "percent")
    return `${value.toFixed(1)} %`;
  return value.toLocaleString("en").replaceAll(",", " ");
}

/** What a key is called: "p99_9" is "p99.9", "waited_share" has a blank. */
function headOf(key) {
  return key.replace(/^p(\d+)_(\d+)$/, "p$1.$2").replaceAll("_", " ");
}

/** What isn't known is less than all. */
function compare(a, b) {
  if (a === null || b === null)
    return Number(b === null) - Number(a === null);
  return typeof a === "number" && typeof b === "number" ? a - b :
    String(a).localeCompare(String(b), "en", { numeric: true });
}

export class Table {
  /** @param {(order: number[]) => void} tell which column it is sorted by, and 1 if
   * downwards */
  constructor(place, tell) {
    this.place = place;
    this.tell = tell;
    this.answer = { columns: [], rows: [] };
    this.by = -1;
    this.down = true;
  }

  take(answer) {
    this.answer = answer;
    this.draw();
  }

  order(by, down) {
    this.by = by;
    this.down = down;
    this.draw();
  }

  sort(at) {
    this.order(at, this.by === at ? !this.down : true);
    this.tell([this.by, Number(this.down)]);
  }

  draw() {
    const { columns } = this.answer;
    const rows = [...this.answer.rows];
    if (this.by in columns)
      rows.sort((a, b) => compare(a[this.by], b[this.by]) * (this.down ? -1 : 1));
    const head = element("tr");
    columns.forEach(({ name }, at) => {
      const isNumber = rows.some((row) => typeof row[at] === "number");
      const button = element("button", { textContent: headOf(name) +
        (at === this.by ? this.down ? " ↓" : " ↑" : "") });
      button.addEventListener("click", () => this.sort(at));
      head.append(element("th", { scope: "col", className: isNumber ? "number" : "" }, button));
    });
    const body = element("tbody");
    for (const row of rows)
      body.append(element("tr", {}, ...row.map((value, at) => element("td", {
        textContent: shown(value, columns[at]?.unit),
        className: typeof value === "number" ? "number" : value === null ? "number faint" : "" }))));
    this.place.replaceChildren(element("table", {}, element("thead", {}, head), body));
  }
}
