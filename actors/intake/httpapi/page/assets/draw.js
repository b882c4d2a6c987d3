// Drawings of the board on canvases, in the colours of the style sheet.
export const owners = { f: "free", e: "evictable", p: "protected", l: "leased", u: "unowned" };

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// prepare sizes a canvas to its box, in device pixels, and returns its context in CSS pixels.
function prepare(canvas, height) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  return { c, width };
}

// runs decodes the owners of cells, as 120f3l: [letter, first, count] of each run.
export function runs(text) {
  const list = [];
  let first = 0;
  for (const [, count, letter] of text.matchAll(/(\d+)([a-z])/g)) {
    list.push([letter, first, Number(count)]);
    first += Number(count);
  }
  return { list, total: first };
}

// Pool draws the pages of a KV pool, row by row, and says which cell is at a point.
export class Pool {
  constructor(canvas) {
    this.canvas = canvas;
    this.drawn = "";
  }

  draw(cells, perCell, marked) {
    const key = `${cells} ${perCell} ${JSON.stringify(marked)} ${this.canvas.clientWidth} ${colour("--back")} ${devicePixelRatio}`;
    if (key === this.drawn) return;
    this.drawn = key;
    const { list, total } = runs(cells), box = this.canvas.clientWidth;
    this.size = Math.min(14, Math.max(2, Math.floor(Math.sqrt((box * 220) / Math.max(1, total)))));
    this.columns = Math.max(1, Math.floor(box / this.size));
    this.total = total;
    const { c } = prepare(this.canvas, Math.max(1, Math.ceil(total / this.columns)) * this.size);
    const gap = this.size > 4 ? 1 : 0;
    const paint = (first, count) => {
      for (let i = first; i < first + count; i++) {
        c.fillRect((i % this.columns) * this.size, Math.floor(i / this.columns) * this.size, this.size - gap, this.size - gap);
      }
    };
    for (const [letter, first, count] of list) {
      c.fillStyle = colour(`--page-${owners[letter] ?? "unowned"}`);
      paint(first, count);
    }
    c.fillStyle = colour("--page-marked");
    for (const [first, count] of marked) {
      const from = Math.floor((first - 1) / perCell), to = Math.floor((first + count - 2) / perCell);
      paint(from, to - from + 1);
    }
  }

  // at is the index of the cell at a point; -1: none.
  at(x, y) {
    const column = Math.floor(x / this.size), index = Math.floor(y / this.size) * this.columns + column;
    return column < this.columns && index < this.total ? index : -1;
  }
}

// lines draws series of numbers over the time, each {colour, values}, newest at the right.
export function lines(canvas, series, room, height = 120) {
  const { c, width } = prepare(canvas, height);
  const most = Math.max(1, ...series.flatMap((s) => s.values));
  c.strokeStyle = colour("--line");
  c.lineWidth = 1;
  c.strokeRect(0.5, 0.5, width - 1, height - 1);
  c.lineWidth = 1.5;
  for (const s of series) {
    c.strokeStyle = colour(s.colour);
    c.beginPath();
    s.values.forEach((v, i) => {
      const x = width - ((s.values.length - 1 - i) * width) / (room - 1), y = height - 2 - (v / most) * (height - 18);
      if (i === 0) c.moveTo(x, y);
      else c.lineTo(x, y);
    });
    c.stroke();
  }
  c.fillStyle = colour("--faint");
  c.font = "12px system-ui, sans-serif";
  c.fillText(most >= 100 ? String(Math.round(most)) : most.toFixed(1), 4, 13);
}

// bars draws a bar for each step: decoding rows below, tokens of chunks above.
export function bars(canvas, steps, room, height = 120) {
  const { c, width } = prepare(canvas, height);
  const chunks = (s) => s.chunks.reduce((sum, k) => sum + k.count, 0);
  const most = Math.max(1, ...steps.map((s) => s.decode + chunks(s))), wide = width / room;
  c.strokeStyle = colour("--line");
  c.strokeRect(0.5, 0.5, width - 1, height - 1);
  steps.forEach((s, i) => {
    const x = width - (steps.length - i) * wide, low = (s.decode / most) * (height - 18), high = (chunks(s) / most) * (height - 18);
    c.fillStyle = colour("--series-1");
    c.fillRect(x, height - 1 - low, Math.max(1, wide - 1), low);
    c.fillStyle = colour("--series-2");
    c.fillRect(x, height - 1 - low - high, Math.max(1, wide - 1), high);
  });
  c.fillStyle = colour("--faint");
  c.font = "12px system-ui, sans-serif";
  c.fillText(String(most), 4, 13);
}
