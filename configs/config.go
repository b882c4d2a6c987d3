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
//
// # Parts
//
//	config, defaults, settings         the Config, its defaults, the table of settings
//	cluster                            the settings of a node in a cluster
//	load, file, environment, flags     the layers, in viper; checks of config files; TROUPE_… variables; flags
//	parse, checks, validate            values into fields; checks of one value; contradictions and warnings
//	keyfile                            the file of API keys
//	values, explain, errortext         values with their sources, as printed; sources added to errors; texts of errors
//	watch, changes                     config files that change; settings that differ, live or refused
package configs

import (
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
)

// Config holds every setting. A setting of one package is a field of that package's
// Options, with its unit and the meaning of zero; others are fields of Config. The wiring
// sets the fields of Options that are not settings.
type Config struct {
	Model           string   // "": the embedded model
	ServedModelName string   // "": the name of the directory or file
	ModelAliases    []string // each NAME=MODEL
	ChatTemplate    string   // "": the model's own
	ToolParser      string   // format of tool calls; "": found in the chat template
	ReasoningParser string   // format of thoughts; "": found in the chat template
	SamplingFrom    string   // model or openai
	Open            model.OpenOptions

	Device      string // auto, cpu, cuda or cuda:N
	CUDALibrary string // "": where the system has it
	NoGraphs    bool   // a GPU launches kernels one by one
	CPU         cpu.Options

	HTTP         httpapi.Options
	KeysFile     string // "": none; its keys are HTTP.Keys
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

	Cluster   Cluster
	StepTime  time.Duration // of every step at least; 0: no wait
	Chaos     bool          // actors may be made to panic
	KillToken int           // a prompt with it ends the process; 0: none

	WatchdogTimeout time.Duration // 0: never
	RecordTrace     string        // "": no recording
	Events          observer.Options

	LogLevel  string
	LogFormat string

	// Both are nil if the settings were not loaded.
	sources map[string]string // of each value, by key
	file    *file

	keysText []byte // of KeysFile
}
