// Drives a running server with the official openai client for Node. The server
// is the one at TROUPE_URL, with the API key TROUPE_KEY (empty: none asked for).
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";

const url = process.env.TROUPE_URL;
if (!url) throw new Error("TROUPE_URL is not set; it is the server's address, for example http://127.0.0.1:30000");
const key = process.env.TROUPE_KEY || "none";
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const model = (await client.models.list()).data[0].id;
const messages = [{ role: "user", content: "Tell me a story." }];
const chat = { model, messages, max_completion_tokens: 24, seed: 7, temperature: 0.7 };

test("models", async () => {
  const one = await client.models.retrieve(model);
  assert.equal(one.id, model);
  assert.equal(one.object, "model");
});

test("chat", async () => {
  const got = await client.chat.completions.create(chat);
  const choice = got.choices[0];
  assert.equal(choice.message.role, "assistant");
  assert.ok(choice.message.content.length > 0);
  assert.ok(["stop", "length"].includes(choice.finish_reason));
  assert.equal(got.usage.total_tokens, got.usage.prompt_tokens + got.usage.completion_tokens);
  assert.equal(typeof got.usage.prompt_tokens_details.cached_tokens, "number");
  const again = await client.chat.completions.create(chat);
  assert.equal(again.choices[0].message.content, choice.message.content, "equal seeds give equal text");
});

test("chat stream", async () => {
  const whole = await client.chat.completions.create(chat);
  const stream = await client.chat.completions.create({ ...chat, stream: true, stream_options: { include_usage: true } });
  let text = "", reason = null, usage = null, first = true;
  for await (const chunk of stream) {
    assert.equal(usage, null, "usage comes last");
    usage = chunk.usage ?? null;
    const choice = chunk.choices[0];
    if (!choice) continue;
    if (first) assert.equal(choice.delta.role, "assistant", "the role comes first");
    first = false;
    assert.equal(reason, null, "the reason to finish comes after all text");
    text += choice.delta.content ?? "";
    reason = choice.finish_reason;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(reason, whole.choices[0].finish_reason);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
});

test("chat stream with the helper", async () => {
  const final = await client.chat.completions.stream({ ...chat, n: 2 }).finalChatCompletion();
  assert.equal(final.choices.length, 2);
  for (const choice of final.choices) assert.equal(choice.message.role, "assistant");
});

test("logprobs", async () => {
  const got = await client.chat.completions.create({ ...chat, logprobs: true, top_logprobs: 3 });
  const content = got.choices[0].logprobs.content;
  assert.ok(content.length > 0 && content.length <= got.usage.completion_tokens);
  for (const entry of content) {
    assert.ok(entry.logprob <= 0);
    assert.equal(entry.top_logprobs.length, 3);
    assert.ok(entry.top_logprobs[0].logprob >= entry.top_logprobs[2].logprob);
  }
});

test("completions", async () => {
  const body = { model, prompt: ["Once upon a time", "The cat"], max_tokens: 12, seed: 3, logprobs: 2, echo: true };
  const got = await client.completions.create(body);
  assert.equal(got.choices.length, 2);
  got.choices.forEach((choice, i) => {
    assert.equal(choice.index, i);
    assert.ok(choice.text.startsWith(body.prompt[i]));
    assert.equal(choice.logprobs.tokens.length, choice.logprobs.token_logprobs.length);
  });
  const streamed = ["", ""];
  for await (const chunk of await client.completions.create({ ...body, stream: true })) {
    for (const choice of chunk.choices) streamed[choice.index] += choice.text;
  }
  assert.deepEqual(streamed, got.choices.map((choice) => choice.text));
  const ids = await client.completions.create({ model, prompt: [5, 6, 7], max_tokens: 4, seed: 3 });
  assert.equal(ids.usage.prompt_tokens, 3);
});

test("errors", async () => {
  const fails = async (promise, kind, status, code) => {
    await assert.rejects(promise, (e) => {
      assert.ok(e instanceof kind, `${e} is no ${kind.name}`);
      assert.equal(e.status, status);
      assert.equal(e.code, code);
      assert.ok(e.message.length > 10 && e.requestID);
      return true;
    });
  };
  await fails(client.chat.completions.create({ ...chat, temperature: 9 }), OpenAI.BadRequestError, 400, null);
  await fails(client.chat.completions.create({ ...chat, messages: [] }), OpenAI.BadRequestError, 400, null);
  await fails(client.chat.completions.create({ ...chat, use_beam_search: true }), OpenAI.BadRequestError, 400, "unsupported_parameter");
  const response_format = { type: "json_schema", json_schema: { name: "none", schema: { type: "object", $ref: "https://example.com/schema" } } };
  await fails(client.chat.completions.create({ ...chat, response_format }), OpenAI.BadRequestError, 400, "invalid_grammar");
  await fails(client.chat.completions.create({ ...chat, stream: true, messages: [{ role: "user", content: "word ".repeat(50000) }] }),
    OpenAI.BadRequestError, 400, "context_length_exceeded");
  await fails(client.chat.completions.create({ ...chat, model: "gpt-9" }), OpenAI.NotFoundError, 404, "model_not_found");
  await fails(client.models.retrieve("gpt-9"), OpenAI.NotFoundError, 404, "model_not_found");
});

test("a wrong key", { skip: !process.env.TROUPE_KEY && "the server asks for no key" }, async () => {
  const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.models.list(), (e) => e instanceof OpenAI.AuthenticationError && e.status === 401 && e.code === "invalid_api_key");
});

test("abort", async () => {
  const stream = await client.completions.create({ model, prompt: "Once upon a time", stream: true, ignore_eos: true });
  let chunks = 0;
  for await (const _ of stream) {
    if (++chunks === 3) stream.controller.abort();
  }
  assert.ok(chunks >= 3);
  const aborted = new AbortController();
  const pending = client.completions.create({ model, prompt: "Once upon a time", ignore_eos: true }, { signal: aborted.signal });
  setImmediate(() => aborted.abort());
  await assert.rejects(pending, OpenAI.APIUserAbortError);
  // Nothing is held for those who left: all of the pool is free or cached.
  const headers = { Authorization: `Bearer ${key}` };
  const end = Date.now() + 20000;
  for (let audit; ; ) {
    audit = await (await fetch(`${url}/debug/audit`, { headers })).json();
    assert.ok(audit.ok, JSON.stringify(audit));
    if (audit.leased === 0 && audit.protected === 0) break;
    assert.ok(Date.now() < end, `pages are still held: ${JSON.stringify(audit)}`);
  }
});

test("a 429 names a time", { skip: !process.env.TROUPE_MAX_OPEN && "TROUPE_MAX_OPEN, the server's bound of open requests, is not set" }, async () => {
  const n = Number(process.env.TROUPE_MAX_OPEN);
  const open = await client.completions.create({ model, prompt: "Once upon a time", n, stream: true, ignore_eos: true });
  await assert.rejects(client.completions.create({ model, prompt: Array(n).fill("x"), max_tokens: 1 }), (e) =>
    e instanceof OpenAI.RateLimitError && e.status === 429 && Number(e.headers.get("retry-after")) >= 1);
  open.controller.abort();
});
