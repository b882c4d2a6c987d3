// The page's state, and what its buttons do.
import * as store from "./store.js";
import * as exports from "./export.js";
import { chat, models } from "./stream.js";
import { Live, message, split } from "./view.js";
import * as board from "./board.js";

const $ = (id) => document.getElementById(id);
const placeholder = $("text").placeholder;
const numbers = ["temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_tokens", "seed"];

let list = store.load();
if (list.length === 0) list.unshift(store.create());
let current = list[0];
let running = null; // AbortController of the answer that comes
let editing = -1; // index of the message that is edited in the composer; -1: none
let keyAsked = false; // the settings are open only because the server needs a key
let sending = false; // the last key was the one that sends

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

// keep stores the conversations. It returns what it could not do, "" if all is stored.
function keep() {
  current.title = store.title(current);
  const { dropped, tooLong } = store.save(list, current);
  let fault = "";
  if (tooLong) fault = "This conversation is too long for the browser's storage. It is lost when the page is closed; export it in the settings.";
  else if (dropped > 0) fault = `${dropped} of the oldest conversations were removed: there were more than 100, or the browser's storage is full.`;
  if (fault) say(fault, true);
  return fault;
}

function showList() {
  $("conversations").replaceChildren(...list.map((c) => {
    const li = document.createElement("li"), b = document.createElement("button");
    b.type = "button";
    b.textContent = c.title || store.title(c);
    if (c === current) b.setAttribute("aria-current", "true");
    b.addEventListener("click", () => open(c));
    li.append(b);
    return li;
  }));
}

function showMessages() {
  const last = current.messages.length - 1;
  $("messages").replaceChildren(...current.messages.map((m, i) => message(m, {
    edit: m.role === "user" ? () => edit(i) : null,
    again: i === last && !running ? again : null,
  })));
  scroll(true);
}

function showSettings() {
  $("system").value = current.system;
  for (const name of numbers) $(name).value = current.settings[name] ?? "";
  $("key").value = store.key.get();
}

function open(c) {
  running?.abort();
  stopEditing();
  current = c;
  side(false);
  say("");
  showList();
  showMessages();
  showSettings();
  $("text").focus();
}

// scroll follows an answer unless the reader has scrolled up.
function scroll(always = false) {
  const box = document.querySelector("main");
  if (always || box.scrollHeight - box.scrollTop - box.clientHeight < 120) box.scrollTop = box.scrollHeight;
}

function busy(on) {
  $("send").hidden = on;
  $("stop").hidden = !on;
}

// answer asks the model to answer the last message. If nothing comes, the answer from before
// is put back.
async function answer(before = null) {
  const conversation = current, live = new Live(), started = performance.now(), abort = new AbortController();
  const messages = conversation.messages.map(({ role, content }) => ({ role, content: role === "assistant" ? split(content).answer : content }));
  if (conversation.system.trim()) messages.unshift({ role: "system", content: conversation.system });
  const body = { messages };
  if ($("model").value) body.model = $("model").value;
  for (const name of numbers) if (conversation.settings[name] !== undefined) body[name] = conversation.settings[name];
  running = abort;
  busy(true);
  showMessages();
  say("Waiting for the model…");
  $("messages").append(live.element);
  scroll(true);
  let first = 0, last = 0, finish = "", usage = null, failed = null; // first, last: times of texts
  try {
    for await (const part of chat(body, abort.signal)) {
      if (part.content || part.reasoning) {
        last = performance.now();
        if (!first) {
          first = last;
          say("");
        }
      }
      live.add(part);
      finish = part.finish || finish;
      usage = part.usage ?? usage;
      scroll();
    }
  } catch (e) {
    failed = e;
  }
  try {
    live.end();
  } catch (e) {
    failed ??= e;
  }
  if (running === abort) {
    running = null;
    busy(false);
  }
  const stopped = abort.signal.aborted;
  if (live.content || live.thoughts) {
    const m = { role: "assistant", content: live.content };
    if (live.thoughts) m.thinking = live.thoughts;
    m.note = note(usage, first - started, last - first, stopped ? "stopped" : failed ? "incomplete" : finish);
    conversation.messages.push(m);
  } else if (before) {
    conversation.messages.push(before);
  }
  const fault = keep();
  if (conversation !== current) return;
  showList();
  showMessages();
  if (failed && !stopped) {
    sayFailed(failed);
  } else {
    say(fault, fault !== "");
  }
}

// note describes an answer. A text that came at once, as from a proxy, at more than 50 tokens
// per ms, has no speed.
function note(usage, wait, time, finish) {
  const parts = [];
  if (usage) {
    parts.push(`${usage.completion_tokens} tokens`);
    if (usage.completion_tokens > 1 && time * 50 >= usage.completion_tokens - 1) parts.push(`${(((usage.completion_tokens - 1) * 1000) / time).toFixed(1)} tokens/s`);
  }
  if (wait > 0) parts.push(`first token after ${Math.round(wait)} ms`);
  if (finish === "length") parts.push("stopped at the token limit");
  if (finish === "stopped" || finish === "incomplete") parts.push(finish);
  return parts.join(", ");
}

function sayFailed(e) {
  say(e.status === 401 ? `${e.message} Enter the key in the settings above.` : e.message, true);
  if (e.status === 401) needsKey();
}

