// SPDX-License-Identifier: MIT
// picture.js - what is seen, as a file: canvases below one another as PNG, in the
// screen's own pixels, or as SVG, drawn once more (vectors.js); the drawing of a flame
// graph as SVG that needs nothing else.
import { colours, element } from "./paint.js";
import { download } from "./table.js";
import { Vectors } from "./vectors.js";

/** @param {string} name of the file
 * @param {HTMLCanvasElement[]} canvases from above downwards */
export function keepPng(name, canvases) {
  const seen = canvases.filter(({ width, height }) => width && height);
  const whole = element("canvas", { width: Math.max(...seen.map(({ width }) => width)),
    height: seen.reduce((sum, { height }) => sum + height, 0) });
  const draw = whole.getContext("2d");
  draw.fillStyle = colours().back; // canvases are transparent where nothing is drawn
  draw.fillRect(0, 0, whole.width, whole.height);
  let y = 0;
  for (const canvas of seen) {
    draw.drawImage(canvas, 0, y);
    y += canvas.height;
  }
  whole.toBlob((blob) => download(name, "image/png", blob), "image/png");
}

/** @param {string} name of the file
 * @param {{canvas: HTMLCanvasElement, paint: (fitted: any) => void}[]} parts that draw,
 * from above downwards */
export function keepDrawn(name, parts) {
  const seen = parts.filter(({ canvas }) => canvas.width && canvas.height);
  const width = Math.max(...seen.map(({ canvas }) => canvas.clientWidth));
  let height = 0;
  const drawn = seen.map((part) => {
    const draw = new Vectors(element("canvas").getContext("2d"), `c${height}-`);
    const size = { width: part.canvas.clientWidth, height: part.canvas.clientHeight };
    part.paint({ draw, ...size });
    const top = height;
    height += size.height;
    return `<svg x="0" y="${top}" width="${size.width}" height="${size.height}">\n${
      draw.shapes.join("\n")}\n</svg>`;
  });
  const back = `<rect width="${width}" height="${height}" fill="${colours().back}"/>`;
  download(name, "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" ` +
    `height="${height}" viewBox="0 0 ${width} ${height}">\n${back}\n${drawn.join("\n")}\n</svg>\n`);
}

/** What style.css says of the drawing goes with each shape. */
const LOOKS = { rect: ["stroke", "stroke-width", "fill"], text: ["font", "fill"], g: ["opacity"] };

export function keepSvg(name, svg) {
  const copy = svg.cloneNode(true);
  for (const [tag, looks] of Object.entries(LOOKS)) {
    const shapes = [...svg.querySelectorAll(tag)];
    copy.querySelectorAll(tag).forEach((shape, at) => {
      const style = getComputedStyle(shapes[at]);
      for (const look of looks)
        shape.style.setProperty(look, style.getPropertyValue(look));
    });
  }
  download(name, "image/svg+xml", new XMLSerializer().serializeToString(copy));
}
