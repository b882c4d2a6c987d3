// Package configs has all settings: it composes the Options of the packages that
// they configure. viper carries the layers; later ones override earlier ones:
//
//	defaults < file (YAML, TOML or JSON) < environment (TROUPE_…) < flags
//
// Names are SGLang's if it has one. Before viper reads them, unknown names in the
// file and in the environment are refused with a suggestion of the nearest known
// name.
//
// A setting is one row of the table in settings.go. Some settings can change while
// a server runs; Changes separates them from those that need a restart.
package configs

import (
	"cmp"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
)

// Config holds every setting. A setting of one package is a field of that
// package's Options, which say its unit and what zero means; a setting that
// several packages need, or that the wiring itself uses, is a field of its own.
// Options have fields that are no settings; the wiring fills them in.
type Config struct {
	// What is served.
	Model           string // "": the embedded model
	ServedModelName string // "": the name of the directory or file
	ChatTemplate    string // "": the model's own
	SamplingFrom    string // model or openai
	Open            model.OpenOptions

	Device string
	CPU    cpu.Options

	HTTP         httpapi.Options
	AdminAddress string // "": no profiler
	DrainTimeout time.Duration

	Requests request.TableOptions // the limits of open and waiting requests

	Queue            queue.Options
	Batch            former.Options // Chunk resolves its ChunkedPrefillSize
	ScheduleSeed     int
	ScheduleAging    time.Duration
	LowPriorityFirst bool
	DisableOverlap   bool // one step in flight instead of two
	DataParallel     int  // engines behind one intake
	LoadBalance      string

	Pool              pool.Options
	Cache             radix.Options
	Alloc             pages.Options
	EvictionPolicy    string
	PageSize          int // tokens
	KVCacheDType      string
	KVLayout          string
	DisableRadixCache bool

	WatchdogTimeout time.Duration // 0: never
	RecordTrace     string        // "": no recording
	Events          observer.Options

	LogLevel  string
	LogFormat string

	// Of settings that were loaded; nil otherwise.
	sources map[string]string // where each setting came from, by key
	file    *file
}

// Values lists every setting with its source.
func (c *Config) Values() (values []Value) {
	for _, s := range c.settings() {
		values = append(values, Value{s.key, s.value(), cmp.Or(c.sources[s.key], fromDefault), s.is(live), s.is(secret)})
	}
	return values
}

// Default returns the settings of a server without file, environment and flags.
// Where a package's own default is also the server's, it is taken from there.
func Default() *Config {
	return &Config{
		SamplingFrom: "model",
		Open:         model.OpenOptions{LoadFormat: model.LoadAuto},
		Device:       "cpu",
		CPU:          cpu.Options{InstructionSet: "auto", Activations: "auto", WeightDType: "auto"},
		HTTP: httpapi.Options{
			Host: "127.0.0.1", Port: 30000, TenantFrom: httpapi.TenantAuto, SpecialTokens: httpapi.SpecialTokensText,
			MaxBodyBytes: httpapi.DefaultMaxBodyBytes, HeaderTimeout: httpapi.DefaultHeaderTimeout,
			WriteStall: httpapi.DefaultWriteStall, HealthTimeout: httpapi.DefaultHealthTimeout,
		},
		DrainTimeout:  time.Minute,
		Requests:      request.TableOptions{MaxOpenRequests: 4096, MaxQueuedTokens: 8 << 20, QueueTimeout: time.Minute},
		Queue:         queue.Options{SchedulePolicy: "fcfs", FairInputWeight: queue.DefaultInputWeight, FairOutputWeight: queue.DefaultOutputWeight},
		Batch:         former.Options{MaxPrefillTokens: former.DefaultMaxPrefillTokens, PreemptionThreshold: 10, Conservativeness: 1},
		ScheduleAging: time.Minute,
		// Measured on the CPU device: planning is a small part of a step there.
		DisableOverlap:  true,
		EvictionPolicy:  "lru",
		PageSize:        16,
		KVCacheDType:    "auto",
		KVLayout:        "contiguous",
		WatchdogTimeout: 5 * time.Minute,
		DataParallel:    1,
		LoadBalance:     route.CacheAware,
		Events:          observer.Options{Keep: observer.DefaultKeep},
		LogLevel:        "info",
		LogFormat:       "auto",
	}
}

// cpuChunk is the CPU device's chunked-prefill-size in tokens. Its products run
// at full speed from some 200 tokens on, and a step of 512 takes half a second
// of a small model on two cores. Eight users of random prompts of 512 tokens had
// the same throughput with 256, 512 and 2048, a first token a third sooner than
// with 2048, and no token that took longer than 0.6 s instead of 2.3 s.
const cpuChunk = 512

// Chunk is the most prompt tokens of a step, decoding rows included; -1 is no
// limit.
func (c *Config) Chunk() int {
	if c.Batch.ChunkedPrefillSize == 0 {
		return max(cpuChunk, c.PageSize)
	}
	return c.Batch.ChunkedPrefillSize
}
