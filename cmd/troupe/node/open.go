// Package node builds one serving process from its settings: model, device, memory plan,
// engine and HTTP adapter. It is the only package that depends on all of them.
package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/telemetry/recording"
)

// Options are what a caller adds to the settings.
type Options struct {
	Config   *configs.Config
	Log      zerolog.Logger
	LogLevel *telemetry.LogLevel     // if not nil, Log samples by it and a reload sets it
	Progress func(done, total int64) // if not nil, called while weights load, in bytes
	Engine   func(*engine.Spec)      // if not nil, changes the engine before it starts; for tests
	Version  string                  // of the binary, for /server_info
	// Unhashed: no hash of weights in the fingerprint; it would disturb a measurement.
	Unhashed bool
}

// Node is a process that computes. Close it.
type Node struct {
	opt        Options
	Name       string // the served model's
	Checkpoint *model.Checkpoint
	Tokenizer  *tokenizer.Tokenizer
	Template   *chat.Template // nil: none, or TemplateFault
	// TemplateFault: why the model's chat template cannot be used; only chat needs one.
	TemplateFault error
	Device        gpu.Device
	Model         gpu.Model   // of the first engine
	Models        []gpu.Model // of all engines
	KVDType       gpu.DType
	Plan          pool.Plan
	Meter         *telemetry.Meter
	Engine        *engine.Engine
	System        *actor.ActorSystem // of the engine
	// Recording, if not nil, records the traffic of later APIs. The caller closes it.
	Recording *recording.Recorder
	Reloads   Reloads // if Why is not nil, how Serve reads the settings again
	// Fatal receives why the engine gave up; then the process must end with an error.
	Fatal chan error

	config   atomic.Pointer[configs.Config]
	files    model.Files
	started  time.Time
	hash     atomic.Pointer[string]
	stopHash func() // ends the hashing of the weights and waits for it
}

// Open loads the model and starts the engine. Errors name cause, place and remedy.
func Open(ctx context.Context, opt Options) (*Node, error) {
	return openSteps(ctx, opt, (*Node).openModel, (*Node).openText, (*Node).openDevice, (*Node).startEngine)
}

// OpenModel loads the model onto the device and starts no engine.
func OpenModel(ctx context.Context, opt Options) (*Node, error) {
	return openSteps(ctx, opt, (*Node).openModel, (*Node).openDevice)
}

func openSteps(ctx context.Context, opt Options, steps ...func(*Node, context.Context) error) (*Node, error) {
	n := &Node{opt: opt, Fatal: make(chan error, 1), started: time.Now()}
	n.config.Store(opt.Config)
	for _, step := range steps {
		if err := step(n, ctx); err != nil {
			return nil, errors.Join(n.Config().Explain(err), n.CloseInTime(ctx))
		}
	}
	return n, nil
}

// Config returns the current settings. A reload changes only live ones.
func (n *Node) Config() *configs.Config { return n.config.Load() }

// Files returns the files of the model and the name under which it is served.
func Files(c *configs.Config) (model.Files, string, error) {
	if c.Model == "" {
		return model.Directory(bundled.FS()), cmp.Or(c.ServedModelName, bundled.Name), nil
	}
	files, err := model.At(c.Model)
	if err != nil {
		return model.Files{}, "", c.Explain(configs.About(err, "model"))
	}
	return files, cmp.Or(c.ServedModelName, files.Name()), nil
}

// AboutModel adds the settings that choose the model to the error of opening it.
func AboutModel(err error, c *configs.Config) error {
	keys := []string{"model"}
	if c.Open.ContextLength != 0 {
		keys = append(keys, "context-length")
	}
	if c.Open.LoadFormat != "auto" {
		keys = append(keys, "load-format")
	}
	return configs.About(err, keys...)
}

func (n *Node) openModel(context.Context) (err error) {
	c := n.Config()
	o := c.Open
	o.Seed = 42
	if n.files, n.Name, err = Files(c); err != nil {
		return err
	}
	if n.Checkpoint, err = n.files.Open(o); err != nil {
		return AboutModel(err, c)
	}
	if len(n.Checkpoint.Unused) > 0 {
		n.opt.Log.Warn().Strs("tensors", n.Checkpoint.Unused).Msg("the weights have tensors that this architecture does not use; they are ignored")
	}
	return nil
}

func (n *Node) openText(context.Context) (err error) {
	c := n.Config()
	if n.Tokenizer, err = n.files.Tokenizer(); err != nil {
		return configs.About(err, "model")
	}
	if have, want := n.Tokenizer.VocabSize(), n.Checkpoint.Program.Vocab; have > want {
		err := fmt.Errorf("model %s: the tokenizer has token ids up to %d, but the model's vocabulary ends at %d; download both from the same place", n.Name, have-1, want-1)
		return configs.About(err, "model")
	}
	if _, err := n.Tokenizer.SpecialMarks(); err != nil && c.HTTP.SpecialTokens == httpapi.SpecialTokensText {
		return fmt.Errorf("model %s cannot be used with special-tokens-in-messages text: %w; set special-tokens-in-messages to parse", n.Name, err)
	}
	if n.Template, err = Template(c, n.files, n.Tokenizer); c.ChatTemplate != "" {
		return err // a template that was asked for must be valid
	}
	n.TemplateFault = err
	return nil
}