// needsKey opens the settings for the key, and accepted closes them again.
function needsKey() {
  keyAsked ||= $("settings").hidden;
  settings(true);
  $("key").focus();
}

function accepted() {
  if (!keyAsked) return;
  settings(false);
  if (!onBoard()) $("text").focus();
}

function send() {
  const text = $("text").value;
  if (!text.trim() || running) return;
  if (editing >= 0) current.messages.length = editing;
  editing = -1;
  $("text").placeholder = placeholder;
  current.messages.push({ role: "user", content: text });
  $("text").value = "";
  grow();
  list = [current, ...list.filter((c) => c !== current)];
  keep();
  showList();
  answer();
}

// again asks for another answer to the last message of the user.
function again() {
  if (running) return;
  answer(current.messages.at(-1)?.role === "assistant" ? current.messages.pop() : null);
}

// edit puts a message into the composer. What came after it is replaced when it is sent.
function edit(index) {
  if (running) return;
  editing = index;
  $("text").value = current.messages[index].content;
  $("text").placeholder = "Edit the message. Enter replaces it and what follows, Escape keeps it.";
  say("You edit a message. Sending replaces it and what follows; Escape keeps everything.");
  grow();
  $("text").focus();
}

function stopEditing() {
  if (editing < 0) return;
  editing = -1;
  $("text").value = "";
  $("text").placeholder = placeholder;
  say("");
  grow();
}

// grow fits the composer to its text; style.css has the most.
function grow() {
  $("text").style.height = "auto";
  $("text").style.height = `${$("text").scrollHeight + 2}px`;
}

function settings(show) {
  if (!show) keyAsked = false;
  $("settings").hidden = !show;
  $("settings-button").setAttribute("aria-expanded", String(show));
}

function side(show) {
  $("side").classList.toggle("open", show);
  $("menu").setAttribute("aria-expanded", String(show));
}

async function connect() {
  try {
    const found = await models();
    $("model").replaceChildren(...found.map((m) => new Option(m.id, m.id)));
    say("");
    if (!onBoard()) accepted();
  } catch (e) {
    sayFailed(e);
    if (e.status === 503) setTimeout(connect, 2000);
  }
}

$("composer").addEventListener("submit", (e) => {
  e.preventDefault();
  send();
});
$("text").addEventListener("keydown", (e) => {
  sending = e.key === "Enter" && !e.shiftKey && !e.isComposing;
  if (sending) {
    e.preventDefault();
    send();
  }
});
// Some keyboards insert the line break although the key was handled.
$("text").addEventListener("beforeinput", (e) => {
  if (sending && e.inputType === "insertLineBreak") e.preventDefault();
});
$("text").addEventListener("input", grow);
$("stop").addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (e) => {
  if (e.key !== "Escape") return;
  running?.abort();
  stopEditing();
  side(false);
});
$("new").addEventListener("click", () => {
  const fresh = list.find((c) => c.messages.length === 0) ?? store.create(current);
  list = [fresh, ...list.filter((c) => c !== fresh)];
  open(fresh);
});
$("menu").addEventListener("click", () => side(!$("side").classList.contains("open")));
$("settings-button").addEventListener("click", () => settings($("settings").hidden));
$("system").addEventListener("change", () => {
  current.system = $("system").value;
  keep();
});
for (const name of numbers) {
  $(name).addEventListener("change", () => {
    const value = $(name).valueAsNumber;
    if (Number.isNaN(value)) delete current.settings[name];
    else current.settings[name] = value;
    keep();
  });
}
$("key").addEventListener("change", () => {
  store.key.set($("key").value.trim());
  connect();
  view();
});
$("export-markdown").addEventListener("click", () => exports.save("conversation.md", "text/markdown", exports.markdown(current)));
$("export-json").addEventListener("click", () => exports.save("conversation.json", "application/json", JSON.stringify(current, null, 2)));
$("delete").addEventListener("click", () => {
  if (current.messages.length > 0 && !confirm("Delete this conversation?")) return;
  running?.abort();
  list = list.filter((c) => c !== current);
  if (list.length === 0) list.push(store.create());
  open(list[0]);
  keep();
});

const onBoard = () => location.hash === "#board";

// view shows the chat or the board, as the address says. The board is read only while it
// is shown.
function view() {
  const shown = onBoard();
  document.body.classList.toggle("on-board", shown);
  $("board").hidden = !shown;
  for (const link of $("views").querySelectorAll("a")) {
    if (link.hash === (shown ? "#board" : "#chat")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown && !document.hidden) board.start(needsKey, accepted);
  else board.stop();
}
addEventListener("hashchange", view);
// Another tab has saved: its conversations are taken over, except the one that is shown here
// while an answer comes.
addEventListener("storage", (e) => {
  if (e.key !== store.place) return;
  const theirs = store.load(), same = theirs.findIndex((c) => c.id === current.id);
  if (same < 0) theirs.unshift(current);
  else if (running) theirs[same] = current;
  list = theirs;
  if (same >= 0 && !running) {
    current = theirs[same];
    showMessages();
    showSettings();
  }
  showList();
});
document.addEventListener("visibilitychange", view);

connect();
view();
showList();
showMessages();
showSettings();
