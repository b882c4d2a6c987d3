package configs

import (
	"reflect"
	"time"

	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
)

// mark is a property of a setting.
type mark uint8

const (
	serve  mark = 1 << iota // only servers use it; other commands have no flag for it
	secret                  // an API key. An empty one is an error, and it is never shown
	live                    // it can change while the server runs
)

type setting struct {
	key   string // in files and flags; TROUPE_ and upper case in the environment
	to    any    // pointer to the field that holds the value
	marks mark
	check check  // of the value; nil: any value is valid
	usage string // what users read: unit, meaning of zero, example
	alias string // a second name, or ""
	topic string // of this setting and of those after it; "": that of the one before
}

func (s *setting) names() []string {
	if s.alias == "" {
		return []string{s.key}
	}
	return []string{s.key, s.alias}
}

// Topics are the groups of the settings, in order.
func Topics() (names []string) {
	for _, s := range Default().settings() {
		if s.topic != "" {
			names = append(names, s.topic)
		}
	}
	return names
}

func (s *setting) is(m mark) bool { return s.marks&m != 0 }

func (s *setting) value() any { return reflect.ValueOf(s.to).Elem().Interface() }

// settings is the table, with pointers into c.
func (c *Config) settings() []setting {
	return append([]setting{
		// What is served, and on what.
		{topic: "Model and device", key: "model", alias: "model-path", to: &c.Model, usage: "directory in Hugging Face format, GGUF file, or name of a model on Hugging Face's hub as ORG/REPO[:QUANT][@REVISION], which is downloaded once. Default: the embedded model. Example: Qwen/Qwen2.5-0.5B-Instruct"},
		{key: "model-aliases", to: &c.ModelAliases, check: each(isAlias, "NAME=MODEL, for example small=Qwen/Qwen2.5-0.5B-Instruct"),
			usage: "aliases that can be used in place of a model. Example: small=Qwen/Qwen2.5-0.5B-Instruct"},
		{key: "served-model-name", to: &c.ServedModelName, usage: "model name in the API. Default: the alias, the name on the hub, or the name of the directory or file"},
		{key: "load-format", to: &c.Open.LoadFormat, check: oneOf("auto", "dummy"),
			usage: "auto reads the weights; dummy makes random weights from config.json alone"},
		{key: "chat-template", to: &c.ChatTemplate, usage: "file with a Jinja chat template that replaces the model's own"},
		{key: "tool-call-parser", to: &c.ToolParser,
			usage: "how the model writes tool calls, by the name of a parser in SGLang or vLLM. Default: found in the chat template; /server_info shows it. Example: hermes"},
		{key: "reasoning-parser", to: &c.ReasoningParser,
			usage: "how the model marks its thoughts, by the name of a parser in SGLang or vLLM; none: it has no thoughts. Default: found in the chat template; /server_info shows it. Example: qwen3"},
		{key: "special-tokens-in-messages", to: &c.HTTP.SpecialTokens, check: oneOf("text", "parse"),
			usage: "how special tokens such as <|im_end|> in the text of chat messages are read: text (as ordinary text, so that a message cannot fake the end of its turn) or parse (as special tokens). Prompts of /v1/completions are always parsed"},
		{key: "sampling-defaults", to: &c.SamplingFrom, check: oneOf("model", "openai"),
			usage: "defaults of sampling parameters: model (from generation_config.json) or openai (temperature 1, top_p 1)"},
		{key: "unknown-fields", to: &c.HTTP.UnknownFields, marks: serve | live, check: oneOf("warn", "refuse"),
			usage: "what happens to a field of a request that the server does not know: warn (it has no effect; the response header X-Troupe-Ignored-Fields names it) or refuse (the request gets status 400)"},
		{key: "device", to: &c.Device, check: deviceName,
			usage: "compute device: auto (a usable NVIDIA GPU, otherwise the CPU), cpu, cuda, or cuda:N for the GPU with number N. GPUs need the binary troupe-cuda. Example: cuda:1"},
		{key: "cuda-library", to: &c.CUDALibrary, usage: "file of NVIDIA's CUDA driver; default: libcuda.so.1, where the system and containers have it. Example: /opt/nvidia/lib/libcuda.so.1"},
		{key: "disable-cuda-graph", to: &c.NoGraphs,
			usage: "launch the kernels of a GPU one by one instead of as CUDA graphs, which costs the host more and saves some of the GPU's memory. Results do not change"},
		{key: "threads", to: &c.CPU.Threads, check: within(0, 1024), usage: "worker threads of the CPU device; 0: one per core. Example: 8"},
		{key: "instruction-set", to: &c.CPU.InstructionSet, check: oneOf("auto", "amx", "avx512", "avx2", "portable"),
			usage: "instruction set of the CPU device: auto (the best that the processor has), amx, avx512, avx2 or portable (plain Go). Results differ by rounding, except between amx and avx512. Example: avx2"},
		{key: "activation-dtype", to: &c.CPU.Activations, check: oneOf("auto", "f32", "int8"),
			usage: "type of the activations in matrix products with quantised weights (q8_0, q4_0 and the like): auto, int8 (rounds 32 columns at a time to int8 with one scale, as llama.cpp does) or f32 (no rounding; several times slower on prompts). auto is int8. Activations for other weights are always f32"},
		{key: "weight-dtype", to: &c.CPU.WeightDType, check: oneOf("auto", "f32", "bf16", "f16", "q8_0", "q4_0"),
			usage: "type to which the CPU device converts the weight matrices while loading: auto (as stored), f32, bf16, f16, q8_0 or q4_0. Norms and biases stay f32, the output matrix stays at q8_0 or better, and matrices whose row length is not a multiple of 32 keep their type. Example: q8_0 halves the memory of bf16 and doubles the decode speed"},

		// The HTTP server, and the limits of open and waiting requests.
		{topic: "HTTP server and limits", key: "host", to: &c.HTTP.Host, marks: serve, usage: "address to listen on; 0.0.0.0: every interface"},
		{key: "port", to: &c.HTTP.Port, marks: serve, check: within(0, 65535), usage: "port to listen on; 0: any free port"},
		{key: "admin-address", to: &c.AdminAddress, marks: serve,
			usage: "address of the profiler (pprof), separate from the API. Default: off. Example: 127.0.0.1:6060"},
		{key: "api-key", to: &c.HTTP.APIKeys, marks: serve | secret | live,
			usage: "key that clients send as a bearer token. Several keys: a list, or separated by commas. Without a key every client has access. An empty key is an error"},
		{key: "admin-api-key", to: &c.HTTP.AdminAPIKey, marks: serve | secret | live, check: headerValue,
			usage: "admin key: allows every request and is required for operations that affect all clients (flush_cache, debug/cache, debug/audit, v1/kv_events, abort_all). Without it they require the api-key if there is exactly one; with several api-keys they are disabled; without any key every client may use them"},
		{key: "api-keys-file", to: &c.KeysFile, marks: serve | live,
			usage: "YAML file with named API keys and their rights (use or admin), in addition to api-key and admin-api-key. A change of the file takes effect without a restart. troupe keys new makes an entry"},
		{key: "share-prefix-cache", to: &c.HTTP.SharePrefixCache, marks: serve,
			usage: "let clients with different keys use each other's cached prefixes. Security: they can then find out from cached_tokens and response times what others have sent. No effect with one key or none"},
		{key: "tls-cert", to: &c.HTTP.TLSCert, marks: serve, usage: "PEM file with the certificate chain; requires tls-key"},
		{key: "tls-key", to: &c.HTTP.TLSKey, marks: serve, usage: "PEM file with the private key; requires tls-cert"},
		{key: "allowed-hosts", to: &c.HTTP.AllowedHosts, marks: serve | live, check: each(isHost, "*, or a host name or address without scheme, port and path, for example chat.example or 10.0.0.7"),
			usage: "host names (without port) accepted in the Host header besides localhost and loopback addresses; * allows any. Default: no other names if the server listens on a loopback address, otherwise any name. Example: chat.example"},
		{key: "cors-origins", to: &c.HTTP.CORSOrigins, marks: serve | live, check: each(isOrigin, "*, or an origin as browsers send it, for example https://chat.example or http://localhost:3000"),
			usage: "allowed CORS origins; * allows any. Requests from web pages of other origins are refused, except for status endpoints such as /health, /metrics and /v1/models. Example: https://chat.example"},
		{key: "max-body-bytes", to: &c.HTTP.MaxBodyBytes, marks: serve | live, check: within[int64](1, 1<<40),
			usage: "largest request body in bytes (hard limit); all bodies together may take four times as much"},
		{key: "header-timeout", to: &c.HTTP.HeaderTimeout, marks: serve, check: within(time.Nanosecond, longest),
			usage: "timeout for reading request headers (hard limit)"},
		{key: "write-stall-timeout", to: &c.HTTP.WriteStall, marks: serve | live, check: within(time.Nanosecond, longest),
			usage: "a request is aborted if one write to its client takes longer (hard limit)"},
		{key: "health-timeout", to: &c.HTTP.HealthTimeout, marks: serve | live, check: within(time.Nanosecond, longest),
			usage: "how long /health_generate waits for a token"},
		{key: "drain-timeout", to: &c.DrainTimeout, marks: serve | live, check: within(0, longest),
			usage: "how long open requests may take to finish after SIGINT or SIGTERM; then they are aborted"},
		{key: "max-open-requests", to: &c.Requests.MaxOpenRequests, marks: live, check: within(1, 1<<24),
			usage: "maximum number of open requests, running and waiting; more get 429 (hard limit)"},
		{key: "max-queued-tokens", to: &c.Requests.MaxQueuedTokens, marks: live, check: within(1, 1<<40),
			usage: "maximum prompt tokens of all requests that have not produced a token yet; more get 429, except that one call of any size may wait alone"},
		{key: "max-queued-requests", to: &c.Requests.MaxQueuedRequests, marks: live, check: within(0, 1<<24),
			usage: "maximum number of requests waiting for admission; more get 429 or replace waiting requests of lower priority, and a single call with more gets 400 (hard limit). 0: max-open-requests. Example: 256"},
		{key: "queue-timeout", to: &c.Requests.QueueTimeout, marks: live, check: within(0, longest),
			usage: "a request that is not admitted within this time gets 503; if its estimated wait is above half of this time, it gets 429 at once. 0: never. Example: 0 for batch jobs that send thousands of requests at once"},
		{key: "request-timeout", to: &c.Requests.RequestTimeout, marks: live, check: within(0, longest),
			usage: "a request that has not finished within this time gets 503. 0: never. Example: 10m"},
		{key: "tenant-from", to: &c.HTTP.TenantFrom, marks: serve, check: oneOf("auto", "api-key", "user"),
			usage: "how the tenant of a request is determined for schedule-policy fair: api-key, user (the request's user field) or auto (api-key if keys are required, otherwise user)"},
		{key: "record-trace", to: &c.RecordTrace, marks: serve,
			usage: "record a trace to this file: arrival times, lengths and anonymised page hashes, no text. For troupe replay --format jsonl"},
		{key: "log-level", to: &c.LogLevel, marks: live, check: oneOf("debug", "info", "warn", "error"), usage: "debug, info, warn or error"},
		{key: "log-format", to: &c.LogFormat, check: oneOf("auto", "text", "json"), usage: "text, json or auto (text on a terminal, JSON otherwise)"},

		// The scheduler.
		{topic: "Scheduler", key: "data-parallel-size", alias: "dp-size", to: &c.DataParallel, marks: serve, check: within(1, 64),
			usage: "number of engines behind one server. Each has its own KV pool, prefix cache and share of the threads; weights are shared. If one fails, its requests continue on the others. Example: 2 on a machine with two sockets"},
		{key: "load-balance-method", to: &c.LoadBalance, marks: serve, check: oneOf(route.Policies()...),
			usage: "with data-parallel-size above 1, which engine serves a request: cache-aware (the engine with the shortest expected time to first token, by cached prefix and load), least-loaded, round-robin or random"},
		{key: "schedule-policy", to: &c.Queue.SchedulePolicy, check: oneOf(queue.Policies()...),
			usage: "order in which waiting requests are admitted: fcfs (by arrival), lpm (longest cached prefix first), dfs-weight (requests with the same cached prefix together), lof (longest output first), random, priority (by the request's priority field) or fair (the least served tenant first)"},
		{key: "schedule-aging", to: &c.ScheduleAging, check: within(0, longest),
			usage: "a request that has waited this long goes before all younger ones, whatever the policy; with schedule-policy fair, a tenant that has waited this long is next. 0: never"},
		{key: "schedule-low-priority-values-first", to: &c.LowPriorityFirst,
			usage: "lower numbers mean higher priority, for schedule-policy priority and for radix-eviction-policy priority"},
		{key: "enable-priority-preemption", to: &c.Batch.PriorityPreemption,
			usage: "with schedule-policy priority, a waiting request preempts running requests of lower priority; they continue later, ahead of new requests of their priority"},
		{key: "priority-scheduling-preemption-threshold", to: &c.Batch.PreemptionThreshold, check: within(0, 1<<31),
			usage: "a request preempts another only if its priority is higher by more than this. Example: 0 for any difference"},
		{key: "schedule-seed", to: &c.ScheduleSeed, check: within(0, 1<<31-1), usage: "seed of schedule-policy random. Example: 7"},
		{key: "fair-input-weight", to: &c.Queue.FairInputWeight, check: within(0.001, 1000), usage: "cost of an input token with schedule-policy fair; above 0"},
		{key: "fair-output-weight", to: &c.Queue.FairOutputWeight, check: within(0.001, 1000), usage: "cost of an output token with schedule-policy fair; above 0"},
		{key: "max-running-requests", to: &c.Pool.MaxRunning, check: within(0, 1<<20),
			usage: "maximum number of requests that run at the same time; 0: the device's default (CPU: 64)"},
		{key: "max-prefill-tokens", to: &c.Batch.MaxPrefillTokens, check: within(1, 1<<30),
			usage: "maximum tokens of a step. With chunked prefill, the smaller of this and chunked-prefill-size is the limit; if both are set, chunked-prefill-size cannot be the larger one. Each decoding request counts as one token. Soft limit: a step always computes at least one page of a prompt, and without chunked prefill the whole oldest prompt"},
		{key: "chunked-prefill-size", alias: "prefill-chunk-size", to: &c.Batch.ChunkedPrefillSize, check: within(-1, 1<<30),
			usage: "maximum tokens of a step that computes prompts; each decoding request counts as one. Longer prompts are split into chunks, short ones share a step. At most max-prefill-tokens. 0: the device's default (CPU: 512, or one page if that is more; GPU: 2048, from 35 GiB on 4096, from 60 GiB on 8192); -1: no chunked prefill"},
		{key: "inter-token-latency-target", to: &c.Batch.InterTokenLatencyTarget, check: within(0, longest),
			usage: "target for the 99th percentile of the time between two tokens. Prompts are split into chunks small enough to meet it. 0: no target. Requires chunked prefill; the log reports a target that cannot be met. Example: 50ms"},
		{key: "disable-overlap-schedule", to: &c.DisableOverlap,
			usage: "plan a step only after the previous one is done. If false, the next step is planned while the current one runs: this hides scheduling time, but computes one wasted token per finished sequence and delays new requests by up to one step. Leave this true on the CPU device: its steps take much longer than their scheduling, so almost no time would be hidden. On a GPU the default is false"},
		{key: "schedule-conservativeness", to: &c.Batch.Conservativeness, check: within(0.01, 100),
			usage: "factor for the output length that admission expects; above 1, fewer requests are admitted and fewer retracted"},
		{key: "watchdog-timeout", to: &c.WatchdogTimeout, check: within(0, longest),
			usage: "if a step takes longer, it is considered hung: the engine restarts and resubmits all requests, and the process ends with an error if the device is still busy a minute later. 0: never. Must be longer than the longest step. Example: 10m"},
		{key: "debug-retract-every", to: &c.Batch.RetractEvery, check: within(0, 1<<30),
			usage: "every N steps, make a running request give up its KV pages and be computed again later, to test retraction; 0: never"},
		{key: "debug-audit-every-step", to: &c.Batch.AuditEveryStep, usage: "check after every step that each KV page has exactly one owner"},
		{key: "debug-step-time", to: &c.StepTime, marks: serve, check: within(0, time.Hour), usage: "every step takes at least this long, to test what happens during one; 0: no wait. Example: 20ms"},
		{key: "debug-kill-token", to: &c.KillToken, marks: serve, check: within(0, 1<<31-1),
			usage: "an engine's process ends at a request whose prompt contains this token id, to test that one request does not end all others; 0: none. Needs debug-chaos"},
		{key: "debug-chaos", to: &c.Chaos, marks: serve, usage: "allow the action crash of troupe cluster, which makes an actor panic at its next message. For tests"},

		// The KV pool and the prefix cache.
		{topic: "KV pool and prefix cache", key: "mem-fraction-static", to: &c.Pool.MemFraction, check: within(0.0, 1),
			usage: "share of the available memory for weights, workspace and KV pool, above 0 and up to 1; 0: the device's default (CPU: 0.5)"},
		{key: "max-total-tokens", to: &c.Pool.MaxTotalTokens, check: within(0, 1<<40),
			usage: "upper limit on the tokens of the KV pool; 0: what memory allows. Example: 65536"},
		{key: "page-size", to: &c.PageSize, check: pageSize, usage: "tokens per page of the KV pool: a power of two from 1 to 4096. On a GPU the default is 64"},
		{key: "kv-cache-dtype", to: &c.KVCacheDType, check: oneOf("auto", "f32", "bf16", "f16", "int8"),
			usage: "type of K and V in the cache: auto (f32 for f32 weights, else bf16), f32, bf16, f16, or int8 with a scale per token and head (about half the memory of bf16, less exact)"},
		{key: "kv-layout", to: &c.KVLayout, check: oneOf("contiguous", "paged"),
			usage: "memory layout of K and V, without effect on results: contiguous (by layer and head; fastest to read) or paged (by page; fastest to copy)"},
		{key: "context-length", to: &c.Open.ContextLength, check: contextLength,
			usage: "maximum tokens per request (prompt plus output). 0: the model's limit; larger values are rejected"},
		{key: "contiguous-kv", to: &c.Alloc.Contiguous,
			usage: "allocate consecutive KV pages to a request if a long enough free range exists (not related to kv-layout)"},
		{key: "disable-radix-cache", to: &c.DisableRadixCache, usage: "disable the prefix cache"},
		{key: "radix-eviction-policy", to: &c.EvictionPolicy, check: oneOf(policies.Names()...),
			usage: "which entry the prefix cache evicts first: lru (least recently used), lfu (least frequently used), slru (entries used once before entries used more often), fifo (oldest), filo (newest), mru (most recently used), priority (lowest request priority) or gittins (learns which conversations continue; 240 bytes more per page)"},
		{key: "kv-events", to: &c.Cache.Events, marks: serve, usage: "publish changes of the prefix cache at /v1/kv_events; costs a SHA-256 per computed page"},
		{key: "kv-events-buffer", to: &c.Events.Keep, marks: serve, check: within(1, 1<<30),
			usage: "number of past page hashes kept so that reconnecting readers can resume (8 bytes each; soft limit). Example: 65536"},
	}, c.clusterSettings()...)
}
