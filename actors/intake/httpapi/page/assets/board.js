// The live board: frames of the server, shown until the board is left.
import { frames } from "./stream.js";
import { Pool, bars, lines, owners } from "./draw.js";
import { rates } from "./rates.js";

const $ = (id) => document.getElementById(id);
const room = 480; // samples that are drawn and kept: 2 minutes
const stepRoom = 64;
const keyErrors = ["invalid_api_key", "admin_key_required"]; // with which the server ends a stream

let abort = null; // of the stream that is read; null: the board is not shown
let frame = null; // the newest one
let history = []; // what rates are computed from, oldest first
let pools = []; // {pool, at, legend} for each engine
let marked = 0; // id of the request whose pages are marked
let pending = false; // a drawing is due

const count = (n) => n.toLocaleString("en");

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

function span(ms) {
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min`;
}

function say(text, bad = false) {
  $("board-status").textContent = text;
  $("board-status").classList.toggle("bad", bad);
}

// put changes the text of an element only if it differs.
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// table shows rows of texts. It keeps the rows that it has.
function table(body, rows, each) {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((row, i) => {
    const tr = body.rows[i] ?? body.insertRow();
    row.forEach((text, j) => put(tr.cells[j] ?? tr.insertCell(), text));
    each?.(tr, i);
  });
}

export function start(needsKey, accepted) {
  if (abort) return;
  abort = new AbortController();
  read(abort.signal, needsKey, accepted);
}

export function stop() {
  abort?.abort();
  abort = null;
}

async function read(signal, needsKey, accepted) {
  say("Connecting…");
  while (!signal.aborted) {
    try {
      for await (const next of frames(signal)) {
        if (signal.aborted) return;
        if (next.error) throw Object.assign(new Error(next.error.message), { status: keyErrors.includes(next.error.code) ? 403 : 500 });
        accepted();
        take(next);
      }
      if (!signal.aborted) say("The server ended the stream. Reconnecting…", true);
    } catch (e) {
      if (signal.aborted) return;
      if (e.status === 401 || e.status === 403) {
        say(`${e.message.replace(/[^.]$/, "$&.")} Enter the admin key in the settings above.`, true);
        needsKey();
        stop();
        return;
      }
      say(e.status ? e.message : "The server cannot be reached. Trying again…", true);
    }
    await new Promise((done) => setTimeout(done, 2000));
  }
}

function chosen() {
  return frame.models.find((m) => m.model === $("board-model").value) ?? frame.models[0];
}

function take(next) {
  frame = next;
  const names = frame.models.map((m) => m.model), select = $("board-model");
  if (names.join("\n") !== [...select.options].map((o) => o.value).join("\n")) {
    const before = select.value;
    select.replaceChildren(...names.map((n) => new Option(n, n)));
    if (names.includes(before)) select.value = before;
    else history = [];
  }
  select.hidden = names.length < 2;
  const m = chosen();
  if (m?.readings) {
    history.push({ at: performance.now(), metrics: m.readings.metrics, histograms: m.readings.histograms });
    if (history.length > room) history.shift();
  }
  if (pending) return;
  pending = true; // a hidden tab draws nothing
  requestAnimationFrame(() => {
    pending = false;
    if (abort) show();
  });
}

function show() {
  const m = chosen();
  $("board-parts").hidden = !m;
  if (!m) {
    say("No engine has joined yet.");
    return;
  }
  const cut = m.engines.find((e) => e.left_out);
  if (m.stale) say("The engine is not answering. This is its last known state.", true);
  else if (cut) say(`The snapshot of engine ${cut.engine} is left out: ${cut.left_out}. Its requests count as waiting.`, true);
  else say(frame.state === "ready" ? "" : `The server is ${frame.state}.`);
  showTiles(m);
  showPools(m);
  showSteps(m);
  showRequests(m);
  if ($("tree-part").open) showTree(m);
  showActors();
}

function showTiles(m) {
  const r = rates(history), metrics = m.readings?.metrics ?? {}, pages = { total: 0, free: 0, evictable: 0 };
  for (const e of m.engines) for (const key in pages) pages[key] += e.pages[key];
  const used = pages.total - pages.free - pages.evictable;
  const pair = (q) => (q ? `${ms(q[0])} / ${ms(q[1])}` : "–");
  const ms = (s) => (s < 1 ? `${(s * 1000).toFixed(s < 0.1 ? 1 : 0)} ms` : `${s.toFixed(1)} s`);
  const rate = (v) => (v === null ? "–" : v >= 100 ? count(Math.round(v)) : v.toFixed(1));
  const hits = metrics.cache_query_tokens_total ? `${((100 * metrics.cache_hit_tokens_total) / metrics.cache_query_tokens_total).toFixed(1)} %` : "–";
  for (const [id, text] of Object.entries({
    generated: rate(r.generated), prompts: rate(r.prompts), ttft: pair(r.ttft), itl: pair(r.itl),
    running: count(m.counts.running), waiting: count(m.counts.waiting), retracted: count(m.counts.retracted),
    used: pages.total ? `${((100 * used) / pages.total).toFixed(1)} %` : "–", hits, steps: rate(r.steps),
  })) put($(`tile-${id}`), text);
  lines($("rates"), [{ colour: "--series-1", values: r.generatedLine }, { colour: "--series-2", values: r.promptsLine }], room);
}

function showPools(m) {
  if (pools.length !== m.engines.length) {
    pools = m.engines.map(() => {
      const canvas = document.createElement("canvas"), legend = document.createElement("p"), at = document.createElement("p");
      canvas.setAttribute("role", "img");
      legend.className = "legend";
      at.className = "at";
      const one = { pool: new Pool(canvas), canvas, legend, at, counts: {} };
      for (const owner of ["free", "evictable", "protected", "leased"]) {
        const key = document.createElement("span"), number = document.createElement("b");
        key.className = `key ${owner}`;
        number.dataset.owner = owner;
        key.append(`${owner} `, number);
        legend.append(key, " ");
        one.counts[owner] = number;
      }
      canvas.addEventListener("pointermove", (e) => put(at, whose(one, e.offsetX, e.offsetY)));
      canvas.addEventListener("pointerleave", () => put(at, ""));
      return one;
    });
    $("pools").replaceChildren(...pools.flatMap((p) => [p.legend, p.canvas, p.at]));
  }
  m.engines.forEach((e, i) => {
    const one = pools[i], mine = m.requests.find((r) => r.id === marked && r.engine === i);
    one.engine = i;
    for (const owner in one.counts) put(one.counts[owner], count(e.pages[owner]));
    one.canvas.setAttribute("aria-label", `KV pool of engine ${e.engine}: ${e.pages.total} pages, ${e.pages.free} free, ${e.pages.evictable} evictable, ${e.pages.protected} protected, ${e.pages.leased} leased`);
    one.pool.draw(e.cells, e.pages_per_cell, mine?.private ?? []);
  });
  const e = m.engines[0];
  put($("pool-size"), e ? `${m.engines.length > 1 ? `${m.engines.length} engines, each with ` : ""}${count(e.pages.total)} pages of ${e.page_size} tokens${e.page_bytes ? `, ${bytes(e.page_bytes)} each` : ""}${e.pages_per_cell > 1 ? `; a square is ${e.pages_per_cell} pages` : ""}` : "");
}

// whose says which page is at a point, and who owns it.
function whose(one, x, y) {
  const m = chosen(), e = m?.engines[one.engine], cell = e ? one.pool.at(x, y) : -1;
  if (cell < 0) return "";
  const first = cell * e.pages_per_cell + 1, last = Math.min(e.pages.total, first + e.pages_per_cell - 1);
  let at = 0, owner = "";
  for (const [, n, letter] of e.cells.matchAll(/(\d+)([a-z])/g)) {
    at += Number(n);
    if (cell < at) {
      owner = owners[letter];
      break;
    }
  }
  const r = m.requests.find((q) => q.engine === one.engine && (q.private ?? []).some(([from, n]) => from <= last && first < from + n));
  return `${first === last ? `Page ${first}` : `Pages ${first} to ${last}`}: ${owner}${owner === "leased" && r ? ` by request ${r.id || "of another gateway"}` : ""}`;
}

function showSteps(m) {
  const steps = (m.engines[0]?.steps ?? []).slice(-stepRoom), last = steps.at(-1);
  bars($("steps"), steps, stepRoom);
  put($("step-text"), last ? `Step ${count(last.step)}: ${last.decode} decoding rows${last.chunks.map((c) => `; request ${c.id || "of another gateway"} prefills ${count(c.count)} tokens from ${count(c.start)}`).join("")}` : "No step yet.");
}

function showRequests(m) {
  const rows = m.requests.map((r) => [String(r.id || "–"), r.user_id + (r.choice ? ` [${r.choice}]` : ""), r.state, count(r.prompt), count(r.output), count(r.cached), r.kv_bytes ? bytes(r.kv_bytes) : `${count(r.pages)} pages`, r.user_id ? span(r.age_ms) : "–"]);
  table($("requests"), rows, (tr, i) => {
    const r = m.requests[i];
    tr.dataset.id = r.id;
    tr.dataset.state = r.state;
    tr.tabIndex = 0;
    tr.classList.toggle("marked", r.id !== 0 && r.id === marked);
  });
  const some = m.requests.find((r) => r.id !== 0 && r.id === marked && r.private_hidden);
  const more = m.counts.hidden ? `and ${count(m.counts.hidden)} more` : m.requests.length ? "Click a request to mark its own pages in the pool." : "No open requests.";
  put($("requests-more"), some ? `${count(some.private_hidden)} of the request's own pages are not marked, because they are in too many pieces.` : more);
}

