// Popular clients hold dialogues about tools, thoughts and structured output. The server is
// the one at TROUPE_ASSISTANT_URL: its model knows a few questions, see assistant_test.go.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { tool as langchainTool } from "@langchain/core/tools";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { generateObject, generateText, isStepCount, Output, streamObject, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const url = process.env.TROUPE_ASSISTANT_URL;
if (!url) throw new Error("TROUPE_ASSISTANT_URL is not set; run.sh sets it");
const baseURL = `${url}/v1`, apiKey = "none";
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const model = (await client.models.list()).data[0].id;
const ask = (content) => [{ role: "user", content }];
const twoCities = ask("What is the weather in Oslo and Rome?"), justCall = ask("The weather in Oslo and Rome, just call."), here = ask("What is the weather here?"), anna = ask("Anna is 30 years old.");

const Person = z.object({ name: z.string(), age: z.number().int() });
const City = z.object({ city: z.string() });
const Unit = z.object({ unit: z.enum(["celsius", "fahrenheit"]) }); // the assistant never says one by itself
const isUnit = (value) => assert.ok(Unit.safeParse(value).success, JSON.stringify(value));
const weatherOf = ({ city }) => ({ Oslo: "rain", Rome: "sun" })[city];
const schemaOf = (type) => { const { $schema, ...schema } = z.toJSONSchema(type); return schema; };
const functionTool = (name, type, more) => ({ type: "function", function: { name, parameters: schemaOf(type), ...more } });

const checkCities = (calls) => {
  assert.deepEqual(calls.map((c) => [c.type, c.function.name, JSON.parse(c.function.arguments).city]), [["function", "weather", "Oslo"], ["function", "weather", "Rome"]]);
  assert.equal(new Set(calls.map((c) => c.id)).size, 2, "ids differ");
};

// Of the client for Node.

test("openai: parse with zod", async () => {
  const got = await client.chat.completions.parse({ model, messages: anna, response_format: zodResponseFormat(Person, "person") });
  const { message, finish_reason } = got.choices[0];
  assert.deepEqual(message.parsed, { name: "Anna", age: 30 });
  assert.equal(message.reasoning_content, "A person.");
  assert.equal(finish_reason, "stop");
  assert.ok(got.usage.completion_tokens_details.reasoning_tokens > 0);
  const forced = await client.chat.completions.parse({ model, messages: ask("Which unit?"), response_format: zodResponseFormat(Unit, "unit") });
  isUnit(forced.choices[0].message.parsed);
});

test("openai: parse with zodFunction", async () => {
  const tools = [zodFunction({ name: "weather", parameters: City })];
  const { message, finish_reason } = (await client.chat.completions.parse({ model, messages: twoCities, tools })).choices[0];
  assert.equal(finish_reason, "tool_calls");
  assert.equal(message.content, "I look.");
  assert.deepEqual(message.tool_calls.map((c) => c.function.parsed_arguments), [{ city: "Oslo" }, { city: "Rome" }]);
  checkCities(message.tool_calls);
});

test("openai: calls that are asked for", async () => {
  const tools = [zodFunction({ name: "unit", parameters: Unit }), zodFunction({ name: "weather", parameters: City })];
  for (const tool_choice of [{ type: "function", function: { name: "unit" } }, { type: "allowed_tools", allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "unit" } }] } }]) {
    const { message, finish_reason } = (await client.chat.completions.parse({ model, messages: ask("Good day."), tools, tool_choice, parallel_tool_calls: false })).choices[0];
    assert.equal(finish_reason, "tool_calls");
    assert.equal(message.content, null);
    assert.equal(message.tool_calls.length, 1);
    isUnit(message.tool_calls[0].function.parsed_arguments);
  }
  const required = { model, messages: justCall, tools, tool_choice: "required" };
  checkCities((await client.chat.completions.create(required)).choices[0].message.tool_calls);
  const one = (await client.chat.completions.create({ ...required, parallel_tool_calls: false })).choices[0];
  assert.deepEqual(one.message.tool_calls.map((c) => c.function.arguments), ['{"city": "Oslo"}']);
  assert.equal(one.message.reasoning_content, "It wants the weather.");
  const none = (await client.chat.completions.create({ model, messages: twoCities, tools, tool_choice: "none" })).choices[0];
  assert.equal(none.message.tool_calls, undefined);
  assert.equal(none.message.content, "I do not know.");
});

