// SPDX-License-Identifier: MIT
// frame.js - the states of rows over a span as the server sends them (u32 row, u32
// n, n cells of 8 bytes), and a picture of them: BAND pixels a row high, as wide
// as the span was asked. Drawing then is one stretched copy a row, whatever the
// number of cells, so zooming and moving stay smooth until the next frame is here.
//
// States differ by height as well as by colour: what runs fills the row, what
// waits for a CPU two thirds of it, what is blocked a third. Where a pixel holds
// several states, the dominant one is drawn lower, by its share. What goes on within
// a thread has a name where it fills its pixels, and a colour of its name's, which a
// user may have declared. A counter's cells have the most that it was in place of the
// share, and the least in place of the name, of 255: up to the least it is pale.
import { parts } from "./paint.js";

export const BAND = 12;
export const LOST = 255;

/** Rows in the order asked; a hostile length ends the reading. */
export function parse(buffer) {
  const bytes = new DataView(buffer);
  const rows = [];
  let at = 0;
  while (at + 8 <= buffer.byteLength) {
    const row = bytes.getUint32(at, true);
    const n = bytes.getUint32(at + 4, true);
    at += 8;
    if (n * 8 > buffer.byteLength - at)
      throw new Error("a frame is shorter than it says");
    rows.push({ row, n, at });
    at += n * 8;
  }
  return { bytes, rows };
}

/** How high a state is drawn, of BAND. */
export function heightOf(name) {
  if (/wait|ready|preempt/.test(name))
    return 8;
  if (/block|sleep/.test(name))
    return 4;
  if (/^held$/.test(name))
    return 6;
  if (/idle/.test(name))
    return 2;
  return BAND;
}

function word(colour) {
  const [red, green, blue, alpha] = colour;
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

const FAINT = 0x50; // of 255: what is below a counter's values

/** The line of a value of 255, from the lowest one, 0, to the highest. */
function lineOf(value) {
  return Math.round(value / 255 * (BAND - 1));
}

/** A state's colour on a page like this one: [red, green, blue, alpha]. */
export function shade({ colour, dark }) {
  return parts(matchMedia("(prefers-color-scheme: dark)").matches ? dark : colour);
}

/** Of a name, by its number: neighbours differ, and text can be read on all. */
function colourOfName(number) {
  const hue = number * 137.508 % 360;
  const part = (shift) => {
    const at = (shift + hue / 30) % 12;
    return Math.round(255 * (0.7 - 0.16 * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return word([part(0), part(8), part(4), 255]);
}

/** Whether dark letters can be read on it, by the eye's weights. */
export function isLight(colour) {
  const [red, green, blue] = parts(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 110;
}

export class Frame {
  /** @param {{id: number, name: string, colour: string, dark: string}[]} states
   * @param {Record<string, string>} chosen colours, by the number of a name */
  constructor(buffer, from, to, pixels, states, chosen = {}) {
    const { bytes, rows } = parse(buffer);
    this.from = from;
    this.to = to;
    this.bytes = bytes;
    this.pixels = pixels;
    this.bands = new Map(rows.map(({ row }, index) => [row, index]));
    this.rows = rows;
    this.chosen = new Map(Object.entries(chosen).map(([name, colour]) =>
      [Number(name), word(parts(colour))]));
    this.picture = new OffscreenCanvas(Math.max(1, pixels),
                                       Math.max(1, rows.length * BAND));
    const draw = this.picture.getContext("2d");
    const image = draw.createImageData(this.picture.width, this.picture.height);
    const words = new Uint32Array(image.data.buffer);
    const style = new Map(states.map((state) => [state.id,
      { colour: word(shade(state)), height: heightOf(state.name),
        isValue: state.name === "value" }]));
    rows.forEach((row, index) => this.paint(words, row, index * BAND, style));
    draw.putImageData(image, 0, 0);
  }

  paint(words, { n, at }, top, style) {
    const { bytes, pixels } = this;
    for (let i = 0; i < n; i++, at += 8) {
      const x = bytes.getUint16(at, true);
      const end = Math.min(pixels, x + bytes.getUint16(at + 2, true));
      const state = bytes.getUint8(at + 4);
      if (state === LOST) {
        this.hole(words, top, x, end, style.get(LOST));
        continue;
      }
      const name = bytes.getUint16(at + 6, true);
      const { colour, height, isValue } = style.get(state) ??
        { colour: 0, height: 0, isValue: false };
      if (isValue) {
        this.values(words, top, x, end, colour, { least: name, most: bytes.getUint8(at + 5) });
        continue;
      }
      const share = bytes.getUint8(at + 5) / 255;
      const fill = name ? this.chosen.get(name) ?? colourOfName(name) : colour;
      const lines = Math.max(1, Math.round(height * (0.35 + 0.65 * share)));
      for (let line = BAND - lines; line < BAND; line++)
        words.fill(fill, (top + line) * pixels + x, (top + line) * pixels + end);
    }
  }

  /** What a counter was in these pixels: from its least to its most. */
  values(words, top, x, end, colour, { least, most }) {
    const faint = ((FAINT << 24) | (colour & 0xffffff)) >>> 0;
    for (let line = 0; line <= lineOf(most); line++)
      words.fill(line < lineOf(least) ? faint : colour,
        (top + BAND - 1 - line) * this.pixels + x, (top + BAND - 1 - line) * this.pixels + end);
  }

  hole(words, top, x, end, style) {
    const colour = style?.colour ?? 0xff00007f;
    for (let line = 0; line < BAND; line++)
      for (let at = x; at < end; at++)
        if ((((at >> 1) + line) & 3) < 2)
          words[(top + line) * this.pixels + at] = colour;
  }

  /** Calls with the begin, the end and the number of the name of what is wide
   * enough: `least` of the span's time. */
  named(id, least, tell) {
    const { bytes, from } = this;
    const { n, at } = this.rows[this.bands.get(id)] ?? { n: 0, at: 0 };
    const step = (this.to - from) / this.pixels;
    for (let i = 0, cell = at; i < n; i++, cell += 8) {
      const width = bytes.getUint16(cell + 2, true);
      const name = bytes.getUint16(cell + 6, true);
      const begin = from + bytes.getUint16(cell, true) * step;
      if (name && width * step >= least)
        tell(begin, begin + width * step, name);
    }
  }

  /** Draws a row as far as it lies in [from, to], which is `width` wide. */
  copy(draw, id, from, to, x, y, width, height) {
    const band = this.bands.get(id);
    if (band === undefined)
      return;
    const first = Math.max(from, this.from);
    const last = Math.min(to, this.to);
    if (last <= first)
      return;
    const source = this.pixels / (this.to - this.from);
    const target = width / (to - from);
    draw.drawImage(this.picture, (first - this.from) * source, band * BAND,
      Math.max(1e-3, (last - first) * source), BAND, x + (first - from) * target, y,
      (last - first) * target, height);
  }
}