function mark(tr) {
  if (!tr?.dataset.id || !frame) return;
  const id = Number(tr.dataset.id);
  marked = marked === id ? 0 : id;
  show();
}

function showTree(m) {
  const rows = [], levels = [];
  const walk = (node, level) => {
    rows.push([`${node.length} tokens`, String(node.hits), String(node.locks), String(node.age)]);
    levels.push(level);
    for (const child of node.children ?? []) walk(child, level + 1);
  };
  let nodes = 0;
  for (const e of m.engines) {
    nodes += e.tree?.nodes ?? 0;
    for (const space of Array.isArray(e.tree?.namespaces) ? e.tree.namespaces : []) {
      rows.push([space.name ? `namespace ${space.name}` : "common prefixes", "", "", ""]);
      levels.push(0);
      for (const child of space.children ?? []) walk(child, 1);
    }
  }
  table($("tree"), rows, (tr, i) => {
    tr.cells[0].style.paddingLeft = `${0.5 + Math.min(levels[i], 20)}rem`;
  });
  put($("tree-more"), `${count(nodes)} nodes in the tree; at most 200 per engine are shown. Age counts changes of the tree since the last use of the node.`);
}

function showActors() {
  if ($("actors-part").open) {
    table($("actors"), frame.actors.map((a) => [a.node, a.path, a.state, count(a.mailbox), count(a.handled), count(a.restarts), a.last_failure?.cause ?? ""]));
  }
  table($("events"), frame.events.toReversed().map((e) => [new Date(e.at).toLocaleTimeString(), e.node, e.kind, e.text]));
  const epochs = (chosen()?.engines ?? []).map((e) => e.epoch).join(", ");
  put($("epochs"), `Epoch ${epochs || "–"}; ${count(frame.actors.reduce((sum, a) => sum + a.restarts, 0))} restarts of ${count(frame.actors.length)} actors`);
}

$("requests").addEventListener("click", (e) => mark(e.target.closest("tr")));
$("requests").addEventListener("keydown", (e) => {
  if (e.key === "Enter" || e.key === " ") {
    e.preventDefault();
    mark(e.target.closest("tr"));
  }
});
$("board-model").addEventListener("change", () => {
  history = [];
  if (frame) show();
});
for (const part of ["tree-part", "actors-part"]) $(part).addEventListener("toggle", () => abort && frame && show());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => abort && frame && show());
addEventListener("resize", () => abort && frame && show());
