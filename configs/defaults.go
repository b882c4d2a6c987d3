package configs

import (
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
)

// Default returns the settings without file, environment and flags. Defaults of
// packages are used where they are right for a server.
func Default() *Config {
	return &Config{
		SamplingFrom: "model",
		Open:         model.OpenOptions{LoadFormat: model.LoadAuto},
		Device:       "auto",
		CPU:          cpu.Options{InstructionSet: "auto", Activations: "auto", WeightDType: "auto"},
		HTTP: httpapi.Options{
			Host: "127.0.0.1", Port: 30000, TenantFrom: httpapi.TenantAuto, SpecialTokens: httpapi.SpecialTokensText, UnknownFields: httpapi.UnknownFieldsWarn,
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
		Cluster:         Cluster{Name: "troupe", Listen: "127.0.0.1:30100", PeerTimeout: 2 * time.Second, ResumeWait: 2 * time.Minute},
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

// Chunk is the maximum of prompt tokens per step, decoding rows included; -1: no limit.
func (c *Config) Chunk() int {
	if c.Batch.ChunkedPrefillSize == 0 {
		return max(cpuChunk, c.PageSize)
	}
	return c.Batch.ChunkedPrefillSize
}
