// Rates and latencies from the counters and histograms of frames.
const near = 2000; // ms over which a rate is averaged
const far = 30_000; // ms whose latencies are in a quantile

// rate is how fast a counter has grown, per second, up to the sample at index end; null:
// not known. A counter that shrinks is one of a new process.
function rate(history, name, end) {
  const last = history[end];
  let first = end;
  while (first > 0 && last.at - history[first].at < near) first--;
  const time = last.at - history[first].at, grown = last.metrics[name] - history[first].metrics[name];
  return time > 0 && grown >= 0 ? (grown * 1000) / time : null;
}

// quantiles estimates quantiles of the samples in the last seconds, as Prometheus does:
// linear within a bucket. null: there are no samples.
export function quantiles(history, name, wanted) {
  const last = history.at(-1), h = last?.histograms[name];
  if (!h) return null;
  const old = history.find((s) => last.at - s.at <= far)?.histograms[name];
  const fresh = old && old.count <= h.count && history.length > 1 && old !== h;
  const total = h.count - (fresh ? old.count : 0);
  if (total === 0) return null;
  const upTo = h.counts.map((n, i) => n - (fresh ? old.counts[i] : 0));
  return wanted.map((q) => {
    const rank = q * total, i = upTo.findIndex((n) => n >= rank && n > 0);
    if (i < 0) return h.bounds.at(-1);
    const low = i > 0 ? h.bounds[i - 1] : 0, before = i > 0 ? upTo[i - 1] : 0;
    return low + ((h.bounds[i] - low) * (rank - before)) / (upTo[i] - before);
  });
}

const lineOf = { generated: [], prompts: [] };
let newest = 0; // time of the newest sample in the lines

// rates are what the tiles and the plot show.
export function rates(history) {
  const end = history.length - 1;
  if (end <= 0) {
    lineOf.generated = [];
    lineOf.prompts = [];
    newest = 0;
  }
  const now = (name) => (end < 0 ? null : rate(history, name, end));
  for (let i = Math.max(1, history.findIndex((s) => s.at > newest)); i <= end && history[i].at > newest; i++) {
    lineOf.generated.push(rate(history, "generation_tokens_total", i) ?? 0);
    lineOf.prompts.push(rate(history, "prompt_tokens_total", i) ?? 0);
    newest = history[i].at;
  }
  for (const line of Object.values(lineOf)) line.splice(0, Math.max(0, line.length - history.length));
  return {
    generated: now("generation_tokens_total"), prompts: now("prompt_tokens_total"), steps: now("num_steps_total"),
    ttft: quantiles(history, "time_to_first_token_seconds", [0.5, 0.99]), itl: quantiles(history, "inter_token_latency_seconds", [0.5, 0.99]),
    generatedLine: lineOf.generated, promptsLine: lineOf.prompts,
  };
}
