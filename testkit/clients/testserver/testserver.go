// Package testserver runs the whole server for tests, with a fake model instead of
// the device. The HTTP adapter has a port of its own and the actors are real. The
// tokenizer and the chat template are those of the embedded model.
package testserver

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/telemetry"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
	"github.com/troupe-engine/troupe/testkit/locked"
)

// ModelID is the name under which the fake model is served.
const ModelID = "fake/model"

// Fingerprint is the system_fingerprint of its answers.
const Fingerprint = "fp_fake"

// Options differ from the defaults where a test needs it; zero fields take
// those.
type Options struct {
	HTTP            httpapi.Options // Port is ignored: each server picks a free one
	Context         int             // tokens; zero means 512
	PageSize        int             // tokens; zero means 4
	Pages           int             // zero means 1024
	MaxRunning      int             // zero means 32
	MaxOpen         int             // requests; zero means 4096
	MaxQueuedTokens int             // zero means no bound
	EOSChance       float64         // per token; zero means never
	StepTime        time.Duration   // of the device; zero means no wait
	NoTemplate      bool            // serve without a chat template
	Template        string          // source of another chat template
	ToolTemplate    string          // source of one for conversations with tools; "": there is one template
	// Script is what the model says after a prompt; "": what it says otherwise.
	Script        func(prompt string) string
	TemplateFault error         // why it cannot be used, with NoTemplate
	SocketBuffer  int           // bytes that the kernel keeps per connection for a client that does not read; zero means its own choice
	Log           zerolog.Level // zero is debug
	Full          func() (wait, most time.Duration, full bool)
	Change        func(*engine.Spec)
	Grammars      func(httpapi.Grammars) httpapi.Grammars // takes the place of the server's
	Table         func(*request.TableOptions)             // the bounds and deadlines of intake
}

// Server is a running server.
type Server struct {
	URL       string
	HTTP      *httpapi.Server
	Engine    *engine.Engine
	Fake      *fakemodel.Executor
	FakeModel fakemodel.Options
	Model     httpapi.Model
	Served    *httpapi.Served // Model with its engine
	Context   int             // tokens of a request at most
	logs      *locked.Buffer
	gate      *gate
}

// files are parsed once: every test starts a server of its own.
var files = sync.OnceValues(func() (*tokenizer.Tokenizer, *chat.Template) {
	tok, err := tokenizer.LoadFS(bundled.FS())
	if err != nil {
		panic(err)
	}
	source, err := fs.ReadFile(bundled.FS(), "chat_template.jinja")
	if err != nil {
		panic(err)
	}
	template, err := chat.Parse("chat_template.jinja", string(source))
	if err != nil {
		panic(err)
	}
	return tok, template
})

// Tokenizer is the tokenizer of every server.
func Tokenizer() *tokenizer.Tokenizer {
	tok, _ := files()
	return tok
}

