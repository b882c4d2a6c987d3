// Requests to the server. Addresses are relative, so a proxy may add a path.
import { key } from "./store.js";

export class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function headers() {
  const k = key.get();
  if (/[^!-~]/.test(k)) throw new ServerError(401, "The API key has a character that keys do not have.");
  return k ? { Authorization: `Bearer ${k}` } : {};
}

// ask is fetch whose errors are for people: browsers say "Failed to fetch", "Load failed" and
// the like. Status 0 means that there was no answer.
async function ask(path, options) {
  const all = { ...options, headers: { ...options?.headers, ...headers() } };
  try {
    return await fetch(path, all);
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new ServerError(0, "The server cannot be reached. Check that it is running, then try again.");
  }
}

async function failure(response) {
  if (response.status === 401) return new ServerError(401, key.get() ? "The server does not accept this API key." : "The server needs an API key.");
  let message = `The server answered with status ${response.status}.`;
  try {
    const body = await response.json();
    message = body.error?.message ?? (body.doing ? `The server is starting: ${body.doing}.` : message);
  } catch {
    // not JSON, as from a proxy
  }
  return new ServerError(response.status, message);
}

export async function models() {
  const response = await ask("v1/models");
  if (!response.ok) throw await failure(response);
  return (await response.json()).data;
}

// chat yields {content, reasoning, finish, usage}, each as far as it is there.
export async function* chat(body, signal) {
  const response = await ask("v1/chat/completions", {
    method: "POST", signal, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
  });
  if (!response.ok) throw await failure(response);
  for await (const data of events(response.body)) {
    if (data === "[DONE]") return;
    const event = JSON.parse(data);
    if (event.error) throw new ServerError(500, event.error.message);
    const choice = event.choices?.[0];
    yield { content: choice?.delta?.content ?? "", reasoning: choice?.delta?.reasoning_content ?? choice?.delta?.reasoning ?? "", finish: choice?.finish_reason, usage: event.usage };
  }
  throw new ServerError(0, "The answer ended early. Try again.");
}

// frames yields what the board shows, several times a second.
export async function* frames(signal) {
  const response = await ask("v1/board", { signal });
  if (!response.ok) throw await failure(response);
  for await (const data of events(response.body)) yield JSON.parse(data);
}

// events splits a stream into the data of its events.
export async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [], data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read().catch((e) => {
        throw e.name === "AbortError" ? e : new ServerError(0, "The connection to the server was lost. Check that it is running, then try again.");
      });
      if (done) return;
      let from = 0;
      for (let at; (at = value.indexOf("\n", from)) >= 0; from = at + 1) {
        parts.push(value.slice(from, at));
        const line = parts.join("").replace(/\r$/, "");
        parts = [];
        if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        }
      }
      parts.push(value.slice(from)); // joined once the line is complete
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