test("openai: a custom tool", async () => {
  const tools = [{ type: "custom", custom: { name: "dice", format: { type: "grammar", grammar: { syntax: "regex", definition: "[1-6]d(6|20)" } } } }];
  const body = { model, messages: ask("Roll."), tools, tool_choice: "required", parallel_tool_calls: false };
  const { message, finish_reason } = (await client.chat.completions.create(body)).choices[0];
  assert.equal(finish_reason, "tool_calls");
  assert.equal(message.tool_calls[0].type, "custom");
  assert.equal(message.tool_calls[0].custom.name, "dice");
  assert.match(message.tool_calls[0].custom.input, /^[1-6]d(6|20)$/);
  const streamed = (await client.chat.completions.stream(body).finalChatCompletion()).choices[0].message.tool_calls;
  assert.equal(streamed[0].custom.name, "dice");
  assert.match(streamed[0].custom.input, /^[1-6]d(6|20)$/);
  const back = [...body.messages, message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: "4" }];
  assert.equal((await client.chat.completions.create({ ...body, messages: back, tool_choice: "auto" })).choices[0].message.content, "I hear: 4");
});

for (const stream of [false, true]) {
  test(`openai: runTools ${stream ? "as a stream" : "whole"}`, async () => {
    const ran = [];
    const run = (name, parameters, of) => ({ type: "function", function: { name, parameters: schemaOf(parameters), parse: JSON.parse, function: (args) => { ran.push([name, args]); return of(args); } } });
    const tools = [run("weather", City, weatherOf), run("place", z.object({}), () => "Rome")];
    const several = client.chat.completions.runTools({ model, messages: twoCities, tools, stream });
    assert.equal(await several.finalContent(), "I hear: rain, sun");
    assert.deepEqual(ran.splice(0), [["weather", { city: "Oslo" }], ["weather", { city: "Rome" }]]);
    const steps = client.chat.completions.runTools({ model, messages: here, tools, stream });
    assert.equal(await steps.finalContent(), "I hear: Rome, sun");
    assert.deepEqual(ran, [["place", {}], ["weather", { city: "Rome" }]]);
    const roles = steps.messages.map((m) => m.role);
    assert.deepEqual(roles, ["user", "assistant", "tool", "assistant", "tool", "assistant"]);
    const total = await steps.totalUsage();
    assert.equal(total.total_tokens, total.prompt_tokens + total.completion_tokens);
  });
}

test("openai: the helper for streams", async () => {
  const tools = [zodFunction({ name: "weather", parameters: City })];
  const events = [], stream = client.chat.completions.stream({ model, messages: twoCities, tools, stream_options: { include_usage: true } });
  let thoughts = "";
  stream.on("chunk", (chunk) => { thoughts += chunk.choices[0]?.delta.reasoning_content ?? ""; });
  stream.on("tool_calls.function.arguments.done", (e) => events.push([e.index, e.name, e.parsed_arguments]));
  let pieces = 0;
  stream.on("tool_calls.function.arguments.delta", () => pieces++);
  const { choices: [{ message, finish_reason }], usage } = await stream.finalChatCompletion();
  assert.equal(finish_reason, "tool_calls");
  assert.equal(message.content, "I look.");
  checkCities(message.tool_calls);
  assert.deepEqual(events, [[0, "weather", { city: "Oslo" }], [1, "weather", { city: "Rome" }]]);
  assert.ok(pieces >= 2, "each call has arguments");
  assert.equal(thoughts, "It wants the weather.");
  assert.ok(usage.completion_tokens_details.reasoning_tokens > 0);
});

test("openai: the helper for streams with a schema", async () => {
  const stream = client.chat.completions.stream({ model, messages: anna, response_format: zodResponseFormat(Person, "person") });
  const done = [];
  stream.on("content.done", (e) => done.push(e.parsed));
  const final = await stream.finalChatCompletion();
  assert.deepEqual(final.choices[0].message.parsed, { name: "Anna", age: 30 });
  assert.deepEqual(done, [{ name: "Anna", age: 30 }]);
});

test("openai: several choices with calls in a stream", async () => {
  const stream = client.chat.completions.stream({ model, messages: twoCities, n: 2, tools: [functionTool("weather", City)] });
  const { choices } = await stream.finalChatCompletion();
  assert.equal(choices.length, 2);
  for (const { message } of choices) checkCities(message.tool_calls);
});

