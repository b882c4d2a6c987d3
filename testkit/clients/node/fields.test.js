// Popular clients with the fields that they send by default, and fields of other servers.
// The server is the one at TROUPE_URL, with the API key TROUPE_KEY.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";

const url = process.env.TROUPE_URL, key = process.env.TROUPE_KEY || "none";
if (!url) throw new Error("TROUPE_URL is not set; it is the server's address, for example http://127.0.0.1:30000");
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const { id: model, context_length } = (await client.models.list()).data[0];
const messages = [{ role: "user", content: "Tell me a story." }];
const chat = { model, messages, max_tokens: 16, seed: 7, temperature: 0 };
const plain = (await client.chat.completions.create(chat)).choices[0].message.content;

// Fields of other servers that only advise, or that have a value that changes nothing.
const advice = {
  store: true, service_tier: "flex", verbosity: "low", reasoning_effort: "low", keep_alive: "5m", session_id: "s1", cache_prompt: true,
  id_slot: 0, slot_id: -1, metadata: { a: "b" }, safety_identifier: "x", prompt_cache_key: "k", prompt_cache_retention: "24h", prediction: { type: "content", content: "x" },
  parallel_tool_calls: true, tool_choice: "auto", tools: [], response_format: { type: "text" }, modalities: ["text"], think: false, enable_thinking: false,
  n_keep: 5, num_ctx: 100000, num_gpu: 1, num_thread: 8, use_mmap: true, num_batch: 512, timings_per_token: true, return_progress: true,
  request_id: "r1", data_parallel_rank: 0, separate_reasoning: true, include_reasoning: true, provider: { order: ["a"] }, route: "fallback", models: ["a"], usage: { include: true },
  min_p: 0, typical_p: 1, mirostat: 0, dry_multiplier: 0, xtc_probability: 0, add_special_tokens: false, spaces_between_special_tokens: true,
  guided_json: null, echo: false, best_of: 1, use_beam_search: false, length_penalty: 1, repeat_penalty: 1, frequency_penalty: 0, continue_final_message: false,
  max_completion_tokens: 16, num_predict: -1, do_sample: false, options: { temperature: 0, num_gpu: 1 }, thinking: { type: "disabled", budget_tokens: 0 }, repeat_last_n: 64, penalize_nl: false,
  a_field_that_nobody_knows: [1, 2], aFieldOfAnotherStyle: 1,
};

test("every field that only advises is taken", async () => {
  assert.ok(Object.keys(advice).length >= 40);
  for (const [name, value] of Object.entries(advice)) {
    const got = await client.chat.completions.create({ ...chat, [name]: value });
    assert.equal(got.choices[0].message.content, plain, name);
  }
  const { data, response } = await client.chat.completions.create({ ...chat, ...advice }).withResponse();
  assert.equal(data.choices[0].message.content, plain);
  const named = response.headers.get("x-troupe-ignored-fields").split(", ");
  for (const name of ["store", "keep_alive", "a_field_that_nobody_knows", "aFieldOfAnotherStyle", "options.num_gpu", "reasoning_effort"]) assert.ok(named.includes(name), `${name} is named in ${named}`);
  assert.ok(!named.includes("num_ctx"));
});

test("what would change the answer is refused, all of it in one error", async () => {
  await assert.rejects(client.chat.completions.create({ ...chat, use_beam_search: true, continue_final_message: true, mirostat: 2 }), (e) => {
    assert.equal(e.status, 400);
    assert.equal(e.code, "unsupported_parameter");
    for (const name of ["use_beam_search", "continue_final_message", "mirostat"]) assert.match(e.message, new RegExp(`[.,] ${name}[:,]`));
    return true;
  });
});

test("the context length is told, and the fingerprint is there", async () => {
  assert.ok(context_length > 100);
  const got = await client.chat.completions.create(chat);
  assert.match(got.system_fingerprint, /^fp_[0-9a-f]+$/);
});

test("the Responses API is refused with the way to the other one", async () => {
  await assert.rejects(client.responses.create({ model, input: "hi" }), (e) => e.status === 404 && e.message.includes("/v1/chat/completions"));
});

const provider = createOpenAICompatible({ name: "troupe", baseURL: `${url}/v1`, apiKey: key });

test("ai: generateText", async () => {
  const got = await generateText({ model: provider(model), prompt: "Tell me a story.", maxOutputTokens: 16, temperature: 0, maxRetries: 0 });
  assert.equal(got.text, plain);
  assert.equal(got.finishReason, "length");
  assert.equal(got.usage.outputTokens, 16);
});

test("ai: streamText with a system prompt and options of other servers", async () => {
  const got = streamText({
    model: provider(model), system: "You are brief.", prompt: "Tell me a story.", maxOutputTokens: 16, temperature: 0, maxRetries: 0,
    providerOptions: { troupe: { reasoningEffort: "low", user: "u", store: true, verbosity: "low" } }, onError: ({ error }) => { throw error; },
  });
  let text = "";
  for await (const part of got.textStream) text += part;
  assert.ok(text.length > 5);
  assert.equal(await got.finishReason, "length");
});

const langchain = (more) => new ChatOpenAI({ model, apiKey: key, configuration: { baseURL: `${url}/v1` }, temperature: 0, maxTokens: 16, maxRetries: 0, ...more });

test("langchain: invoke, stream and batch", async () => {
  const got = await langchain({}).invoke("Tell me a story.");
  assert.equal(got.content, plain);
  assert.equal(got.usage_metadata.output_tokens, 16);
  let text = "";
  for await (const chunk of await langchain({ streaming: true }).stream("Tell me a story.")) text += chunk.content;
  assert.equal(text, plain);
  const batch = await langchain({ modelKwargs: { keep_alive: "5m", top_k: 1, session_id: "s" } }).batch(["Tell me a story.", "Tell me a story."]);
  for (const one of batch) assert.equal(one.content, plain);
});
