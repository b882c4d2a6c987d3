// Hugging Face's own client for Node reads the test's hub and the cache that troupe fills,
// and troupe uses a cache that it fills. TROUPE_HUB is the hub, TROUPE_BIN the binary.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { downloadFile, listFiles, modelInfo, scanCacheDir, snapshotDownload } from "@huggingface/hub";

const hubUrl = process.env.TROUPE_HUB, troupe = process.env.TROUPE_BIN;
if (!hubUrl || !troupe) throw new Error("TROUPE_HUB and TROUPE_BIN are not set; run.sh sets them");
const repo = "troupe/little";
const needed = ["chat_template.jinja", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];

const run = (cache, args, more = {}) =>
  execFileSync(troupe, args, { encoding: "utf8", env: { PATH: process.env.PATH, HOME: cache, HF_ENDPOINT: hubUrl, HF_HUB_CACHE: cache, ...more } });

const folder = (t) => {
  const dir = mkdtempSync(join(tmpdir(), "troupe-hub-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

test("the hub of the tests speaks the protocol", async () => {
  const paths = [];
  for await (const file of listFiles({ repo, hubUrl, recursive: true })) paths.push(file.path);
  for (const path of needed) assert.ok(paths.includes(path), `${path} is listed`);
  const info = await modelInfo({ name: repo, hubUrl, additionalFields: ["sha"] });
  assert.match(info.sha, /^[0-9a-f]{40}$/);
  const config = JSON.parse(await (await downloadFile({ repo, path: "config.json", hubUrl })).text());
  assert.equal(typeof config.model_type, "string");
  const weights = await (await downloadFile({ repo, path: "model.safetensors", hubUrl })).arrayBuffer();
  assert.ok(weights.byteLength > 1e6);
});

test("it finds what troupe has pulled", async (t) => {
  const cache = folder(t);
  const pulled = JSON.parse(run(cache, ["pull", repo, "--json"]));
  const { repos, warnings } = await scanCacheDir(cache);
  assert.deepEqual(warnings, []);
  assert.equal(repos.length, 1);
  assert.deepEqual(repos[0].id, { type: "model", name: repo });
  const [revision] = repos[0].revisions;
  assert.equal(revision.commitOid, pulled.commit);
  assert.deepEqual(revision.refs, ["main"]);
  assert.deepEqual(revision.files.map((f) => f.path.split(/[\\/]/).pop()).sort(), needed);
  assert.equal(repos[0].size, pulled.bytes);
});

test("troupe finds what it has pulled", async (t) => {
  const cache = folder(t);
  await snapshotDownload({ repo, hubUrl, cacheDir: cache });
  const offline = { HF_HUB_OFFLINE: "1", HF_ENDPOINT: "http://127.0.0.1:1" };
  const pulled = JSON.parse(run(cache, ["pull", repo, "--json"], offline));
  assert.equal(pulled.downloaded_bytes, 0);
  assert.deepEqual(readdirSync(pulled.path).filter((name) => name !== "README.md").sort(), needed);
  const text = run(cache, ["generate", "--model", repo, "--prompt", "Once upon a time", "--max-tokens", "5", "--temperature", "0"], offline);
  assert.ok(text.length > 5);
});
