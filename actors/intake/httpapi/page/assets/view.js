// Messages as elements.
import { Growing, render } from "./markdown.js";

const button = (text, action) => {
  const b = document.createElement("button");
  b.type = "button";
  b.textContent = text;
  b.addEventListener("click", action);
  return b;
};

// copier is a button that copies a text.
function copier(text) {
  return button("Copy", async (e) => {
    const b = e.currentTarget;
    b.textContent = (await copy(text())) ? "Copied" : "Not allowed";
    setTimeout(() => (b.textContent = "Copy"), 1500);
  });
}

// copy reports whether the clipboard has the text. Browsers have navigator.clipboard only for
// HTTPS and for this machine; elsewhere a selection is copied.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// split takes what a model writes between <think> and </think> out of its answer.
export function split(content) {
  const m = /^\s*<think>/.exec(content);
  if (!m) return { thinking: "", answer: content, open: false };
  const end = content.indexOf("</think>");
  if (end < 0) return { thinking: content.slice(m[0].length), answer: "", open: true };
  return { thinking: content.slice(m[0].length, end), answer: content.slice(end + 8).trimStart(), open: false };
}

// message makes the element of a message. actions: {edit, again}, as far as they fit.
export function message(m, actions = {}) {
  const article = document.createElement("article");
  article.className = m.role;
  const who = document.createElement("div");
  who.className = "who";
  who.textContent = m.role === "user" ? "You" : "Model";
  const body = document.createElement("div");
  body.className = "body";
  article.append(who);
  if (m.role === "user") {
    body.textContent = m.content;
  } else {
    const { thinking, answer } = split(m.content);
    const thoughts = (m.thinking ?? "") + thinking;
    if (thoughts.trim()) article.append(thought(thoughts));
    body.append(render(answer));
    for (const code of body.querySelectorAll("pre")) code.prepend(copier(() => code.querySelector("code").textContent));
  }
  article.append(body, tools(m, actions));
  return article;
}

function thought(text) {
  const details = document.createElement("details"), summary = document.createElement("summary");
  summary.textContent = "Thinking";
  details.append(summary, text.trim());
  return details;
}

function tools(m, actions) {
  const bar = document.createElement("div");
  bar.className = "tools";
  bar.append(copier(() => (m.role === "user" ? m.content : split(m.content).answer)));
  if (actions.edit) bar.append(button("Edit", actions.edit));
  if (actions.again) bar.append(button(m.role === "user" ? "Send again" : "Regenerate", actions.again));
  if (m.note) {
    const note = document.createElement("span");
    note.textContent = m.note;
    bar.append(note);
  }
  return bar;
}

// Live is an answer while it comes.
export class Live {
  constructor() {
    this.element = message({ role: "assistant", content: "" });
    this.element.querySelector(".tools").remove();
    this.body = this.element.querySelector(".body");
    this.growing = new Growing(this.body);
    this.content = "";
    this.thoughts = "";
    this.given = 0; // characters of the answer that are shown
    this.details = null;
  }

  add({ content, reasoning }) {
    this.content += content;
    this.thoughts += reasoning;
    const { thinking, answer } = this.tagged() ? split(this.content) : { thinking: "", answer: this.content };
    this.think(this.thoughts + thinking);
    if (answer.length > this.given) {
      this.growing.add(answer.slice(this.given));
      this.given = answer.length;
    }
  }

  // tagged reports whether the answer begins with thoughts, as far as that is known.
  tagged() {
    if (this.tags === undefined) {
      const begin = this.content.trimStart();
      if (begin.startsWith("<think>")) this.tags = true;
      else if (!"<think>".startsWith(begin)) this.tags = false;
    }
    return this.tags !== false;
  }

  think(text) {
    if (!text.trim()) return;
    if (!this.details) {
      this.details = thought("");
      this.note = document.createTextNode("");
      this.details.append(this.note);
      this.body.before(this.details);
    }
    if (text.length > this.note.length) this.note.appendData(text.slice(this.note.length));
  }

  end() {
    this.growing.end();
  }
}