test("openai: functions, the older form", async () => {
  const functions = [{ name: "weather", parameters: schemaOf(City) }];
  const { message, finish_reason } = (await client.chat.completions.create({ model, messages: twoCities, functions })).choices[0];
  assert.equal(finish_reason, "function_call");
  assert.equal(message.function_call.name, "weather");
  assert.deepEqual(JSON.parse(message.function_call.arguments), { city: "Oslo" });
  const stream = await client.chat.completions.stream({ model, messages: twoCities, functions }).finalChatCompletion();
  assert.deepEqual(JSON.parse(stream.choices[0].message.function_call.arguments), { city: "Oslo" });
  const back = [...twoCities, message, { role: "function", name: "weather", content: "rain" }];
  assert.equal((await client.chat.completions.create({ model, messages: back, functions })).choices[0].message.content, "I hear: rain");
});

// Of Vercel's ai.

const provider = createOpenAICompatible({ name: "troupe", baseURL, apiKey, supportsStructuredOutputs: true, includeUsage: true });
const answers = { model: provider(model), maxRetries: 0 };
const aiTools = (ran) => ({
  weather: tool({ description: "The weather.", inputSchema: City, execute: async (input) => { ran.push(input.city); return weatherOf(input); } }),
  place: tool({ description: "Where this is.", inputSchema: z.object({}), execute: async () => "Rome" }),
});

test("ai: generateObject and streamObject", async () => {
  const got = await generateObject({ ...answers, schema: Person, messages: anna });
  assert.deepEqual(got.object, { name: "Anna", age: 30 });
  assert.equal(got.reasoning, "A person.");
  isUnit((await generateObject({ ...answers, schema: Unit, messages: ask("Which unit?") })).object);
  const choice = await generateObject({ ...answers, output: "enum", enum: ["yes", "no"], messages: ask("Is it?") });
  assert.ok(["yes", "no"].includes(choice.object));
  const stream = streamObject({ ...answers, schema: Person, messages: anna, onError: ({ error }) => { throw error; } });
  let parts = 0;
  for await (const _ of stream.partialObjectStream) parts++;
  assert.deepEqual(await stream.object, { name: "Anna", age: 30 });
  assert.ok(parts >= 1);
  const text = await generateText({ ...answers, output: Output.object({ schema: Person }), messages: anna });
  assert.deepEqual(text.output, { name: "Anna", age: 30 });
});

test("ai: generateText with tools", async () => {
  const ran = [];
  const got = await generateText({ ...answers, messages: twoCities, tools: aiTools(ran), stopWhen: isStepCount(5) });
  assert.deepEqual(ran, ["Oslo", "Rome"]);
  assert.equal(got.text, "I hear: rain, sun");
  assert.equal(got.finishReason, "stop");
  assert.deepEqual(got.steps.map((s) => s.finishReason), ["tool-calls", "stop"]);
  assert.deepEqual(got.steps.map((s) => s.reasoningText), ["It wants the weather.", "That will do."]);
  assert.equal(got.steps[0].text, "I look.");
  assert.ok(got.steps[0].usage.outputTokenDetails.reasoningTokens > 0);
  const steps = await generateText({ ...answers, messages: here, tools: aiTools(ran), stopWhen: isStepCount(5) });
  assert.deepEqual(steps.steps.map((s) => s.toolCalls.map((c) => c.toolName)), [["place"], ["weather"], []]);
  assert.equal(steps.text, "I hear: Rome, sun");
});

test("ai: streamText with tools", async () => {
  const ran = [];
  const got = streamText({ ...answers, messages: twoCities, tools: aiTools(ran), stopWhen: isStepCount(5), onError: ({ error }) => { throw error; } });
  let thoughts = "", text = "", calls = 0, deltas = 0;
  for await (const part of got.fullStream) {
    if (part.type === "reasoning-delta") thoughts += part.text;
    if (part.type === "text-delta") text += part.text;
    if (part.type === "tool-call") calls++;
    if (part.type === "tool-input-delta") deltas++;
  }
  assert.equal(thoughts, "It wants the weather.That will do.");
  assert.equal(text, "I look.I hear: rain, sun");
  assert.equal(calls, 2);
  assert.ok(deltas >= 2, "each call has arguments");
  assert.deepEqual(ran, ["Oslo", "Rome"]);
  assert.deepEqual((await got.steps).map((s) => s.finishReason), ["tool-calls", "stop"]);
  assert.ok((await got.totalUsage).outputTokens > 0);
});

