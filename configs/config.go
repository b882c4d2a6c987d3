// Package configs has all settings: the Options of the packages that they configure,
// together. viper holds the layers; later ones override earlier ones:
//
//	defaults < file (YAML, TOML or JSON) < environment (TROUPE_…) < flags
//
// Names are SGLang's if it has one. Unknown names in the file and in the environment
// are errors that suggest the nearest known name.
//
// A setting is one row of the table in settings.go. Some settings can change while a
// server runs; Changes refuses changes of the others.
package configs

import (
	"cmp"
	"errors"
	"fmt"
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

// Config holds every setting. A setting of one package is a field of that package's
// Options, with its unit and the meaning of zero; one of several packages or of the
// wiring is a field of Config. Fields of Options that are not settings are set by the
// wiring.
type Config struct {
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

	// Both are nil if the settings were not loaded.
	sources map[string]string // of each value, by key
	file    *file
}

func (c *Config) Values() (values []Value) {
	for _, s := range c.settings() {
		values = append(values, Value{s.key, s.value(), cmp.Or(c.sources[s.key], fromDefault), s.is(live), s.is(secret)})
	}
	return values
}

// Changes returns the keys of the settings that differ in next. An error names those
// that cannot change while a server runs; then none may be applied.
func (c *Config) Changes(next *Config) (keys []string, err error) {
	var errs []error
	if next.file.empty() && !c.file.empty() { // an editor may have only begun to write it
		errs = append(errs, fmt.Errorf("config file %s is now empty; write the settings again, or restart the server to run without them", next.file.name))
	}
	now, then := c.settings(), next.settings()
	for i, s := range then {
		before, after := now[i].value(), s.value()
		if equal(before, after) {
			continue
		}
		keys = append(keys, s.key)
		switch {
		case !s.is(live):
			errs = append(errs, fmt.Errorf("%s (%s) changes from %s to %s, which requires a restart", s.key, next.sources[s.key], shown(before), shown(after)))
		case s.is(secret) && shown(after) == `""`:
			errs = append(errs, fmt.Errorf("%s was removed; without it more clients would have access, so removing it requires a restart", s.key))
		}
	}
	return keys, errors.Join(errs...)
}

// Default returns the settings without file, environment and flags. Defaults of
// packages are used where they are right for a server.
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

// cpuChunk is the CPU device's default chunked-prefill-size in tokens. Matrix products
// reach full speed at about 200 tokens, and a step of 512 takes half a second with a
// small model on two cores. With eight users and random prompts of 512 tokens, chunks
// of 256, 512 and 2048 had the same throughput; compared with 2048, TTFT was a third
// lower and the longest ITL 0.6 s instead of 2.3 s.
const cpuChunk = 512

// Chunk returns the maximum of prompt tokens per step, decoding rows included; -1: no
// limit.
func (c *Config) Chunk() int {
	if c.Batch.ChunkedPrefillSize == 0 {
		return max(cpuChunk, c.PageSize)
	}
	return c.Batch.ChunkedPrefillSize
}
