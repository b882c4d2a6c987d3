// Package node builds one serving process from its settings: model, device, memory plan,
// engine and HTTP adapter. It is the only package that depends on all of them.
//
// # Parts
//
//	open, close, engine            the Node and the order of its start, the file of record-trace; its end; the engine's options
//	device, memoryplan, template   the device and its weights; sizes of pool and workspace; the chat template
//	http, drain, reload            listeners and the HTTP adapter; its shutdown; settings that change live
//	complete, sampling             requests of this process, without HTTP; their parameters and the model's defaults
//	texts                          the tokenizer, template and defaults for gateways, which have no model
//	info, fingerprint              the answer of /server_info; what may change a bit of a result
//	cluster, models                a node of a cluster: its engine behind a portal; models of other engines at its gateway
//	supervise, operate, probation  what operators see and ask for; an engine that takes itself out
//	steptime, killtoken            steps that take a time, requests that end the process, for tests
//	log                            log lines of the actor runtime; the log level
package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/store"
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
	Fetching Fetching                // how a download of the model is shown
	Engine   func(*engine.Spec)      // if not nil, changes the engine before it starts; for tests
	Version  string                  // of the binary, for /server_info
	API      string                  // URL of the API, for other nodes of a cluster
	// CanRestart: whoever calls Serve executes the process anew after ErrRestart.
	CanRestart bool
	Unhashed   bool // no hash of weights in the fingerprint; it would disturb a measurement
}

// Node is a process that computes. Close it.
type Node struct {
	opt          Options
	Name         string // the served model's
	Checkpoint   *model.Checkpoint
	Tokenizer    *tokenizer.Tokenizer
	grammars     *store.Store // nil: grammarFault says why
	grammarFault error
	Template     *chat.Template // nil: none, or TemplateFault

	TemplateFault error          // why the model's chat template cannot be used; only chat needs one
	toolTemplate  *chat.Template // for conversations with tools; nil: Template
	format        output.Format  // how the model writes outputs
	Device        gpu.Device
	Model         gpu.Model   // of the first engine
	Models        []gpu.Model // of all engines
	KVDType       gpu.DType
	Plan          pool.Plan
	Meter         *telemetry.Meter
	Engine        *engine.Engine      // takes requests of this process's model; nil for a gateway
	System        *actor.ActorSystem  // of the engine
	Recording     *recording.Recorder // if not nil, records the traffic of later APIs. The caller closes it
	Reloads       Reloads             // if Why is not nil, how Serve reads the settings again
	Fatal         chan error          // receives why the engine gave up; then the process must end with an error

	config  atomic.Pointer[configs.Config]
	opened  Opened // has Device
	silent  bool   // it does not answer; nothing of it can be closed
	files   model.Files
	started time.Time
	hash    atomic.Pointer[string]
	// modelFacts is the value of modelHash.
	modelFacts atomic.Pointer[string]
	stopHash   func()          // ends the hashing of the weights and waits for it
	hashing    <-chan struct{} // closed when the weights have been hashed, or cannot be
	core       *engine.Engine  // computes: Engine, or in a cluster the one behind the portal; nil for a gateway
	cluster    *clustered      // nil outside of a cluster
	super      *supervised     // nil before the actors start
}