test("ai: tools that are asked for", async () => {
  const tools = { unit: tool({ inputSchema: Unit }), weather: tool({ inputSchema: City }) };
  const named = await generateText({ ...answers, messages: ask("Good day."), tools, toolChoice: { type: "tool", toolName: "unit" } });
  assert.equal(named.finishReason, "tool-calls");
  assert.equal(named.toolCalls.length, 1);
  isUnit(named.toolCalls[0].input);
  const required = await generateText({ ...answers, messages: justCall, tools, toolChoice: "required" });
  assert.deepEqual(required.toolCalls.map((c) => c.input.city), ["Oslo", "Rome"]);
  const none = await generateText({ ...answers, messages: justCall, tools, toolChoice: "none" });
  assert.deepEqual(none.toolCalls, []);
});

// Of LangChain.

const langchain = new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 0 });

for (const method of ["jsonSchema", "functionCalling"]) {
  test(`langchain: withStructuredOutput, ${method}`, async () => {
    const got = await langchain.withStructuredOutput(Person, { name: "person", method }).invoke("Anna is 30 years old.");
    assert.deepEqual(got, { name: "Anna", age: 30 });
    const strict = await langchain.withStructuredOutput(Unit, { name: "unit", method, strict: true, includeRaw: true }).invoke("Which unit?");
    isUnit(strict.parsed);
  });
}

const weatherTool = langchainTool(async (input) => weatherOf(input), { name: "weather", description: "The weather.", schema: City });
const unitTool = langchainTool(async () => "", { name: "unit", description: "A unit.", schema: Unit });

test("langchain: parallel calls and their results", async () => {
  const bound = langchain.bindTools([weatherTool, unitTool]);
  const messages = [new HumanMessage(twoCities[0].content)];
  const calls = await bound.invoke(messages);
  assert.equal(calls.content, "I look.");
  assert.deepEqual(calls.tool_calls.map((c) => [c.name, c.args.city]), [["weather", "Oslo"], ["weather", "Rome"]]);
  assert.deepEqual(calls.invalid_tool_calls, []);
  assert.equal(calls.response_metadata.finish_reason, "tool_calls");
  messages.push(calls);
  for (const call of calls.tool_calls) {
    const result = await weatherTool.invoke(call);
    assert.ok(result instanceof ToolMessage);
    messages.push(result);
  }
  const answer = await bound.invoke(messages);
  assert.ok(answer instanceof AIMessage);
  assert.equal(answer.content, "I hear: rain, sun");
});

test("langchain: tool_choice", async () => {
  const tools = [weatherTool, unitTool];
  for (const tool_choice of ["unit", { type: "function", function: { name: "unit" } }]) {
    const named = await langchain.bindTools(tools, { tool_choice, strict: true }).invoke("Good day.");
    assert.equal(named.tool_calls.length, 1);
    isUnit(named.tool_calls[0].args);
  }
  for (const tool_choice of ["any", "required"]) {
    const some = await langchain.bindTools(tools, { tool_choice, parallel_tool_calls: false }).invoke(justCall[0].content);
    assert.deepEqual(some.tool_calls.map((c) => c.args), [{ city: "Oslo" }]);
  }
  const none = await langchain.bindTools(tools, { tool_choice: "none" }).invoke(twoCities[0].content);
  assert.deepEqual(none.tool_calls, []);
});

test("langchain: tool_call_chunks in a stream", async () => {
  let all, chunks = 0;
  for await (const chunk of await langchain.bindTools([weatherTool]).stream(twoCities[0].content)) {
    chunks += chunk.tool_call_chunks.length;
    all = all ? all.concat(chunk) : chunk;
  }
  assert.ok(chunks >= 2, "each call has a chunk");
  assert.equal(all.content, "I look.");
  assert.deepEqual(all.tool_calls.map((c) => [c.name, c.args.city]), [["weather", "Oslo"], ["weather", "Rome"]]);
  assert.equal(all.response_metadata.finish_reason, "tool_calls");
  assert.ok(all.usage_metadata.output_token_details.reasoning > 0);
});