// Template returns the chat template of the settings, else the model's; nil if none.
func Template(c *configs.Config, files model.Files, tok *tokenizer.Tokenizer) (*chat.Template, error) {
	if c.ChatTemplate != "" {
		t, err := TemplateFile(c.ChatTemplate)
		return t, c.Explain(configs.About(err, "chat-template"))
	}
	source := tok.ChatTemplates()["default"]
	if source == "" {
		return nil, nil
	}
	return parseTemplate(files.ChatTemplate(), source)
}

func TemplateFile(file string) (*chat.Template, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("chat-template: %w", err)
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("chat-template: %s is empty; give a Jinja template, or leave the setting out for the model's own", file)
	}
	return parseTemplate(file, string(text))
}

func parseTemplate(name, source string) (*chat.Template, error) {
	t, err := chat.Parse(name, source)
	if err != nil {
		return nil, fmt.Errorf("%w; use another one with --chat-template FILE", err)
	}
	return t, nil
}

func OpenDevice(c *configs.Config) (gpu.Device, error) {
	o := c.CPU
	if c.DataParallel > 1 { // the engines share the processors
		o.Threads = max(1, cmp.Or(o.Threads, runtime.GOMAXPROCS(0))/c.DataParallel)
	}
	device, err := cpu.New(o)
	// Other settings are checked when they are loaded. Only here it shows whether
	// the processor has the instruction set.
	return device, c.Explain(configs.About(err, "instruction-set"))
}

func (n *Node) openDevice(ctx context.Context) (err error) {
	c := n.Config()
	if n.Device, err = OpenDevice(c); err != nil {
		return err
	}
	// A first plan refuses a model that does not fit before its weights are loaded. The
	// second uses the memory that they left.
	planned, err := PlanOn(n.Device, c, n.Checkpoint)
	for _, w := range planned.Weights.Changed {
		n.opt.Log.Info().Stringer("stored", w.Stored).Stringer("held", w.Held).Int("matrices", w.Tensors).Int64("bytes", w.Bytes).
			Msg("weights are converted to another type: " + w.Why)
	}
	if err != nil {
		return err
	}
	if n.Model, err = n.Device.Load(n.Checkpoint.Program, n.Checkpoint.Weights, n.opt.Progress); err != nil {
		return configs.About(err, "model")
	}
	n.Models = []gpu.Model{n.Model}
	for range c.DataParallel - 1 {
		shared, ok := n.Model.(gpu.Sharer)
		if !ok {
			return configs.About(fmt.Errorf("the %s device cannot share weights between engines; set data-parallel-size to 1", n.Device.Info().Kind), "data-parallel-size")
		}
		n.Models = append(n.Models, shared.Share())
	}
	after, err := n.Device.Memory()
	if err != nil {
		return err
	}
	if n.Plan, n.KVDType, err = PlanMemory(c, n.Checkpoint, DeviceMemory{
		Before: planned.Before, After: after.Available, WeightBytes: n.Model.Bytes()["weights"]}); err != nil {
		return err
	}
	plan := n.opt.Log.Info()
	for _, f := range n.Plan.Figures {
		name := f.Name // it tells the unit of a count
		if f.Unit == "bytes" {
			name += "_bytes"
		}
		plan.Int64(name, f.Value)
	}
	plan.Str("bound", n.Plan.Bound).Msg("memory plan")
	for _, w := range n.Plan.Warnings {
		n.opt.Log.Warn().Msg(w)
	}
	if !n.opt.Unhashed {
		n.startHash(ctx)
	}
	p := n.Checkpoint.Program
	layout, err := gpu.ParseLayout(c.KVLayout)
	if err != nil {
		return err
	}
	rows := n.Plan.MaxRunning
	// The scheduler gives prompts a page even if decoding rows use up the limits, and
	// adds an unchunked prompt to all decoding rows.
	spec := gpu.PoolSpec{PageSize: c.PageSize, Pages: n.Plan.Pages, DType: n.KVDType, Layout: layout,
		Rows: rows, Context: p.Context, StepTokens: stepTokens(c, p, rows) + rows + c.PageSize}
	for _, m := range n.Models {
		if err := m.NewPool(spec); err != nil {
			return err
		}
	}
	return nil
}

// startHash hashes the weights in the background: it may read all of them, and
// nothing waits for the result.
func (n *Node) startHash(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		if h, err := n.Checkpoint.Hash(ctx); err == nil {
			n.hash.Store(&h)
		}
	})
	n.stopHash = func() {
		cancel()
		done.Wait()
	}
}

// Close stops what Open has started.
func (n *Node) Close(ctx context.Context) error {
	if n.stopHash != nil {
		n.stopHash()
	}
	var errs []error
	if n.Engine != nil {
		if err := n.Engine.Stop(ctx); err != nil {
			return err // the device may still compute; the process must end
		}
	}
	for _, m := range n.Models {
		errs = append(errs, m.Close())
	}
	if n.Checkpoint != nil {
		errs = append(errs, n.Checkpoint.Close())
	}
	return errors.Join(errs...)
}

// closeLimit is how long the end of the process waits for the device to finish.
const closeLimit = 10 * time.Second

// CloseInTime is Close for a process that ends: ctx may already be cancelled, and a
// device that does not finish is not waited for.
func (n *Node) CloseInTime(ctx context.Context) error { return n.closeWithin(ctx, closeLimit) }

func (n *Node) closeWithin(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, errNotQuiet)
	defer cancel()
	err := n.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == errNotQuiet {
		return errNotQuiet
	}
	return err
}

var errNotQuiet = errors.New("the device did not finish its step in time")

func newSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
