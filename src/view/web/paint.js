// SPDX-License-Identifier: MIT
// paint.js - what parts that draw share: a canvas in the screen's own pixels, the
// page's colours, and the hatching of what was lost.

/** Fits a canvas to its place; its context then draws in CSS pixels. */
export function fit(canvas) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) ||
      canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const draw = canvas.getContext("2d");
  draw.setTransform(scale, 0, 0, scale, 0, 0);
  draw.clearRect(0, 0, width, height);
  return { draw, width, height };
}

let known = null;

/** The colours of style.css, read once per scheme. */
export function colours() {
  if (known)
    return known;
  const style = getComputedStyle(document.documentElement);
  known = {};
  for (const name of ["back", "panel", "line", "text", "faint", "accent", "select",
                      "bar", "lost", "chosen", "shade", "note"])
    known[name] = style.getPropertyValue(`--${name}`).trim();
  return known;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  known = null;
  window.dispatchEvent(new Event("resize"));
});

/** Hatches a rectangle: here something was lost. */
export function hatch(draw, x, y, width, height) {
  draw.save();
  draw.beginPath();
  draw.rect(x, y, width, height);
  draw.clip();
  draw.strokeStyle = colours().lost;
  draw.lineWidth = 1.5;
  draw.beginPath();
  for (let at = x - height - ((x - height) % 6); at < x + width; at += 6) {
    draw.moveTo(at, y + height);
    draw.lineTo(at + height, y);
  }
  draw.stroke();
  draw.restore();
}

/** As much of a text as there is room for; where it is cut stands "…". */
export function shorten(draw, text, room) {
  const { width } = draw.measureText(text);
  if (width <= room)
    return text;
  const letters = Math.floor(text.length * room / width) - 1;
  return letters > 0 ? `${text.slice(0, letters)}…` : "";
}

/** "#rrggbb" or "#rrggbbaa" as [red, green, blue, alpha]. */
export function parts(colour) {
  const digits = /^#([0-9a-f]{6})([0-9a-f]{2})?$/i.exec(colour);
  if (!digits)
    return [128, 128, 128, 255];
  const number = parseInt(digits[1], 16);
  return [number >> 16, (number >> 8) & 255, number & 255,
          digits[2] ? parseInt(digits[2], 16) : 255];
}

/** An element with properties and children. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** @returns {any} the element of that id */
export function part(id) {
  return document.getElementById(id);
}