// Start starts a server and stops it when the test ends; then it checks that no
// illegal step reached the device.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	tok, template := files()
	opt.Context, opt.PageSize, opt.Pages = cmp.Or(opt.Context, 512), cmp.Or(opt.PageSize, 4), cmp.Or(opt.Pages, 1024)
	opt.MaxRunning, opt.MaxOpen = cmp.Or(opt.MaxRunning, 32), cmp.Or(opt.MaxOpen, 4096)
	eos, _ := tok.EOS()
	s := &Server{logs: &locked.Buffer{}, Context: min(opt.Context, opt.Pages*opt.PageSize)}
	s.FakeModel = fakemodel.Options{PageSize: opt.PageSize, Pages: opt.Pages, MaxRows: opt.MaxRunning, Vocab: tok.VocabSize(),
		EOSChance: opt.EOSChance, CheckReads: true, Async: true, StepTime: opt.StepTime}
	grammars := grammarsOf(t, tok, eos)
	s.FakeModel.Allowed = func(g *messages.Grammar, output []int32) func(int32) bool { return allowed(t, grammars, g, output) }
	if opt.Script != nil {
		s.FakeModel.Script = scripted(tok, eos, opt.Script)
	}
	s.Fake = fakemodel.New(s.FakeModel)
	s.gate = &gate{Executor: s.Fake}
	log := zerolog.New(s.logs).Level(opt.Log)
	meter, keys := telemetry.New(ModelID, 1, zerolog.Nop()), telemetry.NewKeys()
	bounds := request.TableOptions{ContextLength: opt.Context, PoolTokens: opt.Pages * opt.PageSize, Vocab: tok.VocabSize(),
		MaxOpenRequests: opt.MaxOpen, MaxRunning: opt.MaxRunning, MaxQueuedTokens: opt.MaxQueuedTokens, MaxLogprobs: 20, MaxStopBytes: 1 << 16}
	if opt.Table != nil {
		opt.Table(&bounds)
	}
	table := request.NewTable(bounds)
	spec := engine.Spec{
		Batch: former.Options{PageSize: opt.PageSize, Pages: opt.Pages, MaxRunning: opt.MaxRunning, ChunkedPrefillSize: 64,
			ContextLength: opt.Context, AuditEveryStep: true},
		Cache:   radix.Options{PageSize: opt.PageSize},
		Alloc:   pages.Options{Pages: opt.Pages},
		Intake:  intake.Options{Table: table, Detokenizer: intake.Text(tok)},
		Members: []engine.Member{{Executor: s.gate}}, Meter: meter, Log: log,
		Backoff: engine.Backoff{Base: time.Microsecond, Cap: time.Microsecond},
		OnFatal: func(err error) { t.Errorf("the engine gave up: %v", err) },
	}
	if opt.Change != nil {
		opt.Change(&spec)
	}
	quiet := actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) })
	var err error
	if s.Engine, err = engine.Start(actor.NewActorSystem(quiet), spec); err != nil {
		t.Fatal(err)
	}
	s.Model = httpapi.Model{ID: ModelID, Created: 1700000000, Context: s.Context, Tokenizer: tok, Template: template,
		EOS: []int32{eos}, Grammars: grammars, Defaults: httpapi.OpenAIDefaults, Fingerprint: func(context.Context) string { return Fingerprint }}
	if opt.Grammars != nil {
		s.Model.Grammars = opt.Grammars(grammars)
	}
	if opt.NoTemplate {
		s.Model.Template, s.Model.TemplateFault = nil, opt.TemplateFault
	}
	if opt.Template != "" {
		if s.Model.Template, err = chat.Parse("template", opt.Template); err != nil {
			t.Fatal(err)
		}
	}
	if opt.ToolTemplate != "" {
		if s.Model.ToolTemplate, err = chat.Parse("tool_use", opt.ToolTemplate); err != nil {
			t.Fatal(err)
		}
	}
	if s.Model.Template != nil {
		s.Model.Format = output.Detect(context.Background(), cmp.Or(s.Model.ToolTemplate, s.Model.Template), output.DetectOptions{BOS: tok.BOSText(), EOS: tok.EOSText()})
	}
	var seeds atomic.Uint64
	opt.HTTP.Host, opt.HTTP.Port = "127.0.0.1", 0
	var observe func(messages.ToObserver)
	if spec.Observer != nil {
		observe = s.Engine.Observe
	}
	s.Served = &httpapi.Served{Model: s.Model, Engine: s.Engine, Observe: observe, Full: opt.Full,
		Steps:    func() float64 { return meter.Value(messages.Steps) },
		Readings: func() any { return map[string]any{"metrics": meter.Values(), "histograms": meter.Histograms()} }}
	s.HTTP = httpapi.New(httpapi.Deps{
		Options: opt.HTTP, Models: httpapi.Serving(s.Served), Log: log, Metrics: telemetry.Handler(func() []*telemetry.Meter { return []*telemetry.Meter{meter} }, keys),
		KeyUse: func(name string) httpapi.KeyUse { return keys.Of(name) }, KeepKeys: keys.Keep,
		Info: func() map[string]any { return map[string]any{"model": ModelID, "context_length": s.Context} },
		Seed: func() uint64 { return seeds.Add(1) }, Now: func() time.Time { return time.Unix(1700000123, 0) },
	})
	s.serve(t, opt.SocketBuffer)
	s.WaitIdle(t) // the epoch has started
	return s
}

