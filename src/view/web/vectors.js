// SPDX-License-Identifier: MIT
// vectors.js - stands for the context of a canvas, and keeps as SVG what is drawn: as
// much of it as the overview and the time line use (rectangles, lines, arcs, texts,
// images, clips of one path). Texts stay texts; an image, such as a row's states, is
// one, in the pixels that it has.

const escape = (text) => String(text).replace(/[&<>"]/g, (letter) =>
  ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" })[letter]);
const number = (value) => String(Math.round(value * 100) / 100);

/** "#rrggbbaa", which not all that show SVG know, and the opacity. */
function paint(what, colour, alpha) {
  const [whole, digits, last] = /^(#[0-9a-f]{6})([0-9a-f]{2})$/i.exec(colour) ?? [null, colour, "ff"];
  const opacity = alpha * (whole ? parseInt(last, 16) / 255 : 1);
  return `${what}="${escape(digits)}"${opacity < 1 ? ` ${what}-opacity="${number(opacity)}"` : ""}`;
}

export class Vectors {
  /** @param {CanvasRenderingContext2D} like says how wide texts are
   * @param {string} name begins the names of clips: another one's in the same file */
  constructor(like, name) {
    this.like = like;
    this.name = name;
    this.shapes = [];
    this.path = [];
    this.clips = 0;
    this.saved = [];
    this.look = { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1,
                  clip: null, font: like.font };
    for (const look of ["fillStyle", "strokeStyle", "lineWidth", "globalAlpha"])
      Object.defineProperty(this, look, { get: () => this.look[look],
        set: (value) => { this.look[look] = value; } });
  }

  set font(font) {
    this.look.font = this.like.font = font;
  }

  get font() {
    return this.look.font;
  }

  save() {
    this.saved.push({ ...this.look });
  }

  restore() {
    this.look = this.saved.pop() ?? this.look;
  }

  add(tag, words, inside = "") {
    const clip = this.look.clip ? ` clip-path="url(#${this.look.clip})"` : "";
    this.shapes.push(`<${tag} ${words}${clip}${inside ? `>${inside}</${tag}>` : "/>"}`);
  }

  box(x, y, width, height) {
    return `x="${number(Math.min(x, x + width))}" y="${number(Math.min(y, y + height))}" ` +
      `width="${number(Math.abs(width))}" height="${number(Math.abs(height))}"`;
  }

  fillRect(x, y, width, height) {
    this.add("rect", `${this.box(x, y, width, height)} ${this.filled()}`);
  }

  strokeRect(x, y, width, height) {
    this.add("rect", `${this.box(x, y, width, height)} fill="none" ${this.stroked()}`);
  }

  fillText(text, x, y) {
    if (text !== "")
      this.add("text", `x="${number(x)}" y="${number(y)}" dominant-baseline="central" ` +
        `xml:space="preserve" style="font:${escape(this.look.font)}" ${this.filled()}`, escape(text));
  }

  measureText(text) {
    return this.like.measureText(text);
  }

  beginPath() {
    this.path = [];
  }

  moveTo(x, y) {
    this.path.push(`M${number(x)} ${number(y)}`);
  }

  lineTo(x, y) {
    this.path.push(`L${number(x)} ${number(y)}`);
  }

  rect(x, y, width, height) {
    this.path.push(`M${number(x)} ${number(y)}h${number(width)}v${number(height)}h${number(-width)}z`);
  }

  /** A whole circle. */
  arc(x, y, radius) {
    const r = number(radius);
    this.path.push(`M${number(x - radius)} ${number(y)}a${r} ${r} 0 1 0 ${number(2 * radius)} 0` +
      `a${r} ${r} 0 1 0 ${number(-2 * radius)} 0`);
  }

  clip() {
    this.look.clip = `${this.name}${++this.clips}`;
    this.shapes.push(`<clipPath id="${this.look.clip}"><path d="${this.path.join("")}"/></clipPath>`);
  }

  fill() {
    this.add("path", `d="${this.path.join("")}" ${this.filled()}`);
  }

  stroke() {
    this.add("path", `d="${this.path.join("")}" fill="none" ${this.stroked()}`);
  }

  drawImage(image, left, top, across, down, x, y, width, height) {
    const part = document.createElement("canvas");
    part.width = Math.max(1, Math.round(across));
    part.height = Math.max(1, Math.round(down));
    const draw = part.getContext("2d");
    draw.imageSmoothingEnabled = false;
    draw.drawImage(image, left, top, across, down, 0, 0, part.width, part.height);
    this.add("image", `${this.box(x, y, width, height)} preserveAspectRatio="none" ` +
      `style="image-rendering:pixelated" href="${part.toDataURL("image/png")}"`);
  }

  filled() {
    return paint("fill", this.look.fillStyle, this.look.globalAlpha);
  }

  stroked() {
    return `${paint("stroke", this.look.strokeStyle, this.look.globalAlpha)} ` +
      `stroke-width="${number(this.look.lineWidth)}"`;
  }
}
