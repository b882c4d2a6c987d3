package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// setup is one point of the matrix that results must not depend on.
type setup struct {
	pageSize, pages, chunk, maxRunning, retractEvery int
	inFlight                                         int // steps; 0: 1
	engines                                          int // 0: 1
	cacheOff                                         bool
}

var plain = setup{pageSize: 4, pages: 400, chunk: -1, maxRunning: 16}

// words is a detokeniser whose text shows every token.
type words struct{}

func (words) NewStream([]int32, bool, bool) request.Stream { return words{} }
func (words) Push(id int32) string                         { return fmt.Sprintf("%d ", id) }
func (words) Flush() string                                { return "" }
func (words) Clone() request.Stream                        { return words{} }

type nowhere struct{}

func (nowhere) Record(messages.Metric, float64) {}

// harness is an engine of real actors over the fake model.
type harness struct {
	*Engine
	t     testing.TB
	model *fakemodel.Executor // of the first engine
	more  []*fakemodel.Executor
	fake  fakemodel.Options
	fatal chan error
	calls atomic.Uint64
	// gone says that the device will never be quiet.
	gone    bool
	stopped sync.Once
}

// eos is the fake model's end token.
const eos = 1

func start(t testing.TB, s setup, change func(*Spec)) *harness {
	t.Helper()
	fake := fakemodel.Options{PageSize: s.pageSize, Pages: s.pages, MaxRows: s.maxRunning, Vocab: 500, EOSChance: 0.02, CheckReads: true, Async: true}
	h := &harness{t: t, model: fakemodel.New(fake), fake: fake, fatal: make(chan error, 1)}
	table := request.NewTable(request.TableOptions{ContextLength: 512, PoolTokens: s.pages * s.pageSize, Vocab: 500, MaxOpenRequests: 1000, MaxLogprobs: 5})
	spec := Spec{
		Batch: former.Options{PageSize: s.pageSize, Pages: s.pages, MaxRunning: s.maxRunning, ChunkedPrefillSize: s.chunk,
			ContextLength: 512, CacheDisabled: s.cacheOff, RetractEvery: s.retractEvery, StepsInFlight: s.inFlight, AuditEveryStep: true},
		Cache:   radix.Options{PageSize: s.pageSize, Disabled: s.cacheOff},
		Alloc:   pages.Options{Pages: s.pages},
		Intake:  intake.Options{Table: table, Detokenizer: words{}},
		Members: []Member{{Executor: h.model}}, Meter: nowhere{}, Log: zerolog.Nop(),
		Backoff: Backoff{Base: time.Microsecond, Cap: time.Microsecond},
		OnFatal: func(err error) { h.fatal <- err },
	}
	for range s.engines - 1 {
		h.more = append(h.more, fakemodel.New(fake))
		spec.Members = append(spec.Members, Member{Executor: h.more[len(h.more)-1]})
	}
	if change != nil {
		change(&spec)
	}
	engine, err := Start(quietSystem(), spec)
	if err != nil {
		t.Fatal(err)
	}
	h.Engine = engine
	t.Cleanup(func() {
		h.stop()
		for _, model := range append(h.more, h.model) {
			for _, v := range model.Violations() {
				t.Errorf("the batch former sent an illegal delta: %s", v)
			}
		}
	})
	return h
}

// stop ends the engine, once; with a device that is gone only its actors.
func (h *harness) stop() {
	h.stopped.Do(func() {
		limit := time.Minute
		if h.gone {
			limit = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := h.Stop(ctx); err != nil && !h.gone {
			h.t.Error(err)
		}
	})
}

// submit sends a call and returns its channel.
func (h *harness) submit(subs ...messages.Submission) chan messages.CallEvent {
	events := make(chan messages.CallEvent, 8)
	id := h.calls.Add(1)
	h.Send(&messages.SubmitRequests{Call: messages.CallID(id), UserID: fmt.Sprint("user-", id), Requests: subs, Events: events})
	return events
}

// result is what a client got for one request.
type result struct {
	text   strings.Builder
	tokens []int32
	usage  messages.Usage
	finish *messages.Finish
}

// read takes a call's events to the end.
func (h *harness) read(events chan messages.CallEvent, n int) []*result {
	h.t.Helper()
	results := make([]*result, n)
	for i := range results {
		results[i] = &result{}
	}
	for open := n; open > 0; {
		select {
		case event := <-events:
			switch e := event.(type) {
			case *messages.CallRefused:
				h.t.Fatalf("refused: %s", e.Message)
			case *messages.CallOutput:
				r := results[e.Index]
				if r.finish != nil {
					h.t.Fatal("output after the end")
				}
				r.text.WriteString(e.Text)
				for _, tok := range e.Tokens {
					r.tokens = append(r.tokens, tok.Token)
				}
				if e.Finish != nil {
					r.finish, r.usage = e.Finish, e.Usage
					open--
				}
				if e.Paused {
					h.Send(&messages.ResumeOutput{Call: e.Call})
				}
			}
		case err := <-h.fatal:
			h.t.Fatalf("the engine gave up: %v", err)
		case <-h.t.Context().Done():
			h.t.Fatal("the test ended before its request")
		}
	}
	return results
}

// prompts make n requests, half of them with a common prefix.
func prompts(n int) []messages.Submission {
	subs := make([]messages.Submission, n)
	for i := range subs {
		length := 1 + (i*37)%90
		prompt := make([]int32, length)
		for j := range prompt {
			prompt[j] = int32(2 + (j*7+(i%2)*i*13)%498)
		}
		params := &messages.SamplingParams{Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: uint64(i), MaxTokens: 1 + (i*29)%60,
			EOSTokenIDs: []int32{eos}, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
		subs[i] = messages.Submission{Prompt: prompt, Params: params, After: -1, Stream: i%3 == 0}
	}
	return subs
}

// check compares results with the sequential twin.
func (h *harness) check(subs []messages.Submission, results []*result) {
	h.t.Helper()
	for i, r := range results {
		want, _ := fakemodel.ExpectedOutput(h.fake, subs[i].Prompt, subs[i].Params, 512)
		if fmt.Sprint(r.tokens) != fmt.Sprint(want) {
			h.t.Errorf("request %d: got %v, want %v", i, r.tokens, want)
		}
		if r.usage.PromptTokens != len(subs[i].Prompt) || r.usage.CompletionTokens != len(want) {
			h.t.Errorf("request %d: usage %+v for %d + %d tokens", i, r.usage, len(subs[i].Prompt), len(want))
		}
	}
}

// audit asks for the owners of all pages.
func (h *harness) audit() *messages.SlotsAudited {
	reply := make(chan *messages.SlotsAudited, 1)
	h.Send(&messages.AskAudit{Reply: reply})
	select {
	case a := <-reply:
		return a
	case <-h.t.Context().Done():
		h.t.Fatal("no audit")
		return nil
	}
}
