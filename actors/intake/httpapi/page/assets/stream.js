// Requests to the server. Addresses are relative, so a proxy may add a path.
import { key } from "./store.js";

export class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const headers = () => (key.get() ? { Authorization: `Bearer ${key.get()}` } : {});

async function failure(response) {
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
  const response = await fetch("v1/models", { headers: headers() });
  if (!response.ok) throw await failure(response);
  return (await response.json()).data;
}

// chat yields {content, reasoning, finish, usage}, each as far as it is there.
export async function* chat(body, signal) {
  const response = await fetch("v1/chat/completions", {
    method: "POST", signal, headers: { "Content-Type": "application/json", ...headers() },
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
  throw new ServerError(0, "The answer ended early. Regenerate it.");
}

// frames yields what the board shows, several times a second.
export async function* frames(signal) {
  const response = await fetch("v1/board", { signal, headers: headers() });
  if (!response.ok) throw await failure(response);
  for await (const data of events(response.body)) yield JSON.parse(data);
}

// events splits a stream into the data of its events.
export async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [], data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
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
