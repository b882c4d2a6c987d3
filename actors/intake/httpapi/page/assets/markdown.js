// Markdown into elements. Text reaches the document as text nodes only, and links lead to
// web pages and mail addresses only, whatever a model writes.

// Longer blocks are shown as they are: marks in them would take time, and nobody reads them.
const longest = 20000;

const make = (name, ...children) => {
  const e = document.createElement(name);
  e.append(...children);
  return e;
};

const marks = [
  [/^`+/, null], // code, see below
  [/^\*\*(?=\S)([^]*?\S)\*\*/, "strong"],
  [/^__(?=\S)([^]*?\S)__(?!\w)/, "strong"],
  [/^~~(?=\S)([^]*?\S)~~/, "del"],
  [/^\*(?=[^\s*])([^]*?[^\s*])\*(?!\*)/, "em"],
  [/^_(?=[^\s_])([^]*?[^\s_])_(?!\w)/, "em"],
];

const linkMark = /^\[([^\[\]]{1,500})\]\(\s*<?([^\s<>()]{1,2000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,200})?)>?(?:\s+"[^"]{0,500}")?\s*\)/;
const address = /^https?:\/\/[^\s<>"'`]{1,2000}/;

// link is an anchor, or the text alone if the address is not one to follow.
function link(text, href) {
  let url;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return null;
  const a = make("a", text);
  a.href = url.href;
  a.rel = "noopener noreferrer";
  a.target = "_blank";
  return a;
}

// inline adds a text with its marks to an element.
export function inline(to, text, depth = 0) {
  let plain = 0, at = 0;
  const flush = (end) => {
    if (end > plain) to.append(text.slice(plain, end));
  };
  const special = /[`*_~\[\\h]/g;
  while (at < text.length) {
    special.lastIndex = at;
    const next = special.exec(text);
    if (!next) break;
    at = next.index;
    const c = text[at], before = at === 0 ? " " : text[at - 1];
    if (c === "\\" && /[\\`*_~\[\]#>-]/.test(text[at + 1] ?? "")) {
      flush(at);
      plain = at + 1;
      at += 2;
      continue;
    }
    const rest = text.slice(at, at + 4000); // marks do not reach further
    let node = null, length = 0;
    if (c === "`") {
      const fence = /^`+/.exec(rest)[0], end = rest.indexOf(fence, fence.length);
      if (end > 0) {
        node = make("code", rest.slice(fence.length, end).replace(/^ (.*) $/, "$1"));
        length = end + fence.length;
      } else {
        at += fence.length;
        continue;
      }
    } else if (c === "[") {
      const m = linkMark.exec(rest);
      if (m && (node = link(m[1], m[2]))) length = m[0].length;
    } else if (c === "h") {
      const m = /\w/.test(before) ? null : address.exec(rest);
      const href = m?.[0].replace(/[.,;:!?)\]*_]+$/, "");
      if (href && (node = link(href, href))) length = href.length;
    } else if (depth < 4 && !(c === "_" && /\w/.test(before))) {
      for (const [mark, name] of marks.slice(1)) {
        const m = mark.exec(rest);
        if (m) {
          node = make(name);
          inline(node, m[1], depth + 1);
          length = m[0].length;
          break;
        }
      }
    }
    if (!node) {
      at++;
      continue;
    }
    flush(at);
    to.append(node);
    at += length;
    plain = at;
  }
  flush(text.length);
  return to;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((s) => s.trim());
const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

// Quotes and lists within each other beyond this depth are shown as they are written.
const deepest = 8;

// render makes elements of a text.
export function render(text) {
  return blocks(text, 0);
}

function blocks(text, depth) {
  const to = document.createDocumentFragment(), lines = text.split("\n");
  for (let i = 0; i < lines.length; ) {
    const line = lines[i];
    if (line.trim() === "") {
      i++;
      continue;
    }
    const fence = /^\s*(`{3,}|~{3,})\s*(\S*)/.exec(line);
    if (fence) {
      let end = i + 1;
      while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end++;
      const code = make("code", lines.slice(i + 1, end).join("\n"));
      to.append(make("pre", code));
      i = end + 1;
      continue;
    }
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (heading && line.length < longest) {
      to.append(inline(make(`h${Math.min(6, heading[1].length + 1)}`), heading[2]));
      i++;
      continue;
    }
    if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line.slice(0, 200)) && line.length < 200) {
      to.append(make("hr"));
      i++;
      continue;
    }
    if (line.startsWith(">") && depth < deepest) {
      const quoted = [];
      while (i < lines.length && lines[i].startsWith(">")) quoted.push(lines[i++].replace(/^> ?/, ""));
      const quote = make("blockquote");
      quote.append(blocks(quoted.join("\n"), depth + 1));
      to.append(quote);
      continue;
    }
    if (line.length < longest && item.test(line)) {
      i = list(to, lines, i, 0);
      continue;
    }
    if (line.includes("|") && line.length < longest && /^[\s|:-]+$/.test(lines[i + 1] ?? "") && lines[i + 1].includes("-")) {
      const table = make("table"), head = make("tr", ...cells(line).map((c) => inline(make("th"), c)));
      table.append(make("thead", head));
      const body = make("tbody");
      for (i += 2; i < lines.length && lines[i].includes("|"); i++) body.append(make("tr", ...cells(lines[i]).map((c) => inline(make("td"), c))));
      table.append(body);
      to.append(table);
      continue;
    }
    const from = i++;
    while (i < lines.length && lines[i].trim() !== "" && !/^(\s*(`{3,}|~{3,})|#{1,6}\s|>|\s*([-*+]|\d{1,9}[.)])\s)/.test(lines[i].slice(0, 40))) i++;
    const paragraph = lines.slice(from, i).join("\n");
    if (paragraph.length >= longest) {
      const p = make("p", paragraph);
      p.className = "plain";
      to.append(p);
    } else {
      to.append(inline(make("p"), paragraph));
    }
  }
  return to;
}

// list adds a list that begins at a line, and returns the line after it.
function list(to, lines, i, level) {
  const first = item.exec(lines[i]), depth = first[1].length;
  const box = make(/\d/.test(first[2]) ? "ol" : "ul");
  if (box.tagName === "OL") box.start = parseInt(first[2], 10);
  while (i < lines.length) {
    const m = item.exec(lines[i].slice(0, longest));
    if (!m || m[1].length < depth) break;
    if (m[1].length > depth + 1 && box.lastElementChild && level < deepest) {
      i = list(box.lastElementChild, lines, i, level + 1);
      continue;
    }
    let text = m[3];
    for (i++; i < lines.length && /^\s{2,}\S/.test(lines[i]) && !item.test(lines[i].slice(0, longest)); i++) text += "\n" + lines[i].trim();
    box.append(inline(make("li"), text));
    if (lines[i]?.trim() === "" && item.test((lines[i + 1] ?? "").slice(0, longest))) i++;
  }
  to.append(box);
  return i;
}

// Growing shows a text that grows. What is before the last empty line outside of code does
// not change any more, so only the rest is made anew, at most once a frame.
export class Growing {
  constructor(to) {
    this.to = to;
    this.text = "";
    this.done = 0; // everything before it is final
    this.tail = []; // nodes of the rest
    this.plain = null; // text node of a rest that is too long for marks
    this.shown = 0; // characters of it
    this.frame = 0;
  }

  add(text) {
    this.text += text;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.show();
    });
  }

  show() {
    if (this.plain && this.text.indexOf("\n\n", Math.max(this.done, this.shown - 1)) < 0) {
      this.plain.appendData(this.text.slice(this.shown));
      this.shown = this.text.length;
      return;
    }
    this.plain = null;
    for (const node of this.tail) node.remove();
    const end = boundary(this.text, this.done);
    if (end > this.done) {
      this.to.append(render(this.text.slice(this.done, end)));
      this.done = end;
    }
    const rest = this.text.slice(this.done);
    if (rest.length >= longest) {
      this.plain = document.createTextNode(rest);
      this.shown = this.text.length;
      const p = make("p", this.plain);
      p.className = "plain";
      this.tail = [p];
    } else {
      this.tail = [...render(rest).childNodes];
    }
    this.to.append(...this.tail);
  }

  end() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.show();
  }
}

// boundary is the end of the last empty line outside of code after a position.
function boundary(text, from) {
  let fence = "", end = from, at = from;
  for (let next; (next = text.indexOf("\n", at)) >= 0; at = next + 1) {
    const line = text.slice(at, Math.min(next, at + 200)).trim();
    const mark = /^(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && !fence) fence = mark;
    else if (fence && line.startsWith(fence)) fence = "";
    else if (!fence && line === "" && next - at < 200) end = next + 1;
  }
  return end;
}