// Open loads the model and starts the engine. Errors name cause, place and remedy.
func Open(ctx context.Context, opt Options) (*Node, error) {
	if opt.Config.Cluster.Role == configs.RoleGateway {
		return openSteps(ctx, opt, (*Node).startSystem, (*Node).joinCluster)
	}
	return openSteps(ctx, opt, (*Node).checkCluster, (*Node).openModel, (*Node).openText, (*Node).openDevice, (*Node).startSystem, (*Node).startEngine, (*Node).joinCluster)
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

// Fail reports why the engine gives up. The first reason counts.
func (n *Node) Fail(err error) {
	select {
	case n.Fatal <- err:
	default:
	}
}

// Config returns the current settings. A reload changes only live ones.
func (n *Node) Config() *configs.Config { return n.config.Load() }

// Files returns the files of the model and the name under which it is served. A model of the
// hub is downloaded unless the cache has it.
func Files(ctx context.Context, c *configs.Config, f Fetching) (model.Files, string, error) {
	if c.Model == "" {
		return model.Directory(bundled.FS()), cmp.Or(c.ServedModelName, bundled.Name), nil
	}
	path, name, err := f.locate(ctx, c)
	if err != nil {
		return model.Files{}, "", c.Explain(configs.About(err, "model"))
	}
	files, err := model.At(path)
	if err != nil {
		return model.Files{}, "", c.Explain(configs.About(err, "model"))
	}
	return files, cmp.Or(c.ServedModelName, name, files.Name()), nil
}

// AboutModel adds the settings that choose the model to the error of opening or loading it;
// nothing to an error of the device.
func AboutModel(err error, c *configs.Config) error {
	if gpu.OfDevice(err) {
		return err
	}
	keys := []string{"model"}
	if c.Open.ContextLength != 0 {
		keys = append(keys, "context-length")
	}
	if c.Open.LoadFormat != "auto" {
		keys = append(keys, "load-format")
	}
	return configs.About(err, keys...)
}

func (n *Node) openModel(ctx context.Context) (err error) {
	c := n.Config()
	o := c.Open
	o.Seed = 42
	if n.files, n.Name, err = Files(ctx, c, n.opt.Fetching); err != nil {
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

func (n *Node) openText(ctx context.Context) (err error) {
	c := n.Config()
	if n.Tokenizer, err = n.files.Tokenizer(); err != nil {
		return configs.About(err, "model")
	}
	if err := checkVocabulary(n.Name, n.Tokenizer, n.Checkpoint.Program.Vocab); err != nil {
		return configs.About(err, "model")
	}
	if err := checkSpecialTokens(n.Name, n.Tokenizer, c); err != nil {
		return err
	}
	n.grammars, n.grammarFault = newGrammars(n.Name, n.Tokenizer, n.EOS(), n.Checkpoint.Program.Vocab)
	if n.Template, err = Template(c, n.files, n.Tokenizer); c.ChatTemplate != "" && err != nil {
		return err // a template that was asked for must be valid
	}
	n.TemplateFault = err
	if c.ChatTemplate == "" && err == nil {
		n.toolTemplate, n.TemplateFault = toolTemplate(n.Name, n.Tokenizer)
	}
	n.format, err = Format(ctx, cmp.Or(n.toolTemplate, n.Template), output.DetectOptions{BOS: n.Tokenizer.BOSText(), EOS: n.Tokenizer.EOSText()}, c.ToolParser, c.ReasoningParser)
	return c.Explain(err)
}

func checkVocabulary(name string, tok *tokenizer.Tokenizer, vocab int) error {
	if have := tok.VocabSize(); have > vocab {
		return fmt.Errorf("model %s: the tokenizer has token ids up to %d, but the model's vocabulary ends at %d; download both from the same place", name, have-1, vocab-1)
	}
	return nil
}

// checkSpecialTokens refuses a model whose special tokens cannot be told from text, if
// clients must not use them.
func checkSpecialTokens(name string, tok *tokenizer.Tokenizer, c *configs.Config) error {
	if _, err := tok.SpecialMarks(); err != nil && c.HTTP.SpecialTokens == httpapi.SpecialTokensText {
		return fmt.Errorf("model %s cannot be used with special-tokens-in-messages text: %w; set it to parse; special tokens in messages then take effect", name, err)
	}
	return nil
}

// OpenRecording creates the file of record-trace, which must not exist yet; nil if unset.
func OpenRecording(c *configs.Config, log zerolog.Logger) (*recording.Recorder, error) {
	if c.RecordTrace == "" {
		return nil, nil
	}
	file, err := os.OpenFile(c.RecordTrace, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		err = fmt.Errorf("record-trace: %s already exists; remove it or use another file", c.RecordTrace)
	case err != nil:
		err = fmt.Errorf("record-trace: %w", err)
	default:
		return recording.Start(c.RecordTrace, file, c.PageSize, log), nil
	}
	return nil, c.Explain(configs.About(err, "record-trace"))
}