// narrow accepts connections with a small send buffer.
type narrow struct {
	net.Listener
	bytes int
}

// Accept implements net.Listener.
func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(n.bytes))
	}
	return conn, err
}

// serve listens, and stops everything at the end of the test.
func (s *Server) serve(t testing.TB, socketBuffer int) {
	t.Helper()
	listener, err := httpapi.Listen(s.HTTP.Options)
	if err != nil {
		t.Fatal(err)
	}
	s.URL = s.HTTP.URL(listener)
	if socketBuffer > 0 {
		listener = narrow{listener, socketBuffer}
	}
	served := make(chan error, 1)
	go func() { served <- s.HTTP.Serve(listener) }()
	t.Cleanup(func() {
		s.Resume()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.HTTP.Shutdown(ctx); err != nil {
			t.Errorf("the server does not stop: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
		if err := s.Engine.Stop(ctx); err != nil {
			t.Errorf("the engine does not stop: %v", err)
		}
		for _, v := range s.Fake.Violations() {
			t.Errorf("an illegal step: %s", v)
		}
	})
}

// Hold stops the device until Resume: open requests stay open.
func (s *Server) Hold() { s.gate.hold() }

// PassOne lets one of the steps that Hold keeps back through, if there is any.
func (s *Server) PassOne() { s.gate.passOne() }

// Resume ends Hold.
func (s *Server) Resume() { s.gate.open() }

// Step lets the device compute the step that Hold keeps back, and waits until the
// engine has submitted the next one.
func (s *Server) Step(t testing.TB) {
	t.Helper()
	next := s.Steps() + 1
	s.gate.pass()
	s.WaitStep(t, next)
}

// Steps is the number of steps that the engine has submitted.
func (s *Server) Steps() int {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return s.gate.steps
}

// WaitStep waits until the engine has submitted a number of steps.
func (s *Server) WaitStep(t testing.TB, steps int) {
	t.Helper()
	select {
	case <-s.gate.at(steps):
	case <-time.After(time.Minute):
		t.Fatalf("the engine submitted %d steps, want %d", s.Steps(), steps)
	}
}

// Logs is the log so far, JSON lines.
func (s *Server) Logs() string { return s.logs.String() }

// Audit counts the pages by owner.
func (s *Server) Audit(t testing.TB) *messages.SlotsAudited {
	t.Helper()
	reply := make(chan *messages.SlotsAudited, 1)
	s.Engine.Send(&messages.AskAudit{Reply: reply})
	select {
	case a := <-reply:
		return a
	case <-time.After(time.Minute):
		t.Fatal("no answer to an audit")
		return nil
	}
}

// WaitIdle waits until no page is leased or locked any more, which is a few
// messages after the last request's end, and checks the audit.
func (s *Server) WaitIdle(t testing.TB) {
	t.Helper()
	var a *messages.SlotsAudited
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if a = s.Audit(t); a != nil && a.OK && a.Count.Leased == 0 && a.Count.Protected == 0 {
			return
		}
	}
	t.Fatalf("pages are still leased or locked: %+v", a)
}

// Expected is the fake model's output for a prompt, as text and tokens.
func (s *Server) Expected(prompt []int32, params *messages.SamplingParams) (string, []int32) {
	ids, reason := fakemodel.ExpectedOutput(s.FakeModel, prompt, params, s.Context)
	shown := ids
	if reason == messages.EndStopToken || reason == messages.EndEOS {
		shown = ids[:len(ids)-1]
	}
	return s.Model.Tokenizer.Decode(shown, tokenizer.DecodeOptions{SkipSpecial: true}), ids
}

// Client speaks to the server without keeping connections beyond the test.
func Client(t testing.TB) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
