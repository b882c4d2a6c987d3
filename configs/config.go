// Package configs is the tree of settings: defaults, YAML file, TROUPE_…
// environment, flags, in this order, each overriding the one before. It
// composes the Options of what it configures and decides nothing else.
//
// Names follow SGLang's where it has one. An unknown key is an error that names
// the nearest known one, wherever it stands.
package configs

import "time"

// Config is every setting of the engine. The tag key is its name in files and
// flags; in the environment it is upper case with underscores, after TROUPE_.
// The tag alias is a second name. The tag for marks settings that only a server has a use for; other commands
// have no flag for them. The tag secret marks keys, which must not be given and empty. Units, what zero means and an example stand in the usage text, which is the
// documentation that users see.
type Config struct {
	Model           string `key:"model" alias:"model-path" default:"" usage:"model directory in Hugging Face format, or a GGUF file; empty serves the embedded model"`
	ServedModelName string `key:"served-model-name" default:"" usage:"name under which clients ask for the model; empty takes the name of the directory or file"`
	LoadFormat      string `key:"load-format" default:"auto" usage:"auto reads the weights, dummy makes random ones for any configuration"`
	ChatTemplate    string `key:"chat-template" default:"" usage:"file with a Jinja chat template, instead of the model's own"`
	SpecialTokens   string `key:"special-tokens-in-messages" default:"text" usage:"what special tokens such as <|im_end|> in the messages of a chat are: text like any other, so that nobody can forge a turn, or parse: recognised, as in the template's own text. Prompts of completions are recognised always"`
	SamplingFrom    string `key:"sampling-defaults" default:"model" usage:"where unset sampling parameters come from: model (generation_config.json) or openai (temperature 1, top_p 1)"`
	Device          string `key:"device" default:"cpu" usage:"device that computes: cpu"`
	Threads         int    `key:"threads" default:"0" usage:"worker threads of the CPU device; 0 is one per core. Example: 8"`
	InstructionSet  string `key:"instruction-set" default:"auto" usage:"instruction set of the CPU device: auto, amx, avx512, avx2 or portable (plain Go); auto is the best that the processor has. Results of two sets differ by rounding, those of amx and avx512 do not. Example: avx2"`
	ActivationDType string `key:"activation-dtype" default:"auto" usage:"what the CPU device multiplies quantised weights (q8_0, q4_0 and the like) with: int8 rounds the activations of 32 columns to int8 with one scale, as llama.cpp does; f32 rounds nothing and is several times slower on prompts; auto is int8. Other weights take f32 always"`
	WeightDType     string `key:"weight-dtype" default:"auto" usage:"type in which the CPU device keeps the matrices of the weights: f32, bf16, f16, q8_0 or q4_0, rounded while they are loaded; auto is as they are stored. Norms and biases stay f32, the matrix of the logits at least q8_0, and rows that are no multiple of 32 elements what they are. Example: q8_0 halves the memory of bf16 and doubles the speed of answers"`

	Host           string        `key:"host" for:"serve" default:"127.0.0.1" usage:"address to listen on; 0.0.0.0 for every interface"`
	Port           int           `key:"port" for:"serve" default:"30000" usage:"port to listen on; 0 picks a free one"`
	AdminAddress   string        `key:"admin-address" for:"serve" default:"" usage:"address of the profiler (pprof), apart from the API; empty switches it off. Example: 127.0.0.1:6060"`
	APIKey         []string      `key:"api-key" for:"serve" secret:"yes" default:"" usage:"key that clients send as a bearer token; repeat or separate by commas for several; without one anyone may call; given and empty is an error"`
	AdminAPIKey    string        `key:"admin-api-key" for:"serve" secret:"yes" default:"" usage:"key that opens everything, and alone what concerns every client: flush_cache, debug/cache, debug/audit, v1/kv_events, abort_all; without one that is left to the api-key if there is just one, to nobody if there are several, and to anyone if there is none"`
	SharePrefix    bool          `key:"share-prefix-cache" for:"serve" default:"false" usage:"let clients with different keys use each other's cached prefixes; they can then tell what others have sent, from cached_tokens and from response times. Without effect with one key or none"`
	TLSCert        string        `key:"tls-cert" for:"serve" default:"" usage:"PEM file with the certificate chain; needs tls-key"`
	TLSKey         string        `key:"tls-key" for:"serve" default:"" usage:"PEM file with the private key; needs tls-cert"`
	AllowedHosts   []string      `key:"allowed-hosts" for:"serve" default:"" usage:"host names, without ports, under which clients may address the server, besides localhost and loopback addresses; * is any. Without it, a server on a loopback address answers under loopback names only, and one on another address under any. Example: chat.example"`
	CORSOrigins    []string      `key:"cors-origins" for:"serve" default:"" usage:"origins whose pages may call the API; * is any. Others' requests that do more than read are refused. Example: https://chat.example"`
	MaxBodyBytes   int64         `key:"max-body-bytes" for:"serve" default:"67108864" usage:"largest body of a request in bytes, hard"`
	HeaderTimeout  time.Duration `key:"header-timeout" for:"serve" default:"10s" usage:"time to read a request's headers, hard"`
	WriteStall     time.Duration `key:"write-stall-timeout" for:"serve" default:"30s" usage:"time that one write to a client may take before its request is aborted, hard"`
	HealthTimeout  time.Duration `key:"health-timeout" for:"serve" default:"20s" usage:"time that the probe of /health_generate waits for a token"`
	DrainTimeout   time.Duration `key:"drain-timeout" for:"serve" default:"60s" usage:"time that open requests get to finish after SIGTERM"`
	MaxOpen        int           `key:"max-open-requests" default:"4096" usage:"requests that may be open at once, running and waiting; more are answered 429. Hard"`
	MaxQueuedToken int           `key:"max-queued-tokens" default:"8388608" usage:"prompt tokens of requests that have no output yet; more are answered 429. Hard"`

	MaxQueued      int           `key:"max-queued-requests" default:"0" usage:"requests that may wait for admission; more are answered 429, or oust waiting ones of a lower priority; 0 is max-open-requests. Hard. Example: 256"`
	QueueTimeout   time.Duration `key:"queue-timeout" default:"60s" usage:"time after which a call of which nothing was admitted is answered 503; a call that would wait for more than half of it, as estimated, is answered 429 at once. 0 is never: whatever max-open-requests allows is taken and waits. Example: 0 for batch jobs that post thousands of requests at once"`
	RequestTimeout time.Duration `key:"request-timeout" default:"0s" usage:"time after which a request that has not ended is answered 503; 0 is never. Example: 10m"`
	TenantFrom     string        `key:"tenant-from" for:"serve" default:"auto" usage:"whose share a request counts for under schedule-policy fair: api-key, user (the body's field), or auto: the key where keys are asked for"`

	SchedulePolicy   string        `key:"schedule-policy" default:"fcfs" usage:"order in which waiting requests are admitted: fcfs (by arrival), lpm (longest cached prefix first), dfs-weight (by the tree of cached prefixes), lof (longest output first), random, priority (the request's field) or fair (tenants by what they were served)"`
	ScheduleAging    time.Duration `key:"schedule-aging" default:"1m" usage:"time after which a waiting request goes before every younger one, whatever the policy; under fair, how long a tenant waits at most for its next turn; 0 is never"`
	LowPriorityFirst bool          `key:"schedule-low-priority-values-first" default:"false" usage:"under schedule-policy priority, lower numbers go first; under radix-eviction-policy priority, they are kept longest"`
	Preemption       bool          `key:"enable-priority-preemption" default:"false" usage:"under schedule-policy priority, a waiting request takes the place of running ones of a lower priority; they go on later, ahead of new ones of their priority"`
	PreemptionDiff   int           `key:"priority-scheduling-preemption-threshold" default:"10" usage:"by more than how much the priorities must differ for enable-priority-preemption. Example: 0 for any difference"`
	ScheduleSeed     int           `key:"schedule-seed" default:"0" usage:"decides the order of schedule-policy random. Example: 7"`
	FairInputWeight  float64       `key:"fair-input-weight" default:"1" usage:"what a token of input costs its tenant under schedule-policy fair, above 0"`
	FairOutputWeight float64       `key:"fair-output-weight" default:"2" usage:"what a token of output costs its tenant under schedule-policy fair, above 0"`

	MemFraction       float64 `key:"mem-fraction-static" default:"0" usage:"share of the available memory for weights, workspace and KV pool, in (0, 1]; 0 is the device's default (CPU: 0.5)"`
	MaxTotalTokens    int     `key:"max-total-tokens" default:"0" usage:"cap on the tokens of the KV pool; 0 is what memory allows. Example: 65536"`
	MaxRunning        int     `key:"max-running-requests" default:"0" usage:"requests that may run at once; 0 is the device's default (CPU: 64)"`
	PageSize          int     `key:"page-size" default:"16" usage:"tokens in a page of the KV pool, a power of two, 1 included"`
	KVCacheDType      string  `key:"kv-cache-dtype" default:"auto" usage:"type of stored K and V: f32, bf16, f16, or int8 with a scale for each token and head (about half the memory of bf16, less exact); auto is f32 for f32 weights and bf16 otherwise"`
	KVLayout          string  `key:"kv-layout" default:"contiguous" usage:"how K and V lie in memory, without effect on any result: contiguous (by layer and head, quickest to read) or paged (by page, quickest to copy)"`
	ContextLength     int     `key:"context-length" default:"0" usage:"tokens of a request, prompt and output; 0 is the model's own limit, more than that is refused"`
	ContiguousKV      bool    `key:"contiguous-kv" default:"false" usage:"give a request consecutive pages of the KV pool where so many are free in a row, scattered ones otherwise"`
	DisableRadixCache bool    `key:"disable-radix-cache" default:"false" usage:"keep no prefix for later requests"`
	EvictionPolicy    string  `key:"radix-eviction-policy" default:"lru" usage:"what leaves the prefix cache first: lru, lfu, slru (what one request used before what two did), fifo, filo, mru, priority (the lowest priority of requests), or gittins (learns which conversations go on; takes 240 bytes more per page of the pool)"`

	MaxPrefillTokens   int           `key:"max-prefill-tokens" default:"16384" usage:"tokens that one step computes at most, decoding rows included; binds where it is below chunked-prefill-size, and when chunks are off. Soft: a prompt gets a page per step in any case, and without chunks the oldest is computed whole"`
	ChunkedPrefillSize int           `key:"chunked-prefill-size" alias:"prefill-chunk-size" default:"0" usage:"tokens of prompts that one step computes, decoding rows included: longer ones are cut, and several share a step; at most max-prefill-tokens; 0 is the device's default (CPU: 512, or a page if that is more), -1 switches chunks off"`
	LatencyTarget      time.Duration `key:"inter-token-latency-target" default:"0s" usage:"time between two tokens of a request that 99 of 100 steps shall keep: prompts are cut so small that steps take no longer; 0 is no target. Needs chunks; the log says when it is out of reach. Example: 50ms"`
	DisableOverlap     bool          `key:"disable-overlap-schedule" default:"true" usage:"plan a step only when the one before it is done; false plans it meanwhile, which hides the planning, costs one row of a step for each text that ends by itself, and lets a new request wait for one step more. Not worth it on the CPU device"`
	Conservativeness   float64       `key:"schedule-conservativeness" default:"1" usage:"multiplies the output that admission expects: above 1 admits less and retracts less"`
	RetractEvery       int           `key:"debug-retract-every" default:"0" usage:"retract a request every so many steps, to exercise retraction; 0 is never"`
	WatchdogTimeout    time.Duration `key:"watchdog-timeout" default:"5m" usage:"time after which a step of the device is taken to hang: the engine starts afresh with all requests, and the process ends with an error if the device stays busy for another minute; 0 is never. Must exceed the longest step, so raise it where steps are slow, or lower chunked-prefill-size. Example: 10m"`
	AuditEveryStep     bool          `key:"debug-audit-every-step" default:"false" usage:"count every page of the pool by owner after each step"`

	RecordTrace    string `key:"record-trace" for:"serve" default:"" usage:"file to which arrivals, lengths and hidden page hashes of the traffic are written, without any text, for troupe replay --format jsonl; empty records nothing"`
	KVEvents       bool   `key:"kv-events" for:"serve" default:"false" usage:"publish what enters and leaves the prefix cache at /v1/kv_events; costs a SHA-256 per page that is computed"`
	KVEventsBuffer int    `key:"kv-events-buffer" for:"serve" default:"262144" usage:"page hashes of past KV events that are kept for readers who come back, 8 bytes each. Soft. Example: 65536"`

	LogLevel  string `key:"log-level" default:"info" usage:"debug, info, warn or error"`
	LogFormat string `key:"log-format" default:"auto" usage:"text, json, or auto: text on a terminal and JSON otherwise"`

	sources map[string]string // where each setting came from, by key; nil when it was not loaded
}

// cpuChunk is the CPU device's chunked-prefill-size in tokens. Its products run
// at full speed from some 200 tokens on, and a step of 512 takes half a second
// of a small model on two cores. Eight users of random prompts of 512 tokens had
// the same throughput with 256, 512 and 2048, a first token a third sooner than
// with 2048, and no token that took longer than 0.6 s instead of 2.3 s.
const cpuChunk = 512

// Chunk is how many tokens of prompts a step computes, decoding rows included;
// -1 is no limit.
func (c *Config) Chunk() int {
	if c.ChunkedPrefillSize == 0 {
		return max(cpuChunk, c.PageSize)
	}
	return c.ChunkedPrefillSize
}
